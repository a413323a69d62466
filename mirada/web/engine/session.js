// A model that is open in the page: what can be asked of it. All answers are plain objects and typed arrays.
//
//     const session = await openSession(entry, bytes);       // of a safetensors file
//     session.generate("El gato ve el tren.", {beam: 5});
//     session.trace("El gato ve el tren.", {target: [17, 4]}).tensors["decoder.1.cross.weights"];

import {Tensor, softmax} from "./tensor.js";
import {ALL_ON, partsOf, recording, switched} from "./record.js";
import {readSafetensors} from "./safetensors.js";
import {BOS, Tokenizer} from "./tokenizer.js";
import {TRANSFORMERS} from "./transformer.js";
import {SEQ2SEQS} from "./seq2seq.js";
import {newReader, readText, readerLogits, readerPredictions} from "./reading.js";
import {generated, likeliestNext, taskOf} from "./generation.js";
import {explainNumber} from "./explain.js";
import {tokenLogP} from "./attribution.js";

const TRANSLATORS = {...TRANSFORMERS, ...SEQ2SEQS};
const LONGEST_TEXT = 20_000; // characters
const MOST_SCORES = 2 ** 26; // attention scores and weights of a trace: 256 MB
const MOST_NEXT = 1000;

/** Opens a model: `entry` says what it is, `bytes` are its weights as a safetensors file. */
export async function openSession(entry, bytes) {
  const weights = readSafetensors(bytes, entry.aliases ?? {});
  const source = new Tokenizer(entry.tokenizers.source);
  const target = entry.tokenizers.target ? new Tokenizer(entry.tokenizers.target) : source;
  return new Session(entry, weights, {source, target}, newNetwork(entry, weights));
}

/** The network of an entry, with its weights. */
export function newNetwork(entry, weights) {
  if (entry.task !== "translation") return newReader(entry, weights);
  const make = TRANSLATORS[entry.architecture];
  if (!make) throw new Error(`the page cannot compute ${entry.architecture} for ${entry.task}`);
  return make(entry, weights);
}

export class Session {
  #traced = {key: "", trace: null, pass: null}; // the last trace, which explanations are of

  constructor(entry, weights, tokenizers, network) {
    this.entry = entry;
    this.weights = weights;
    this.tokenizers = tokenizers;
    this.network = network;
    this.generates = entry.task === "translation" || entry.task === "language_model";
  }

  /** What the model is made of, and which switches it honours. */
  describe() {
    const parts = partsOf(this.network).filter(({path}) => path);
    const honoured = new Set(partsOf(this.network).flatMap(({honours}) => honours));
    return {
      parts: parts.map(({path, kind, heads = 0, honours}) => ({path, kind, heads, honours})),
      switches: Object.keys(ALL_ON).filter((name) => honoured.has(name)),
      hasEncoder: "encoder" in this.network,
      hasDecoder: "decoder" in this.network,
      generates: this.generates,
    };
  }

  /** The units of a text, with the characters they stand for. */
  tokens(text) {
    return this.tokenizers.source.tokens(checkText(text));
  }

  /** The n best texts that beam search finds, and the search. `to` is the language of a model of two directions. */
  generate(text, options = {}) {
    const task = this.#task(text, options);
    const found = switched(options.switches, () => generated(this.network, this.entry, task, options), this.network);
    return {source: task.sourcePieces, ...found};
  }

  /** The likeliest continuations of a prefix: [{id, piece, probability}]. */
  next(text, options = {}) {
    const task = this.#task(text, options);
    const count = Math.min(options.count ?? 10, MOST_NEXT);
    return switched(options.switches, () => likeliestNext(this.network, task, count), this.network);
  }

  /**
   * log p of each token of a translation (`target`, ids) and of its end; `without` leaves tokens of the source out,
   * those from its first number to before its second.
   */
  score(text, {target = [], without = [0, 0], to = null, switches = {}} = {}) {
    if (this.entry.task !== "translation") throw new Error(`a model for ${this.entry.task} has no source to score with`);
    const {source} = this.#task(text, {to, prefix: target});
    const [start, end] = without;
    if (!(Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start <= end && end < source.length)) {
      throw new Error(`without=${without}: the source has the tokens 0 to ${source.length - 2}, and its end`);
    }
    const rest = [...source.slice(0, start), ...source.slice(end)];
    return switched(switches, () => tokenLogP(this.network, rest, target), this.network);
  }

