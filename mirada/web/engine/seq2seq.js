// The recurrent encoder–decoder, with and without attention, as in `mirada/models/seq2seq.py`.
//
// Without: the source becomes one vector, the encoder's last state (Sutskever et al. 2014; Cho et al. 2014).
// With: every target word takes a context c from all the encoder's states h_1 … h_S, where
//
//     "before"  c_t = attend(s_{t−1}, h) goes into the recurrent step's input           Bahdanau et al. 2015, §3.1, A.2
//     "after"   c_t = attend(s_t, h) joins the step's output, u_t = tanh(W [c_t; s_t])       Luong et al. 2015, §3, eq. 5
//
//     source ─ embed ─ encoder (both directions) ─ h_1 … h_S ─┬─ bridge ─ s_0
//                                                             └─ attention ─ c_t
//     target ─ embed ─ decoder ─ s_t ─ u_t ─ · Eᵀ ─ softmax

import {concat, mapped, reshape} from "./tensor.js";
import {Part, joinedSteps, nextStep} from "./record.js";
import {Embedding, Linear, OutputHead} from "./layers.js";
import {SCORES} from "./attention.js";
import {Memory, Recurrent, stepOf} from "./recurrent.js";

/** The decoder's recurrent state for R hypotheses of one sentence, and what it keeps of the source. */
class Seq2SeqState {
  constructor(memory, source) {
    this.memory = memory;
    this.source = source; // {states [1, S, D], keys: the states in the form the score wants}
  }

  select(rows) {
    return new Seq2SeqState(this.memory.select(rows), this.source);
  }
}

/** A recurrent encoder, a bridge, and a recurrent decoder that may attend. */
export class Seq2Seq extends Part {
  constructor(entry, weights) {
    super();
    const {name, width, layers, bidirectional, attention, attend} = (this.config = entry.config);
    const cell = name.replace("seq2seq-", "");
    this.source_embedding = new Embedding(weights, "source_embedding");
    this.target_embedding = new Embedding(weights, "target_embedding");
    this.encoder = new Recurrent(weights, "encoder", {cell, layers, bidirectional, width});
    this.bridge = new Linear(weights, "bridge");
    this.decoder = new Recurrent(weights, "decoder", {cell, layers, width});
    const attends = attention !== "none";
    this.score = attends ? SCORES[attention](weights, "score") : null;
    if (attends) this.score.path = "attention";
    this.join = attends ? new Linear(weights, "join") : null;
    this.attendsBefore = attends && attend === "before";
    this.output = new OutputHead(weights, "output");
  }

  // ── the source ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The encoder's states of a source's ids, EOS included, and s_0, the decoder's first state. */
  encode(ids) {
    const x = this.source_embedding.forward(ids); // [1, S, D]
    this.record("source.embeddings", x);
    const {h: states, memory: final} = this.encoder.read(x); // [1, S, D]
    this.record("encoder.output", states);
    const keys = this.score ? this.score.prepare(states) : null;
    const memory = this.bridged(final);
    this.record("bridge.h", concat(memory.h.map((h) => reshape(h, 1, ...h.shape)), 0)); // [L, 1, D]
    return new Seq2SeqState(memory, {states, keys});
  }

  /** s_0 = tanh(W h_end): from each layer's last states in both directions, side by side, to the decoder's layer. */
  bridged(final) {
    const ways = this.encoder.directions.length;
    const joined = (cells) => this.encoder.layers.map((_, n) => concat(cells.slice(n * ways, (n + 1) * ways), -1));
    const h = joined(final.h).map((end) => mapped(this.bridge.forward(end), Math.tanh)); // L tensors [1, D]
    return new Memory(h, final.c && joined(final.c));
  }

  // ── the target ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Logits [1, T, V] for every next token of a source … EOS and a target BOS …. */
  forward(source, target) {
    return this.output.forward(this.decode(target, [1, target.length], this.encode(source)).u);
  }

  /** Read a source … EOS and BOS with a forced prefix: {logits [1, V], state}. */
  start(source, target) {
    return this.extend(target, [1, target.length], this.encode(source));
  }

  /** Continue with the chosen tokens [R]: {logits [R, V], state}. */
  step(tokens, state) {
    return this.extend(tokens, [tokens.length, 1], state);
  }

  extend(tokens, shape, state) {
    const {u, memory} = this.decode(tokens, shape, state);
    return {logits: this.output.forward(stepOf(u, shape[1] - 1)), state: new Seq2SeqState(memory, state.source)};
  }

  /** u [R, T, D] for tokens of the shape [R, T], and the recurrent state after them. */
  decode(tokens, shape, {memory: before, source}) {
    const x = this.target_embedding.forward(tokens, shape);
    const {s, context, memory} = this.attendsBefore
      ? joinedSteps(() => this.stepByStep(x, before, source))
      : this.recur(x, before, source);
    const u = context === null ? s : this.joined(context, s);
    this.record("target.embeddings", x);
    this.record("decoder.output", u);
    return {u, memory};
  }

  /** All steps of the recurrence; then all attend at once, if they do. */
  recur(x, before, source) {
    const {h: s, memory} = this.decoder.read(x, before);
    return {s, memory, context: this.score === null ? null : this.attend(s, source)};
  }

  /** Each step attends with the state before it, and takes the context in. */
  stepByStep(x, before, source) {
    const steps = [];
    let memory = before;
    for (let t = 0; t < x.shape[1]; t++) {
      if (t > 0) nextStep();
      const query = memory.h.at(-1); // s_{t−1} [R, D]
      const context = this.attend(reshape(query, query.shape[0], 1, -1), source); // c_t [R, 1, D]
      const made = this.decoder.step(concat([stepOf(x, t), stepOf(context, 0)], -1), memory);
      memory = made.memory;
      steps.push({s: reshape(made.h, ...context.shape), context});
    }
    return {
      s: concat(steps.map(({s}) => s), 1),
      context: concat(steps.map(({context}) => context), 1),
      memory,
    };
  }

  /** The contexts [R, T, D] of states s [R, T, D]: R · T queries to the one source. */
  attend(s, {states, keys}) {
    const [rows, steps, width] = s.shape;
    const {output} = this.score.forward(reshape(s, 1, rows * steps, width), keys, states);
    return reshape(output, rows, steps, -1);
  }

  /** u = tanh(W [c; s]) */
  joined(context, s) {
    return mapped(this.join.forward(concat([context, s], -1)), Math.tanh);
  }
}

const newSeq2Seq = (entry, weights) => new Seq2Seq(entry, weights);

export const SEQ2SEQS = {"seq2seq-elman": newSeq2Seq, "seq2seq-lstm": newSeq2Seq, "seq2seq-gru": newSeq2Seq};
