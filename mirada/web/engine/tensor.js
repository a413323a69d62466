// Tensors, and the few operations that the models are written in.
//
// A tensor is {shape, data}: the data are row-major, as in PyTorch. No function changes what it is given, so a tensor
// can be recorded or kept without copying. Letters for axes: B batch, R rows (batch × beam), S source length,
// T target length, D width, H heads, K head width, V vocabulary.

export class Tensor {
  constructor(shape, data) {
    this.shape = shape;
    this.data = data; // Float32Array; of a mask Uint8Array, 1 = may attend
  }
}

export function sizeOf(shape) {
  let size = 1;
  for (const n of shape) size *= n;
  return size;
}

export function zeros(...shape) {
  return new Tensor(shape, new Float32Array(sizeOf(shape)));
}

/** A tensor of numbers: `tensorOf([2, 2], [1, 2, 3, 4])`. */
function tensorOf(shape, numbers) {
  return reshape(new Tensor([numbers.length], Float32Array.from(numbers)), ...shape);
}

/** The same data in another shape; −1 stands for what is left. */
export function reshape(x, ...shape) {
  const open = shape.indexOf(-1);
  if (open >= 0) shape[open] = -x.data.length / sizeOf(shape);
  if (sizeOf(shape) !== x.data.length) throw new Error(`${x.shape} cannot be read as ${shape}`);
  return new Tensor(shape, x.data);
}

// ── products ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** y = x Wᵀ + b, as PyTorch's nn.Linear: x [.., X], weight [O, X], bias [O] or null; y [.., O]. */
export function linear(x, weight, bias = null) {
  const [outputs, inputs] = weight.shape;
  if (x.shape.at(-1) !== inputs) throw new Error(`linear: ${x.shape} times the transpose of ${weight.shape}`);
  const y = zeros(...x.shape.slice(0, -1), outputs);
  timesTransposed(x.data, 0, weight.data, 0, y.data, 0, y.data.length / outputs, inputs, outputs);
  if (bias !== null) {
    for (let at = 0; at < y.data.length; at += outputs) {
      for (let o = 0; o < outputs; o++) y.data[at + o] += bias.data[o];
    }
  }
  return y;
}

/** A B of a [.., T, X] and b [.., X, S]: [.., T, S]. The axes before are the same. */
export function matmul(a, b) {
  const [t, x] = a.shape.slice(-2);
  const s = b.shape.at(-1);
  const y = zeros(...a.shape.slice(0, -1), s);
  for (let n = 0; n < y.data.length / (t * s); n++) {
    for (let row = 0; row < t; row++) {
      const out = (n * t + row) * s;
      for (let i = 0; i < x; i++) {
        const factor = a.data[(n * t + row) * x + i];
        const from = (n * x + i) * s;
        for (let j = 0; j < s; j++) y.data[out + j] += factor * b.data[from + j];
      }
    }
  }
  return y;
}

/** A Bᵀ of a [.., T, X] and b [.., S, X]: [.., T, S]. The axes before are the same. */
export function matmulTransposed(a, b) {
  const [t, x] = a.shape.slice(-2);
  const s = b.shape.at(-2);
  const y = zeros(...a.shape.slice(0, -1), s);
  for (let n = 0; n < y.data.length / (t * s); n++) {
    timesTransposed(a.data, n * t * x, b.data, n * s * x, y.data, n * t * s, t, x, s);
  }
  return y;
}

/**
 * C = A Bᵀ of rows of A and of B that begin at `a0` and `b0`.
 *
 * Each pass over the inner axis makes 2 × 4 numbers of C, so that every number that is read is used several times.
 */
function timesTransposed(a, a0, b, b0, c, c0, rows, inner, columns) {
  const wide = columns - (columns % 4);
  for (let column = 0; column < wide; column += 4) {
    const w = b0 + column * inner;
    const to = c0 + column;
    let row = 0;
    for (; row + 2 <= rows; row += 2) twoByFour(a, a0 + row * inner, b, w, c, to + row * columns, inner, columns);
    if (row < rows) oneByFour(a, a0 + row * inner, b, w, c, to + row * columns, inner);
  }
  for (let column = wide; column < columns; column++) {
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let i = 0; i < inner; i++) sum += a[a0 + row * inner + i] * b[b0 + column * inner + i];
      c[c0 + row * columns + column] = sum;
    }
  }
}

/** Two rows of A times four of B: numbers of two rows of C, which begin `width` apart. */
function twoByFour(a, x, b, w, c, to, inner, width) {
  const [y, w1, w2, w3] = [x + inner, w + inner, w + 2 * inner, w + 3 * inner];
  let x0 = 0, x1 = 0, x2 = 0, x3 = 0, y0 = 0, y1 = 0, y2 = 0, y3 = 0;
  for (let i = 0; i < inner; i++) {
    const xi = a[x + i], yi = a[y + i];
    const b0 = b[w + i], b1 = b[w1 + i], b2 = b[w2 + i], b3 = b[w3 + i];
    x0 += xi * b0;
    x1 += xi * b1;
    x2 += xi * b2;
    x3 += xi * b3;
    y0 += yi * b0;
    y1 += yi * b1;
    y2 += yi * b2;
    y3 += yi * b3;
  }
  c[to] = x0;
  c[to + 1] = x1;
  c[to + 2] = x2;
  c[to + 3] = x3;
  c[to + width] = y0;
  c[to + width + 1] = y1;
  c[to + width + 2] = y2;
  c[to + width + 3] = y3;
}

