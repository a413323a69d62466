// Recurrent networks for sequences: to classify them, tag their steps, or model a language, as in `mirada/models/rnn.py`.
//
//     x ─ embed ─ recurrent layers ─ h_1 … h_T ─┬─ each: a label or the next word at every step
//                                               └─ pooled to one vector: a class for the whole

import {concat, softmax} from "./tensor.js";
import {Part} from "./record.js";
import {Embedding, OutputHead} from "./layers.js";
import {Recurrent, stepOf} from "./recurrent.js";
import {largestStep, meanStep} from "./encoder.js";

/** What a recurrent language model remembers for R hypotheses. */
class RecurrentState {
  constructor(memory) {
    this.memory = memory;
  }

  select(rows) {
    return new RecurrentState(this.memory.select(rows));
  }
}

/** Embeddings, recurrent layers, and an output. In one direction it can read piece by piece. */
export class RecurrentEncoder extends Part {
  constructor(entry, weights) {
    super();
    const {name, width, layers, activation} = (this.config = entry.config);
    this.embedding = new Embedding(weights, "embedding");
    this.output = new OutputHead(weights, "output");
    const bidirectional = weights.has("recurrent.layers.0.backward_.U");
    const outputs = this.output.linear.weight.shape[0];
    this.recurrent = new Recurrent(weights, "recurrent", {cell: name, layers, width, bidirectional, activation, outputs});
    this.pooling = this.config.pool ?? (name === "jordan" ? "last" : "max");
  }

  /** A vector for every token of a text's ids, [1, T, D]. */
  encode(ids) {
    return this.read(ids, [1, ids.length]).h;
  }

  /** One vector for the text, [1, D]: the states at its ends, the mean of all, or their largest values. */
  pool(ids) {
    const {h, memory} = this.read(ids, [1, ids.length]);
    const ends = () => concat(memory.h.slice(-this.recurrent.directions.length), -1); // h→_T, and h←_1 beside it
    const pooled = {last: ends, mean: () => meanStep(h), max: () => largestStep(h)}[this.pooling]();
    this.record("pooled", pooled);
    return pooled;
  }

  /** The states [R, T, D] of tokens of the shape [R, T], and what is remembered after them. */
  read(ids, shape, state = null) {
    const x = this.embedding.forward(ids, shape);
    this.record("embeddings", x);
    const feedBack = this.config.name === "jordan" ? (h) => this.feedBack(h) : null;
    return this.recurrent.read(x, state, feedBack);
  }

  /** o = softmax(V h): what a Jordan network gets of its last step. */
  feedBack(h) {
    return softmax(this.output.forward(h));
  }

  /** Read the ids before a continuation: {logits [1, V], state}. */
  start(source, ids) {
    return this.extend(ids, [1, ids.length], null);
  }

  /** Continue with the chosen tokens [R]: {logits [R, V], state}. */
  step(tokens, state) {
    return this.extend(tokens, [tokens.length, 1], state.memory);
  }

  extend(tokens, shape, before) {
    const {h, memory} = this.read(tokens, shape, before);
    return {logits: this.output.forward(stepOf(h, shape[1] - 1)), state: new RecurrentState(memory)};
  }
}

const newRecurrentEncoder = (entry, weights) => new RecurrentEncoder(entry, weights);

export const RECURRENT_ENCODERS = {
  memoryless: newRecurrentEncoder,
  jordan: newRecurrentEncoder,
  elman: newRecurrentEncoder,
  lstm: newRecurrentEncoder,
  gru: newRecurrentEncoder,
};
