// What the walk is about: the trace, the chosen part, layer, head and token, and the sizes that formulas name.

import {EOS} from "../engine/tokenizer.js";
import {pieceLabels, unitOf} from "../words.js";
import {choiceLine, numbersLine, tensorView} from "./walk_steps.js";

/** The parts that can be walked through, as {id, stack, cross}, found by the paths of a trace. */
function walkParts(tensors) {
  const parts = [];
  for (const stack of ["encoder", "recurrent", "decoder"]) {
    const found = new RegExp(`^${stack}\\.\\d+\\.(self\\.q|forward\\.h)$`);
    if (Object.keys(tensors).some((path) => found.test(path)) || `${stack}.output` in tensors) {
      parts.push({id: stack, stack, cross: false});
    }
  }
  const crosses = Object.keys(tensors).some((path) => /^decoder\.\d+\.cross\.q$/.test(path));
  if (crosses) parts.push({id: "cross", stack: "decoder", cross: true});
  return parts;
}

/** Whether a trace has what a walk begins with. */
export function canBeWalked({tensors}) {
  const begun = ["embeddings", "source.embeddings"].some((path) => path in tensors);
  return begun && walkParts(tensors).length > 0;
}

/** One walk: a trace, and what of it is looked at. The architectures' files make steps of it. */
export class Walk {
  constructor(app, trace, values) {
    const {entry} = app;
    this.entry = entry;
    this.shown = (value, digits) => app.number(value, digits); // as the reader's language writes it
    this.tensors = trace.tensors;
    this.trace = trace;
    this.config = entry.config;
    this.parts = walkParts(trace.tensors);
    const part = this.parts.find(({id}) => id === values.walk_part) ?? this.parts[0];
    this.part = part.id;
    this.stack = part.stack;
    this.crossOnly = part.cross;
    this.recurrent = Object.keys(trace.tensors).some((path) => path.endsWith(".forward.h"));
    this.said = null;
    this.#sides();
    this.#sizes(values);
    this.#switches(values.switches);
  }

  /** Which tokens the rows of this stack are. */
  #sides() {
    const {source, target} = this.trace;
    const {tokenizers} = this.entry;
    const two = "source.embeddings" in this.tensors;
    this.side = two ? (this.stack === "decoder" ? "target" : "source") : "";
    this.inputs = this.side ? `${this.side}.inputs` : "inputs";
    this.embeddings = this.side ? `${this.side}.embeddings` : "embeddings";
    this.N = this.tensors[this.embeddings].shape[0];
    this.words = (this.trace.words ?? []).map(String); // what the rows of the logits are, where not every token has one
    this.sourceRows = pieceLabels(source, unitOf(tokenizers.source));
    if (this.side !== "target") {
      this.rows = this.sourceRows;
      return;
    }
    const said = pieceLabels(target, unitOf(tokenizers.target ?? tokenizers.source));
    this.rows = ["<s>", ...said].slice(0, this.N); // what the decoder was fed: the beginning, then each token it had said
    this.said = [...this.trace.ids, EOS]; // what each row was followed by
  }

  #sizes(values) {
    const {config, tensors} = this;
    this.D = tensors[this.embeddings].shape.at(-1);
    this.layers = config[`${this.stack}_layers`] ?? config.layers ?? 1;
    this.layer = clamped(values.walk_layer, this.layers);
    this.H = config.heads ?? (this.has(`${this.stack}.0.backward.h`) ? 2 : 1); // heads, or directions
    this.head = clamped(values.walk_head, this.H);
    this.K = this.D / this.H;
    this.backward = this.recurrent && this.head === 1;
    this.cell = this.recurrent ? config.name.replace("seq2seq-", "") : null;
    this.attendsBefore = config.attend === "before" && (config.attention ?? "none") !== "none";
    this.token = clamped(values.walk_token, this.N);
    this.pre = (config.norm ?? (this.entry.architecture === "bert" ? "post" : "pre")) === "pre";
    this.eps = config.eps ?? 1e-5;
    this.activation = config.activation ?? "relu";
    this.positions = config.positions ?? "sinusoidal";
    this.causal = this.stack === "decoder" || Boolean(this.entry.sizes?.causal);
    this.scalesEmbeddings = this.entry.architecture === "transformer";
    this.logitsPath = Object.keys(tensors).find((path) => path.endsWith("output.logits")) ?? null;
    this.C = this.logitsPath ? tensors[this.logitsPath].shape.at(-1) : 0;
    this.labels = this.entry.labels?.length === this.C ? this.entry.labels : null;
    this.vocabulary = this.C > 0 && this.labels === null;
  }

  #switches(switches) {
    const {scale = true, future_mask: mask = true, positions = true} = switches;
    const {residual_off: residuals = [], heads_off: heads = [], layers_off: layers = []} = switches;
    this.off = {scale: !scale, future_mask: !mask, positions: !positions, residuals, heads, layers};
  }

  has(path) {
    return path in this.tensors;
  }

  view(path, lead = []) {
    return this.has(path) ? tensorView(path, this.tensors[path], lead) : null;
  }

  /** A line with a tensor's numbers; a note where the trace has none of that path. */
  numbers(op, symbol, path, {lead = [], ...options} = {}) {
    const view = this.view(path, lead);
    return view ? numbersLine(op, symbol, view, options) : {kind: "note", op, symbol, missing: path};
  }

  choices(op, symbol, path, options = {}) {
    return choiceLine(op, symbol, this.view(path), options);
  }

  /** The path of what a stack's layer puts out; a layer that is off passes on what the one below it does. */
  outputOf(layer) {
    for (let below = layer; below >= 0; below--) {
      if (!this.off.layers.includes(`${this.stack}.${below}`)) return `${this.stack}.${below}.add_feed_forward.output`;
    }
    return this.inputs;
  }

  /** How many of a tensor's numbers are exactly 0, in percent. */
  zeros(path) {
    const {data} = this.tensors[path] ?? {data: []};
    const none = data.reduce((count, value) => count + (value === 0), 0);
    return data.length ? Math.round((100 * none) / data.length) : 0;
  }
}

function clamped(number, count) {
  return Math.max(0, Math.min(count - 1, Math.trunc(number) || 0));
}
