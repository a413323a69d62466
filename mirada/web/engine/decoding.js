// Greedy and beam search, as in `mirada/decoding.py`: one loop over {start, step} of a network, for one sentence.
//
//     W hypotheses kept    C candidates    R ≤ W rows, one for each open hypothesis

import {logSoftmax} from "./tensor.js";
import {BOS, EOS, PAD} from "./tokenizer.js";

/** Of a model whose logits are NaN, which finishes nothing. */
const NOTHING = {ids: [], logProbability: -Infinity, score: -Infinity, complete: false, tokenLogProbabilities: []};

/**
 * The best hypotheses of a source, best first, and the tree of the search. Their ids follow the target, without EOS.
 *
 * `generator` has start(source, target) and step(tokens, state); `source` ends in EOS (null of a language model), and
 * `target` is BOS and a forced prefix. A hypothesis ends when EOS is among the W best candidates; the search is over at
 * the limit, or when W hypotheses have ended and no open one has a better average so far than the worst of the best W.
 * With `freeEnd`, an end at the limit does not count in the length that scores are divided by.
 *
 * Of each step the tree has its candidates, best first, and the hypotheses `open` after it:
 * {parent: place among those open before, id, logP: of the token, score: of all since the prefix, fate: "kept", "ended"
 * or "dropped", cut: whether only the limit ended it, child: place among those open after, rank: place among the
 * returned hypotheses}; null if there is none.
 */
export function decode(generator, source, target, {beam, nBest = 1, lengthPenalty = 1, limit, freeEnd = false}) {
  const finished = [];
  const tree = [];
  let open = [{ids: [], score: 0, logPs: []}];
  let {logits, state} = generator.start(source, target);
  for (let length = 1; length <= limit; length++) {
    const logP = nextLogP(logits);
    const atLimit = length === limit;
    const candidates = atLimit ? endings(logP, open) : bestCandidates(logP, open, beam);
    keepFinished(finished, candidates.slice(0, beam), open, {logP, atLimit, lengthPenalty});
    const going = candidates.filter(({id}) => id !== EOS).slice(0, beam);
    const best = going.length ? going[0].score / length ** lengthPenalty : -Infinity;
    const over = !going.length || isDone(finished, beam, best);
    const before = open;
    open = over ? [] : going.map((candidate, child) => grown(before[candidate.parent], candidate, child));
    tree.push({candidates, open: open.map(({ids, score}) => ({ids, score}))});
    if (over) break;
    const rows = going.map(({parent}) => parent);
    const sameRows = rows.length === before.length && rows.every((parent, row) => parent === row);
    ({logits, state} = generator.step(going.map(({id}) => id), sameRows ? state : state.select(rows)));
  }
  if (freeEnd) {
    for (const one of finished) {
      one.score = one.logProbability / Math.min(one.ids.length + 1, limit - 1) ** lengthPenalty;
    }
  }
  const ranked = finished.sort((one, other) => other.score - one.score).slice(0, nBest);
  ranked.forEach((hypothesis, rank) => (hypothesis.candidate.rank = rank));
  return {hypotheses: ranked.length ? ranked.map(returned) : [NOTHING], tree};
}

/** log p of every next token [R, V]; padding and start are never chosen. */
function nextLogP(logits) {
  const logP = logSoftmax(logits);
  const vocabulary = logP.shape[1];
  for (let at = 0; at < logP.data.length; at += vocabulary) logP.data[at + PAD] = logP.data[at + BOS] = -Infinity;
  return logP;
}

/** The 2W likeliest continuations: at most W of them end, so at least W continue. */
function bestCandidates(logP, open, beam) {
  const found = open.flatMap((hypothesis, parent) =>
    largest(rowOf(logP, parent), 2 * beam).map(({id, value}) => candidateOf(hypothesis, parent, id, value)),
  );
  return found.sort((one, other) => other.score - one.score).slice(0, 2 * beam);
}

/** At the limit each hypothesis has one candidate, and that is to end. */
function endings(logP, open) {
  return open.map((hypothesis, parent) => candidateOf(hypothesis, parent, EOS, rowOf(logP, parent)[EOS]));
}

function candidateOf(hypothesis, parent, id, value) {
  const score = Math.fround(hypothesis.score + value); // PyTorch adds in 32 bits
  return {parent, id, logP: value, score, fate: "dropped", cut: false, child: null, rank: null};
}

function rowOf(logP, row) {
  const vocabulary = logP.shape[1];
  return logP.data.subarray(row * vocabulary, (row + 1) * vocabulary);
}

/** The largest values of a row above −∞ with their ids, largest first; of equal ones the first. */
export function largest(row, count) {
  const top = [];
  for (let id = 0; id < row.length; id++) {
    const value = row[id];
    if (!(value > -Infinity) || (top.length === count && !(value > top[count - 1].value))) continue;
    let place = top.length;
    while (place > 0 && top[place - 1].value < value) place--;
    top.splice(place, 0, {id, value});
    if (top.length > count) top.pop();
  }
  return top;
}

/** Collect the candidates that end; one that only the limit ended is not complete. */
function keepFinished(finished, candidates, open, {logP, atLimit, lengthPenalty}) {
  for (const candidate of candidates) {
    if (candidate.id !== EOS || !(candidate.score > -Infinity)) continue;
    const parent = open[candidate.parent];
    const complete = !atLimit || largest(rowOf(logP, candidate.parent), 1)[0].id === EOS;
    Object.assign(candidate, {fate: "ended", cut: !complete});
    finished.push({
      candidate,
      ids: parent.ids,
      logPs: [...parent.logPs, candidate.logP],
      logProbability: candidate.score,
      score: candidate.score / (parent.ids.length + 1) ** lengthPenalty,
      complete,
    });
  }
}

/** Whether no more steps are needed, if the best open hypothesis has this average. */
function isDone(finished, beam, best) {
  if (finished.length < beam) return false;
  return finished.map(({score}) => score).sort((one, other) => other - one)[beam - 1] >= best;
}

/** A hypothesis with one more token; the candidate is marked as kept. */
function grown(parent, candidate, child) {
  const {id, score, logP} = Object.assign(candidate, {fate: "kept", child});
  return {ids: [...parent.ids, id], score, logPs: [...parent.logPs, logP]};
}

function returned({ids, logPs, logProbability, score, complete}) {
  return {ids, logProbability, score, complete, tokenLogProbabilities: logPs};
}
