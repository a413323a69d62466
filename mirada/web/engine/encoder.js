// A Transformer encoder for sequences: to classify them or to tag their steps, as in `mirada/models/encoder.py`.
//
//     x ─ embed + position ─ encoder ×N ─ h_1 … h_T ─┬─ each: a label at every step
//                                                    └─ pooled to one vector: a class for the whole

import {Tensor, times, zeros} from "./tensor.js";
import {Part} from "./record.js";
import {Embedding, OutputHead} from "./layers.js";
import {positionsOf} from "./positions.js";
import {Stack} from "./blocks.js";
import {stepOf} from "./recurrent.js";

/** (1/T) Σ_t h_t of h [1, T, D]: [1, D]. */
export function meanStep(h) {
  const [, steps, width] = h.shape;
  const mean = zeros(1, width);
  for (let i = 0; i < h.data.length; i++) mean.data[i % width] += h.data[i] / steps;
  return mean;
}

/** max_t h_t of h [1, T, D], number by number: [1, D]. */
export function largestStep(h) {
  const width = h.shape[2];
  const largest = new Float32Array(width).fill(-Infinity);
  for (let i = 0; i < h.data.length; i++) largest[i % width] = Math.max(largest[i % width], h.data[i]);
  return new Tensor([1, width], largest);
}

/** Embeddings with positions, an encoder stack, and an output. */
export class TransformerEncoder extends Part {
  constructor(entry, weights) {
    super();
    const config = (this.config = {eps: 1e-5, ...entry.config});
    this.embedding = new Embedding(weights, "embedding");
    this.positions = positionsOf(config.positions, weights, "positions", config.width);
    const layer = {...config, positions: this.positions};
    this.encoder = new Stack(weights, "encoder", layer, config.layers, {causal: entry.sizes.causal});
    this.output = new OutputHead(weights, "output");
  }

  /** A vector for every token of a text's ids, [1, T, D]. */
  encode(ids) {
    const x = times(this.embedding.forward(ids), Math.sqrt(this.config.width)); // §3.4: multiplied by √d_model
    const inputs = this.positions.forward(x);
    this.record("embeddings", x);
    this.record("inputs", inputs);
    return this.encoder.forward(inputs);
  }

  /** One vector for the text, [1, D]: the mean of all, their largest values, or the first. */
  pool(ids) {
    const h = this.encode(ids);
    const pooled = {mean: meanStep, max: largestStep, first: (x) => stepOf(x, 0)}[this.config.pool](h);
    this.record("pooled", pooled);
    return pooled;
  }
}

export const TRANSFORMER_ENCODERS = {transformer: (entry, weights) => new TransformerEncoder(entry, weights)};
