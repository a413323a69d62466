// Transformer blocks: multi-head attention, feed-forward, layers, stacks of layers, as in `mirada/nn/blocks.py`.
//
// A layer is built from {width, heads, norm, activation, eps, positions} of a model. Keys and values are projected
// separately from queries, so that a decoder can keep them: `KeyValues`.

import {add, concat, reshape, rowsOf, transpose, zeros} from "./tensor.js";
import {Part, activeSwitches, disabledHeads, isRecording} from "./record.js";
import {LayerNorm, Linear, activate} from "./layers.js";
import {dotScores, futureMask, maskedScores, scaledDotProduct} from "./attention.js";

/** The keys and values of one attention, of a source sentence or of the tokens so far: k and v [R, H, S, K]. */
export class KeyValues {
  constructor(k, v) {
    this.k = k;
    this.v = v;
  }

  get length() {
    return this.k.shape[2];
  }

  /** The new after the old. */
  append(more) {
    return new KeyValues(concat([this.k, more.k], 2), concat([this.v, more.v], 2));
  }

  select(rows) {
    return new KeyValues(rowsOf(this.k, rows), rowsOf(this.v, rows));
  }
}

/** MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O,  head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)   (§3.2.2) */
export class MultiHead extends Part {
  kind = "attention";
  honours = ["scale", "heads_off"];

  constructor(weights, name, config, positions = null) {
    super(name);
    this.heads = config.heads;
    this.query = new Linear(weights, `${name}.query`);
    this.key = new Linear(weights, `${name}.key`);
    this.value = new Linear(weights, `${name}.value`);
    this.output = new Linear(weights, `${name}.output`);
    this.positions = positions; // that turn queries and keys, or null
  }

  split(x) {
    const [b, t, d] = x.shape;
    return transpose(reshape(x, b, t, this.heads, d / this.heads), 1, 2); // [B, T, D] -> [B, T, H, K] -> [B, H, T, K]
  }

  /** The keys and values of x [B, S, D], to attend to now or later. */
  remember(x) {
    return new KeyValues(this.split(this.key.forward(x)), this.split(this.value.forward(x)));
  }

  /** Queries, keys and values of x [B, T, D] for self-attention; x begins after the first `before` tokens. */
  project(x, before = 0) {
    const q = this.split(this.query.forward(x));
    const own = this.remember(x);
    if (this.positions === null) return {q, own};
    const turn = (y) => this.positions.rotate(y, before);
    return {q: turn(q), own: new KeyValues(turn(own.k), own.v)};
  }

  /** Attend from x [R, T, D] to what is remembered of B sentences; R = B · W: W rows are hypotheses of one sentence. */
  forward(x, memory, mask = null) {
    const queries = reshape(this.query.forward(x), memory.k.shape[0], -1, x.shape[2]); // [B, W·T, D]
    return reshape(this.attend(this.split(queries), memory, mask), ...x.shape);
  }

  /** Attention and output projection, [B, T, D], for projected queries [B, H, T, K]. */
  attend(q, memory, mask = null) {
    const {scale} = activeSwitches();
    const {output: attended, weights} = scaledDotProduct(q, memory.k, memory.v, mask, scale);
    const heads = this.withoutDisabled(attended); // [B, H, T, K]
    const [b, h, t, k] = heads.shape;
    const output = this.output.forward(reshape(transpose(heads, 1, 2), b, t, h * k)); // [B, H, T, K] -> [B, T, D]
    if (isRecording()) this.recordAll(q, memory, mask, {heads, output, weights});
    return output;
  }

  withoutDisabled(heads) {
    const disabled = disabledHeads(this.path);
    if (!disabled.length) return heads;
    const [, h, t, k] = heads.shape;
    const y = zeros(...heads.shape);
    y.data.set(heads.data);
    for (let at = 0; at < y.data.length; at += h * t * k) {
      for (const head of disabled) y.data.fill(0, at + head * t * k, at + (head + 1) * t * k);
    }
    return y;
  }

  recordAll(q, memory, mask, made) {
    const scores = dotScores(q, memory.k, activeSwitches().scale);
    const all = {q, k: memory.k, v: memory.v, ...made, scores};
    all.raw_scores = dotScores(q, memory.k, false);
    all.masked_scores = maskedScores(scores, mask);
    for (const [name, tensor] of Object.entries(all)) this.record(name, tensor);
  }
}

/** FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (§3.3) */
export class FeedForward extends Part {
  kind = "feed_forward";

