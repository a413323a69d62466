// What changed between two texts, and how probable a text is in a pass that was given it.

import {tensorView} from "./walk_steps.js";

/** The words of two texts as [{text, changed}, …] each: those outside their longest common subsequence are changed. */
export function changedWords(before, after) {
  const [one, two] = [before, after].map((text) => text.split(/\s+/u).filter(Boolean));
  const common = Array.from({length: one.length + 1}, () => new Uint16Array(two.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = two.length - 1; j >= 0; j--) {
      common[i][j] = one[i] === two[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const marked = [one, two].map((words) => words.map((text) => ({text, changed: true})));
  let [i, j] = [0, 0];
  while (i < one.length && j < two.length) {
    if (one[i] === two[j]) marked[0][i++].changed = marked[1][j++].changed = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return marked;
}

const END_OF_TEXT = 2; // the id of </s>

/** The probability of each token of a text, and of a translation's end, in a trace of a pass that was given it. */
export function probabilitiesOf({tensors, target}, ids) {
  const view = tensorView("probabilities", tensors.probabilities);
  const wanted = target ? [...ids, END_OF_TEXT] : ids;
  const first = target ? 0 : view.rows - 1 - ids.length; // a language model reads the text before it as well
  return wanted.map((id, t) => view.value(first + t, id));
}