function oneByFour(a, x, b, w, c, to, inner) {
  const [w1, w2, w3] = [w + inner, w + 2 * inner, w + 3 * inner];
  let x0 = 0, x1 = 0, x2 = 0, x3 = 0;
  for (let i = 0; i < inner; i++) {
    const xi = a[x + i];
    x0 += xi * b[w + i];
    x1 += xi * b[w1 + i];
    x2 += xi * b[w2 + i];
    x3 += xi * b[w3 + i];
  }
  c[to] = x0;
  c[to + 1] = x1;
  c[to + 2] = x2;
  c[to + 3] = x3;
}

// ── element by element ──────────────────────────────────────────────────────────────────────────────────────────────

/** f of every number. */
export function mapped(x, f) {
  const y = new Float32Array(x.data.length);
  for (let i = 0; i < y.length; i++) y[i] = f(x.data[i]);
  return new Tensor(x.shape, y);
}

/** f of the numbers of x and y; y is repeated along the first axes of x where it has fewer. */
export function combined(x, y, f) {
  const out = new Float32Array(x.data.length);
  const period = y.data.length;
  for (let i = 0; i < out.length; i += period) {
    for (let j = 0; j < period; j++) out[i + j] = f(x.data[i + j], y.data[j]);
  }
  return new Tensor(x.shape, out);
}

export function add(x, y) {
  return combined(x, y, (a, b) => a + b);
}

export function multiply(x, y) {
  return combined(x, y, (a, b) => a * b);
}

export function times(x, factor) {
  return mapped(x, (a) => a * factor);
}

// ── along the last axis ─────────────────────────────────────────────────────────────────────────────────────────────

/** softmax(x)_i = e^x_i / Σ_j e^x_j. A row of −∞ alone gets zeros. */
export function softmax(x) {
  return alongRows(x, (row, log) => (log === -Infinity ? row.fill(0) : each(row, (value) => Math.exp(value - log))));
}

/** log softmax(x)_i = x_i − log Σ_j e^x_j */
export function logSoftmax(x) {
  return alongRows(x, (row, log) => each(row, (value) => value - log));
}

/** A copy of x, each row of which `change` has worked on; it is told log Σ_j e^x_j. */
function alongRows(x, change) {
  const y = new Tensor(x.shape, x.data.slice());
  const width = x.shape.at(-1);
  for (let at = 0; at < y.data.length; at += width) {
    const row = y.data.subarray(at, at + width);
    change(row, logSumExp(row));
  }
  return y;
}

function logSumExp(row) {
  let largest = -Infinity;
  for (let i = 0; i < row.length; i++) if (row[i] > largest) largest = row[i];
  if (largest === -Infinity) return largest;
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += Math.exp(row[i] - largest);
  return largest + Math.log(sum);
}

function each(row, f) {
  for (let i = 0; i < row.length; i++) row[i] = f(row[i]);
}

// ── axes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** x with two axes in each other's place; negative axes count from the end. */
export function transpose(x, one, other) {
  const axes = x.shape.map((_, axis) => axis);
  const [i, j] = [axes.at(one), axes.at(other)];
  [axes[i], axes[j]] = [j, i];
  const strides = x.shape.map((_, axis) => sizeOf(x.shape.slice(axis + 1)));
  const shape = axes.map((axis) => x.shape[axis]);
  const inner = shape.at(-1) ?? 1;
  const step = strides[axes.at(-1)] ?? 1;
  const y = new Float32Array(x.data.length);
  const place = shape.slice(0, -1).fill(0);
  for (let at = 0; at < y.length; at += inner) {
    let from = 0;
    for (let axis = 0; axis < place.length; axis++) from += place[axis] * strides[axes[axis]];
    for (let n = 0; n < inner; n++) y[at + n] = x.data[from + n * step];
    for (let axis = place.length - 1; axis >= 0 && ++place[axis] === shape[axis]; axis--) place[axis] = 0;
  }
  return new Tensor(shape, y);
}

/** The part [begin, end) of an axis. */
export function slice(x, axis, begin, end = x.shape.at(axis)) {
  const n = axis < 0 ? axis + x.shape.length : axis;
  const inner = sizeOf(x.shape.slice(n + 1));
  const outer = sizeOf(x.shape.slice(0, n));
  const y = zeros(...x.shape.slice(0, n), end - begin, ...x.shape.slice(n + 1));
  const length = (end - begin) * inner;
  for (let o = 0; o < outer; o++) {
    const from = (o * x.shape[n] + begin) * inner;
    y.data.set(x.data.subarray(from, from + length), o * length);
  }
  return y;
}

/** Tensors one after the other along an axis. */
export function concat(parts, axis) {
  const first = parts[0].shape;
  const n = axis < 0 ? axis + first.length : axis;
  const outer = sizeOf(first.slice(0, n));
  const total = parts.reduce((sum, part) => sum + part.shape[n], 0);
  const y = zeros(...first.slice(0, n), total, ...first.slice(n + 1));
  const lengths = parts.map((part) => part.data.length / outer);
  let to = 0;
  for (let o = 0; o < outer; o++) {
    parts.forEach((part, p) => {
      y.data.set(part.data.subarray(o * lengths[p], (o + 1) * lengths[p]), to);
      to += lengths[p];
    });
  }
  return y;
}

/** Rows of the first axis, in the order given; a row may come several times: of a table of vectors, an embedding. */
export function rowsOf(x, rows) {
  const inner = sizeOf(x.shape.slice(1));
  const y = zeros(rows.length, ...x.shape.slice(1));
  for (let n = 0; n < rows.length; n++) {
    y.data.set(x.data.subarray(rows[n] * inner, (rows[n] + 1) * inner), n * inner);
  }
  return y;
}
