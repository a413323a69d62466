// What `mirada translate` treats specially, and the page does not: it reads one sentence as it stands.

const SEVERAL = /[.!?…][)\]"'»”]*\s+["'«“(¿¡]*\p{Lu}/u;
const EMOJI = /[\u{1F000}-\u{1FAFF}\u2600-\u27BF\u2B05-\u2B55\u231A-\u23FF]/u; // as data/masking.py
const PLACES = /(https?:\/\/|www\.)\S|\S@\S+\.\S|%[sd]|\{\w*\}|<\/?\w+[^>]*>/u;

/** The keys of the notes that a sentence calls for: several sentences, numbers, addresses, emoji, capitals. */
export function notesOn(text) {
  const letters = [...text].filter((letter) => /\p{L}/u.test(letter));
  const capitals =
    letters.length >= 4 &&
    letters.every((letter) => !/\p{Ll}/u.test(letter)) &&
    letters.some((letter) => /\p{Lu}/u.test(letter));
  return [
    SEVERAL.test(text) && "note.several",
    /\p{N}/u.test(text) && "note.numbers",
    PLACES.test(text) && "note.places",
    EMOJI.test(text) && "note.emoji",
    capitals && "note.capitals",
  ].filter(Boolean);
}
