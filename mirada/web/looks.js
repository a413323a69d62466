// What a trace says about where a model looks: the attention weights by part, layer and head.

import {pieceLabels, wordsOf, mergedWeights} from "./words.js";

/** The weights of one kind of attention: rows look (queries), columns are looked at (keys). */
export class Looks {
  constructor(part, paths, tensors, rowPieces, columnPieces, units) {
    Object.assign(this, {part, paths, tensors, rowPieces, columnPieces});
    [this.heads, this.rows, this.columns] = tensors[0].shape;
    this.rowLabels = pieceLabels(rowPieces, units.row);
    this.columnLabels = pieceLabels(columnPieces, units.column);
    this.rowWords = wordsOf(rowPieces, units.row);
    this.columnWords = wordsOf(columnPieces, units.column);
  }

  get layers() {
    return this.paths.length;
  }

  /** The matrix of one head, or of a mean: `head` or `layer` may be null, which is the mean over all of them. */
  matrix(layer, head, words) {
    const data = this.#data(layer, head);
    if (!words) return this.#framed(data, this.rows, this.columns);
    const merged = mergedWeights(data, this.columns, this.rowWords, this.columnWords);
    return this.#framed(merged, this.rowWords.length, this.columnWords.length);
  }

  labels(words) {
    if (!words) return {rows: this.rowLabels, columns: this.columnLabels};
    return {rows: this.rowWords.map(({label}) => label), columns: this.columnWords.map(({label}) => label)};
  }

  #framed(data, rows, columns) {
    return {rows, columns, data, least: 0, most: 1};
  }

  #data(layer, head) {
    const size = this.rows * this.columns;
    const layers = layer === null ? [...this.tensors.keys()] : [layer];
    const heads = head === null ? [...Array(this.heads).keys()] : [head];
    if (layers.length * heads.length === 1) return this.tensors[layer].data.subarray(head * size, (head + 1) * size);
    const mean = new Float32Array(size);
    for (const one of layers) {
      for (const other of heads) {
        const data = this.tensors[one].data;
        for (let i = 0; i < size; i++) mean[i] += data[other * size + i];
      }
    }
    return mean.map((value) => value / (layers.length * heads.length));
  }
}

const PARTS = [
  ["cross", /^(decoder\.\d+\.cross|attention)\.weights$/],
  ["encoder", /^encoder\.\d+\.self\.weights$/],
  ["decoder", /^decoder\.\d+\.self\.weights$/],
];

/** Everything in a trace that looks somewhere: [Looks, …], the most telling first. */
export function looksIn(trace, units) {
  const found = [];
  for (const [part, pattern] of PARTS) {
    const paths = Object.keys(trace.tensors)
      .filter((path) => pattern.test(path))
      .sort(byNumber);
    if (paths.length === 0) continue;
    const tensors = paths.map((path) => trace.tensors[path]);
    const [rows, columns] = piecesOf(part, trace, tensors[0].shape);
    const sides = {
      encoder: [units.source, units.source],
      decoder: [units.target, units.target],
      cross: [units.target, units.source],
    };
    const [row, column] = sides[part];
    found.push(
      new Looks(
        part,
        paths.map((path) => path.replace(/\.weights$/, "")),
        tensors,
        rows,
        columns,
        {row, column},
      ),
    );
  }
  return found;
}

/** The pieces beside the rows and the columns. A decoder chooses a token (a row) and looks at those it has read. */
function piecesOf(part, {source, target}, [, rows, columns]) {
  const read = target ? ["<s>", ...target.slice(0, -1)] : source;
  if (part === "encoder") return [fitted(source, rows), fitted(source, columns)];
  if (part === "decoder") return [fitted(target ?? read, rows), fitted(read, columns)];
  return [fitted(target, rows), fitted(source, columns)];
}

/** As many pieces as there are positions: a model may begin with one that the text has not ([CLS]). */
function fitted(pieces, count) {
  const missing = count - pieces.length;
  return missing > 0 ? [...Array(missing).fill("[CLS]"), ...pieces] : pieces.slice(0, count);
}

function byNumber(a, b) {
  return Number(a.match(/\d+/)?.[0] ?? 0) - Number(b.match(/\d+/)?.[0] ?? 0);
}

/** Which cells of recurrent networks a trace has inside: [{path, symbols: {i, f, …}}], tensors [T, D]. */
export function cellsIn(trace) {
  const cells = new Map();
  for (const [path, tensor] of Object.entries(trace.tensors)) {
    const found = path.match(/^(.*\d+\.(?:forward|backward))\.(\w+)$/);
    if (!found || tensor.shape.length !== 2) continue;
    if (!cells.has(found[1])) cells.set(found[1], {path: found[1], symbols: {}});
    cells.get(found[1]).symbols[found[2]] = tensor;
  }
  return [...cells.values()];
}
