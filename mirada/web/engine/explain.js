// What made a number: for every kind of tensor in a trace, the sum or function that gave that one number.
//
//     explainNumber(view, "encoder.0.self.q", [1, 3, 0])
//     {formula: "q_{t,k} = Σ_d x_{t,d} · W^Q_{k,d} + b^Q_k", terms: [{label, a, b, product}, …], more: {count, sum},
//      bias, sum, after: "tanh" or null, total, value, where: [["μ", 0.1], …], torch: 'trace["…"][3, :] @ state["…"][…] + …'}
//
// `terms` are the largest, `more` the others together; `sum` is all of them and the bias, `total` the function `after` of
// it, and `value` what the trace has. A kind of tensor is a line in the table below.

import {
  activatedBy, addedUp, constant, functionNamed, largestOf, layerOf, normalisedRow, operand, passed, product,
  shareOf, stated, statedIfAny, sumOf, traced,
} from "./explain_sums.js";
import {
  epsilonOf, explainActivated, explainAdded, explainAttentionOutput, explainHead, explainInner, explainMaskedScore,
  explainNorm, explainOuter, explainProjection, explainRawScore, explainResidual, explainScore, explainStackOutput,
  explainWeight, layerNorm,
} from "./explain_layers.js";
import {
  endState, explainAlignment, explainBridge, explainCell, explainContext, explainDecoderOutput, explainFeedback,
  explainJoinedStates, explainMaskedAlignment, lastLayer, topStates,
} from "./explain_recurrent.js";

// Named groups are handed to the function; the first line that matches is taken.
const EXPLANATIONS = [
  // embeddings and positions
  [/^(?:(?<side>source|target)\.)?embeddings$/, explainEmbedding],
  [/^(?:(?<side>source|target)\.)?inputs$/, explainInputs],
  [/^positions\.vectors$/, explainPosition],
  // seq2seq's attention
  [/^attention\.scores$/, explainAlignment],
  [/^attention\.masked_scores$/, explainMaskedAlignment],
  [/^(?<owner>attention)\.weights$/, explainWeight],
  [/^attention\.context$/, explainContext],
  // Transformer layers
  [/^(?<stack>\w+)\.(?<n>\d+)\.(?<sublayer>self|cross)\.(?<which>[qkv])$/, explainProjection],
  [/^(?<owner>\w+\.\d+\.(?:self|cross))\.raw_scores$/, explainRawScore],
  [/^(?<owner>\w+\.\d+\.(?:self|cross))\.scores$/, explainScore],
  [/^(?<owner>\w+\.\d+\.(?:self|cross))\.masked_scores$/, explainMaskedScore],
  [/^(?<owner>\w+\.\d+\.(?:self|cross))\.weights$/, explainWeight],
  [/^(?<owner>\w+\.\d+\.(?:self|cross))\.heads$/, explainHead],
  [/^(?<stack>\w+)\.(?<n>\d+)\.(?<sublayer>self|cross)\.output$/, explainAttentionOutput],
  [/^(?<stack>\w+)\.(?<n>\d+)\.feed_forward\.inner$/, explainInner],
  [/^(?<stack>\w+)\.(?<n>\d+)\.feed_forward\.activated$/, explainActivated],
  [/^(?<stack>\w+)\.(?<n>\d+)\.feed_forward\.outer$/, explainOuter],
  [/^(?<stack>\w+)\.(?<n>\d+)\.add_(?<sublayer>\w+)\.norm$/, explainNorm],
  [/^(?<stack>\w+)\.(?<n>\d+)\.add_(?<sublayer>\w+)\.added$/, explainAdded],
  [/^(?<stack>\w+)\.(?<n>\d+)\.add_(?<sublayer>\w+)\.output$/, explainResidual],
  // recurrent layers
  [/^(?<stack>\w+)\.(?<n>\d+)\.(?<direction>forward|backward)\.(?<symbol>\w+)$/, explainCell],
  [/^(?<stack>recurrent)\.feedback$/, explainFeedback],
  [/^bridge\.h$/, explainBridge],
  // what comes out
  [/^(?<stack>encoder|decoder)\.output$/, explainOutput],
  [/^pooled$/, explainPooled],
  [/^(?<head>output|masked\.output|follows)\.logits$/, explainLogit],
  [/^probabilities$/, explainProbability],
];

