// The texts of the page in three languages, and how numbers are written in them.

import {english} from "./en.js";
import {spanish} from "./es.js";
import {portuguese} from "./pt.js";
import {walkEnglish} from "./walk_en.js";
import {walkSpanish} from "./walk_es.js";
import {walkPortuguese} from "./walk_pt.js";

/** What each language is called by its speakers. */
export const LANGUAGES = {en: "English", es: "Español", pt: "Português"};

/** Every text by its key, in each language. */
export const STRINGS = {
  en: {...english, ...walkEnglish},
  es: {...spanish, ...walkSpanish},
  pt: {...portuguese, ...walkPortuguese},
};

/** The language to begin with: the first the browser asks for that there is. */
export function preferredLanguage(asked = navigator.languages) {
  return asked.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in STRINGS) ?? "en";
}

/** The text of a key, with {names} replaced by the values. */
export function textOf(language, key, values = {}) {
  const text = STRINGS[language][key] ?? STRINGS.en[key];
  if (text === undefined) throw new Error(`no text for ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** A number as the language writes it, with so many digits after the point. */
export function numberText(language, value, digits = 2) {
  const key = `${language} ${digits}`;
  const usual = {minimumFractionDigits: digits, maximumFractionDigits: digits};
  if (!NUMBER_FORMATS.has(key)) NUMBER_FORMATS.set(key, new Intl.NumberFormat(language, usual));
  return NUMBER_FORMATS.get(key).format(value).replace("-", "−");
}

const NUMBER_FORMATS = new Map(); // making one takes longer than using it