  constructor(weights, name, activation) {
    super(name);
    this.inner = new Linear(weights, `${name}.inner`);
    this.outer = new Linear(weights, `${name}.outer`);
    this.activation = activation;
  }

  forward(x) {
    const inner = this.inner.forward(x);
    const activated = activate(inner, this.activation);
    const outer = this.outer.forward(activated);
    this.record("inner", inner);
    this.record("activated", activated);
    this.record("outer", outer);
    return outer;
  }
}

/** A sublayer with its residual connection and normalisation: post-norm LN(x + f(x)), pre-norm x + f(LN(x)). */
export class Residual extends Part {
  kind = "residual";
  honours = ["residual_off"];

  constructor(weights, name, config) {
    super(name);
    this.norm = new LayerNorm(weights, `${name}.norm`, config.eps);
    this.before = config.norm === "pre";
  }

  forward(x, sublayer) {
    const inner = this.before ? this.norm.forward(x) : x;
    const added = sublayer(inner);
    const total = activeSwitches().residual_off.includes(this.path) ? added : add(x, added);
    const output = this.before ? total : this.norm.forward(total);
    this.record("norm", this.before ? inner : output);
    this.record("added", added);
    this.record("output", output);
    return output;
  }
}

/** Self-attention, attention over an encoder's output if there is one (`cross`), and feed-forward. */
export class Layer extends Part {
  kind = "layer";
  honours = ["layers_off"];

  constructor(weights, name, config, cross = false) {
    super(name);
    const {positions} = config;
    this.self_ = new MultiHead(weights, `${name}.self_`, config, positions?.inAttention ? positions : null);
    this.add_self = new Residual(weights, `${name}.add_self`, config);
    if (cross) {
      this.cross = new MultiHead(weights, `${name}.cross`, config);
      this.add_cross = new Residual(weights, `${name}.add_cross`, config);
    }
    this.feed_forward = new FeedForward(weights, `${name}.feed_forward`, config.activation);
    this.add_feed_forward = new Residual(weights, `${name}.add_feed_forward`, config);
  }

  /**
   * The output for x [R, T, D], and the keys and values of all tokens so far.
   * `mask` is [T, S] with S the tokens so far, `past` is of the tokens before x, `source` of an encoder's output.
   */
  forward(x, mask = null, past = null, source = null) {
    let present = null;
    let h = this.add_self.forward(x, (y) => {
      const {q, own} = this.self_.project(y, past?.length ?? 0);
      present = past ? past.append(own) : own;
      return this.self_.attend(q, present, mask);
    });
    if (source !== null) h = this.add_cross.forward(h, (y) => this.cross.forward(y, source));
    return {h: this.add_feed_forward.forward(h, (y) => this.feed_forward.forward(y)), present};
  }
}

/** N layers; a pre-norm stack ends with a normalisation. A causal one hides later tokens: a decoder. */
export class Stack extends Part {
  kind = "stack";

  constructor(weights, name, config, layers, {causal = false, cross = false} = {}) {
    super(name);
    this.layers = Array.from({length: layers}, (_, n) => new Layer(weights, `${name}.layers.${n}`, config, cross));
    this.final_norm = config.norm === "pre" ? new LayerNorm(weights, `${name}.final_norm`, config.eps) : null;
    this.causal = causal;
    this.honours = causal ? ["future_mask"] : [];
  }

  /** Each layer's keys and values of an encoder's output [B, S, D], projected once a sentence. */
  remember(memory) {
    return this.layers.map((layer) => layer.cross.remember(memory));
  }

  /** The output [B, T, D] for whole sequences; `source` is what `remember` gave. */
  forward(x, source = []) {
    return this.extend(x, [], source).h;
  }

  /** The output for the next tokens x [R, T, D], and each layer's keys and values of all so far, `past` among them. */
  extend(x, past = [], source = []) {
    const length = x.shape[1];
    const before = past.find((kept) => kept !== null)?.length ?? 0;
    const hides = this.causal && length > 1 && activeSwitches().future_mask;
    const mask = hides ? futureMask(length, before) : null;
    const present = [];
    let h = x;
    this.layers.forEach((layer, n) => {
      const off = activeSwitches().layers_off.includes(layer.path);
      const made = off ? {h, present: null} : layer.forward(h, mask, past[n] ?? null, source[n] ?? null);
      h = made.h;
      present.push(made.present);
    });
    if (this.final_norm !== null) h = this.final_norm.forward(h);
    this.record("output", h);
    return {h, present};
  }
}
