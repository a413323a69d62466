// Text to ids and back, by a tokenizer's own JSON file, as in `mirada/data/tokenizer.py`.
//
//     subwords     byte-level BPE        words, symbols, characters        a unit each, what is rare is <unk>
//
// Inside, a text is a list of characters, {text, start, end}: a code point, and those of the given text that it stands
// for. Places that are returned count as JavaScript's strings do, so that `text.slice(start, end)` is the token.

import {alignedText, normalizeText} from "./normalize.js";

export const PAD = 0;
export const BOS = 1;
export const EOS = 2;
export const UNK = 3;
const UNREADABLE = "�"; // what half a character and unknown units are shown as

const TAG = /^(?:<synthetic>|<to:[\p{L}\p{N}_.@-]+>)$/u;
// Unicode's White_Space
const SPACES = "\\t-\\r\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BYTE_LEVEL = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${SPACES}\\p{L}\\p{N}]+|[${SPACES}]+(?![^${SPACES}])|[${SPACES}]+`,
  "gu",
);
const WORDS = new RegExp(`[\\p{L}\\p{M}\\p{N}]+(?:['’\\-‐‑][\\p{L}\\p{M}\\p{N}]+)*|[^${SPACES}]`, "gu");
const WORDS_PATTERN = "[\\p{L}\\p{M}\\p{N}]+(?:['’\\-‐‑][\\p{L}\\p{M}\\p{N}]+)*|\\S"; // how files write it

/** The texts between two places that a pattern finds. */
const matchesOf = (pattern) => (text) => Array.from(text.matchAll(pattern), (found) => [found.index, found[0].length]);

/** How each pre-tokenizer cuts a text: the pieces as [index, length]. */
const CUTTERS = {
  Digits: matchesOf(/\p{N}|\P{N}+/gu),
  ByteLevel: matchesOf(BYTE_LEVEL),
  Split: matchesOf(WORDS),
  WhitespaceSplit: matchesOf(new RegExp(`[^${SPACES}]+`, "gu")),
};

/** How each normalizer changes a list of characters. */
const NORMALIZERS = {
  NFC: (characters) => characters, // the text is normalized before
  Lowercase: (characters) => characters.flatMap(inLowerCase),
  Prepend: (characters) => (characters.length ? [{...characters[0], text: " "}, ...characters] : characters),
};

/** Each character by itself: a final sigma is like any other. */
function inLowerCase(character) {
  return Array.from(character.text.toLowerCase(), (text) => ({...character, text}));
}

/** The letters of byte-level pieces: visible ones of Latin-1 are their own byte, others are numbered from 256 on. */
function byteAlphabet() {
  const visible = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let hiddenOnes = 0;
  return Array.from({length: 256}, (_, byte) => String.fromCodePoint(visible(byte) ? byte : 256 + hiddenOnes++));
}

const BYTE_LETTERS = byteAlphabet();
const LETTER_BYTES = new Map(BYTE_LETTERS.map((letter, byte) => [letter, byte]));
const NO_BOM = {ignoreBOM: true};

export class Tokenizer {
  constructor(file) {
    this.unit = unitOf(file);
    const steps = stepsOf(file.normalizer, "normalizers");
    this.normalizes = steps[0]?.type === "NFC" && (this.unit !== "subwords" || steps.at(-1).type === "Prepend");
    this.normalizers = steps.map((step) => normalizerOf(step, this.normalizes));
    this.cutters = stepsOf(file.pre_tokenizer, "pretokenizers").map(cutterOf);
    this.strips = stepsOf(file.decoder, "decoders").some((step) => step.type === "Strip");
    this.ids = new Map(Object.entries(file.model.vocab));
    for (const {content, id} of file.added_tokens) this.ids.set(content, id);
    this.names = [];
    for (const [name, id] of this.ids) this.names[id] = name;
    this.added = new Set(file.added_tokens.map(({id}) => id));
    this.mask = this.ids.get("<mask>") ?? null;
    this.tags = new Set(file.added_tokens.filter(({content}) => TAG.test(content)).map(({id}) => id));
    this.markers = new Set([...this.tags, ...(this.mask === null ? [] : [this.mask])]);
    const pairs = (file.model.merges ?? []).map((merge) => (Array.isArray(merge) ? merge.join(" ") : merge));
    this.ranks = new Map(pairs.map((pair, rank) => [pair, rank]));
  }

