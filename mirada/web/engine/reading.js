// Models that read one text: what they are given of it, the pass that is recorded, and what they say of it, as
// `mirada/tasks/{classification,tagging,masked_lm,language_model}/model.py` have it.
//
//     const network = newReader(entry, weights);
//     const read = readText(entry, tokenizer, "Sie mag [MASK] .");   // {ids, pieces, rows, words}
//     const logits = readerLogits(network, entry, read);             // [1, N, O] or, of a whole text, [1, O]
//     readerPredictions(entry, tokenizer, logits, read);             // {labels} or {tags} or {fills}

import {concat, slice, softmax} from "./tensor.js";
import {hasSpace} from "./normalize.js";
import {BOS, EOS} from "./tokenizer.js";
import {RECURRENT_ENCODERS} from "./rnn.js";
import {TRANSFORMER_ENCODERS} from "./encoder.js";
import {GPTS} from "./gpt.js";
import {BERTS} from "./bert.js";

const NEW_READERS = {...RECURRENT_ENCODERS, ...TRANSFORMER_ENCODERS, ...GPTS, ...BERTS};
const GAP = "[MASK]"; // how a user writes a gap, whatever the vocabulary calls it
const WORDS_FOR_A_GAP = 10;
const MARK = /^[\p{P}\p{S}]$/u;
const LETTER_OR_DIGIT = /^[\p{L}\p{N}]$/u;

/** The network of an entry that has no source and target. */
export function newReader(entry, weights) {
  const make = NEW_READERS[entry.architecture];
  if (!make) throw new Error(`the page cannot compute ${entry.architecture} for ${entry.task}`);
  return make(entry, weights);
}

// ── what is read ────────────────────────────────────────────────────────────────────────────────────────────────────

/** How each task reads a text: {tokens: [{id, piece}], rows: the steps whose logits are asked for or null, …}. */
const READ = {classification: readWhole, tagging: readWords, masked_lm: readGaps, language_model: readPrompt};

/**
 * A text as a model reads it. `ids` are what the network is given, `pieces` what its steps stand for, `rows` the steps
 * whose logits are asked for, or null for all, and `words` what those rows are.
 */
export function readText(entry, tokenizer, text) {
  if (!Array.from(text).some((character) => !hasSpace(character))) throw new Error("the text is empty");
  const {tokens, rows = null, words = null, cut = 0, ended = true} = READ[entry.task](entry, tokenizer, text);
  const framed = ended ? [...tokens, {id: EOS, piece: "</s>"}] : tokens;
  const pieces = framed.map(({piece}) => piece);
  if (entry.architecture === "bert") pieces.unshift("<s>");
  return {ids: framed.map(({id}) => id), pieces, rows, words, cut};
}

/** A text's tokens; one that the vocabulary lacks is shown as it is written. */
function tokensOf(tokenizer, text) {
  const tokens = tokenizer.tokens(text);
  const pieces = tokenizer.spelt(tokens.map(({id}) => id));
  return tokens.map(({id, text: own}, place) => ({id, piece: id === tokenizer.unknown ? own : pieces[place]}));
}

/** The first tokens of a text, as many as the model was trained on. */
function readWhole(entry, tokenizer, text) {
  const tokens = tokensOf(tokenizer, text);
  const most = entry.max_tokens ?? Math.min(400, (entry.config.max_length ?? Infinity) - 2);
  return {tokens: tokens.slice(0, most), cut: Math.max(0, tokens.length - most)};
}

/** Each word by itself; its first piece stands for it. */
function readWords(entry, tokenizer, text) {
  const words = wordsOf(text);
  const tokens = [];
  const rows = [];
  for (const word of words) {
    const ids = tokenizer.encode(word);
    rows.push(tokens.length);
    tokens.push(...withPieces(tokenizer, ids.length ? ids : [tokenizer.unknown ?? EOS]));
  }
  const most = entry.max_tokens ?? (entry.config.max_length ?? Infinity) - 2;
  if (tokens.length > most) throw new Error(`the text has ${tokens.length} tokens, and ${most} are tagged at most; shorten it`);
  return {tokens, rows, words};
}

