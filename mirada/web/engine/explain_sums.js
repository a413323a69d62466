// What an explanation is made of: numbers of the trace and of the model, each with the PyTorch code that reads it.
//
//     view      {entry, weights, tensors, source: ids, target: ids, labels: {source, target}, switches}
//     operand   {values, value: the first of them, code, from}    one number, or one row or column of a tensor
//     made      {formula, terms, more, bias, sum, after, total, where, torch}
//     term      {label, a, b, product, aFrom, bFrom}              from: the path and index in the trace, or null
//
// In the code, `trace` is a dictionary of PyTorch's tensors by their paths, without the axis B, and `state` the network's
// state dictionary.

import {ACTIVATIONS, weightOf} from "./layers.js";
import {sizeOf} from "./tensor.js";

/** The terms that are listed one by one; the others are added up. */
const LISTED_TERMS = 24;

// ── operands ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Numbers of the trace: an index has a number for each axis, or null for the axis that is read whole. */
export function traced(view, path, ...index) {
  if (!view.tensors[path]) throw new Error(`the trace has no ${path}`);
  const from = (i) => ({path, index: index.map((place) => place ?? i)});
  return {...pickedFrom(view.tensors[path], index, `trace["${path}"]`), from};
}

/** Numbers of the model, by the name in its state dictionary. */
export function stated(view, name, ...index) {
  return pickedFrom(weightOf(view.weights, name), index, `state["${name}"]`);
}

/** The same of a weight that not every model has: null then. */
export function statedIfAny(view, name, ...index) {
  return view.weights.has(name) ? stated(view, name, ...index) : null;
}

function pickedFrom({shape, data}, index, code) {
  const open = index.indexOf(null);
  const strides = shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
  const start = index.reduce((sum, i, axis) => sum + (i ?? 0) * strides[axis], 0);
  const count = open < 0 ? 1 : shape[open];
  const values = Array.from({length: count}, (_, i) => data[start + (open < 0 ? 0 : i * strides[open])]);
  return operand(values, `${code}[${index.map((i) => i ?? ":").join(", ")}]`);
}

export function operand(values, code, from = () => null) {
  return {values, value: values[0], code, from};
}

/** A number that is not read but known: √D, 1/T. */
export function constant(value, code) {
  return operand([value], code);
}

/** [a; b; …] */
export function sideBySide(...parts) {
  if (parts.length === 1) return parts[0];
  const places = parts.flatMap(({values, from}) => values.map((_, i) => from(i)));
  const code = `torch.cat([${parts.map((part) => part.code).join(", ")}])`;
  return operand(parts.flatMap(({values}) => values), code, (i) => places[i]);
}

/** a + b, number by number. */
export function addedUp(a, b) {
  return operand(a.values.map((value, i) => value + b.values[i]), `(${a.code} + ${b.code})`);
}

/** a of the factor, number by number. */
export function scaledBy(a, factor) {
  return operand(a.values.map((value) => value * factor.value), `(${a.code} * ${factor.code})`);
}

/** W x + b of a whole layer, as numbers that are not in the trace: `rows` of W. */
export function layerOf(view, name, x) {
  const {shape, data} = weightOf(view.weights, `${name}.weight`);
  const bias = view.weights.get(`${name}.bias`);
  const values = Array.from({length: shape[0]}, (_, row) => {
    let total = bias ? bias.data[row] : 0;
    for (let i = 0; i < shape[1]; i++) total += data[row * shape[1] + i] * x.values[i];
    return total;
  });
  const code = `state["${name}.weight"] @ ${x.code}`;
  return operand(values, bias ? `(${code} + state["${name}.bias"])` : `(${code})`);
}

/** g of every number. */
export function activatedBy(name, x) {
  const {f, code} = functionNamed(name);
  return operand(x.values.map(f), code(x.code));
}

// ── functions after a sum ───────────────────────────────────────────────────────────────────────────────────────────

const FUNCTION_CODE = {
  leaky_relu: (x) => `torch.nn.functional.leaky_relu(${x}, 0.1)`,
  elu: (x) => `torch.nn.functional.elu(${x})`,
  gelu: (x) => `torch.nn.functional.gelu(${x})`,
  gelu_tanh: (x) => `torch.nn.functional.gelu(${x}, approximate="tanh")`,
  silu: (x) => `torch.nn.functional.silu(${x})`,
};

/** An activation function g: what it is called in formulas, what it computes, and its code. */
export function functionNamed(name) {
  const symbol = {sigmoid: "σ", gelu_tanh: "gelu"}[name] ?? name;
  return {symbol, f: ACTIVATIONS[name], code: FUNCTION_CODE[name] ?? ((x) => `torch.${name}(${x})`)};
}

