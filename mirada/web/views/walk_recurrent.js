// The walk through recurrent networks: a cell gate by gate, the bridge, attention over the encoder's states, the output.
// The equations are those of mirada/nn/recurrent.py and mirada/models/seq2seq.py.

import {
  besideView, derivedView, numbersLine, parameterLine, rowView, shapeText, shiftedView, tokensLine, walkStep,
} from "./walk_steps.js";
import {SOFTMAX_FORMULA, softmaxLines} from "./walk_transformer.js";
import {readoutSteps} from "./walk_output.js";

/** The sections of the walk through one recurrent stack, and the chosen layer and direction of it. */
export function recurrentWalk(walk) {
  const words = {layer: walk.layer, direction: walk.backward ? "←" : "→"};
  const sections = [{key: "input", words, steps: embeddingSteps(walk)}];
  if (walk.stack === "decoder" && walk.has("bridge.h")) sections.push({key: "bridge", words, steps: [bridgeStep(walk)]});
  const attends = walk.stack === "decoder" && walk.has("attention.weights");
  const attention = () => ({key: "alignment", words, steps: alignmentSteps(walk)});
  if (attends && walk.attendsBefore) sections.push(attention());
  sections.push({key: "cell", words, steps: cellSteps(walk)});
  if (attends && !walk.attendsBefore) sections.push(attention());
  if (walk.side === "source") return [...sections, {key: "memory", words, steps: [statesStep(walk)]}];
  const join = attends ? [joinStep(walk)] : [];
  const last = walk.view("decoder.output") ?? topStates(walk);
  return [...sections, {key: "output", words, steps: [...join, ...readoutSteps(walk, last)]}];
}

// ── what goes in ────────────────────────────────────────────────────────────────────────────────────────────────────

function embeddingSteps(walk) {
  const {D, N, entry} = walk;
  return [walkStep("embedding", "embedding", "x_t = E_{token_t}", shapeText([N], "→", [N, D]), [[
    tokensLine(),
    parameterLine("", "E", [entry.sizes?.inputs ?? "V", D]),
    walk.numbers("=", "x_t", walk.embeddings),
  ]], {D})];
}

/** s_0 of each layer, from the encoder's last states: h→ of the last word, and h← of the first. */
function bridgeStep(walk) {
  const {D, layer} = walk;
  const bridge = rowView(walk.view("bridge.h"), layer);
  return walkStep("bridge", "bridge", "s_0 = tanh([h→_S ; h←_1] W + b)", shapeText([1, D], "·", [D, D], "=", [1, D]), [[
    numbersLine("", "h_{end}", encoderEnd(walk, "h"), {rows: 0, labels: [""]}),
    parameterLine("·", "W", [D, D]),
    parameterLine("+", "b", [D]),
    numbersLine("tanh", "s_0", bridge, {rows: 0, labels: [""]}),
  ]], {});
}

/** The encoder's last states (h or c) of the chosen layer, side by side. */
function encoderEnd(walk, symbol) {
  const forward = walk.view(`encoder.${walk.layer}.forward.${symbol}`);
  const backward = walk.view(`encoder.${walk.layer}.backward.${symbol}`);
  const ends = [rowView(forward, forward.rows - 1), ...(backward ? [rowView(backward, 0)] : [])];
  return besideView(...ends);
}

// ── the cell ────────────────────────────────────────────────────────────────────────────────────────────────────────

function cellSteps(walk) {
  const cell = {path: `${walk.stack}.${walk.layer}.${walk.backward ? "backward" : "forward"}`, x: cellInput(walk)};
  cell.width = walk.view(`${cell.path}.h`).columns;
  cell.before = previousState(walk, cell, "h");
  const made = {lstm: lstmSteps, gru: gruSteps, elman: elmanSteps, jordan: jordanSteps, memoryless: memorylessSteps};
  return [inputStep(walk, cell), ...made[walk.cell](walk, cell)];
}

