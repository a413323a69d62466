// The walk through Transformers: encoder–decoder, encoder alone (BERT, readers), decoder alone (GPT).
// Each function describes a part of the pass as steps; their order is that of `Layer.forward` in mirada/nn/blocks.py.

import {
  derivedView, joinedHeads, largestOfRow, noteLine, numbersLine, parameterLine, rowMoments, shapeText, tokensLine,
  walkStep,
} from "./walk_steps.js";
import {readoutSteps} from "./walk_output.js";

/** The sections of the walk through one stack and the chosen layer of it: {key, words, steps}. */
export function transformerWalk(walk) {
  const {stack, layer} = walk;
  const path = `${stack}.${layer}`;
  const words = {layer};
  const off = walk.off.layers.includes(path);
  const cross = () => ({key: "cross", words, steps: crossSteps(walk, path)});
  if (walk.crossOnly) return [off ? {key: "layer_off", words, steps: []} : cross()];
  const inner = off
    ? [{key: "layer_off", words, steps: []}]
    : [
        {key: walk.causal ? "masked_self" : "self", words, steps: selfSteps(walk, path)},
        ...(walk.has(`${path}.cross.q`) ? [cross()] : []),
        {key: "feed_forward", words, steps: feedForwardSteps(walk, path)},
      ];
  return [
    {key: "input", words, steps: inputSteps(walk)},
    ...inner,
    {key: walk.side === "source" ? "memory" : "output", words, steps: outputSteps(walk)},
  ];
}

// ── what goes in ────────────────────────────────────────────────────────────────────────────────────────────────────

function inputSteps(walk) {
  const {D, N, entry} = walk;
  const bert = entry.architecture === "bert";
  const root = walk.scalesEmbeddings;
  const looked = root ? "x_t = \\sqrt{D} · E_{token_t}" : "x_t = E_{token_t}";
  const steps = [
    walkStep("embedding", bert ? "embedding_segments" : root ? "embedding_scaled" : "embedding",
      bert ? "x_t = E_{token_t} + S_0" : looked, shapeText([N], "→", [N, D]), [[
        tokensLine(),
        parameterLine(root ? `√${D} ·` : "", "E", [entry.sizes?.inputs ?? "V", D]),
        walk.numbers("=", "x_t", walk.embeddings),
      ]], {D, root: walk.shown(Math.sqrt(D), 2)}),
  ];
  if (["sinusoidal", "halves", "learned"].includes(walk.positions)) steps.push(positionStep(walk, bert));
  return steps;
}

function positionStep(walk, bert) {
  const {D, N} = walk;
  const learned = walk.positions === "learned";
  const halves = walk.positions === "halves";
  const waves = halves
    ? "P_{t,i} = sin \\frac{t}{10000^{2i/D}}   P_{t,D/2+i} = cos \\frac{t}{10000^{2i/D}}"
    : "P_{t,2i} = sin \\frac{t}{10000^{2i/D}}   P_{t,2i+1} = cos \\frac{t}{10000^{2i/D}}";
  const sum = bert ? "LN(x_t + P_t)" : "x_t + P_t";
  const lines = [walk.numbers("", "x_t", walk.embeddings)];
  if (!walk.off.positions) lines.push(positionLine(walk, bert));
  lines.push(walk.numbers("=", walk.off.positions ? "x_t" : sum, walk.inputs));
  return walkStep("position", bert ? "position_bert" : learned ? "position_learned" : "position", learned ? sum : waves,
    shapeText([N, D], "+", [N, D], "=", [N, D]), [lines], {D}, walk.off.positions ? "positions" : null);
}

/** P_t: as it was recorded, or, where the trace keeps that of the other side, the difference it made. */
function positionLine(walk, normalised) {
  const table = walk.view("positions.vectors");
  if (table && (normalised || table.rows >= walk.N)) {
    return numbersLine("+", "P_t", {...table, rows: walk.N});
  }
  const [before, after] = [walk.view(walk.embeddings), walk.view(walk.inputs)];
  return numbersLine("+", "P_t", derivedView(before, (r, c) => after.value(r, c) - before.value(r, c)));
}

// ── attention ───────────────────────────────────────────────────────────────────────────────────────────────────────

function selfSteps(walk, path) {
  const from = walk.outputOf(walk.layer - 1);
  const add = `${path}.add_self`;
  const read = walk.pre ? `${add}.norm` : from;
  return [
    ...(walk.pre ? [normStep(walk, "norm_self", "norm", from, `${add}.norm`)] : []),
    ...attentionSteps(walk, `${path}.self`, read, read, "self"),
    addStep(walk, "add_self", from, add),
  ];
}

