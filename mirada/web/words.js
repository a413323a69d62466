// Pieces of text as labels, and pieces joined to words.

/** How a tokenizer cuts text: into subwords, wordpieces (with ## inside a word), characters, words or symbols. */
export function unitOf(tokenizer) {
  if (!tokenizer) return "subwords"; // a model whose sentences were recorded
  const {model, pre_tokenizer: cutter} = tokenizer;
  if (model.type === "BPE") return !cutter && model.merges.length === 0 ? "characters" : "subwords";
  if (model.type === "WordLevel") return cutter?.type === "WhitespaceSplit" ? "symbols" : "words";
  return model.type === "WordPiece" ? "wordpieces" : "subwords";
}

/** A piece as a label: without its leading space; one that continues the word of the piece `before` begins with a dot. */
export function pieceLabel(piece, before, unit) {
  if (unit === "words" || unit === "symbols" || isSpecial(piece)) return visible(piece);
  if (unit === "characters" || isSpace(piece)) return visible(piece);
  const inside =
    /[\p{L}\p{N}\p{M}]$/u.test(before) &&
    /^(##)?[\p{L}\p{N}\p{M}]/u.test(piece) &&
    (unit !== "wordpieces" || piece.startsWith("##"));
  const label = visible(piece.trim().replace(/^##/, ""));
  return inside ? `·${label}` : label;
}

/** Every piece of a sequence as a label. */
export function pieceLabels(pieces, unit) {
  let before = "";
  return pieces.map((piece) => {
    const label = pieceLabel(piece, before, unit);
    before = piece || before; // an empty one is the rest of a character
    return label;
  });
}

/** The text of a sequence, without the pieces that stand for none. */
export function textOf(pieces, unit) {
  const said = pieces.filter((piece) => !isSpecial(piece));
  return said.join(unit === "words" || unit === "symbols" ? " " : "").trim();
}

/** Whether a piece stands for no text: the beginning, the end, a direction. */
function isSpecial(piece) {
  return /^(<[^<>\s]+>|\[[A-Z]+\])$/.test(piece);
}

/** Runs of pieces that are one word: [{start, end, label}], `end` exclusive. */
export function wordsOf(pieces, unit) {
  const words = [];
  let text = ""; // what the pieces before this one say
  let last = ""; // the last of them
  pieces.forEach((piece, place) => {
    const said = unit === "wordpieces" ? (piece.startsWith("##") ? piece.slice(2) : ` ${piece}`) : piece;
    const alone =
      isSpecial(piece) || (place > 0 && isSpecial(pieces[place - 1])) || unit === "words" || unit === "symbols";
    if (place === 0 || alone || (!isSpace(last) && beginsWord([...text], [...said])))
      words.push({start: place, end: place, label: ""});
    words.at(-1).end = place + 1;
    words.at(-1).label += said;
    text += said;
    last = said;
  });
  for (const word of words) word.label = visible(word.label.trim() || word.label);
  return words;
}

/** Whether a piece is nothing but space, which is a part of the word after it. */
function isSpace(piece) {
  return piece !== "" && piece.trim() === "";
}

const INSIDE_WORDS = "'’‘-‐‑·_@#.,:"; // part of a word with letters or digits on both sides: don't, 5.20, e-mail
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** Whether a piece begins another word than what comes before it; both are lists of characters. As inspection/words.py. */
function beginsWord(before, piece) {
  const start = piece.findIndex((letter) => !/\s/u.test(letter));
  const left = before.at(-1);
  if (left === undefined || start !== 0 || /\s/u.test(left)) return piece.length > 0;
  const [right, next] = piece;
  const inWord = (letter) => letter !== undefined && /[\p{L}\p{N}\p{M}]/u.test(letter);
  const flag = (letter) => /[\u{1F1E6}-\u{1F1FF}]/u.test(letter);
  if (/[\p{M}\p{Cf}\u{1F3FB}-\u{1F3FF}]/u.test(right) || left === "\u200d" || (flag(left) && flag(right))) return false;
  if (inWord(left) && inWord(right)) return UNSPACED.test(left) || UNSPACED.test(right);
  if (INSIDE_WORDS.includes(left) && inWord(right)) return !inWord(before.at(-2));
  if (INSIDE_WORDS.includes(right) && inWord(left)) return !inWord(next);
  return left !== right;
}

/**
 * Weights between tokens as weights between words: a word is looked at as much as its tokens together (sum over keys),
 * and looks where its tokens look on average (mean over queries).
 */
export function mergedWeights(weights, columns, queryWords, keyWords) {
  const merged = new Float32Array(queryWords.length * keyWords.length);
  queryWords.forEach((query, i) => {
    for (let row = query.start; row < query.end; row++) {
      keyWords.forEach((key, j) => {
        let sum = 0;
        for (let column = key.start; column < key.end; column++) sum += weights[row * columns + column];
        merged[i * keyWords.length + j] += sum / (query.end - query.start);
      });
    }
  });
  return merged;
}

/** Nothing unseen: spaces alone and ends of lines have signs, what has no shape is shown as �, and nothing as ∅. */
function visible(text) {
  const seen = isSpace(text) ? text.replaceAll(" ", "␣") : text;
  const signs = seen.replaceAll("\n", "↵").replaceAll("\t", "⇥");
  return signs.replace(/[\p{Cc}\p{Co}\p{Cn}]/gu, "\ufffd") || "∅";
}