function withPieces(tokenizer, ids) {
  const pieces = tokenizer.spelt(ids);
  return ids.map((id, place) => ({id, piece: pieces[place]}));
}

/** A text's words as tagged data has them: at white space, punctuation around a word by itself, a run of one mark whole. */
export function wordsOf(text) {
  return spacedParts(text).flatMap((part) => {
    const isLetter = part.map((character) => !MARK.test(character));
    const [begin, end] = [isLetter.indexOf(true), isLetter.lastIndexOf(true) + 1];
    if (begin < 0) return runsOf(part);
    return [...runsOf(part.slice(0, begin)), part.slice(begin, end).join(""), ...runsOf(part.slice(end))];
  });
}

/** The parts of a text between white space, each a list of characters. */
function spacedParts(text) {
  const parts = [[]];
  for (const character of text) {
    if (hasSpace(character)) parts.push([]);
    else parts.at(-1).push(character);
  }
  return parts.filter((part) => part.length);
}

function runsOf(characters) {
  const runs = [];
  characters.forEach((character, n) => {
    if (n > 0 && characters[n - 1] === character) runs.push(runs.pop() + character);
    else runs.push(character);
  });
  return runs;
}

/** A text with gaps, written [MASK]; the logits are those of the gaps, or of every token if there are none. */
function readGaps(entry, tokenizer, text) {
  const tokens = text.includes(GAP) ? gappedTokens(tokenizer, text) : tokensOf(tokenizer, text);
  const most = entry.config.max_length - 2; // [CLS] and EOS
  if (tokens.length > most) throw new Error(`the text has ${tokens.length} tokens, the model takes ${most}; shorten it`);
  const gaps = tokens.map((_, place) => place).filter((place) => tokens[place].id === tokenizer.mask);
  const rows = gaps.length ? gaps : tokens.map((_, place) => place);
  return {tokens, rows, words: rows.map((place) => tokens[place].piece)};
}

function gappedTokens(tokenizer, text) {
  return trimmed(text).split(GAP).flatMap((part, number) => {
    const ids = aroundGap(tokenizer, part, number === 0);
    return [...(number ? [{id: tokenizer.mask, piece: GAP}] : []), ...withPieces(tokenizer, ids)];
  });
}

/** The ids of the text around gaps; a part that follows a gap without a space, as ".", begins no word. */
function aroundGap(tokenizer, part, first) {
  if (tokenizer.unit === "characters") {
    const inside = ({start}) => start >= 1 && start <= part.length; // a space is one too, also where the part ends
    return tokenizer.tokens(`a${part}a`).filter(inside).map(({id}) => id);
  }
  const plain = trimmed(part);
  if (!plain) return [];
  if (first || hasSpace(Array.from(part)[0]) || tokenizer.unit !== "subwords") return tokenizer.encode(plain);
  const guard = LETTER_OR_DIGIT.test(Array.from(part)[0]) ? "(" : "a"; // which is never in one token with what follows it
  return tokenizer.tokens(guard + plain).filter(({start}) => start >= 1).map(({id}) => id);
}

/** A text without white space at its ends. */
function trimmed(text) {
  const characters = Array.from(text);
  const filled = characters.map((character) => !hasSpace(character));
  return characters.slice(Math.max(0, filled.indexOf(true)), filled.lastIndexOf(true) + 1).join("");
}

// ── language models ─────────────────────────────────────────────────────────────────────────────────────────────────

/** What every text is read after, and the text itself line by line. */
function readPrompt(entry, tokenizer, text) {
  const tokens = withPieces(tokenizer, promptIds(entry, tokenizer, text));
  const whole = tokensOf(tokenizer, text);
  const opening = tokens.slice(0, tokens.length - whole.length);
  const same = whole.every(({id}, n) => id === tokens[opening.length + n]?.id) && opening.length === openingOf(entry).length;
  return {tokens: same ? [...opening, ...whole] : tokens, ended: false};
}