// ── what made a number ──────────────────────────────────────────────────────────────────────────────────────────────

/** The product of two rows, Σ_i a_i b_i: `label(i)` names a term. */
export function product(a, b, label = (i) => `d = ${i}`) {
  const terms = a.values.map((value, i) => {
    const factors = {a: value, b: b.values[i], product: value * b.values[i]};
    return {label: label(i), ...factors, aFrom: a.from(i), bFrom: b.from(i)};
  });
  return {terms, code: a.values.length === 1 ? `${a.code} * ${b.code}` : `${a.code} @ ${b.code}`};
}

/** A number that is passed on, or added to others. */
export function passed(a, label) {
  return {terms: [{label, a: a.value, b: 1, product: a.value, aFrom: a.from(0), bFrom: null}], code: a.code};
}

/** A sum of products and biases, and a function of it: g(Σ a b + … + bias). */
export function sumOf(formula, products, biases = [], g = null, where = []) {
  const terms = products.flatMap(({terms: own}) => own);
  const given = biases.filter((bias) => bias !== null);
  const bias = given.length ? given.reduce((sum, {value}) => sum + value, 0) : null;
  const sum = terms.reduce((total, term) => total + term.product, 0) + (bias ?? 0);
  const code = [...products, ...given].map((part) => part.code).join(" + ") || "torch.tensor(0.0)";
  const made = {formula, ...listed(terms), bias, sum, after: g && g.symbol, where};
  return {...made, total: g ? g.f(sum) : sum, torch: g ? g.code(code) : code};
}

/** The largest of some numbers. */
export function largestOf(formula, row, label) {
  const {terms} = product(row, operand(row.values.map(() => 1), ""), label);
  const total = Math.max(...row.values);
  const order = {terms: terms.sort((one, other) => other.product - one.product).slice(0, LISTED_TERMS), more: null};
  return {formula, ...order, bias: null, sum: null, after: "max", where: [], total, torch: `${row.code}.max()`};
}

/** softmax: exp(x_i) / Σ_j exp(x_j), with the terms of the sum; `symbol` is what the formula calls an x. */
export function shareOf(formula, symbol, row, i, label) {
  const shift = Math.max(0, Math.max(...row.values) - 300); // exp(709) is the largest number there is
  const powers = row.values.map((score) => Math.exp(score - shift));
  const term = (score, j) => ({label: label(j), a: score, b: powers[j], product: powers[j], aFrom: row.from(j), bFrom: null});
  const terms = row.values.map(term);
  const sum = powers.reduce((total, power) => total + power, 0);
  const raised = `exp(${symbol})`;
  const own = {heads: [symbol, raised], after: `${raised} / Σ`, where: [[raised, powers[i]], ["Σ", sum]]};
  return {formula, ...listed(terms), bias: null, sum, ...own, total: powers[i] / sum, torch: `${row.code}.softmax(-1)[${i}]`};
}

/** LN(x)_d = γ_d (x_d − μ) / σ + β_d */
export function normalisedNumber(view, formula, x, name, eps, d) {
  const width = x.values.length;
  const mean = x.values.reduce((sum, value) => sum + value, 0) / width;
  const variance = x.values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
  const deviation = Math.sqrt(variance + eps);
  const gain = stated(view, `${name}.weight`, d);
  const shown = operand([(x.values[d] - mean) / deviation], "", () => x.from(d));
  const where = [["x_d", x.values[d]], ["μ", mean], ["σ", deviation]];
  const made = sumOf(formula, [product(shown, gain, () => "(x − μ)/σ · γ")], [stated(view, `${name}.bias`, d)], null, where);
  return {...made, torch: `${normalisedCode(x, name, eps)}[${d}]`};
}

/** LN(x) of a whole row that is not in the trace. */
export function normalisedRow(view, x, name, eps) {
  const values = x.values.map((_, d) => normalisedNumber(view, "", x, name, eps, d).total);
  return operand(values, normalisedCode(x, name, eps));
}

function normalisedCode(x, name, eps) {
  const parameters = `state["${name}.weight"], state["${name}.bias"], ${eps}`;
  return `torch.nn.functional.layer_norm(${x.code}, (${x.values.length},), ${parameters})`;
}

/** The largest terms, in order, and of the others how many there are and what they add up to. */
function listed(terms) {
  const ordered = [...terms].sort((one, other) => Math.abs(other.product) - Math.abs(one.product));
  const rest = ordered.slice(LISTED_TERMS);
  const sum = rest.reduce((total, term) => total + term.product, 0);
  return {terms: ordered.slice(0, LISTED_TERMS), more: rest.length ? {count: rest.length, sum} : null};
}
