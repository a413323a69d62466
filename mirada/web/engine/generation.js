// Models that generate: what they are given of a text, and what is made of what they generate, as in
// `mirada/tasks/translation/search.py` and `mirada/tasks/language_model/model.py`.

import {Tensor, logSoftmax} from "./tensor.js";
import {decode, largest} from "./decoding.js";
import {BOS, EOS, PAD} from "./tokenizer.js";
import {continuedText, neverGenerated, promptIds} from "./reading.js";

const WIDEST_BEAM = 64;
const CONTINUED = 40; // tokens that a language model writes unless told otherwise
const END = "</s>";

/**
 * What a model is given of a text to generate from:
 * {source: ids … EOS or null, before: the ids that what it generates follows, limit: tokens, EOS included, …}.
 */
export function taskOf(entry, tokenizers, text, {prefix = [], to = null, tokens = CONTINUED}) {
  checkPrefix(prefix, tokenizers.target);
  return entry.task === "translation"
    ? translationTask(entry, tokenizers, text, prefix, to)
    : continuationTask(entry, tokenizers.target, text, prefix, tokens);
}

function translationTask(entry, {source, target}, text, prefix, to) {
  const ids = [...directionTag(entry, to), ...source.encode(text)];
  const {max_length: longest, max_ratio: ratio} = entry.decode;
  if (!ids.length) throw new Error("the text is empty");
  for (const [what, {length}] of [["sentence", ids], ["target", prefix]]) {
    if (length < longest) continue;
    throw new Error(`the ${what} has ${length} tokens; the model takes ${longest - 1}; shorten it`);
  }
  return {
    source: [...ids, EOS],
    sourcePieces: [...source.spelt(ids), END],
    before: [BOS],
    prefix,
    limit: Math.max(1, Math.min(Math.trunc(ratio * ids.length) + 20, longest - prefix.length)),
    never: [],
    freeEnd: false,
    piecesOf: (found) => target.spelt(found),
    textOf: (found) => target.decode(found),
  };
}

function continuationTask(entry, tokenizer, text, prefix, tokens) {
  const before = promptIds(entry, tokenizer, text);
  const never = neverGenerated(tokenizer);
  return {
    source: null,
    sourcePieces: tokenizer.spelt(before),
    before,
    prefix,
    limit: tokens + 1, // it counts EOS
    never,
    freeEnd: true,
    piecesOf: (found) => tokenizer.spelt(found),
    textOf: (found) => continuedText(tokenizer, text, before, found),
  };
}

/** The id that tells a model of two directions which way to translate. */
function directionTag(entry, to) {
  const ways = entry.directions ?? [];
  const way = to === null ? ways[0] : ways.find(({target}) => target === to);
  if (ways.length && !way) {
    throw new Error(`to=${to}: the model translates into ${ways.map(({target}) => target).join(" or ")}`);
  }
  return way ? [way.tag] : [];
}

function checkPrefix(prefix, tokenizer) {
  const bad = prefix.find((id) => !(Number.isInteger(id) && id >= 0 && id < tokenizer.size));
  if (bad !== undefined) throw new Error(`prefix: ${bad} is no id of the vocabulary, 0 to ${tokenizer.size - 1}`);
}

// ── generators ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** The network, as the task restricts it: tokens that are never generated, and an end that is free at the limit. */
function generatorOf(network, {never, freeEnd, limit}) {
  if (!never.length && !freeEnd) return network;
  let left = freeEnd ? limit - 1 : -1;
  const restricted = ({logits, state}) => ({logits: without(logits, never), state});
  return {
    start: (source, target) => restricted(network.start(source, target)),
    step: (tokens, state) => {
      left -= 1;
      if (left !== 0) return restricted(network.step(tokens, state));
      const logits = new Tensor([tokens.length, network.output.linear.weight.shape[0]], null);
      logits.data = new Float32Array(logits.shape[0] * logits.shape[1]).fill(-Infinity);
      for (let row = 0; row < tokens.length; row++) logits.data[row * logits.shape[1] + EOS] = 0;
      return {logits, state}; // only the end can follow, so the last token need not be read
    },
  };
}

function without(logits, never) {
  const data = logits.data.slice();
  const vocabulary = logits.shape[1];
  for (let at = 0; at < data.length; at += vocabulary) for (const id of never) data[at + id] = -Infinity;
  return new Tensor(logits.shape, data);
}

/** The hypotheses of a text, best first, and the search that found them. */
export function generated(network, entry, task, {beam = entry.decode.beam ?? 1, nBest = 1}) {
  for (const [name, given] of Object.entries({beam, nBest})) {
    if (!(Number.isInteger(given) && given >= 1 && given <= WIDEST_BEAM)) {
      throw new Error(`${name}=${given}: must be a whole number from 1 to ${WIDEST_BEAM}`);
    }
  }
  const {source, before, prefix, limit, freeEnd} = task;
  const lengthPenalty = entry.decode.length_penalty ?? 1;
  const target = [...before, ...prefix];
  const found = decode(generatorOf(network, task), source, target, {beam, nBest, lengthPenalty, limit, freeEnd});
  for (const candidate of found.tree.flatMap(({candidates}) => candidates)) {
    candidate.piece = task.piecesOf([candidate.id])[0];
  }
  if (freeEnd) for (const candidate of found.tree[limit - 1]?.candidates ?? []) candidate.cut = true;
  const forced = prefixLogP(network, task);
  return {hypotheses: found.hypotheses.map((one) => shown(task, one, forced)), tree: found.tree};
}

/** A hypothesis as text; one that ended itself ends with </s>. */
function shown(task, {ids, logProbability, score, complete, tokenLogProbabilities}, forced) {
  const whole = [...task.prefix, ...ids];
  const ended = task.freeEnd ? ids.length < task.limit - 1 : true;
  const pieces = task.piecesOf(whole);
  return {
    ids: whole,
    pieces: ended ? [...pieces, END] : pieces,
    text: task.textOf(whole),
    logProbability,
    score,
    complete: complete && ended,
    tokenLogProbabilities: [...forced, ...(ended ? tokenLogProbabilities : tokenLogProbabilities.slice(0, -1))],
  };
}

/** log p of each token of a forced prefix. */
function prefixLogP(network, {source, before, prefix, never}) {
  if (!prefix.length) return [];
  let {logits, state} = network.start(source, before);
  return prefix.map((id, place) => {
    const logP = logSoftmax(without(logits, never)).data[id];
    if (place + 1 < prefix.length) ({logits, state} = network.step([id], state));
    return logP;
  });
}

/** The likeliest tokens after a prefix, with their probabilities. */
export function likeliestNext(network, task, count) {
  const {source, before, prefix, never} = task;
  const {logits} = network.start(source, [...before, ...prefix]);
  const logP = logSoftmax(without(logits, never)).data;
  logP[PAD] = logP[BOS] = -Infinity;
  return largest(logP, count).map(({id, value}) => ({id, piece: task.piecesOf([id])[0], probability: Math.exp(value)}));
}
