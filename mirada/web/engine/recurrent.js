// Recurrent layers: memoryless, Elman, Jordan, LSTM, GRU; stacked, in one direction or both.
//
//     x_t input [R, X]     h_t hidden state [R, D]     o_t what the network puts out [R, O]     ⊙ element by element
//     U input -> hidden    W previous step -> hidden   b_U, b_W their biases, left out of the formulas
//
// The equations are those of `mirada/nn/recurrent.py`. A page reads one text at a time, so there is no padding; the rows
// R of a decoder are hypotheses of one sentence.

import {add, combined, concat, linear, mapped, multiply, reshape, rowsOf, slice, zeros} from "./tensor.js";
import {Part} from "./record.js";
import {ACTIVATIONS, sigmoid, weightOf} from "./layers.js";

/** The state of a stack of cells, a tensor [R, D] each: h, the LSTM's c, and the last output o of a Jordan network. */
export class Memory {
  constructor(h, c = null, o = null) {
    this.h = h; // N tensors [R, D], N = layers × directions
    this.c = c; // N tensors [R, D], or null
    this.o = o; // [R, O], or null
  }

  /** The state of the given rows, in that order. */
  select(rows) {
    const chosen = (tensor) => rowsOf(tensor, rows);
    return new Memory(this.h.map(chosen), this.c && this.c.map(chosen), this.o && chosen(this.o));
  }
}

// ── cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One layer in one direction. A kind of cell is its `equations`. */
class RecurrentCell {
  constructor(weights, name, activation) {
    this.U = weightOf(weights, `${name}.U`); // [G·D, X]
    this.b_U = weightOf(weights, `${name}.b_U`); // [G·D]
    this.W = weights.get(`${name}.W`) ?? null; // [G·D, D], of a Jordan network [D, O]
    this.b_W = weights.get(`${name}.b_W`) ?? null; // [G·D]
    this.g = ACTIVATIONS[activation]; // LSTM and GRU have their own
  }

  /** U x: what the inputs [.., X] of all steps contribute, [.., G·D]. */
  read(x) {
    return linear(x, this.U, this.b_U);
  }
}

/** h_t = g(U x_t): every step by itself. */
class MemorylessCell extends RecurrentCell {
  equations(u) {
    return {h: mapped(u, this.g)};
  }
}

/** h_t = g(W h_{t−1} + U x_t)        (Elman 1990) */
class ElmanCell extends RecurrentCell {
  equations(u, {h}) {
    return {h: mapped(add(linear(h, this.W, this.b_W), u), this.g)};
  }
}

/** h_t = g(W o_{t−1} + U x_t): its input is the network's previous output        (Jordan 1986) */
class JordanCell extends RecurrentCell {
  equations(u, {o}) {
    return {h: mapped(add(linear(o, this.W), u), this.g)};
  }
}

/**
 * Long short-term memory (Hochreiter & Schmidhuber 1997, §4) with a forget gate (Gers et al. 2000, §3):
 *
 *     i_t = σ(W^i h_{t−1} + U^i x_t)         how much of the new to let in
 *     f_t = σ(W^f h_{t−1} + U^f x_t)         how much of the old to keep
 *     o_t = σ(W^o h_{t−1} + U^o x_t)         how much to show
 *     C̃_t = tanh(W^C̃ h_{t−1} + U^C̃ x_t)      the candidate
 *     C_t = f_t ⊙ C_{t−1} + i_t ⊙ C̃_t
 *     h_t = o_t ⊙ tanh(C_t)
 */
class LSTMCell extends RecurrentCell {
  equations(u, memory) {
    const z = add(linear(memory.h, this.W, this.b_W), u); // [R, 4D]
    const [z_i, z_f, z_candidate, z_o] = inBlocks(z, 4); // [R, D] each
    const i = mapped(z_i, sigmoid);
    const f = mapped(z_f, sigmoid);
    const o = mapped(z_o, sigmoid);
    const candidate = mapped(z_candidate, Math.tanh);
    const c = add(multiply(f, memory.c), multiply(i, candidate));
    const h = multiply(o, mapped(c, Math.tanh));
    return {i, f, candidate, o, c, h};
  }
}

/**
 * The gated recurrent unit (Cho et al. 2014, §2.3, whose letters U and W are the other way round):
 *
 *     r_t = σ(W^r h_{t−1} + U^r x_t)                  reset: how much of the old the candidate sees
 *     z_t = σ(W^z h_{t−1} + U^z x_t)                  update: how much of the old to keep
 *     h̃_t = tanh(U^h̃ x_t + r_t ⊙ (W^h̃ h_{t−1}))       the candidate
 *     h_t = z_t ⊙ h_{t−1} + (1 − z_t) ⊙ h̃_t
 */
class GRUCell extends RecurrentCell {
  equations(u, memory) {
    const [w_r, w_z, w_candidate] = inBlocks(linear(memory.h, this.W, this.b_W), 3); // [R, D] each
    const [u_r, u_z, u_candidate] = inBlocks(u, 3);
    const r = mapped(add(w_r, u_r), sigmoid);
    const z = mapped(add(w_z, u_z), sigmoid);
    const candidate = mapped(add(u_candidate, multiply(r, w_candidate)), Math.tanh);
    const kept = multiply(z, memory.h);
    const h = add(kept, combined(z, candidate, (share, value) => (1 - share) * value));
    return {r, z, candidate, h};
  }
}