/** What made the number of a tensor at an index. */
export function explainNumber(view, path, index) {
  const tensor = view.tensors[path];
  if (!tensor) throw new Error(`the trace has no ${path}`);
  const fits = index.length === tensor.shape.length && index.every((i, axis) => i >= 0 && i < tensor.shape[axis]);
  if (!fits) throw new Error(`${path} is [${tensor.shape}]: it has no number at [${index}]`);
  for (const [pattern, explain] of EXPLANATIONS) {
    const found = pattern.exec(path);
    if (found === null) continue;
    const parts = {...found.groups, ...(found.groups?.n === undefined ? {} : {n: Number(found.groups.n)})};
    return {path, index, ...explain(view, parts, index), value: traced(view, path, ...index).value};
  }
  throw new Error(`there is no explanation of ${path}`);
}

// ── embeddings and positions ────────────────────────────────────────────────────────────────────────────────────────

/** E_{token,d}, of a Transformer √D E_{token,d}, of BERT E_{token,d} + S_{segment,d}. */
function explainEmbedding(view, {side}, [t, d]) {
  const {name, width} = view.entry.config;
  const ids = side === "target" ? view.target : view.source;
  const table = side ? `${side}_embedding` : "embedding";
  if (name === "bert") {
    const token = passed(stated(view, "embedding.weight", t === 0 ? 1 : ids[t - 1], d), "E");
    const segment = passed(stated(view, "segments.weight", 0, d), "S"); // one text alone is segment 0
    return sumOf("x_{t,d} = E_{token_t,d} + S_{segment_t,d}", [token, segment]);
  }
  const own = stated(view, `${table}.weight`, ids[t], d);
  if (name !== "transformer") return sumOf("x_{t,d} = E_{token_t,d}", [passed(own, "E")]);
  const root = constant(Math.sqrt(width), `${width} ** 0.5`);
  return sumOf("x_{t,d} = \\sqrt{D} · E_{token_t,d}", [product(own, root, () => "E · √D")]);
}

/** The embedding with its position; of BERT normalised. */
function explainInputs(view, {side}, [t, d]) {
  const path = side ? `${side}.embeddings` : "embeddings";
  const adds = view.switches.positions && !["rotary", "none"].includes(view.entry.config.positions);
  if (view.entry.config.name === "bert") {
    const x = traced(view, path, t, null);
    if (!adds) return layerNorm(view, "x_{t,d}", x, "norm", d);
    return layerNorm(view, "(x_t + P_t)_d", addedUp(x, traced(view, "positions.vectors", t, null)), "norm", d);
  }
  const x = passed(traced(view, path, t, d), "x");
  if (!adds) return sumOf("x_{t,d}", [x]);
  const position = explainPosition(view, {}, [t, d]);
  const recorded = t < view.tensors["positions.vectors"].shape[0]; // of two sides, the recorder keeps the last
  const place = () => (recorded ? {path: "positions.vectors", index: [t, d]} : null);
  return sumOf("x_{t,d} + P_{t,d}", [x, passed(operand([position.total], position.torch, place), "P")]);
}

/** P_{t,d}: learned, or sin(t / 10000^(2i/D)) and cos(t / 10000^(2i/D)). */
function explainPosition(view, parts, [t, d]) {
  const {positions, width} = view.entry.config;
  if (positions === "learned") return sumOf("P_{t,d}", [passed(stated(view, "positions.table", t, d), "P")]);
  const sines = Math.ceil(width / 2);
  const inHalves = positions === "halves";
  const isCosine = inHalves ? d >= sines : d % 2 === 1;
  const i = inHalves ? d % sines : Math.floor(d / 2);
  const name = isCosine ? "cos" : "sin";
  const rate = constant(10000 ** ((-2 * i) / width), `10000 ** (${-2 * i} / ${width})`);
  const angle = product(constant(t, `${t}`), rate, () => `t · 10000^{−2i/D}, i = ${i}`);
  const wave = {symbol: name, f: Math[name], code: (x) => `torch.tensor(${x}).${name}()`};
  return sumOf(`P_{t,d} = ${name}(\\frac{t}{10000^{2i/D}})`, [angle], [], wave, [["i", i]]);
}

// ── what comes out ──────────────────────────────────────────────────────────────────────────────────────────────────

function explainOutput(view, parts, index) {
  const {stack} = parts;
  if (!view.tensors[`${stack}.0.forward.h`]) return explainStackOutput(view, parts, index);
  return stack === "encoder" ? explainJoinedStates(view, parts, index) : explainDecoderOutput(view, parts, index);
}

