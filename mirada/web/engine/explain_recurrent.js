// What made the numbers of recurrent networks: the cells' equations (`mirada/nn/recurrent.py`), and the bridge, the
// attention and the output of a recurrent encoder–decoder (`mirada/models/seq2seq.py`).

import {
  activatedBy, addedUp, functionNamed, layerOf, operand, passed, product, scaledBy, shareOf, sideBySide, stated,
  statedIfAny, sumOf, traced,
} from "./explain_sums.js";

// ── cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The gates of a kind of cell, in the order of their rows in U and W. */
const GATE_ROWS = {lstm: ["i", "f", "candidate", "o"], gru: ["r", "z", "candidate"]};

const GATE_FUNCTIONS = {i: "sigmoid", f: "sigmoid", o: "sigmoid", r: "sigmoid", z: "sigmoid", candidate: "tanh"};

const GATE_SYMBOLS = {i: "i", f: "f", o: "o", r: "r", z: "z", candidate: "\\tilde{C}"};

/** A number of a cell at step t, by its symbol: a gate, the LSTM's C_t, or h_t. */
export function explainCell(view, parts, index) {
  const cell = {...parts, kind: cellKind(view)};
  if (cell.symbol in GATE_FUNCTIONS) return cell.kind === "gru" ? gruGate(view, cell, index) : gate(view, cell, index);
  if (cell.symbol === "c") return lstmMemory(view, cell, index);
  return {lstm: lstmState, gru: gruState}[cell.kind]?.(view, cell, index) ?? plainState(view, cell, index);
}

function cellKind(view) {
  return view.entry.config.name.replace("seq2seq-", "");
}

/** σ or tanh of Σ_j W_{d,j} h_{t−1,j} + Σ_j U_{d,j} x_{t,j} + b */
function gate(view, cell, [t, d]) {
  const row = gateRow(view, cell, cell.symbol, d);
  const symbol = GATE_SYMBOLS[cell.symbol];
  const g = functionNamed(GATE_FUNCTIONS[cell.symbol]);
  return sumOf(
    `${symbol}_{t,d} = ${g.symbol}(Σ_j W_{d,j} · h_{t−1,j} + Σ_j U_{d,j} · x_{t,j} + b_d)`,
    [fromInput(view, cell, t, row), ...fromBefore(view, cell, t, row)], biasesOf(view, cell, row), g);
}

/** The gates of a GRU; in h̃ the gate r_t multiplies what comes from the state before. */
function gruGate(view, cell, [t, d]) {
  if (cell.symbol !== "candidate") return gate(view, cell, [t, d]);
  const row = gateRow(view, cell, "candidate", d);
  const r = traced(view, pathOf(cell, "r"), t, d);
  const before = stateBefore(view, cell, t);
  const weight = scaledBy(stated(view, nameOf(cell, "W"), row, null), r);
  const bias = scaledBy(stated(view, nameOf(cell, "b_W"), row), r);
  return sumOf(
    "\\tilde{h}_{t,d} = tanh(Σ_j U_{d,j} · x_{t,j} + r_{t,d} · (Σ_j W_{d,j} · h_{t−1,j} + b^W_d) + b^U_d)",
    [fromInput(view, cell, t, row), ...(before ? [product(before, weight, (j) => `r · W h_{t−1}: j = ${j}`)] : [])],
    [stated(view, nameOf(cell, "b_U"), row), bias], functionNamed("tanh"), [["r_{t,d}", r.value]]);
}

/** C_t = f_t ⊙ C_{t−1} + i_t ⊙ C̃_t */
function lstmMemory(view, cell, [t, d]) {
  const at = (symbol) => traced(view, pathOf(cell, symbol), t, d);
  const before = memoryBefore(view, cell, t, d);
  const kept = before ? [product(at("f"), before, () => "f_t · C_{t−1}")] : [];
  return sumOf("C_{t,d} = f_{t,d} · C_{t−1,d} + i_{t,d} · \\tilde{C}_{t,d}",
    [...kept, product(at("i"), at("candidate"), () => "i_t · C̃_t")]);
}

