// GPT: the Transformer's decoder alone, which says what comes next, as in `mirada/models/gpt.py`.
//
//     tokens ─ embed + position ─ masked self-attention, feed-forward ×N ─ · Eᵀ ─ softmax

import {Part} from "./record.js";
import {Embedding, OutputHead} from "./layers.js";
import {positionsOf} from "./positions.js";
import {Stack} from "./blocks.js";
import {stepOf} from "./recurrent.js";
import {meanStep} from "./encoder.js";

/** Keys and values of the tokens in the context, for R rows; and the tokens, to read again when it is full. */
class ContextState {
  constructor(own, inputs) {
    this.own = own; // a layer each, [R, H, t, K]; null of a layer that is left out
    this.inputs = inputs; // R rows of t ids
  }

  select(rows) {
    return new ContextState(this.own.map((kept) => kept?.select(rows) ?? null), rows.map((row) => this.inputs[row]));
  }
}

/** Predicts each next token of a text from those before it. */
export class GPT extends Part {
  constructor(entry, weights) {
    super();
    const config = (this.config = entry.config);
    this.embedding = new Embedding(weights, "embedding");
    this.positions = positionsOf(config.positions, weights, "positions", config.width);
    this.decoder = new Stack(weights, "decoder", {...config, positions: this.positions}, config.layers, {causal: true});
    this.output = new OutputHead(weights, "output");
  }

  /** A vector for every token of a text's ids, [1, T, D]. */
  encode(ids) {
    return this.decoder.forward(this.embed(ids, [1, ids.length], 0));
  }

  /** One vector for the text, [1, D]: the mean of all, or the last, which alone has seen all of them. */
  pool(ids) {
    const h = this.encode(ids);
    const pooled = this.config.pool === "mean" ? meanStep(h) : stepOf(h, ids.length - 1);
    this.record("pooled", pooled);
    return pooled;
  }

  embed(ids, shape, before) {
    const {max_length: limit} = this.config;
    if (before + shape[1] > limit) {
      throw new Error(`a text has ${before + shape[1]} tokens, the model takes at most model.max_length=${limit}`);
    }
    const x = this.embedding.forward(ids, shape);
    const inputs = this.positions.forward(x, before);
    this.record("embeddings", x);
    this.record("inputs", inputs);
    return inputs;
  }

  // ── piece by piece, as in `mirada/nn/context.py` ────────────────────────────────────────────────────────────────────

  /** Read the ids before a continuation, the last of them if there are too many: {logits [1, V], state}. */
  start(source, ids) {
    return this.extend([ids.slice(-this.config.max_length)], []);
  }

  /** Continue with the chosen tokens [R]. When the context is full, its later half is read again as if it began there. */
  step(tokens, state) {
    const limit = this.config.max_length;
    const inputs = state.inputs.map((row, n) => [...row, tokens[n]]);
    if (inputs[0].length <= limit) return this.extend(inputs, state.own);
    const kept = Math.max(Math.floor(limit / 2), 1);
    return this.extend(inputs.map((row) => row.slice(-kept)), []);
  }

  /** Read what is new of the inputs, R rows of ids; `past` has the keys and values of all before the last, or nothing. */
  extend(inputs, past) {
    const [rows, length] = [inputs.length, inputs[0].length];
    const before = past.length ? length - 1 : 0;
    const x = this.embed(inputs.flatMap((row) => row.slice(before)), [rows, length - before], before);
    const {h, present} = this.decoder.extend(x, past);
    return {logits: this.output.forward(stepOf(h, length - before - 1)), state: new ContextState(present, inputs)};
  }
}

export const GPTS = {gpt: (entry, weights) => new GPT(entry, weights)};
