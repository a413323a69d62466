// The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), as in `mirada/models/transformer.py`.
//
//     source ─ embed + position ─ encoder ×N ──────────┐ keys, values
//     target ─ embed + position ─ decoder ×N (masked) ─┴─ · Eᵀ ─ softmax

import {reshape, slice, times} from "./tensor.js";
import {Part} from "./record.js";
import {Embedding, OutputHead} from "./layers.js";
import {positionsOf} from "./positions.js";
import {Stack} from "./blocks.js";

/** Keys and values of the source and of the `length` tokens so far, for R hypotheses of one sentence. */
class StacksState {
  constructor(own, source, length) {
    this.own = own; // a layer each, [R, H, t, K]; null of a layer that is left out
    this.source = source; // a layer each, [1, H, S, K]
    this.length = length;
  }

  select(rows) {
    return new StacksState(this.own.map((kept) => kept?.select(rows) ?? null), this.source, this.length);
  }
}

/** Translates sentences; source, target and output share their embeddings by default. */
export class Transformer extends Part {
  constructor(entry, weights) {
    super();
    const config = (this.config = {eps: 1e-5, ...entry.config});
    this.source_embedding = new Embedding(weights, "source_embedding");
    this.target_embedding = new Embedding(weights, "target_embedding");
    this.positions = positionsOf(config.positions, weights, "positions", config.width);
    const layer = {...config, positions: this.positions};
    this.encoder = new Stack(weights, "encoder", layer, config.encoder_layers);
    this.decoder = new Stack(weights, "decoder", layer, config.decoder_layers, {causal: true, cross: true});
    this.output = new OutputHead(weights, "output");
  }

  /** Vectors of ids, [R, t] of the shape given, that come after the first `before`: [R, t, D]. */
  embed(side, embedding, ids, shape, before = 0) {
    const x = times(embedding.forward(ids, shape), Math.sqrt(this.config.width)); // §3.4: multiplied by √d_model
    const inputs = this.positions.forward(x, before);
    this.record(`${side}.embeddings`, x);
    this.record(`${side}.inputs`, inputs);
    return inputs;
  }

  /** The encoder's output [1, S, D] of a source's ids, EOS included. */
  encode(source) {
    return this.encoder.forward(this.embed("source", this.source_embedding, source, [1, source.length]));
  }

  /** Logits [1, T, V] for every next token of a source … EOS and a target BOS …. */
  forward(source, target) {
    const memory = this.decoder.remember(this.encode(source));
    const x = this.embed("target", this.target_embedding, target, [1, target.length]);
    return this.output.forward(this.decoder.forward(x, memory));
  }

  /** Read a source … EOS and BOS with a forced prefix: {logits [1, V], state}. */
  start(source, target) {
    const memory = this.decoder.remember(this.encode(source));
    return this.extend(target, [1, target.length], new StacksState([], memory, 0));
  }

  /** Continue with the chosen tokens [R]: {logits [R, V], state}. */
  step(tokens, state) {
    return this.extend(tokens, [tokens.length, 1], state);
  }

  extend(tokens, shape, state) {
    const x = this.embed("target", this.target_embedding, tokens, shape, state.length); // [R, t, D]
    const {h, present} = this.decoder.extend(x, state.own, state.source);
    const last = reshape(slice(h, 1, shape[1] - 1), shape[0], -1); // [R, D]
    return {logits: this.output.forward(last), state: new StacksState(present, state.source, state.length + shape[1])};
  }
}

export const TRANSFORMERS = {transformer: (entry, weights) => new Transformer(entry, weights)};