/** x_t of the chosen layer: embeddings (with the context, if it goes in), or the states of the layer below. */
function cellInput(walk) {
  if (walk.layer > 0) {
    const below = ["forward", "backward"].map((way) => walk.view(`${walk.stack}.${walk.layer - 1}.${way}.h`));
    return besideView(...below.filter(Boolean));
  }
  const x = walk.view(walk.embeddings);
  return walk.attendsBefore && walk.stack === "decoder" ? besideView(x, walk.view("attention.context")) : x;
}

/** h_{t−1} or c_{t−1}: the row before (after it, backwards); the first is the bridge's, or zeros. */
function previousState(walk, cell, symbol) {
  const view = walk.view(`${cell.path}.${symbol}`);
  if (!view) return null;
  if (walk.stack !== "decoder" || !walk.has("bridge.h")) return shiftedView(view, walk.backward ? 1 : -1);
  return symbol === "h"
    ? shiftedView(view, -1, walk.view("bridge.h"), walk.layer)
    : shiftedView(view, -1, encoderEnd(walk, symbol));
}

function inputStep(walk, cell) {
  const {N} = walk;
  const remembers = walk.cell !== "memoryless" && walk.cell !== "jordan";
  const c = walk.cell === "lstm" ? previousState(walk, cell, "c") : null;
  const before = walk.backward ? "t+1" : "t−1";
  const lines = [[numbersLine("", "x_t", cell.x)]];
  if (remembers) lines.push([numbersLine("", `h_{${before}}`, cell.before)]);
  if (c) lines.push([numbersLine("", `C_{${before}}`, c)]);
  const key = remembers ? (walk.backward ? "cell_input_backward" : "cell_input") : "cell_input_alone";
  return walkStep("cell_input", key, remembers ? `x_t ,  h_{${before}}` : "x_t",
    shapeText([N, cell.x.columns], ",", [N, cell.width]), lines, {});
}

/** One gate: g(W h_{t−1} + U x_t), with the parameters' letters above. */
function gateStep(walk, cell, {symbol, letter, name, activation}) {
  const {N} = walk;
  const before = walk.backward ? "t+1" : "t−1";
  const palette = activation === "σ" ? "weight" : "signed";
  const own = {...(palette === "weight" ? {palette} : {})};
  return walkStep(`gate_${symbol}`, `gate_${walk.cell}_${symbol}`,
    `${name} = ${activation}(W^${letter} h_{${before}} + U^${letter} x_t)`,
    shapeText([N, cell.width], "·", [cell.width, cell.width], "+", [N, cell.x.columns], "·", [cell.x.columns, cell.width]), [[
      numbersLine("", `h_{${before}}`, cell.before),
      parameterLine("·", `W^${letter}`, [cell.width, cell.width]),
      numbersLine("+", "x_t", cell.x),
      parameterLine("·", `U^${letter}`, [cell.x.columns, cell.width]),
      walk.numbers(`${activation} =`, name, `${cell.path}.${symbol}`, own),
    ]], {});
}

function lstmSteps(walk, cell) {
  const {N} = walk;
  const {path, width} = cell;
  const before = walk.backward ? "t+1" : "t−1";
  const squeezed = walk.view(`${path}.c`);
  const size = shapeText([N, width], "⊙", [N, width]);
  return [
    gateStep(walk, cell, {symbol: "i", letter: "i", name: "i_t", activation: "σ"}),
    gateStep(walk, cell, {symbol: "f", letter: "f", name: "f_t", activation: "σ"}),
    gateStep(walk, cell, {symbol: "candidate", letter: "{\\tilde{C}}", name: "\\tilde{C}_t", activation: "tanh"}),
    walkStep("cell_c", "cell_c", `C_t = f_t ⊙ C_{${before}} + i_t ⊙ \\tilde{C}_t`, size, [[
      walk.numbers("", "f_t", `${path}.f`, {palette: "weight"}),
      numbersLine("⊙", `C_{${before}}`, previousState(walk, cell, "c")),
      walk.numbers("+", "i_t", `${path}.i`, {palette: "weight"}),
      walk.numbers("⊙", "\\tilde{C}_t", `${path}.candidate`),
      walk.numbers("=", "C_t", `${path}.c`),
    ]], {}),
    gateStep(walk, cell, {symbol: "o", letter: "o", name: "o_t", activation: "σ"}),
    walkStep("cell_h", "cell_h", "h_t = o_t ⊙ tanh(C_t)", size, [[
      walk.numbers("", "o_t", `${path}.o`, {palette: "weight"}),
      numbersLine("⊙", "tanh(C_t)", derivedView(squeezed, (r, c) => Math.tanh(squeezed.value(r, c)))),
      walk.numbers("=", "h_t", `${path}.h`),
    ]], {}),
  ];
}

