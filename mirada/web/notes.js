// What `mirada translate` treats specially, and the page does not: it reads one sentence as it stands.

const SEVERAL = /[.!?…][)\]"'»”]*\s+["'«“(¿¡]*\p{Lu}/u;
const PLACES = /(https?:\/\/|www\.)\S|\S@\S+\.\S|%[sd]|\{\w*\}|<\/?\w+[^>]*>/u;

/** The keys of the notes that a sentence calls for: several sentences, numbers, addresses, all capitals. */
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
    capitals && "note.capitals",
  ].filter(Boolean);
}