function crossSteps(walk, path) {
  const from = `${path}.add_self.output`;
  const add = `${path}.add_cross`;
  const read = walk.pre ? `${add}.norm` : from;
  return [
    ...(walk.pre ? [normStep(walk, "norm_cross", "norm", from, `${add}.norm`)] : []),
    ...attentionSteps(walk, `${path}.cross`, read, "encoder.output", "cross"),
    addStep(walk, "add_cross", from, add),
  ];
}

function attentionSteps(walk, path, queries, keys, id) {
  const crossing = queries !== keys;
  const labels = crossing ? walk.sourceRows : walk.rows;
  const one = {lead: [walk.head], columnLabels: labels};
  return [
    projectionStep(walk, path, queries, keys, id, labels),
    scoreStep(walk, path, id, one, labels),
    scaleStep(walk, path, id, one),
    maskStep(walk, path, id, one, crossing),
    softmaxStep(walk, path, id, one),
    sumStep(walk, path, id, one, labels),
    ...headSteps(walk, path, id),
  ];
}

function projectionStep(walk, path, queries, keys, id, labels) {
  const {D, K, N, head} = walk;
  const crossing = queries !== keys;
  const from = crossing ? "h_s" : "x_s";
  const rotary = walk.positions === "rotary" && !crossing && !walk.off.positions;
  const turned = (side, product) => (rotary ? `R_${side} (${product})` : product);
  const equation = (letter, name, source, symbol, rows) => [
    walk.numbers("", symbol, source, rows),
    parameterLine("·", `W_{${head}}^${letter}`, [D, K]),
    parameterLine("+", `b_{${head}}^${letter}`, [K]),
    walk.numbers("=", name, `${path}.${name[0]}`, {lead: [head], ...rows}),
  ];
  const others = crossing ? {rows: "all", labels} : {};
  const formulas = [
    `q_t = ${turned("t", "x_t W^Q + b^Q")}`,
    `k_s = ${turned("s", `${from} W^K + b^K`)}`,
    `v_s = ${from} W^V + b^V`,
  ];
  return walkStep(`${id}_qkv`, crossing ? "qkv_cross" : rotary ? "qkv_rotary" : "qkv", formulas.join("   "),
    shapeText([N, D], "·", [D, K], "=", [N, K]), [
      equation("Q", "q_t", queries, "x_t", {}),
      equation("K", "k_s", keys, from, others),
      equation("V", "v_s", keys, from, others),
    ], {D, K, head, H: walk.H});
}

function scoreStep(walk, path, id, one, labels) {
  const {K, N} = walk;
  return walkStep(`${id}_raw`, "raw_scores", "q_t · k_s = Σ_i q_{t,i} k_{s,i}",
    shapeText([N, K], "·", [K, labels.length], "=", [N, labels.length]), [[
      walk.numbers("", "q_t", `${path}.q`, {lead: [walk.head]}),
      walk.numbers("·", "k_s", `${path}.k`, {lead: [walk.head], rows: "all", labels}),
      walk.numbers("=", "q_t · k_s", `${path}.raw_scores`, one),
    ]], {K});
}

function scaleStep(walk, path, id, one) {
  const {K, N, off} = walk;
  const root = walk.shown(Math.sqrt(K), 3);
  const divide = noteLine("÷", "\\sqrt{d_k}", () => `√${K} = ${root}`);
  return walkStep(`${id}_scale`, "scale", "e_{t,s} = \\frac{q_t · k_s}{\\sqrt{d_k}}",
    shapeText([N, one.columnLabels.length], "÷", `√${K}`), [[
      walk.numbers("", "q_t · k_s", `${path}.raw_scores`, one),
      ...(off.scale ? [] : [divide]),
      walk.numbers("=", "e_t", `${path}.scores`, one),
    ]], {K, root}, off.scale ? "scale" : null);
}

