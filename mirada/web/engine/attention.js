// Attention formulas, as in `mirada/nn/attention.py`. Each returns the output and the weights that made it.
//
//     q [.., T, K] queries    k [.., S, K] keys    v [.., S, K'] values    mask [T, S], 1 = may attend
//
// A query that may attend nothing gets zeros, never NaN.

import {Tensor, linear, matmul, matmulTransposed, reshape, softmax, times, zeros} from "./tensor.js";
import {Linear} from "./layers.js";
import {Part, isRecording} from "./record.js";

/** The scores, with −∞ where the mask [T, S] says no. */
export function maskedScores(scores, mask) {
  if (mask === null) return scores;
  const y = scores.data.slice();
  for (let i = 0; i < y.length; i++) if (!mask.data[i % mask.data.length]) y[i] = -Infinity;
  return new Tensor(scores.shape, y);
}

/** score(q, k) = qᵀ k / √d_k; without `scale`, qᵀ k. */
export function dotScores(q, k, scale = true) {
  const factor = scale ? 1 / Math.sqrt(q.shape.at(-1)) : 1;
  return matmulTransposed(times(q, factor), k); // [.., T, S]
}

/** Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V        (Vaswani et al. 2017, §3.2.1) */
export function scaledDotProduct(q, k, v, mask = null, scale = true) {
  const weights = softmax(maskedScores(dotScores(q, k, scale), mask)); // [.., T, S]
  return {output: matmul(weights, v), weights};
}

/** [T, before+T]: token t may attend to what came before it and to itself. */
export function futureMask(length, before = 0) {
  const width = before + length;
  const mask = new Uint8Array(length * width);
  for (let t = 0; t < length; t++) mask.fill(1, t * width, t * width + before + t + 1);
  return new Tensor([length, width], mask);
}

// ── scores as parts of a model ──────────────────────────────────────────────────────────────────────────────────────

/**
 * How well a query and a key go together, and the attention that follows from it.
 *
 * What concerns the keys alone is done once a sentence, by `prepare`.
 */
export class Score extends Part {
  kind = "attention";
  heads = 1;

  /** The keys [B, S, D] in the form that `scores` takes. */
  prepare(keys) {
    return keys;
  }

  /** score(q, k) = qᵀ k: [B, T, S] of queries [B, T, Q] and prepared keys [B, S, Q]. */
  scores(query, prepared) {
    return matmulTransposed(query, prepared);
  }

  /** Attend from query [B, T, Q] to values [B, S, D]; mask [T, S]. Records with an axis H = 1. */
  forward(query, prepared, values, mask = null) {
    const scores = this.scores(query, prepared);
    const masked = maskedScores(scores, mask);
    const weights = softmax(masked);
    const context = matmul(weights, values);
    if (isRecording()) {
      this.record("scores", withHead(scores));
      this.record("masked_scores", withHead(masked));
      this.record("weights", withHead(weights));
      this.record("context", context);
    }
    return {output: context, weights};
  }
}

function withHead(x) {
  return reshape(x, x.shape[0], 1, ...x.shape.slice(1)); // [B, T, S] -> [B, 1, T, S]
}

/** score(q, k) = qᵀ k        (Luong et al. 2015, §3.1, "dot") */
export class DotScore extends Score {}

/** score(q, k) = qᵀ W k        (Luong et al. 2015, §3.1, "general"). Prepared keys are W k. */
export class GeneralScore extends Score {
  constructor(weights, name) {
    super(name);
    this.key = new Linear(weights, `${name}.key`);
  }

  prepare(keys) {
    return this.key.forward(keys); // [B, S, Q]
  }
}

/** score(q, k) = v_scoreᵀ tanh(W q + U k + b)        (Bahdanau et al. 2015, §3.1). Prepared keys are U k + b. */
export class AdditiveScore extends Score {
  constructor(weights, name) {
    super(name);
    this.query = new Linear(weights, `${name}.query`);
    this.key = new Linear(weights, `${name}.key`);
    this.score = new Linear(weights, `${name}.score`);
  }

  prepare(keys) {
    return this.key.forward(keys); // [B, S, A]
  }

  scores(query, prepared) {
    return additiveScores(query, prepared, this.query.weight, this.score.weight);
  }
}

/** v_scoreᵀ tanh(W q_t + k_s) for all t and s: [B, T, S]; w_query is W [A, Q], v_score [A] or [1, A]. */
function additiveScores(query, prepared, wQuery, vScore) {
  const q = linear(query, wQuery); // [B, T, A]
  const [b, t, a] = q.shape;
  const s = prepared.shape[1];
  const scores = zeros(b, t, s);
  for (let row = 0; row < b * t; row++) {
    const sentence = Math.floor(row / t);
    for (let key = 0; key < s; key++) {
      let score = 0;
      const from = (sentence * s + key) * a;
      for (let i = 0; i < a; i++) score += vScore.data[i] * Math.tanh(q.data[row * a + i] + prepared.data[from + i]);
      scores.data[row * s + key] = score;
    }
  }
  return scores;
}

/** The scores a model can choose from, by their names in its settings. */
export const SCORES = {
  dot: (weights, name) => new DotScore(name),
  general: (weights, name) => new GeneralScore(weights, name),
  additive: (weights, name) => new AdditiveScore(weights, name),
};