function gruSteps(walk, cell) {
  const {N} = walk;
  const {path, width, x, before: state} = cell;
  const before = walk.backward ? "t+1" : "t−1";
  const z = walk.view(`${path}.z`);
  return [
    gateStep(walk, cell, {symbol: "r", letter: "r", name: "r_t", activation: "σ"}),
    gateStep(walk, cell, {symbol: "z", letter: "z", name: "z_t", activation: "σ"}),
    walkStep("gate_candidate", "gate_gru_candidate",
      `\\tilde{h}_t = tanh(U^{\\tilde{h}} x_t + r_t ⊙ (W^{\\tilde{h}} h_{${before}}))`,
      shapeText([N, x.columns], "·", [x.columns, width], "+", [N, width], "⊙", [N, width]), [[
        numbersLine("", "x_t", x),
        parameterLine("·", "U^{\\tilde{h}}", [x.columns, width]),
        walk.numbers("+", "r_t", `${path}.r`, {palette: "weight"}),
        numbersLine("⊙", `h_{${before}}`, state),
        parameterLine("·", "W^{\\tilde{h}}", [width, width]),
        walk.numbers("tanh =", "\\tilde{h}_t", `${path}.candidate`),
      ]], {}),
    walkStep("cell_h", "cell_h_gru", `h_t = z_t ⊙ h_{${before}} + (1 − z_t) ⊙ \\tilde{h}_t`,
      shapeText([N, width], "⊙", [N, width]), [[
        walk.numbers("", "z_t", `${path}.z`, {palette: "weight"}),
        numbersLine("⊙", `h_{${before}}`, state),
        numbersLine("+", "1 − z_t", derivedView(z, (r, c) => 1 - z.value(r, c)), {palette: "weight"}),
        walk.numbers("⊙", "\\tilde{h}_t", `${path}.candidate`),
        walk.numbers("=", "h_t", `${path}.h`),
      ]], {}),
  ];
}

const activationOf = (walk) => walk.config.activation ?? "tanh";

function elmanSteps(walk, cell) {
  const before = walk.backward ? "t+1" : "t−1";
  const {width, x, path} = cell;
  const g = activationOf(walk);
  return [walkStep("cell_h", "cell_h_elman", `h_t = ${g.replace("_", "")}(W h_{${before}} + U x_t)`,
    shapeText([walk.N, width], "·", [width, width], "+", [walk.N, x.columns], "·", [x.columns, width]), [[
      numbersLine("", `h_{${before}}`, cell.before),
      parameterLine("·", "W", [width, width]),
      numbersLine("+", "x_t", x),
      parameterLine("·", "U", [x.columns, width]),
      walk.numbers(`${g} =`, "h_t", `${path}.h`),
    ]], {name: g})];
}

function jordanSteps(walk, cell) {
  const feedback = walk.layer === 0 ? walk.view("recurrent.feedback") : null;
  if (!feedback) return memorylessSteps(walk, cell);
  const g = activationOf(walk);
  const {width, x, path} = cell;
  return [walkStep("cell_h", "cell_h_jordan", `h_t = ${g.replace("_", "")}(W o_{t−1} + U x_t)`,
    shapeText([walk.N, feedback.columns], "·", [feedback.columns, width], "+", [walk.N, x.columns], "·", [x.columns, width]), [[
      numbersLine("", "o_{t−1}", shiftedView(feedback, -1)),
      parameterLine("·", "W", [feedback.columns, width]),
      numbersLine("+", "x_t", x),
      parameterLine("·", "U", [x.columns, width]),
      walk.numbers(`${g} =`, "h_t", `${path}.h`),
    ]], {name: g})];
}