  get size() {
    return this.names.length;
  }

  /** The id of whatever is not in the vocabulary; subwords can spell everything and have none. */
  get unknown() {
    return this.unit === "subwords" ? null : UNK;
  }

  /** The ids of a text, without BOS or EOS. Markers such as </s> inside a text are text like any other. */
  encode(text) {
    const given = Array.from(this.normalizes ? normalizeText(text) : text);
    return this.cut(given.map((character) => ({text: character, start: 0, end: 0}))).map(({id}) => id);
  }

  /** The units of a text with the characters [start, end) they stand for. */
  tokens(text) {
    const {characters, spans} = this.normalizes ? alignedText(text) : {characters: Array.from(text), spans: null};
    const placed = characters.map((character, n) => {
      const [start, end] = spans?.[n] ?? [n, n + 1];
      return {text: character, start, end};
    });
    const places = [0];
    for (const character of text) places.push(places.at(-1) + character.length);
    return this.cut(placed).map(({id, start, end}) => {
      const [first, last] = [places[start], places[end]];
      return {id, text: text.slice(first, last), start: first, end: last};
    });
  }

  /** The ids of a list of characters, with their places. */
  cut(characters) {
    let pieces = [this.normalizers.reduce((list, normalize) => normalize(list), characters)];
    for (const cutter of this.cutters) pieces = pieces.flatMap((piece) => cutBy(cutter, piece));
    const found = pieces.flatMap((piece) => (this.unit === "subwords" ? this.merged(piece) : this.looked(piece)));
    return this.unit === "subwords" ? found : found.map((unit) => ({...unit, id: this.withoutMarker(unit.id)}));
  }

  /** A word that is spelt like a special token, </s> or <mask>, is an unknown one and no special one. */
  withoutMarker(id) {
    return id < UNK || this.markers.has(id) ? UNK : id;
  }

  /** A word as a unit, or each character of a text. */
  looked(piece) {
    const units = this.unit === "characters" ? piece.map((one) => [one]) : [piece];
    return units.filter((unit) => unit.length).map((unit) => ({
      id: this.ids.get(unit.map(({text}) => text).join("")) ?? UNK,
      start: unit[0].start,
      end: unit.at(-1).end,
    }));
  }

  /** Byte pairs: of the bytes, merge the pair that was learned first, at its leftmost place, while there is one. */
  merged(piece) {
    const units = piece.flatMap(bytesOf);
    const rank = (n) => (n + 1 < units.length ? this.ranks.get(`${units[n].text} ${units[n + 1].text}`) : undefined);
    const ranks = units.map((_, n) => rank(n) ?? Infinity);
    for (;;) {
      let best = -1;
      let least = Infinity;
      for (let n = 0; n < ranks.length; n++) if (ranks[n] < least) least = ranks[(best = n)];
      if (best < 0) break;
      const [left, right] = [units[best], units[best + 1]];
      units.splice(best, 2, {text: left.text + right.text, start: left.start, end: Math.max(left.end, right.end)});
      ranks.splice(best, 2, rank(best) ?? Infinity);
      if (best > 0) ranks[best - 1] = rank(best - 1) ?? Infinity;
    }
    const known = units.filter(({text}) => this.ids.has(text));
    return known.map(({text, start, end}) => ({id: this.ids.get(text), start, end}));
  }

  // ── back to text ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The text of ids, without the special ones; what was unknown is shown as �. */
  decode(ids) {
    if (this.unit !== "subwords") {
      const kept = ids.filter((id) => id > EOS && !this.tags.has(id));
      return this.pieces(kept).join(this.unit === "characters" ? "" : " ");
    }
    const letters = ids.filter((id) => !this.added.has(id)).map((id) => this.names[id] ?? "");
    const text = textOfBytes(letters.join(""));
    return this.strips && text.startsWith(" ") ? text.slice(1) : text;
  }