  /** What a model that reads says of a text: labels, tags, or words for its gaps. */
  predict(text, {switches = {}} = {}) {
    if (this.generates) throw new Error(`a model for ${this.entry.task} generates: it predicts no labels`);
    const read = readText(this.entry, this.tokenizers.source, checkText(text));
    const logits = switched(switches, () => readerLogits(this.network, this.entry, read), this.network);
    return readerPredictions(this.entry, this.tokenizers.source, logits, read);
  }

  /** Every tensor of one pass by its path, of a batch of one, without the axis B; of a translation on its `target`. */
  trace(text, options = {}) {
    const key = JSON.stringify([text, options.target ?? null, options.switches ?? {}, options.to ?? null]);
    if (this.#traced.key !== key) {
      const pass = this.#pass(checkText(text), options);
      this.#checkSize(pass);
      const {tensors} = switched(options.switches, () => recording(pass.run), this.network);
      this.#traced = {key, pass, trace: {...pass.shown, tensors: finished(tensors)}};
    }
    return this.#traced.trace;
  }

  /** What made one number of a trace. */
  explain(path, index, {text, ...options}) {
    const {tensors} = this.trace(text, options);
    const {entry, weights} = this;
    const {view} = this.#traced.pass;
    return explainNumber({entry, weights, tensors, ...view, switches: {...ALL_ON, ...options.switches}}, path, index);
  }

  #task(text, options) {
    if (!this.generates) throw new Error(`a model for ${this.entry.task} generates no text`);
    return taskOf(this.entry, this.tokenizers, checkText(text), options);
  }

  /** The pass that a trace records: {run, shown: what is returned with it, view: what explanations need of it}. */
  #pass(text, {target = null, to = null, switches = {}}) {
    if (this.entry.task !== "translation") return this.#reading(text, target ?? []);
    const task = this.#task(text, {to, prefix: target ?? []}); // which checks both
    const ids = target ?? this.generate(text, {to, switches}).hypotheses[0].ids;
    const [source, input] = [task.source, [BOS, ...ids]];
    const pieces = this.tokenizers.target.pieces(ids);
    return {
      run: () => this.network.forward(source, input),
      shown: {source: task.sourcePieces, target: [...pieces, "</s>"], ids},
      view: {source, target: input, rows: null, labels: {source: task.sourcePieces, target: ["<s>", ...pieces]}},
    };
  }

  /** The pass over one text, and of a language model over what follows it. */
  #reading(text, target) {
    const read = readText(this.entry, this.tokenizers.source, text);
    const ids = [...read.ids, ...target];
    const pieces = [...read.pieces, ...this.tokenizers.source.pieces(target)];
    return {
      run: () => readerLogits(this.network, this.entry, {...read, ids}),
      shown: {source: pieces, target: null, ids: this.generates ? target : null, words: read.words},
      view: {source: ids, target: null, rows: read.rows, labels: {source: pieces, target: null}},
    };
  }

  #checkSize({view}) {
    const longest = Math.max(view.source.length, view.target?.length ?? 0);
    const heads = partsOf(this.network).reduce((sum, part) => sum + (part.heads ?? 0), 0);
    if (4 * heads * longest ** 2 > MOST_SCORES) {
      throw new Error(`a trace of ${longest} tokens has too many attention weights for a page; shorten the text`);
    }
  }
}

/** Recorded tensors without the axis B, and the probabilities. */
function finished(tensors) {
  const found = {};
  for (const [path, tensor] of Object.entries(tensors)) found[path] = withoutBatch(path, tensor);
  const logits = Object.keys(found).find((path) => path.endsWith("output.logits"));
  if (logits !== undefined) found.probabilities = softmax(found[logits]);
  return found;
}

function withoutBatch(path, {shape, data}) {
  if (path === "bridge.h") return new Tensor([shape[0], shape[2]], data); // [L, B, D]
  const without = path.startsWith("features.") || (path === "positions.vectors" && shape.length === 2);
  return new Tensor(without ? shape : shape.slice(1), data);
}

function checkText(text) {
  if (typeof text !== "string") throw new Error(`the text must be a string, not ${typeof text}`);
  if (text.length > LONGEST_TEXT) {
    throw new Error(`the text has ${text.length} characters, and the page takes ${LONGEST_TEXT}; shorten it`);
  }
  if (!text.isWellFormed()) throw new Error("the text has half of a character (a lone surrogate); type it again");
  return text;
}
