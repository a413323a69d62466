// Text as a model reads it: canonical Unicode (NFC) and plain spaces, as in `mirada/data/normalize.py`.
//
// White space is what Python calls so, and lists of characters are lists of code points.

const WHITE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const INVISIBLE = "\\x00-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f\\u00ad\\u180e\\u200b\\u2060\\ufeff";
const ODD = new RegExp(`[${WHITE}${INVISIBLE}]{2,}|(?! )[${WHITE}]|[${INVISIBLE}]`, "gu");
const HAS_SPACE = new RegExp(`[${WHITE}]`, "u");
const OUTER_SPACES = /^ +| +$/gu;

/** The text as a model reads it. Doing it again changes nothing. */
export function normalizeText(text) {
  const plain = text.replace(ODD, (found) => (HAS_SPACE.test(found) ? " " : ""));
  return plain.normalize("NFC").replace(OUTER_SPACES, "");
}

/** Whether a text has white space in it. */
export function hasSpace(text) {
  return HAS_SPACE.test(text);
}

/** The characters of the normalized text, and for each the characters [start, end) of the text that it stands for. */
export function alignedText(text) {
  const given = Array.from(text);
  const whole = normalizeText(text);
  if (whole === text) return {characters: given, spans: given.map((_, place) => [place, place + 1])};
  const characters = [];
  const spans = [];
  for (const [start, end] of clusters(given)) {
    const cluster = given.slice(start, end).join("");
    let part = normalizeText(cluster);
    if (!part && hasSpace(cluster) && characters.length && characters.at(-1) !== " ") part = " ";
    for (const character of part) {
      characters.push(character);
      spans.push([start, end]);
    }
  }
  while (characters.at(-1) === " ") characters.pop();
  const joined = characters.join("") === whole;
  // Clusters are found by looking at neighbours; should a rare script compose over more, all of it is one.
  if (!joined) return {characters: Array.from(whole), spans: Array.from(whole, () => [0, given.length])};
  return {characters, spans: spans.slice(0, characters.length)};
}

/** Parts of a text that can be normalized one by one: a character with what joins it, or white space. */
function clusters(given) {
  const starts = [];
  let composed = ""; // what the part so far is; nothing if it is white space
  given.forEach((character, place) => {
    const clean = normalizeText(character);
    const grown = normalizeText(composed + character);
    const apart = !isCombining(character) && grown === composed + clean;
    if (hasSpace(character) || (clean && (apart || !composed)) || !starts.length) {
      starts.push(place);
      composed = clean;
    } else {
      composed = grown;
    }
  });
  return starts.map((start, n) => [start, starts[n + 1] ?? given.length]);
}

const FIRST_MARK = "\u0334"; // of combining class 1: canonical order puts it before marks of any other class
const LAST_MARK = "\u0345"; // of combining class 240, the highest
const OF_MARKS = "\u0f73\u0f75\u0f81"; // Tibetan vowels without a class, made of marks that have one

/** Whether a character has a combining class, by which canonical order sorts it among its neighbours. */
function isCombining(character) {
  if (!/^\p{M}$/u.test(character) || OF_MARKS.includes(character)) return false;
  const moves = (pair) => !pair.normalize("NFD").startsWith(Array.from(pair)[0].normalize("NFD"));
  return moves(LAST_MARK + character) || moves(character + FIRST_MARK);
}