/** h_t = o_t ⊙ tanh(C_t) */
function lstmState(view, cell, [t, d]) {
  const c = activatedBy("tanh", traced(view, pathOf(cell, "c"), t, d));
  return sumOf("h_{t,d} = o_{t,d} · tanh(C_{t,d})", [product(traced(view, pathOf(cell, "o"), t, d), c, () => "o_t · tanh(C_t)")]);
}

/** h_t = z_t ⊙ h_{t−1} + (1 − z_t) ⊙ h̃_t */
function gruState(view, cell, [t, d]) {
  const z = traced(view, pathOf(cell, "z"), t, d);
  const rest = operand([1 - z.value], `(1 - ${z.code})`, () => z.from(0));
  const before = stateBefore(view, cell, t, d);
  const kept = before ? [product(z, before, () => "z_t · h_{t−1}")] : [];
  const candidate = traced(view, pathOf(cell, "candidate"), t, d);
  return sumOf("h_{t,d} = z_{t,d} · h_{t−1,d} + (1 − z_{t,d}) · \\tilde{h}_{t,d}",
    [...kept, product(rest, candidate, () => "(1 − z_t) · h̃_t")]);
}

/** h_t = g(W h_{t−1} + U x_t) of an Elman network; of a Jordan network W o_{t−1}; of a memoryless one U x_t alone. */
function plainState(view, cell, [t, d]) {
  const g = functionNamed(view.entry.config.activation ?? "tanh");
  const from = {elman: "Σ_j W_{d,j} · h_{t−1,j} + ", jordan: "Σ_j W_{d,j} · o_{t−1,j} + "}[cell.kind] ?? "";
  const shown = view.weights.has(nameOf(cell, "W")) ? from : "";
  return sumOf(`h_{t,d} = ${g.symbol}(${shown}Σ_j U_{d,j} · x_{t,j} + b_d)`,
    [fromInput(view, cell, t, d), ...fromBefore(view, cell, t, d)], biasesOf(view, cell, d), g);
}

// ── what a cell reads ───────────────────────────────────────────────────────────────────────────────────────────────

function pathOf({stack, n, direction}, symbol) {
  return `${stack}.${n}.${direction}.${symbol}`;
}

function nameOf({stack, n, direction}, parameter) {
  return `${stack}.layers.${n}.${direction}_.${parameter}`;
}

/** The row of a gate's d-th number in U and W. */
function gateRow(view, cell, symbol, d) {
  const gates = GATE_ROWS[cell.kind];
  return gates.indexOf(symbol) * (view.weights.get(nameOf(cell, "U")).shape[0] / gates.length) + d;
}

/** U x_t: of the first layer the embedding, and the context where the decoder attends before the step. */
function fromInput(view, cell, t, row) {
  const weight = stated(view, nameOf(cell, "U"), row, null);
  const {x, label} = inputOf(view, cell, t);
  return product(x, weight, label);
}

function inputOf(view, cell, t) {
  if (cell.n > 0) return {x: topStates(view, cell.stack, cell.n - 1, t), label: (j) => `U x_t: j = ${j}`};
  const x = traced(view, {encoder: "source.embeddings", decoder: "target.embeddings"}[cell.stack] ?? "embeddings", t, null);
  if (cell.stack !== "decoder" || !attendsBefore(view)) return {x, label: (j) => `U x_t: j = ${j}`};
  const width = x.values.length;
  const label = (j) => (j < width ? `U x_t: j = ${j}` : `U c_t: j = ${j - width}`);
  return {x: sideBySide(x, traced(view, "attention.context", t, null)), label};
}

function attendsBefore(view) {
  const {attention, attend} = view.entry.config;
  return attention !== undefined && attention !== "none" && attend === "before";
}

