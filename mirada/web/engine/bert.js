// BERT: the Transformer's encoder alone, which sees both sides of a gap, as in `mirada/models/bert.py`.
//
//     [CLS] tokens ─ embed + position + segment ─ norm ─ self-attention, feed-forward ×N ─┬─ a word for every gap
//                                                                                        ├─ [CLS]: does B follow A?
//                                                                                        └─ a task's own output
//
// [CLS] is BOS and [SEP] is EOS here, as in every vocabulary of Mirada's.

import {add, mapped, slice} from "./tensor.js";
import {Part} from "./record.js";
import {Embedding, LayerNorm, Linear, OutputHead, activate} from "./layers.js";
import {positionsOf} from "./positions.js";
import {Stack} from "./blocks.js";
import {stepOf} from "./recurrent.js";

const CLS = 1; // BOS

/** log-odds of every word at a gap: norm(g(W h)) · Eᵀ + b        (the published code's `cls/predictions`) */
class MaskedWords extends Part {
  constructor(weights, name, config) {
    super(name);
    this.dense = new Linear(weights, `${name}.dense`);
    this.norm = new LayerNorm(weights, `${name}.norm`, config.eps);
    this.output = new OutputHead(weights, `${name}.output`);
    this.activation = config.activation;
  }

  forward(h) {
    return this.output.forward(this.norm.forward(activate(this.dense.forward(h), this.activation)));
  }
}

/** Encodes a text with attention to both sides. Its inputs end with EOS ([SEP]); it puts BOS ([CLS]) before them. */
export class Bert extends Part {
  constructor(entry, weights) {
    super();
    const config = (this.config = entry.config);
    this.embedding = new Embedding(weights, "embedding");
    this.positions = positionsOf(config.positions, weights, "positions", config.width);
    this.segments = new Embedding(weights, "segments");
    this.norm = new LayerNorm(weights, "norm", config.eps);
    this.encoder = new Stack(weights, "encoder", {...config, positions: this.positions}, config.layers);
    this.pooler = new Linear(weights, "pooler");
    if (entry.task === "masked_lm") {
      this.masked = new MaskedWords(weights, "masked", config);
      this.follows = new OutputHead(weights, "follows");
      this.output = this.masked;
    } else {
      this.output = new OutputHead(weights, "output");
    }
  }

  /** A vector for [CLS] and for every token of a text's ids, [1, 1+T, D]; `segments` says which text each belongs to. */
  states(ids, segments = null) {
    const tokens = [CLS, ...ids];
    const {max_length: limit} = this.config;
    if (tokens.length > limit) {
      const found = `a text has ${tokens.length} tokens ([CLS] and the end counted)`;
      throw new Error(`${found}, the model takes at most model.max_length=${limit}`);
    }
    const sides = segments === null ? tokens.map(() => 0) : [0, ...segments];
    const x = add(this.embedding.forward(tokens), this.segments.forward(sides)); // [1, 1+T, D]
    this.record("embeddings", x);
    const inputs = this.norm.forward(this.positions.forward(x));
    this.record("inputs", inputs);
    return this.encoder.forward(inputs);
  }

  /** A vector for every token, [1, T, D]. */
  encode(ids, segments = null) {
    return slice(this.states(ids, segments), 1, 1);
  }

  /** tanh(W h_CLS): one vector for the text, [1, D]. */
  pool(ids, segments = null) {
    return this.pooled(this.states(ids, segments));
  }

  pooled(states) {
    const pooled = mapped(this.pooler.forward(stepOf(states, 0)), Math.tanh);
    this.record("pooled", pooled);
    return pooled;
  }
}

export const BERTS = {bert: (entry, weights) => new Bert(entry, weights)};
