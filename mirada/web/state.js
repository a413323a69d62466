// What the page shows, as plain values, and the same in the address, so that a link restores it.

import {ALL_ON} from "./engine/record.js";

/** The values that the shell itself needs; a view adds its own by `static defaults`. */
export const SHELL_DEFAULTS = {
  model: 0, // which of the models given to explore
  view: "", // the view's id; empty: the first that fits the model
  text: "", // the sentence; empty: the model's sample
  to: "", // the language to translate into, of a model that translates both ways
  beam: 0, // 0: as the model was told to decode
  prefix: [], // ids that the translation must begin with
  best: 0, // which hypothesis of the n-best is looked at
  switches: {}, // parts that are switched off, see engine/record.js
  lang: "", // empty: as the browser asks
};

const WRITING_PAUSE = 300; // milliseconds between two addresses: browsers refuse a hundred within ten seconds
const OF_A_SENTENCE = ["prefix", "best", "word", "step", "token"];

/** Values with defaults, listeners, and a place in the address. */
export class State {
  #defaults;
  #listeners = [];
  #timer = 0; // until the address may be written again
  #unwritten = false;

  constructor(defaults) {
    this.#defaults = defaults;
    this.values = Object.freeze({...defaults, ...readAddress(location.hash, defaults)});
    addEventListener("hashchange", () => {
      this.#unwritten = false;
      this.#take({...defaults, ...readAddress(location.hash, defaults)});
    });
    addEventListener("pagehide", () => this.#unwritten && this.#write());
  }

  /** Change some values; nothing happens if they are what they were. */
  set(changes) {
    const changed = Object.keys(changes).some(
      (key) => JSON.stringify(changes[key]) !== JSON.stringify(this.values[key]),
    );
    if (!changed) return;
    this.#take({...this.values, ...changes});
    if (this.#timer === 0) this.#write();
    else this.#unwritten = true;
  }

  /** Call `listener(values, before)` after each change. */
  listen(listener) {
    this.#listeners.push(listener);
  }

  /** What no longer holds when another sentence is read: what was chosen in the one before. */
  get afresh() {
    return Object.fromEntries(
      OF_A_SENTENCE.filter((key) => key in this.#defaults).map((key) => [key, this.#defaults[key]]),
    );
  }

  /** The address of the page as it is now. */
  get link() {
    return location.href.split("#")[0] + writeAddress(this.values, this.#defaults);
  }

  /** Write the address now; what changes soon after waits, for many letters and slider steps come in a second. */
  #write() {
    this.#unwritten = false;
    history.replaceState(null, "", writeAddress(this.values, this.#defaults) || "#");
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      if (this.#unwritten) this.#write();
    }, WRITING_PAUSE);
  }

  #take(values) {
    const before = this.values;
    this.values = Object.freeze(values);
    for (const listener of this.#listeners) listener(this.values, before);
  }
}

/** "#view=look&layer=1": what differs from the defaults. */
function writeAddress(values, defaults) {
  const parts = new URLSearchParams();
  for (const [key, usual] of Object.entries(defaults)) {
    if (JSON.stringify(values[key]) === JSON.stringify(usual)) continue;
    parts.set(key, typeof usual === "object" ? JSON.stringify(values[key]) : String(values[key]));
  }
  const written = parts.toString();
  return written && `#${written}`;
}

/** The values in an address; what is unknown, or of another type than its default, is left out. */
function readAddress(hash, defaults) {
  const found = {};
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(defaults, key)) continue;
    const value = key === "switches" ? readSwitches(text) : readValue(text, defaults[key]);
    if (value !== undefined) found[key] = value;
  }
  return found;
}

function readValue(text, usual) {
  if (typeof usual === "string") return text;
  if (typeof usual === "boolean") return text === "true";
  if (typeof usual === "number") return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
  try {
    const value = JSON.parse(text);
    if (Array.isArray(usual)) return Array.isArray(value) && value.every(Number.isInteger) ? value : undefined;
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Switches as engine/record.js has them; what is none of them is left out. */
function readSwitches(text) {
  const kind = (value) => (Array.isArray(value) ? "list" : typeof value);
  const isSwitch = ([name, value]) => Object.hasOwn(ALL_ON, name) && kind(value) === kind(ALL_ON[name]);
  return Object.fromEntries(Object.entries(readValue(text, {}) ?? {}).filter(isSwitch));
}