/** h_t of a layer, in both directions side by side. */
export function topStates(view, stack, n, t) {
  const ways = ["forward", "backward"].filter((way) => view.tensors[`${stack}.${n}.${way}.h`]);
  return sideBySide(...ways.map((way) => traced(view, `${stack}.${n}.${way}.h`, t, null)));
}

/** W h_{t−1}, or W o_{t−1}; nothing before the first step, where they are zeros. */
function fromBefore(view, cell, t, row) {
  if (!view.weights.has(nameOf(cell, "W"))) return [];
  const weight = stated(view, nameOf(cell, "W"), row, null);
  if (cell.kind !== "jordan") {
    const h = stateBefore(view, cell, t);
    return h ? [product(h, weight, (j) => `W h_{t−1}: j = ${j}`)] : [];
  }
  return t > 0 ? [product(traced(view, `${cell.stack}.feedback`, t - 1, null), weight, (j) => `W o_{t−1}: j = ${j}`)] : [];
}

function biasesOf(view, cell, row) {
  return [statedIfAny(view, nameOf(cell, "b_U"), row), statedIfAny(view, nameOf(cell, "b_W"), row)];
}

/** The step that a cell was at before step t, or −1. */
function stepBefore(view, cell, t) {
  if (cell.direction === "forward") return t - 1;
  return t + 1 < view.tensors[pathOf(cell, "h")].shape[0] ? t + 1 : -1;
}

/** h_{t−1}, or one number of it; null where it is zeros. A decoder begins with the bridge's. */
function stateBefore(view, cell, t, d = null) {
  const before = stepBefore(view, cell, t);
  if (before >= 0) return traced(view, pathOf(cell, "h"), before, d);
  return cell.stack === "decoder" ? traced(view, "bridge.h", cell.n, d) : null;
}

/** C_{t−1,d}; null where it is zero. A decoder begins with the encoder's last ones, both directions side by side. */
function memoryBefore(view, cell, t, d) {
  const before = stepBefore(view, cell, t);
  if (before >= 0) return traced(view, pathOf(cell, "c"), before, d);
  return cell.stack === "decoder" ? endState(view, "encoder", cell.n, "c", d) : null;
}

/** A number of [h→_T; h←_1], or of the LSTM's C: where a layer's directions ended. */
export function endState(view, stack, n, symbol, d) {
  const [steps, width] = view.tensors[`${stack}.${n}.forward.${symbol}`].shape;
  if (d < width) return traced(view, `${stack}.${n}.forward.${symbol}`, steps - 1, d);
  return traced(view, `${stack}.${n}.backward.${symbol}`, 0, d - width);
}

// ── the encoder–decoder ─────────────────────────────────────────────────────────────────────────────────────────────

/** h_t of the last layer, one number of both directions side by side. */
export function explainJoinedStates(view, {stack}, [t, d]) {
  const n = lastLayer(view, stack);
  const width = view.tensors[`${stack}.${n}.forward.h`].shape[1];
  const [way, at] = d < width ? ["forward", d] : ["backward", d - width];
  return sumOf("h_t = [h→_t; h←_t]", [passed(traced(view, `${stack}.${n}.${way}.h`, t, at), `h, ${way}`)]);
}

export function lastLayer(view, stack) {
  let n = 0;
  while (view.tensors[`${stack}.${n + 1}.forward.h`]) n++;
  return n;
}

/** s_0 = tanh(W h_end + b), for each layer */
export function explainBridge(view, parts, [layer, d]) {
  const ways = ["forward", "backward"].filter((way) => view.tensors[`encoder.${layer}.${way}.h`]);
  const last = view.tensors[`encoder.${layer}.forward.h`].shape[0] - 1;
  const ends = ways.map((way) => traced(view, `encoder.${layer}.${way}.h`, way === "forward" ? last : 0, null));
  return sumOf("s_{0,d} = tanh(Σ_j W_{d,j} · [h→_S; h←_1]_j + b_d)",
    [product(sideBySide(...ends), stated(view, "bridge.weight", d, null), (j) => `j = ${j}`)],
    [stated(view, "bridge.bias", d)], functionNamed("tanh"));
}

