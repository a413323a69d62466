// The end of every walk: from the last states to what the model says.

import {noteLine, numbersLine, parameterLine, shapeText, walkStep} from "./walk_steps.js";

const POOL_FORMULAS = {
  mean: "p = \\frac{1}{T} Σ_t h_t",
  max: "p_i = max_t h_{t,i}",
  first: "p = h_1",
  last: "p = h_T",
  ends: "p = [h→_T ; h←_1]",
  cls: "p = tanh(h_1 W + b)",
};

/** Pooled to one vector or not, logits, probabilities, the choice. `states` is the view of the last states. */
export function readoutSteps(walk, states) {
  const logits = walk.logitsPath;
  if (!logits) return [];
  const pooled = walk.has("pooled");
  const {D, C} = walk;
  const rows = walk.view(logits).rows;
  // of a text, of some tokens (a tagger's words, gaps), or of each token
  const own = rows !== walk.N && !pooled;
  const fixed = pooled ? {rows: 0, labels: [""]} : own ? {rows: "all", labels: walk.words} : {};
  const vector = pooled ? "p" : "h_t";
  const sizes = [rows, C];
  const tied = walk.vocabulary && walk.config.tie !== "none";
  const biased = walk.config.output_bias || !walk.vocabulary || walk.entry.architecture === "bert";
  const steps = pooled ? [poolStep(walk, states)] : [];
  const masked = logits.startsWith("masked");
  steps.push(walkStep("logits", masked ? "logits_masked" : walk.vocabulary ? "logits" : "logits_classes",
    masked ? "y_t = LN(g(h_t W + c)) E^⊤ + b" : `y${pooled ? "" : "_t"} = ${vector} ${tied ? "E^⊤" : "W"}${biased ? " + b" : ""}`,
    shapeText([rows, D], "·", [D, C], "=", sizes), [[
      pooled ? walk.numbers("", "p", "pooled", fixed) : numbersLine("", "h_t", states),
      ...(masked ? [noteLine("→", "", () => "LN(g(h W + c))")] : []),
      parameterLine("·", tied ? "E^⊤" : "W", [D, C]),
      ...(biased ? [parameterLine("+", "b", [C])] : []),
      walk.choices("=", pooled ? "y" : "y_t", logits, fixed),
    ]], {D, C}));
  if (walk.has("probabilities")) {
    steps.push(walkStep("probabilities", "probabilities", "p_i = \\frac{exp(y_i)}{Σ_j exp(y_j)}", shapeText(sizes, "→", sizes), [[
      walk.choices("", pooled ? "y" : "y_t", logits, fixed),
      walk.choices("softmax", pooled ? "p" : "p_t", "probabilities", {...fixed, palette: "weight"}),
    ]], {C}));
    const key = walk.said ? "chosen" : walk.vocabulary ? "chosen_word" : "chosen_class";
    steps.push(walkStep("chosen", key, "", "", [[{kind: "verdict", op: "", symbol: "", view: walk.view("probabilities"), ...fixed}]]));
  }
  return steps;
}

function poolStep(walk, states) {
  const {N, D, entry, config} = walk;
  const pool = entry.architecture === "bert" ? "cls" : walk.recurrent ? recurrentPool(config) : config.pool ?? "mean";
  return walkStep("pooled", `pooled_${pool}`, POOL_FORMULAS[pool], shapeText([N, D], "→", [D]), [[
    numbersLine("", "h_t", states, {rows: "all"}),
    walk.numbers("→", "p", "pooled", {rows: 0, labels: [""]}),
  ]], {N});
}

function recurrentPool(config) {
  const pool = config.pool ?? (config.name === "jordan" ? "last" : "max");
  return pool === "last" ? "ends" : pool;
}