function memorylessSteps(walk, cell) {
  const g = activationOf(walk);
  const {width, x, path} = cell;
  return [walkStep("cell_h", "cell_h_memoryless", `h_t = ${g.replace("_", "")}(U x_t)`,
    shapeText([walk.N, x.columns], "·", [x.columns, width], "=", [walk.N, width]), [[
      numbersLine("", "x_t", x),
      parameterLine("·", "U", [x.columns, width]),
      walk.numbers(`${g} =`, "h_t", `${path}.h`),
    ]], {name: g})];
}

/** The states of the last layer, of both directions side by side. */
function topStates(walk) {
  const ways = ["forward", "backward"].map((way) => walk.view(`${walk.stack}.${walk.layers - 1}.${way}.h`));
  return besideView(...ways.filter(Boolean));
}

function statesStep(walk) {
  return walkStep("memory", "states", "h_t = [h→_t ; h←_t]", shapeText([walk.N, walk.D]), [[
    walk.numbers("", "h_t", "encoder.output"),
  ]], {N: walk.N});
}

// ── attention over the encoder's states ─────────────────────────────────────────────────────────────────────────────

const SCORE_FORMULAS = {dot: "s · h_s", general: "s · (W h_s)", additive: "v · tanh(W s + U h_s + b)"};

function alignmentSteps(walk) {
  const {N, D, sourceRows} = walk;
  const S = sourceRows.length;
  const top = `decoder.${walk.layers - 1}.forward.h`;
  const state = walk.attendsBefore
    ? shiftedView(walk.view(top), -1, walk.view("bridge.h"), walk.layers - 1)
    : walk.view(top);
  const symbol = walk.attendsBefore ? "s_{t−1}" : "s_t";
  const one = {lead: [0], columnLabels: sourceRows};
  const masked = walk.has("attention.masked_scores") ? "attention.masked_scores" : "attention.scores";
  const kind = walk.config.attention;
  const learned = {
    dot: [],
    general: [parameterLine("·", "W", [D, D])],
    additive: [parameterLine("", "W, U", [D, D]), parameterLine("", "b, v", [D])],
  };
  return [
    walkStep("alignment_scores", `alignment_${kind}`, `e_{t,s} = ${SCORE_FORMULAS[kind].replace("s ", `${symbol} `)}`,
      shapeText([N, D], ",", [S, D], "→", [N, S]), [[
        numbersLine("", symbol, state),
        ...learned[kind],
        walk.numbers(kind === "additive" ? "" : "·", "h_s", "encoder.output", {rows: "all", labels: sourceRows}),
        walk.numbers("=", "e_t", "attention.scores", one),
      ]], {}),
    walkStep("alignment_softmax", "softmax", SOFTMAX_FORMULA,
      shapeText([N, S], "→", [N, S]), [softmaxLines(walk, masked, "attention.weights", one)]),
    walkStep("alignment_context", "context", "c_t = Σ_s α_{t,s} h_s", shapeText([N, S], "·", [S, D], "=", [N, D]), [[
      walk.numbers("", "α_t", "attention.weights", {...one, palette: "weight"}),
      walk.numbers("·", "h_s", "encoder.output", {
        rows: "all", labels: sourceRows, weights: walk.view("attention.weights", [0]),
      }),
      walk.numbers("=", "c_t", "attention.context"),
    ]], {}),
  ];
}

function joinStep(walk) {
  const {N, D} = walk;
  return walkStep("join", "join", "u_t = tanh([c_t ; s_t] W + b)", shapeText([N, 2 * D], "·", [2 * D, D], "=", [N, D]), [[
    walk.numbers("", "c_t", "attention.context"),
    numbersLine(";", "s_t", topStates(walk)),
    parameterLine("·", "W", [2 * D, D]),
    parameterLine("+", "b", [D]),
    walk.numbers("tanh =", "u_t", "decoder.output"),
  ]], {});
}
