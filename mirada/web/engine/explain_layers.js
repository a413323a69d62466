// What made the numbers of Transformer layers and of attention: formulas as in `mirada/nn/blocks.py` and `attention.py`.
//
// Each function is given the view, the parts of the path, and the index of one number.

import {
  addedUp, constant, functionNamed, normalisedNumber, operand, passed, product, scaledBy, shareOf, stated, sumOf, traced,
} from "./explain_sums.js";

// ── where a layer's tensors come from ───────────────────────────────────────────────────────────────────────────────

/** The path of what a stack reads. */
function stackInput(view, stack) {
  const side = stack === "encoder" ? "source" : "target";
  return view.tensors[`${side}.inputs`] ? `${side}.inputs` : "inputs";
}

/** The path of what the n-th layer of a stack reads: the output of the last layer below it that is not left out. */
function layerInput(view, stack, n) {
  for (let below = n - 1; below >= 0; below--) {
    const path = `${stack}.${below}.add_feed_forward.output`;
    if (view.tensors[path]) return path;
  }
  return stackInput(view, stack);
}

/** The path of what a residual connection passes on. */
function residualInput(view, stack, n, sublayer) {
  if (sublayer === "self") return layerInput(view, stack, n);
  const cross = `${stack}.${n}.add_cross.output`;
  return sublayer === "feed_forward" && view.tensors[cross] ? cross : `${stack}.${n}.add_self.output`;
}

/** The path of what a sublayer reads: pre-norm the normalised vectors, post-norm the vectors themselves. */
function sublayerInput(view, stack, n, sublayer) {
  return isPre(view) ? `${stack}.${n}.add_${sublayer}.norm` : residualInput(view, stack, n, sublayer);
}

function isPre(view) {
  return view.entry.config.norm === "pre";
}

export function epsilonOf(view) {
  return view.entry.config.eps ?? 1e-5;
}

/** The name of a layer's part in the state dictionary. */
function nameInState(stack, n, part) {
  return `${stack}.layers.${n}.${part === "self" ? "self_" : part}`;
}

// ── multi-head attention ────────────────────────────────────────────────────────────────────────────────────────────

const PROJECTIONS = {q: "query", k: "key", v: "value"};

/** q_{t,k} = Σ_d x_{t,d} W^Q_{k,d} + b^Q_k, for each head with rows of W of its own; k and v alike. */
export function explainProjection(view, {stack, n, sublayer, which}, [head, t, k]) {
  const fromSource = sublayer === "cross" && which !== "q";
  const x = traced(view, fromSource ? "encoder.output" : sublayerInput(view, stack, n, sublayer), t, null);
  const width = view.tensors[`${stack}.${n}.${sublayer}.${which}`].shape[2];
  const name = `${nameInState(stack, n, sublayer)}.${PROJECTIONS[which]}`;
  const row = (i) => [stated(view, `${name}.weight`, head * width + i, null), stated(view, `${name}.bias`, head * width + i)];
  const symbol = which.toUpperCase();
  const formula = `${which}_{t,k} = Σ_d x_{t,d} · W^${symbol}_{k,d} + b^${symbol}_k`;
  const [weight, bias] = row(k);
  const turns = sublayer === "self" && which !== "v" && view.entry.config.positions === "rotary" && view.switches.positions;
  if (!turns) return sumOf(formula, [product(x, weight)], [bias]);
  const {cos, sin, other} = rotation(t, k, width);
  const [otherWeight, otherBias] = row(other);
  const turned = (one, two) => addedUp(scaledBy(one, cos), scaledBy(two, sin));
  const where = [["cos(t θ)", cos.value], ["± sin(t θ)", sin.value]];
  return sumOf(
    `${which}_{t,k} = Σ_d x_{t,d} · (W_{k,d} cos(t θ_k) ± W_{k',d} sin(t θ_k)) + b_k cos(t θ_k) ± b_{k'} sin(t θ_k)`,
    [product(x, turned(weight, otherWeight))], [turned(bias, otherBias)], null, where);
}

/** How rotary positions turn the k-th number of a head at step t, and with which other one: θ = 10000^(−2i/K). */
function rotation(t, k, width) {
  const half = width / 2;
  const [i, sign] = k < half ? [k, -1] : [k - half, 1];
  const angle = `torch.tensor(${t} * 10000 ** (${-2 * i} / ${width}))`;
  const theta = t * 10000 ** ((-2 * i) / width);
  return {
    cos: constant(Math.cos(theta), `${angle}.cos()`),
    sin: constant(sign * Math.sin(theta), `${sign < 0 ? "-" : ""}${angle}.sin()`),
    other: k < half ? k + half : k - half,
  };
}