/** One vector for a text: of BERT tanh(W h_CLS + b); of others the mean, the largest, the first or the last of all. */
function explainPooled(view, parts, [d]) {
  const {config} = view.entry;
  if (config.name === "bert") {
    return sumOf("pooled_d = tanh(Σ_j W_{d,j} · h_{CLS,j} + b_d)",
      [product(traced(view, "encoder.output", 0, null), stated(view, "pooler.weight", d, null), (j) => `j = ${j}`)],
      [stated(view, "pooler.bias", d)], functionNamed("tanh"));
  }
  const kind = config.pool ?? (config.name === "jordan" ? "last" : "max");
  const label = (t) => `t = ${t}` + (view.labels?.source?.[t] === undefined ? "" : ` “${view.labels.source[t].trim()}”`);
  const column = stepsOf(view, d);
  const steps = column.values.length;
  if (kind === "mean") {
    const share = operand(column.values.map(() => 1 / steps), `torch.full((${steps},), 1 / ${steps})`);
    return sumOf("pooled_d = \\frac{1}{T} Σ_t h_{t,d}", [product(column, share, label)]);
  }
  if (kind === "max") return largestOf("pooled_d = max_t h_{t,d}", column, label);
  const at = endOf(view, kind, column, d);
  return sumOf(kind === "first" ? "pooled_d = h_{1,d}" : "pooled_d = h_{T,d}", [passed(at, "h")]);
}

/** The d-th number of every step's vector. */
function stepsOf(view, d) {
  for (const path of ["encoder.output", "decoder.output"]) if (view.tensors[path]) return traced(view, path, null, d);
  const n = lastLayer(view, "recurrent");
  const width = view.tensors[`recurrent.${n}.forward.h`].shape[1];
  const way = d < width ? "forward" : "backward";
  return traced(view, `recurrent.${n}.${way}.h`, null, d % width);
}

/** The d-th number of the first or the last step's vector; backward, a recurrent network ends at the first. */
function endOf(view, kind, column, d) {
  const n = lastLayer(view, "recurrent");
  if (view.tensors[`recurrent.${n}.forward.h`]) return endState(view, "recurrent", n, "h", d);
  const t = kind === "first" ? 0 : column.values.length - 1;
  return operand([column.values[t]], `${column.code}[${t}]`, () => column.from(t));
}

/** y_v = Σ_d h_d W_{v,d} + b_v */
function explainLogit(view, {head}, index) {
  const v = index.at(-1);
  const h = head === "masked.output" ? maskedVector(view, logitsStep(view, index)) : vectorBefore(view, head, index);
  const bias = statedIfAny(view, `${head}.bias`, v);
  return sumOf(`y_v = Σ_d h_d · W_{v,d}${bias ? " + b_v" : ""}`, [product(h, stated(view, `${head}.weight`, v, null))],
    [bias]);
}

/** Which step a row of the logits belongs to: some are made for words or gaps alone. */
function logitsStep(view, index) {
  const row = index.length > 1 ? index[0] : 0;
  return view.rows ? view.rows[row] : row;
}

/** What the last layer reads. */
function vectorBefore(view, head, index) {
  if (head === "follows" || index.length === 1 && view.tensors.pooled) return traced(view, "pooled", null);
  const t = logitsStep(view, index);
  if (view.tensors["decoder.output"]) return traced(view, "decoder.output", t, null);
  if (!view.tensors["encoder.output"]) return topStates(view, "recurrent", lastLayer(view, "recurrent"), t);
  const first = view.entry.config.name === "bert" ? 1 : 0; // [CLS]
  return traced(view, "encoder.output", t + first, null);
}

/** norm(g(W h)): what BERT's words are chosen by. */
function maskedVector(view, t) {
  const h = traced(view, "encoder.output", t + 1, null);
  const dense = layerOf(view, "masked.dense", h);
  return normalisedRow(view, activatedBy(view.entry.config.activation, dense), "masked.norm", epsilonOf(view));
}

/** p_v = exp(y_v) / Σ_j exp(y_j) */
function explainProbability(view, parts, index) {
  const path = view.tensors["output.logits"] ? "output.logits" : "masked.output.logits";
  const label = (v) => view.vocabulary?.(v) ?? view.entry.labels?.[v] ?? `v = ${v}`;
  return shareOf("p_v = \\frac{exp(y_v)}{Σ_j exp(y_j)}", "y", traced(view, path, ...index.slice(0, -1), null), index.at(-1), label);
}