function maskStep(walk, path, id, one, crossing) {
  const view = walk.view(`${path}.masked_scores`, one.lead);
  const lines = [walk.numbers("", "e_t", `${path}.scores`, one)];
  if (view) {
    const mask = derivedView(view, (r, c) => (view.value(r, c) === -Infinity ? -Infinity : 0));
    lines.push(numbersLine("+", "M_t", mask, {columnLabels: one.columnLabels, digits: 0}));
    lines.push(walk.numbers("=", "e_t + M_t", `${path}.masked_scores`, one));
  }
  const hides = walk.causal && !crossing;
  const sizes = [walk.N, one.columnLabels.length];
  return walkStep(`${id}_mask`, hides ? "mask" : "mask_none", hides ? "M_{t,s} = 0 (s ≤ t)   −∞ (s > t)" : "M_{t,s} = 0",
    shapeText(sizes, "+", sizes), [lines], {}, hides && walk.off.future_mask ? "future_mask" : null);
}

function softmaxStep(walk, path, id, one) {
  const masked = walk.has(`${path}.masked_scores`) ? `${path}.masked_scores` : `${path}.scores`;
  return walkStep(`${id}_softmax`, "softmax",
    SOFTMAX_FORMULA,
    shapeText([walk.N, one.columnLabels.length], "→", [walk.N, one.columnLabels.length]),
    [softmaxLines(walk, masked, `${path}.weights`, one)]);
}

/** m_t changes no weight: it keeps the exponentials from becoming too large. */
export const SOFTMAX_FORMULA = "α_{t,s} = \\frac{exp(e_{t,s} − m_t)}{Σ_j exp(e_{t,j} − m_t)}   m_t = max_j e_{t,j}";

/** Scores, their exponentials, weights: what a softmax does row by row. */
export function softmaxLines(walk, masked, weights, options) {
  const view = walk.view(masked, options.lead);
  if (!view) return [walk.numbers("", "e_t", masked, options)];
  const exponentials = derivedView(view, (r, c) => Math.exp(view.value(r, c) - largestOfRow(view, r)));
  return [
    walk.numbers("", "e_t", masked, options),
    numbersLine("", "exp(e_t − m_t)", exponentials, {columnLabels: options.columnLabels, palette: "weight"}),
    walk.numbers("÷ Σ", "α_t", weights, {...options, palette: "weight"}),
  ];
}

function sumStep(walk, path, id, one, labels) {
  const {K, N, head} = walk;
  const off = walk.off.heads.some(([owner, number]) => owner === path && number === head);
  return walkStep(`${id}_sum`, "weighted_sum", "z_t = Σ_s α_{t,s} v_s",
    shapeText([N, labels.length], "·", [labels.length, K], "=", [N, K]), [[
      walk.numbers("", "α_t", `${path}.weights`, {...one, palette: "weight"}),
      walk.numbers("·", "v_s", `${path}.v`, {
        lead: [head], rows: "all", labels, weights: walk.view(`${path}.weights`, one.lead),
      }),
      walk.numbers("=", "z_t", `${path}.heads`, {lead: [head]}),
    ]], {}, off ? "head" : null);
}

function headSteps(walk, path, id) {
  const {H, K, D, N} = walk;
  const heads = walk.tensors[`${path}.heads`];
  const joined = (op) => numbersLine(op, "z_t", joinedHeads(`${path}.heads`, heads));
  const each = Array.from({length: H}, (_, head) =>
    walk.numbers(head ? ";" : "", `z_t^{(${head})}`, `${path}.heads`, {lead: [head]}));
  return [
    walkStep(`${id}_concat`, "concat", `z_t = [z_t^{(0)} ; … ; z_t^{(${H - 1})}]`, shapeText(`${H} ·`, [N, K], "→", [N, D]),
      [[...each, joined("=")]], {H, K, D}),
    walkStep(`${id}_output`, "output_projection", "o_t = z_t W^O + b^O", shapeText([N, D], "·", [D, D], "=", [N, D]), [[
      joined(""),
      parameterLine("·", "W^O", [D, D]),
      parameterLine("+", "b^O", [D]),
      walk.numbers("=", "o_t", `${path}.output`),
    ]], {D}),
  ];
}

// ── add & norm, feed-forward ────────────────────────────────────────────────────────────────────────────────────────

const NORM_FORMULA = "LN(x) = \\frac{x − μ}{\\sqrt{σ^2 + ε}} ⊙ γ + β";

function normLines(walk, view, symbol, output) {
  const moments = (row) => {
    const {mean, deviation} = rowMoments(view, row, walk.eps);
    return `μ = ${walk.shown(mean, 3)},  √(σ² + ε) = ${walk.shown(deviation, 3)}`;
  };
  return [
    noteLine("", "", moments),
    parameterLine("⊙", "γ", [walk.D]),
    parameterLine("+", "β", [walk.D]),
    walk.numbers("=", symbol, output),
  ];
}

