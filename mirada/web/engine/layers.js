// Layers that models are made of: linear, normalisation, embedding; and activation functions, as in PyTorch.
//
// `weights` is a Map from the names of the state dictionary to tensors.

import {Tensor, linear, mapped, reshape, rowsOf, sizeOf, zeros} from "./tensor.js";
import {Part} from "./record.js";

/** A tensor of the model by its name in the state dictionary. */
export function weightOf(weights, name) {
  const found = weights.get(name);
  if (found === undefined) throw new Error(`the model's weights have no ${name}`);
  return found;
}

/** y = W x + b; b is left out where the model has none. */
export class Linear {
  constructor(weights, name) {
    this.weight = weightOf(weights, `${name}.weight`); // [O, X]
    this.bias = weights.get(`${name}.bias`) ?? null; // [O]
  }

  forward(x) {
    return linear(x, this.weight, this.bias); // [.., X] -> [.., O]
  }
}

/** The last layer of a model: from vectors [.., D] to logits [.., V], which it records. */
export class OutputHead extends Part {
  kind = "output";

  constructor(weights, name) {
    super(name);
    this.linear = new Linear(weights, name);
  }

  forward(h) {
    const logits = this.linear.forward(h);
    this.record("logits", logits);
    return logits;
  }
}

/** A vector for each id. */
export class Embedding {
  constructor(weights, name) {
    this.weight = weightOf(weights, `${name}.weight`); // [V, D]
  }

  /** The vectors of ids, [B, T, D] for the shape [B, T]. */
  forward(ids, shape = [1, ids.length]) {
    return reshape(rowsOf(this.weight, ids), ...shape, this.weight.shape[1]);
  }
}

/** LN(x) = γ (x − μ) / √(σ² + ε) + β, with the mean μ and the variance σ² of each vector        (Ba et al. 2016) */
export class LayerNorm {
  constructor(weights, name, eps = 1e-5) {
    this.gain = weightOf(weights, `${name}.weight`); // γ [D]
    this.bias = weightOf(weights, `${name}.bias`); // β [D]
    this.eps = eps;
  }

  forward(x) {
    const width = x.shape.at(-1);
    const y = zeros(...x.shape);
    for (let at = 0; at < x.data.length; at += width) {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += x.data[at + i];
      const mean = sum / width;
      let squares = 0;
      for (let i = 0; i < width; i++) squares += (x.data[at + i] - mean) ** 2;
      const factor = 1 / Math.sqrt(squares / width + this.eps);
      for (let i = 0; i < width; i++) {
        y.data[at + i] = (x.data[at + i] - mean) * factor * this.gain.data[i] + this.bias.data[i];
      }
    }
    return y;
  }
}

// ── activation functions ────────────────────────────────────────────────────────────────────────────────────────────

/** σ(z) = 1 / (1 + e^−z) */
export function sigmoid(z) {
  return 1 / (1 + Math.exp(-z));
}

/** erf(x) = 2/√π e^(−x²) Σ_n 2ⁿ x^(2n+1) / (1 · 3 · … · (2n+1)), whose terms all have the sign of x. */
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x); // what is missing to 1 is less than 10⁻¹⁶
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** Activation functions g of a layer h = g(W x + b), number by number. */
export const ACTIVATIONS = {
  sigmoid,
  tanh: Math.tanh, // (e^z − e^−z) / (e^z + e^−z)
  relu: (z) => Math.max(0, z), // max(0, z)
  leaky_relu: (z) => Math.max(0.1 * z, z), // max(0.1 z, z)
  elu: (z) => (z > 0 ? z : Math.expm1(z)), // z, or e^z − 1 below zero
  gelu: (z) => (z * (1 + erf(z / Math.SQRT2))) / 2, // z Φ(z)
  gelu_tanh: (z) => (z * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (z + 0.044715 * z ** 3)))) / 2, // as in GPT-2
  silu: (z) => z * sigmoid(z), // z σ(z), also called swish
};

/** g(x) of a tensor, by the activation's name. */
export function activate(x, name) {
  return mapped(x, ACTIVATIONS[name]);
}

/** h = max_k z_k of z [.., P·D] = [z_1, …, z_P] side by side; h is [.., D]        (Goodfellow et al. 2013, §3) */
export function maxout(z, pieces = 2) {
  const width = z.shape.at(-1) / pieces;
  const h = new Float32Array(sizeOf(z.shape) / pieces);
  for (let i = 0; i < h.length; i++) {
    const from = Math.floor(i / width) * width * pieces + (i % width);
    let largest = z.data[from];
    for (let piece = 1; piece < pieces; piece++) largest = Math.max(largest, z.data[from + piece * width]);
    h[i] = largest;
  }
  return new Tensor([...z.shape.slice(0, -1), width], h);
}