/** The ids that every text is read after. */
function openingOf(entry) {
  return entry.opening ?? [BOS];
}

/** The ids before a continuation: the opening and the prompt, line by line; where units are words a line ends with EOS. */
export function promptIds(entry, tokenizer, text) {
  const lines = text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  const endOf = (line) => (inSequences(tokenizer) && line.endsWith("\n") ? [EOS] : []);
  const ids = lines.flatMap((line) => [...tokenizer.encode(line), ...endOf(line)]);
  return [...openingOf(entry), ...ids];
}

/** Whether each line is a sequence of units, with EOS after it. */
function inSequences(tokenizer) {
  return tokenizer.unit === "words" || tokenizer.unit === "symbols";
}

/** What a language model never generates: units it cannot write, and where its texts do not end, an end. */
export function neverGenerated(tokenizer) {
  return [...(tokenizer.unknown === null ? [] : [tokenizer.unknown]), ...(inSequences(tokenizer) ? [] : [EOS])];
}

/** The text of a continuation of the ids `before`; words need no space after a prompt that ends with one. */
export function continuedText(tokenizer, prompt, before, ids) {
  const spaced = inSequences(tokenizer) && prompt !== "" && hasSpace(Array.from(prompt).at(-1));
  const anchor = spaced ? [] : before.slice(-1);
  return linesText(tokenizer, [...anchor, ...ids]).slice(linesText(tokenizer, anchor).length);
}

/** The text of ids, decoded line by line. */
function linesText(tokenizer, ids) {
  if (tokenizer.unit === "characters") return tokenizer.decode(ids);
  const rows = [[]];
  for (const id of ids) {
    rows.at(-1).push(id);
    const ends = inSequences(tokenizer) ? id === EOS : tokenizer.pieces([id])[0].endsWith("\n");
    if (ends) rows.push([]);
  }
  return rows.map((row) => tokenizer.decode(row)).join(inSequences(tokenizer) ? "\n" : "");
}

// ── the pass, and what it says ──────────────────────────────────────────────────────────────────────────────────────

/** The pass over a text: logits [1, O] of the whole, or [1, N, O] of the rows that are asked for. */
export function readerLogits(network, entry, {ids, rows}) {
  if (entry.task === "classification") return network.output.forward(network.pool(ids));
  const h = network.encode(ids); // [1, T, D]
  return network.output.forward(rows === null ? h : concat(rows.map((t) => slice(h, 1, t, t + 1)), 1));
}

/** What the model says: labels of the text, a tag for each word, or words for each gap, written [MASK]; likeliest first. */
export function readerPredictions(entry, tokenizer, logits, read) {
  const probabilities = softmax(logits);
  const count = logits.shape.at(-1);
  const row = (n) => probabilities.data.subarray(n * count, (n + 1) * count);
  const ranked = (n) => entry.labels.map((label, place) => ({label, probability: row(n)[place]})).sort(byProbability);
  if (entry.task === "classification") return {labels: ranked(0), cut: read.cut};
  if (entry.task === "tagging") return {tags: read.words.map((token, n) => ({token, ...ranked(n)[0], labels: ranked(n)}))};
  if (!read.words.includes(GAP)) return {fills: []};
  const first = (tokenizer.mask ?? EOS) + 1; // no special token is a word
  return {fills: read.rows.map((place, n) => ({position: place + 1, words: likeliestWords(tokenizer, row(n), first)}))};
}

function likeliestWords(tokenizer, row, first) {
  const ids = Array.from(row.keys()).slice(first).sort((a, b) => row[b] - row[a]).slice(0, WORDS_FOR_A_GAP);
  return ids.map((id) => ({word: trimmed(tokenizer.pieces([id])[0]), probability: row[id]}));
}

function byProbability(a, b) {
  return b.probability - a.probability;
}