function normStep(walk, id, key, from, output) {
  const {N, D} = walk;
  return walkStep(id, key, NORM_FORMULA, shapeText([N, D], "→", [N, D]),
    [[walk.numbers("", "x_t", from), ...normLines(walk, walk.view(from), "LN(x_t)", output)]], {D});
}

/** The residual connection; a post-norm layer normalises after it. */
function addStep(walk, id, from, add) {
  const {N, D} = walk;
  const off = walk.off.residuals.includes(add);
  const why = off ? "residual" : null;
  const added = walk.numbers(off ? "" : "+", "f(x_t)", `${add}.added`);
  const terms = off ? [added] : [walk.numbers("", "x_t", from), added];
  const sizes = [N, D];
  if (walk.pre) {
    return walkStep(id, id, off ? "x_t ← f(x_t)" : "x_t ← x_t + f(LN(x_t))", shapeText(sizes, "+", sizes, "=", sizes),
      [[...terms, walk.numbers("=", "x_t", `${add}.output`)]], {D}, why);
  }
  const [one, two] = [walk.view(from), walk.view(`${add}.added`)];
  const total = derivedView(one, (r, c) => (off ? 0 : one.value(r, c)) + two.value(r, c));
  return walkStep(id, `${id}_norm`, off ? "x_t ← LN(f(x_t))" : "x_t ← LN(x_t + f(x_t))",
    shapeText(sizes, "+", sizes, "→", sizes), [
      [...terms, ...(off ? [] : [numbersLine("=", "x_t + f(x_t)", total)])],
      normLines(walk, total, "x_t", `${add}.output`),
    ], {D}, why);
}

const ACTIVATION_FORMULAS = {
  relu: "max(0, z)",
  gelu: "z Φ(z)",
  gelu_tanh: "\\frac{z}{2} (1 + tanh(\\sqrt{2/π} (z + 0.044715 z^3)))",
  silu: "z σ(z)",
};

function feedForwardSteps(walk, path) {
  const {D, N} = walk;
  const add = `${path}.add_feed_forward`;
  const feed = `${path}.feed_forward`;
  const from = walk.has(`${path}.cross.q`) ? `${path}.add_cross.output` : `${path}.add_self.output`;
  const read = walk.pre ? `${add}.norm` : from;
  const F = walk.tensors[`${feed}.inner`].shape.at(-1);
  return [
    ...(walk.pre ? [normStep(walk, "norm_feed_forward", "norm", from, `${add}.norm`)] : []),
    walkStep("inner", "inner", "z_t = x_t W_1 + b_1", shapeText([N, D], "·", [D, F], "=", [N, F]), [[
      walk.numbers("", "x_t", read),
      parameterLine("·", "W_1", [D, F]),
      parameterLine("+", "b_1", [F]),
      walk.numbers("=", "z_t", `${feed}.inner`),
    ]], {D, F}),
    walkStep("activation", walk.activation === "relu" ? "activation_relu" : "activation",
      `g(z) = ${ACTIVATION_FORMULAS[walk.activation]}`, shapeText([N, F], "→", [N, F]), [[
        walk.numbers("", "z_t", `${feed}.inner`),
        walk.numbers("=", "g(z_t)", `${feed}.activated`),
      ]], {F, name: walk.activation, zeros: walk.zeros(`${feed}.activated`)}),
    walkStep("outer", "outer", "f(x_t) = g(z_t) W_2 + b_2", shapeText([N, F], "·", [F, D], "=", [N, D]), [[
      walk.numbers("", "g(z_t)", `${feed}.activated`),
      parameterLine("·", "W_2", [F, D]),
      parameterLine("+", "b_2", [D]),
      walk.numbers("=", "f(x_t)", `${feed}.outer`),
    ]], {D, F}),
    addStep(walk, "add_feed_forward", from, add),
  ];
}

// ── what comes out ──────────────────────────────────────────────────────────────────────────────────────────────────

function outputSteps(walk) {
  const {stack, N, D} = walk;
  const output = `${stack}.output`;
  const last = walk.outputOf(walk.layers - 1);
  const norm = walk.pre ? [normStep(walk, "final_norm", "final_norm", last, output)] : [];
  if (walk.side !== "source") return [...norm, ...readoutSteps(walk, walk.view(output))];
  return [...norm, walkStep("memory", "memory", "h_1 … h_S", shapeText([N, D]), [[walk.numbers("", "h_t", output)]], {N})];
}
