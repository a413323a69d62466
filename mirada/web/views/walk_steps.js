// What a step of the walk is made of. A step is data: the architectures' files describe it, `walk_figure.js` draws it.
//
//     step   {id, key, formula, shapes, equations: [[line, …], …], words, off}      off: the switch that left it out
//     line   {kind, op, symbol, …}: one row of an equation, as x_t, then · W^Q, then = q_t
//
// A line of numbers has a view: {rows, columns, value(row, column), place(row, column)}, where `place` is the path and
// index in the trace by which the number can be explained, or null for what only follows from others.

/** A step of the walk. `words` fills the placeholders of its title and text. */
export function walkStep(id, key, formulaSource, shapes, equations, words = {}, off = null) {
  return {id, key, formula: formulaSource, shapes, equations, words, off};
}

/**
 * Numbers of a view. `rows`: "one" follows the chosen token, "all" is shown whole, a number is that row alone.
 * `labels` name the rows where they are not the walk's tokens, `columnLabels` the columns where they are words.
 */
export function numbersLine(op, symbol, view, options = {}) {
  return {kind: "numbers", op, symbol, view, rows: "one", palette: "signed", ...options};
}

/** A parameter of the model, drawn as an empty matrix of its size: its numbers appear in the sums they take part in. */
export function parameterLine(op, symbol, shape) {
  return {kind: "parameter", op, symbol, shape};
}

/** A short text in place of numbers: ÷ √32, or mean and deviation of a row: `text(row)`. */
export function noteLine(op, symbol, text) {
  return {kind: "note", op, symbol, text};
}

/** The words themselves, with their numbers in the vocabulary. */
export function tokensLine() {
  return {kind: "tokens", op: "", symbol: ""};
}

/** The largest numbers of each row of a view over a vocabulary or over classes, with the words they stand for. */
export function choiceLine(op, symbol, view, options = {}) {
  return {kind: "choice", op, symbol, view, rows: "one", palette: "signed", ...options};
}

/** "[7 × 128] · [128 × 128] = [7 × 128]" of a list of shapes and signs. */
export function shapeText(...parts) {
  return parts.map((part) => (Array.isArray(part) ? `[${part.join(" × ")}]` : part)).join(" ");
}

// ── views ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The last two axes of a tensor [.., rows, columns]; `lead` chooses the others. A vector is one row. */
export function tensorView(path, tensor, lead = []) {
  const axes = tensor.shape.slice(lead.length);
  const [rows, columns] = axes.length === 2 ? axes : [1, axes[0]];
  const start = lead.reduce((at, index, axis) => at * tensor.shape[axis] + index, 0) * rows * columns;
  return {
    rows,
    columns,
    value: (row, column) => tensor.data[start + row * columns + column],
    place: (row, column) => ({path, index: [...lead, ...(axes.length === 2 ? [row] : []), column]}),
  };
}

/** Heads side by side: [H, T, K] seen as [T, H·K]. */
export function joinedHeads(path, tensor) {
  return besideView(...Array.from({length: tensor.shape[0]}, (_, head) => tensorView(path, tensor, [head])));
}

/** Views side by side: [a; b]. */
export function besideView(...views) {
  const width = views[0].columns; // all are equally wide, or there are two
  const part = (column) => views[Math.min(Math.floor(column / width), views.length - 1)];
  const at = (column) => (column < width ? column : column - width * views.indexOf(part(column)));
  return {
    rows: views[0].rows,
    columns: views.reduce((sum, view) => sum + view.columns, 0),
    value: (row, column) => part(column).value(row, at(column)),
    place: (row, column) => part(column).place(row, at(column)),
  };
}

/** Each row's neighbour, `by` rows further on; what would lie outside is row `edgeRow` of `edge`, or zeros. */
export function shiftedView(view, by, edge = null, edgeRow = 0) {
  const inside = (row) => row + by >= 0 && row + by < view.rows;
  return {
    rows: view.rows,
    columns: view.columns,
    value: (row, column) => (inside(row) ? view.value(row + by, column) : edge ? edge.value(edgeRow, column) : 0),
    place: (row, column) => (inside(row) ? view.place(row + by, column) : edge ? edge.place(edgeRow, column) : null),
  };
}

/** One row of a view as a view of its own. */
export function rowView(view, row) {
  return {
    rows: 1,
    columns: view.columns,
    value: (_, column) => view.value(row, column),
    place: (_, column) => view.place(row, column),
  };
}

/** Numbers that follow from those of a view of the same size. */
export function derivedView(view, value) {
  return {rows: view.rows, columns: view.columns, value, place: () => null};
}

// ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The columns of a row's `count` largest numbers, largest first. */
export function largestColumns(view, row, count) {
  const best = [];
  for (let column = 0; column < view.columns; column++) {
    const value = view.value(row, column);
    if (best.length === count && value <= best.at(-1).value) continue;
    let place = best.length;
    while (place > 0 && best[place - 1].value < value) place--;
    best.splice(place, 0, {column, value});
    if (best.length > count) best.pop();
  }
  return best.map(({column}) => column);
}

/** A row's largest number. */
export function largestOfRow(view, row) {
  let most = -Infinity;
  for (let column = 0; column < view.columns; column++) most = Math.max(most, view.value(row, column));
  return most;
}

/** A row's mean μ and √(σ² + ε), by which LN divides. */
export function rowMoments(view, row, eps) {
  let sum = 0;
  let squares = 0;
  for (let column = 0; column < view.columns; column++) sum += view.value(row, column);
  const mean = sum / view.columns;
  for (let column = 0; column < view.columns; column++) squares += (view.value(row, column) - mean) ** 2;
  return {mean, deviation: Math.sqrt(squares / view.columns + eps)};
}
