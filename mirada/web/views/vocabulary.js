// What the numbers of a vocabulary stand for.

import {Tokenizer} from "../engine/tokenizer.js";

const vocabularies = new Map(); // tokenizer file → its vocabulary, made once

/** The pieces of a tokenizer by their ids. */
export class Vocabulary {
  constructor(file) {
    this.tokenizer = file ? new Tokenizer(file) : null; // a model whose sentences were recorded has none
  }

  /** That of a model's source or target side. */
  static of(entry, side) {
    const file = (side === "target" ? entry.tokenizers.target : null) ?? entry.tokenizers.source;
    if (!vocabularies.has(file)) vocabularies.set(file, new Vocabulary(file));
    return vocabularies.get(file);
  }

  /** A piece as text; one that only separates shows that it does. */
  piece(id) {
    if (this.tokenizer === null) return `#${id}`;
    const [text] = this.tokenizer.pieces([id]);
    return text.trim() === "" ? "␣" : text.trim();
  }
}