  /** Each unit as text; half a character and what was unknown are shown as �. */
  pieces(ids) {
    if (this.unit === "subwords") return ids.map((id) => textOfBytes(this.names[id] ?? ""));
    return ids.map((id) => (id === UNK ? UNREADABLE : this.names[id] ?? ""));
  }

  /** The same of a text's ids, but a character that several units make up stands whole at the first of them. */
  spelt(ids) {
    const found = this.pieces(ids);
    for (let start = 0; this.unit === "subwords" && start < found.length; start++) {
      let end = start;
      while (end < found.length && found[end].includes(UNREADABLE)) end++;
      if (end - start < 2) continue;
      const parts = ids.slice(start, end).map((id) => bytesOfLetters(this.names[id] ?? "") ?? []);
      found.splice(start, end - start, ...wholeCharacters(parts));
      start = end;
    }
    return found;
  }
}

/** The bytes of a character as units to merge, each as the letter that stands for it. */
function bytesOf({text, start, end}) {
  return Array.from(new TextEncoder().encode(text), (byte) => ({text: BYTE_LETTERS[byte], start, end}));
}

/** The text of byte-level letters; a piece with another letter, as "<to:ñ>" may have, is itself. */
function textOfBytes(piece) {
  const bytes = bytesOfLetters(piece);
  return bytes ? new TextDecoder("utf-8", NO_BOM).decode(Uint8Array.from(bytes)) : piece;
}

/** The bytes that byte-level letters stand for; null if there is another letter. */
function bytesOfLetters(piece) {
  const bytes = Array.from(piece, (letter) => LETTER_BYTES.get(letter));
  return bytes.includes(undefined) ? null : bytes;
}

/** The characters that begin in each part of a list of bytes; what makes up none is �. */
function wholeCharacters(parts) {
  const bytes = parts.flat();
  const owner = parts.flatMap((part, place) => part.map(() => place));
  const found = parts.map(() => "");
  for (let at = 0; at < bytes.length; ) {
    const texts = [1, 2, 3, 4].map((size) => strictText(bytes.slice(at, at + size)));
    const size = texts.findIndex((text) => text !== null) + 1;
    found[owner[at]] += size ? texts[size - 1] : UNREADABLE;
    at += size || 1;
  }
  return found;
}

/** Bytes as text, or null. */
function strictText(bytes) {
  try {
    return new TextDecoder("utf-8", {...NO_BOM, fatal: true}).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

/** The parts of a list of characters that a cutter finds. */
function cutBy(cutter, characters) {
  const owner = []; // the character at each index of the text
  characters.forEach(({text}, n) => {
    for (let unit = 0; unit < text.length; unit++) owner.push(n);
  });
  const text = characters.map((one) => one.text).join("");
  return cutter(text).map(([index, length]) => characters.slice(owner[index], owner[index + length - 1] + 1));
}

// ── what a file says ────────────────────────────────────────────────────────────────────────────────────────────────

/** The unit of a tokenizer, inferred from its parts. */
function unitOf({model, pre_tokenizer: cutter}) {
  if (model.type === "BPE") return !cutter && !model.merges.length ? "characters" : "subwords";
  if (model.type === "WordLevel" && cutter?.type === "Split") return "words";
  if (model.type === "WordLevel" && cutter?.type === "WhitespaceSplit") return "symbols";
  throw new Error(`the page cannot cut text into the pieces of a published tokenizer (${model.type})`);
}

function stepsOf(part, key) {
  return part ? (part[key] ?? [part]) : [];
}

function normalizerOf(step, normalizes) {
  const known = step.type in NORMALIZERS && (step.type !== "NFC" || normalizes) && (step.prepend ?? " ") === " ";
  if (!known) throw new Error(`the page cannot run this published tokenizer: its normalizer is ${step.type}`);
  return NORMALIZERS[step.type];
}

function cutterOf(step) {
  const {type, pattern} = step;
  const otherwise = step.add_prefix_space || step.use_regex === false || step.individual_digits === false;
  if (!(type in CUTTERS) || otherwise || (type === "Split" && pattern.Regex !== WORDS_PATTERN)) {
    throw new Error(`the page cannot run this published tokenizer: it cuts text by ${type} in its own way`);
  }
  return CUTTERS[type];
}