const CELL_KINDS = {
  memoryless: MemorylessCell,
  elman: ElmanCell,
  jordan: JordanCell,
  lstm: LSTMCell,
  gru: GRUCell,
};

/** A cell of a stack; above the first layer of a Jordan network there are memoryless ones. */
function cellOf(kind, weights, name, activation, above) {
  const chosen = kind === "jordan" && above ? "memoryless" : kind;
  return new CELL_KINDS[chosen](weights, name, activation);
}

// ── stacks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Layers of one kind of cell, each reading the one below; in both directions if asked (Schuster & Paliwal 1997). */
export class Recurrent extends Part {
  kind = "recurrent";

  /** `width` is that of both directions together, `outputs` is O, what is fed back in a Jordan network. */
  constructor(weights, name, {cell, layers, width, bidirectional = false, activation = "tanh", outputs = 0}) {
    super(name);
    this.cell = cell;
    this.width = bidirectional ? width / 2 : width;
    this.outputs = outputs;
    this.directions = bidirectional ? ["forward", "backward"] : ["forward"];
    this.layers = Array.from({length: layers}, (_, n) =>
      this.directions.map((way) => cellOf(cell, weights, `${name}.layers.${n}.${way}_`, activation, n > 0)),
    );
  }

  /** The state before the first step: zeros. */
  initial(rows) {
    const h = this.layers.flat().map(() => zeros(rows, this.width));
    return new Memory(h, this.cell === "lstm" ? h : null, this.cell === "jordan" ? zeros(rows, this.outputs) : null);
  }

  /**
   * The last layer's h of x [R, T, X]: [R, T, D] or [R, T, 2D] = [h→, h←]; and the state at the end.
   * `feedBack` makes o_t [R, O] of h_t [R, D]: what a Jordan network gets of its last step.
   */
  read(x, state = null, feedBack = null) {
    const before = state ?? this.initial(x.shape[0]);
    if (feedBack !== null) return this.readOwn(x, before, feedBack);
    const ends = [];
    let below = x;
    this.layers.forEach((cells, n) => {
      const outputs = cells.map((cell, d) => {
        const [found, end] = unrolled(cell, below, memoryOf(before, ends.length), this.directions[d] === "backward");
        this.recordCell(n, d, found);
        ends.push(end);
        return found.h;
      });
      below = outputs.length > 1 ? concat(outputs, -1) : outputs[0];
    });
    return {h: below, memory: stackedMemory(ends)};
  }

  /** One step of a stack in one direction: h_t [R, D] from x_t [R, X], and the state to continue with. */
  step(x, state) {
    let below = x;
    const ends = this.layers.map(([cell], n) => {
      const found = cell.equations(cell.read(below), memoryOf(state, n));
      this.recordCell(n, 0, withSteps([found]));
      below = found.h;
      return found;
    });
    return {h: below, memory: stackedMemory(ends)};
  }

  /** A Jordan network on its own outputs: each step needs the output of the previous one. */
  readOwn(x, state, feedBack) {
    const steps = [];
    let memory = state;
    for (let t = 0; t < x.shape[1]; t++) {
      const {h, memory: next} = this.step(stepOf(x, t), memory);
      memory = new Memory(next.h, null, feedBack(h));
      steps.push(memory);
    }
    const layers = this.layers.map((_, n) => withSteps(steps.map((step) => ({h: step.h[n]}))));
    layers.forEach((found, n) => this.recordCell(n, 0, found));
    this.record("feedback", withSteps(steps.map(({o}) => ({o}))).o); // [R, T, O]
    return {h: layers.at(-1).h, memory};
  }

  recordCell(layer, direction, found) {
    for (const symbol of Object.keys(found)) {
      this.record(`${layer}.${this.directions[direction]}.${symbol}`, found[symbol]); // [R, T, D]
    }
  }
}

/** The equations step by step on x [R, T, X]: all that they give, each [R, T, D], and what the last step gave. */
function unrolled(cell, x, memory, backward) {
  const length = x.shape[1];
  const u = cell.read(x); // [R, T, G·D]
  const steps = new Array(length);
  let now = memory;
  for (let n = 0; n < length; n++) {
    const t = backward ? length - 1 - n : n;
    steps[t] = cell.equations(stepOf(u, t), now);
    now = steps[t];
  }
  return [withSteps(steps), now];
}

/** The state of the n-th cell of a stack. */
function memoryOf(state, n) {
  return {h: state.h[n], c: state.c && state.c[n], o: state.o};
}

function stackedMemory(cells) {
  return new Memory(cells.map(({h}) => h), cells[0].c ? cells.map(({c}) => c) : null);
}

/** x_t [R, X] of x [R, T, X]. */
export function stepOf(x, t) {
  const [rows, , width] = x.shape;
  return reshape(slice(x, 1, t, t + 1), rows, width);
}

/** Tensors [R, D] of every step by their symbols, as one tensor [R, T, D] for each symbol. */
function withSteps(steps) {
  const joined = (symbol) => concat(steps.map((step) => reshape(step[symbol], step[symbol].shape[0], 1, -1)), 1);
  return Object.fromEntries(Object.keys(steps[0]).map((symbol) => [symbol, joined(symbol)]));
}

/** z [R, G·D] as G tensors [R, D]. */
function inBlocks(z, count) {
  const width = z.shape.at(-1) / count;
  return Array.from({length: count}, (_, n) => slice(z, -1, n * width, (n + 1) * width));
}
