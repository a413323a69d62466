// Position encodings: how a Transformer knows where a token stands, as in `mirada/nn/positions.py`.
//
//     none        nothing: the order is not seen
//     sinusoidal  fixed waves, added to the embeddings        (Vaswani et al. 2017, §3.5)
//     halves      the same, all sines before all cosines, as in Marian
//     learned     learned vectors, added to the embeddings    (Gehring et al. 2017, §3.1)
//     rotary      queries and keys are turned by an angle     (Su et al. 2021, §3.2)

import {Tensor, add, slice, zeros} from "./tensor.js";
import {Part, activeSwitches} from "./record.js";
import {weightOf} from "./layers.js";

/** PE(t, 2i) = sin(t / 10000^(2i/d)),  PE(t, 2i+1) = cos(t / 10000^(2i/d))        (§3.5), for t = before, …: [T, D] */
export function sinusoidal(length, width, before = 0, halves = false) {
  const table = zeros(length, width);
  const sines = Math.ceil(width / 2);
  for (let t = 0; t < length; t++) {
    for (let i = 0; i < width; i++) {
      const pair = Math.floor(i / 2);
      const angle = (before + t) * Math.exp((2 * pair * -Math.log(10000)) / width);
      const at = halves ? (i % 2 ? sines + pair : pair) : i;
      table.data[t * width + at] = i % 2 ? Math.cos(angle) : Math.sin(angle);
    }
  }
  return table;
}

/** Base class of position encodings; adds none. */
export class Positions extends Part {
  kind = "positions";
  inAttention = false; // whether `rotate` does anything

  /** Embeddings x [B, T, D] of the tokens after the first `before`, with their positions. */
  forward(x, before = 0) {
    return x;
  }

  /** Queries or keys x [B, H, T, K] of the tokens after the first `before`, with their positions. */
  rotate(x, before = 0) {
    return x;
  }
}

/** x_t + P_t, where P is a table of vectors. */
class AddedPositions extends Positions {
  honours = ["positions"];

  constructor(name, vectors) {
    super(name);
    this.vectors = vectors; // (length, before) -> [T, D]
  }

  forward(x, before = 0) {
    if (!activeSwitches().positions) return x;
    const vectors = this.vectors(x.shape[1], before);
    this.record("vectors", vectors);
    return add(x, vectors);
  }
}

/** R_t x: each pair (x_i, x_{i+K/2}) is turned by the angle t / 10000^(2i/K)        (Su et al. 2021, §3.2.2) */
class Rotary extends Positions {
  honours = ["positions"];
  inAttention = true;

  rotate(x, before = 0) {
    if (!activeSwitches().positions) return x;
    const [t, width] = x.shape.slice(-2);
    const half = width / 2;
    const y = new Tensor(x.shape, new Float32Array(x.data.length));
    for (let row = 0; row * width < y.data.length; row++) {
      const position = before + (row % t);
      for (let i = 0; i < half; i++) {
        const angle = position * 10000 ** ((-2 * i) / width);
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        const [one, two] = [row * width + i, row * width + half + i];
        y.data[one] = x.data[one] * cos - x.data[two] * sin;
        y.data[two] = x.data[two] * cos + x.data[one] * sin;
      }
    }
    return y;
  }
}

/** The position encoding of a model by its name in the settings; `name` is that of its weights. */
export function positionsOf(kind, weights, name, width) {
  if (kind === "rotary") return new Rotary(name);
  if (kind === "none") return new Positions(name);
  if (kind === "learned") {
    const table = weightOf(weights, `${name}.table`); // [length, D]
    return new AddedPositions(name, (length, before) => slice(table, 0, before, before + length));
  }
  return new AddedPositions(name, (length, before) => sinusoidal(length, width, before, kind === "halves"));
}
