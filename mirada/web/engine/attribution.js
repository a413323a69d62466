// What the words of a translation rest on, by a measure that does not rest on attention, as in
// `mirada/inspection/attribution.py`:
//
//     drop(t, s) = log p(y_t | x) − log p(y_t | x without word s)
//
// and Spearman's ρ, the correlation of the ranks, of attention with the magnitudes of the drops.

import {logSoftmax} from "./tensor.js";
import {BOS, EOS} from "./tokenizer.js";

/** log p of each token of a target, and of its end, given a source … EOS: [T + 1]. */
export function tokenLogP(network, source, target) {
  const logP = logSoftmax(network.forward(source, [BOS, ...target])); // [1, T + 1, V]
  const vocabulary = logP.shape.at(-1);
  return [...target, EOS].map((id, t) => logP.data[t * vocabulary + id]);
}

/** The rank of each value, from 1; equal values share the mean of their ranks. */
export function ranks(values) {
  const order = [...values.keys()].sort((one, other) => values[one] - values[other]);
  const found = new Array(values.length);
  for (let first = 0, end = 0; first < order.length; first = end) {
    while (end < order.length && values[order[end]] === values[order[first]]) end++;
    for (let place = first; place < end; place++) found[order[place]] = (first + 1 + end) / 2;
  }
  return found;
}

/** Spearman's ρ; NaN where it is not defined: all values equal, or fewer than two. */
export function spearman(x, y) {
  const [one, other] = [x, y].map((values) => {
    const found = ranks([...values]);
    const mean = (found.length + 1) / 2;
    return found.map((rank) => rank - mean);
  });
  const product = (a, b) => a.reduce((sum, value, place) => sum + value * b[place], 0);
  const size = Math.sqrt(product(one, one) * product(other, other));
  return size ? product(one, other) / size : NaN;
}