/** q_t · k_s = Σ_k q_{t,k} k_{s,k} */
export function explainRawScore(view, {owner}, [head, t, s]) {
  const [q, k] = [traced(view, `${owner}.q`, head, t, null), traced(view, `${owner}.k`, head, s, null)];
  return sumOf("q_t · k_s = Σ_k q_{t,k} · k_{s,k}", [product(q, k, (i) => `k = ${i}`)]);
}

/** q_t · k_s / √d_k */
export function explainScore(view, {owner}, [head, t, s]) {
  const raw = traced(view, `${owner}.raw_scores`, head, t, s);
  if (!view.switches.scale) return sumOf("e_{t,s} = q_t · k_s", [passed(raw, "q_t · k_s")]);
  const width = view.tensors[`${owner}.q`].shape[2];
  const root = constant(1 / Math.sqrt(width), `${width} ** -0.5`);
  return sumOf("e_{t,s} = \\frac{q_t · k_s}{\\sqrt{d_k}}", [product(raw, root, () => "q_t · k_s · 1/√d_k")]);
}

/** The score, or −∞ where the mask hides the token. */
export function explainMaskedScore(view, {owner}, [head, t, s]) {
  const score = traced(view, `${owner}.scores`, head, t, s);
  const hides = hasFutureMask(view, owner) && s > t;
  if (!hides) return sumOf("e_{t,s}", [passed(score, "score")]);
  const made = sumOf("e_{t,s} = −∞   s > t", [passed(constant(-Infinity, "-torch.inf"), "mask")]);
  return {...made, torch: `torch.where(torch.tensor(${s} > ${t}), -torch.inf, ${score.code})`};
}

/** Whether later tokens are hidden from an attention: from a decoder's to itself. */
function hasFutureMask(view, owner) {
  const causal = owner.startsWith("decoder.") || view.entry.sizes?.causal;
  return causal && owner.endsWith(".self") && view.switches.future_mask;
}

/** α_{t,s} = exp(e_{t,s}) / Σ_j exp(e_{t,j}) */
export function explainWeight(view, {owner}, [head, t, s]) {
  const row = traced(view, `${owner}.masked_scores`, head, t, null);
  const formula = "α_{t,s} = \\frac{exp(e_{t,s})}{Σ_j exp(e_{t,j})}";
  return shareOf(formula, "e", row, s, (j) => tokenLabel(view, owner, j));
}

/** z_{t,k} = Σ_s α_{t,s} v_{s,k} */
export function explainHead(view, {owner}, [head, t, k]) {
  const off = view.switches.heads_off.some(([path, number]) => path === owner && number === head);
  if (off) return sumOf("z_{t,k} = 0", []);
  const weights = traced(view, `${owner}.weights`, head, t, null);
  const values = traced(view, `${owner}.v`, head, null, k);
  return sumOf("z_{t,k} = Σ_s α_{t,s} · v_{s,k}", [product(weights, values, (s) => tokenLabel(view, owner, s))]);
}

/** output_{t,d} = Σ_i [head_1; …; head_H]_{t,i} W^O_{d,i} + b^O_d */
export function explainAttentionOutput(view, {stack, n, sublayer}, [t, d]) {
  const path = `${stack}.${n}.${sublayer}.heads`;
  const [heads, , width] = view.tensors[path].shape;
  const rows = Array.from({length: heads}, (_, head) => traced(view, path, head, t, null).values);
  const from = (i) => ({path, index: [Math.floor(i / width), t, i % width]});
  const joined = operand(rows.flat(), `trace["${path}"][:, ${t}].flatten()`, from);
  const name = `${nameInState(stack, n, sublayer)}.output`;
  const label = (i) => `head ${Math.floor(i / width)}, k = ${i % width}`;
  return sumOf("output_{t,d} = Σ_i [head_1; …; head_H]_{t,i} · W^O_{d,i} + b^O_d",
    [product(joined, stated(view, `${name}.weight`, d, null), label)], [stated(view, `${name}.bias`, d)]);
}

/** What a key stands for: the token's piece, with its place. */
function tokenLabel(view, owner, s) {
  const side = owner.startsWith("decoder") && owner.endsWith(".self") && view.target ? "target" : "source";
  const piece = view.labels?.[side]?.[s];
  return piece === undefined ? `s = ${s}` : `s = ${s} “${piece.trim()}”`;
}