/** The state that asks: s_{t−1} before the step, s_t after it. */
function attendingState(view, t) {
  const cell = {stack: "decoder", n: lastLayer(view, "decoder"), direction: "forward"};
  return attendsBefore(view) ? stateBefore(view, cell, t) : traced(view, pathOf(cell, "h"), t, null);
}

/** e_{t,s}: sᵀ h, sᵀ W h, or vᵀ tanh(W s + U h + b), of the state s_t or, before the step, s_{t−1} */
export function explainAlignment(view, parts, [, t, s]) {
  const query = attendingState(view, t);
  const h = traced(view, "encoder.output", s, null);
  const {attention} = view.entry.config;
  const step = attendsBefore(view) ? "t−1" : "t";
  if (attention === "dot") return sumOf(`e_{t,s} = Σ_d s_{${step},d} · h_{s,d}`, [product(query, h)]);
  const key = layerOf(view, "score.key", h);
  if (attention === "general") return sumOf(`e_{t,s} = Σ_d s_{${step},d} · (W h_s)_d`, [product(query, key)]);
  const inner = activatedBy("tanh", addedUp(layerOf(view, "score.query", query), key));
  return sumOf(`e_{t,s} = Σ_i v_i · tanh(W s_{${step}} + U h_s + b)_i`,
    [product(stated(view, "score.score.weight", 0, null), inner, (i) => `i = ${i}`)]);
}

/** The scores themselves: a sentence by itself has no padding to hide. */
export function explainMaskedAlignment(view, parts, [head, t, s]) {
  return sumOf("e_{t,s}", [passed(traced(view, "attention.scores", head, t, s), "score")]);
}

/** c_t = Σ_s α_{t,s} h_s */
export function explainContext(view, parts, [t, d]) {
  const label = (s) => `s = ${s}` + (view.labels?.source?.[s] === undefined ? "" : ` “${view.labels.source[s].trim()}”`);
  return sumOf("c_{t,d} = Σ_s α_{t,s} · h_{s,d}",
    [product(traced(view, "attention.weights", 0, t, null), traced(view, "encoder.output", null, d), label)]);
}

/** u_t = tanh(W [c_t; s_t] + b); without attention u_t = s_t */
export function explainDecoderOutput(view, parts, [t, d]) {
  const s = traced(view, `decoder.${lastLayer(view, "decoder")}.forward.h`, t, null);
  if (!view.tensors["attention.context"]) return sumOf("u_{t,d} = s_{t,d}", [passed(operandAt(s, d), "s_t")]);
  const context = traced(view, "attention.context", t, null);
  const label = (j) => (j < context.values.length ? `c_t: j = ${j}` : `s_t: j = ${j - context.values.length}`);
  return sumOf("u_{t,d} = tanh(Σ_j W_{d,j} · [c_t; s_t]_j + b_d)",
    [product(sideBySide(context, s), stated(view, "join.weight", d, null), label)], [stated(view, "join.bias", d)],
    functionNamed("tanh"));
}

function operandAt(row, d) {
  return operand([row.values[d]], `${row.code}[${d}]`, () => row.from(d));
}

/** o_t = softmax(V h_t + b): what a Jordan network gets of its last step */
export function explainFeedback(view, {stack}, [t, o]) {
  const logits = layerOf(view, "output", topStates(view, stack, lastLayer(view, stack), t));
  return shareOf("o_{t,k} = \\frac{exp(y_k)}{Σ_j exp(y_j)}   y = V h_t + b", "y", logits, o,
    (j) => (view.entry.labels?.[j] === undefined ? `j = ${j}` : view.entry.labels[j]));
}