// ── feed-forward, residual connections, normalisation ───────────────────────────────────────────────────────────────

/** inner_i = Σ_d x_d W_{1;i,d} + b_{1;i} */
export function explainInner(view, {stack, n}, [t, i]) {
  const x = traced(view, sublayerInput(view, stack, n, "feed_forward"), t, null);
  const name = `${stack}.layers.${n}.feed_forward.inner`;
  return sumOf("inner_{t,i} = Σ_d x_{t,d} · W_{1;i,d} + b_{1;i}",
    [product(x, stated(view, `${name}.weight`, i, null))], [stated(view, `${name}.bias`, i)]);
}

/** g(inner_i) */
export function explainActivated(view, {stack, n}, [t, i]) {
  const inner = traced(view, `${stack}.${n}.feed_forward.inner`, t, i);
  const g = functionNamed(view.entry.config.activation ?? "relu");
  return sumOf(`activated_{t,i} = ${g.symbol}(inner_{t,i})`, [passed(inner, "inner")], [], g);
}

/** outer_d = Σ_i activated_i W_{2;d,i} + b_{2;d} */
export function explainOuter(view, {stack, n}, [t, d]) {
  const activated = traced(view, `${stack}.${n}.feed_forward.activated`, t, null);
  const name = `${stack}.layers.${n}.feed_forward.outer`;
  return sumOf("outer_{t,d} = Σ_i activated_{t,i} · W_{2;d,i} + b_{2;d}",
    [product(activated, stated(view, `${name}.weight`, d, null), (i) => `i = ${i}`)], [stated(view, `${name}.bias`, d)]);
}

/** What a sublayer gave. */
export function explainAdded(view, {stack, n, sublayer}, [t, d]) {
  const name = sublayer === "feed_forward" ? "outer" : "output";
  return sumOf("f(x)_{t,d}", [passed(traced(view, `${stack}.${n}.${sublayer}.${name}`, t, d), "f(x)")]);
}

/** Pre-norm: LN(x), which the sublayer reads. Post-norm: LN(x + f(x)), which is the output. */
export function explainNorm(view, parts, [t, d]) {
  if (!isPre(view)) return explainResidual(view, parts, [t, d]);
  const {stack, n, sublayer} = parts;
  const x = traced(view, residualInput(view, stack, n, sublayer), t, null);
  return layerNorm(view, "x_{t,d}", x, `${stack}.layers.${n}.add_${sublayer}.norm`, d);
}

/** Pre-norm: x + f(x). Post-norm: LN(x + f(x)). A residual connection that is cut leaves f(x) alone. */
export function explainResidual(view, {stack, n, sublayer}, [t, d]) {
  const add = `${stack}.${n}.add_${sublayer}`;
  const cut = view.switches.residual_off.includes(add);
  const from = residualInput(view, stack, n, sublayer);
  if (isPre(view)) {
    const added = passed(traced(view, `${add}.added`, t, d), "f(LN(x))");
    if (cut) return sumOf("y_{t,d} = f(LN(x))_{t,d}", [added]);
    return sumOf("y_{t,d} = x_{t,d} + f(LN(x))_{t,d}", [passed(traced(view, from, t, d), "x"), added]);
  }
  const added = traced(view, `${add}.added`, t, null);
  const total = cut ? added : addedUp(traced(view, from, t, null), added);
  return layerNorm(view, cut ? "f(x)_{t,d}" : "(x + f(x))_{t,d}", total, `${stack}.layers.${n}.add_${sublayer}.norm`, d);
}

/** What a stack gives: the last layer's output, of a pre-norm stack normalised. */
export function explainStackOutput(view, {stack}, [t, d]) {
  const from = layerInput(view, stack, layersOf(view, stack));
  if (!isPre(view)) return sumOf("h_{t,d} = x_{t,d}", [passed(traced(view, from, t, d), "x")]);
  return layerNorm(view, "x_{t,d}", traced(view, from, t, null), `${stack}.final_norm`, d);
}

function layersOf(view, stack) {
  let n = 0;
  while (view.weights.has(`${stack}.layers.${n}.feed_forward.inner.weight`)) n++;
  return n;
}

export function layerNorm(view, symbol, x, name, d) {
  const formula = `LN(x)_d = \\frac{${symbol} − μ_t}{σ_t} · γ_d + β_d`;
  return normalisedNumber(view, formula, x, name, epsilonOf(view), d);
}
