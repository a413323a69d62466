// A table of numbers of which each can be clicked. Where there are more columns than fit, a strip above shows all of
// them as colours; the numbers below are those under its lens, which arrows, a pointer or the strip's slider move.

import {element} from "../elements.js";
import {colourAt, inkOn} from "../draw/colours.js";

const GRID_CELL = 53; // pixels: what a number takes
const GRID_LABEL = 84; // and the name of its row
const STRIP_ROW = 5; // pixels for each row of the strip, between 10 and 120 together
const ROWS_IN_VIEW = 12; // more rows than this scroll

/** How many columns of numbers fit. */
export function columnsThatFit(width) {
  return Math.max(3, Math.min(20, Math.floor((width - GRID_LABEL) / GRID_CELL)));
}

export class NumberGrid {
  #first = 0; // the leftmost column of numbers
  #cell = [0, 0]; // row and column that the keyboard is at
  #marked = null;

  /**
   * `options`: view, rows (which), rowLabels, labelled (by weights as well), columnLabels or null, palette, colours, fits
   * (how many columns), format(value), name (for those who hear it), onPick(place, {reveal}), onMove(first), sliderName.
   * `reveal()` brings the picked number into the window and returns its cell, which is another after each move.
   */
  constructor(options) {
    this.options = options;
    const {columnLabels} = options;
    this.strip = null;
    const kinds = [columnLabels && "of-words", options.labelled && "of-weights"].filter(Boolean);
    this.table = element("table", {role: "grid", "aria-label": options.name, class: kinds.join(" ") || null});
    this.table.addEventListener("click", (event) => this.#clicked(event));
    this.table.addEventListener("keydown", (event) => this.#key(event));
    const scroller = element("div", {class: options.rows.length > ROWS_IN_VIEW ? "grid-rows tall" : "grid-rows"}, this.table);
    this.element = element("div", {class: "number-grid"}, scroller);
    this.scale = options.palette === "weight" ? options.colours.weights : options.colours.signed;
    [this.least, this.most] = this.#bounds();
    this.fit(options.fits);
  }

  /** Show as many columns as there is room for now; who is at a number here stays there. */
  fit(fits) {
    const within = this.table.contains(document.activeElement);
    this.shown = Math.min(this.columns, fits);
    this.#first = Math.max(0, Math.min(this.columns - this.shown, this.#first));
    this.#fill();
    this.#fitStrip();
    if (within) this.#focus();
  }

  /** A strip, if there are more columns than are shown. */
  #fitStrip() {
    if (this.columns === this.shown) {
      this.strip?.element.remove();
      this.strip = null;
    } else if (this.strip) {
      this.strip.slider.max = this.columns - this.shown;
      this.#placeLens();
    } else {
      this.strip = this.#strip();
      this.element.prepend(this.strip.element);
      this.#paint();
    }
  }

  get columns() {
    return this.options.view.columns;
  }

  /** Show the numbers from this column on. */
  moveTo(first) {
    const next = Math.max(0, Math.min(this.columns - this.shown, first));
    if (next === this.#first) return;
    this.#first = next;
    this.#fill();
    if (this.strip) this.#placeLens();
  }

  /** Frame the number of this place, if it is here: the row and column, or null. */
  mark(place) {
    this.#marked = place;
    for (const cell of this.table.querySelectorAll("td")) cell.classList.toggle("marked", this.#isMarked(cell));
  }

  #isMarked(cell) {
    return this.#marked !== null && cell.dataset.place === placeText(this.#marked);
  }

  #placeOf(cell) {
    return this.options.view.place(Number(cell.dataset.row), Number(cell.dataset.column));
  }

  #bounds() {
    const {view, rows, palette} = this.options;
    if (palette === "weight") return [0, 1];
    let most = 0;
    for (const row of rows) {
      for (let column = 0; column < view.columns; column++) {
        const size = Math.abs(view.value(row, column));
        if (size > most && size < Infinity) most = size;
      }
    }
    const bound = most * 1.25 || 1; // a little more, so that the strongest colour is not reached
    return [-bound, bound];
  }

  // ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #fill() {
    const {rows, rowLabels, columnLabels} = this.options;
    const columns = Array.from({length: this.shown}, (_, n) => this.#first + n);
    const head = element("tr", {}, element("th", {class: "corner"}), columns.map((column) =>
      element("th", {scope: "col", title: columnLabels?.[column]}, columnLabels?.[column] ?? String(column))));
    const body = rows.map((row, n) => element("tr", {}, element("th", {scope: "row", dir: "auto"}, rowLabels[n]),
      columns.map((column) => this.#number(row, n, column))));
    this.table.setAttribute("aria-colcount", this.columns + 1);
    this.table.replaceChildren(element("thead", {}, head), element("tbody", {}, body));
  }

  #number(row, n, column) {
    const {view, format} = this.options;
    const value = view.value(row, column);
    const place = view.place(row, column);
    const cell = element("td", {
      role: "gridcell", "data-row": row, "data-column": column, "aria-colindex": column + 2,
      tabindex: n === this.#cell[0] && column === Math.max(this.#cell[1], this.#first) ? 0 : -1,
      class: place ? null : "derived", "data-place": place && placeText(place), title: Number.isFinite(value) ? String(value) : null,
    }, format(value));
    if (Number.isFinite(value)) {
      cell.style.background = colourAt(this.scale, value, this.least, this.most);
      cell.style.color = inkOn(this.scale, value, this.least, this.most);
    }
    if (this.#isMarked(cell)) cell.classList.add("marked");
    return cell;
  }

  #clicked(event) {
    const cell = event.target.closest("td");
    if (!cell) return;
    this.#cell = [this.#rowNumber(cell), Number(cell.dataset.column)];
    this.#focus();
    this.#pick(cell);
  }

  #pick(cell) {
    const place = this.#placeOf(cell);
    if (place) this.options.onPick(place, {reveal: () => this.#reveal()});
  }

  #rowNumber(cell) {
    return this.options.rows.indexOf(Number(cell.dataset.row));
  }

  #key(event) {
    const cell = event.target.closest("td");
    if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
    const [row, column] = [this.#rowNumber(cell), Number(cell.dataset.column)];
    const last = [this.options.rows.length - 1, this.columns - 1];
    const moves = {
      ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1], ArrowDown: [row + 1, column], ArrowUp: [row - 1, column],
      Home: [row, 0], End: [row, last[1]], PageDown: [row, column + this.shown], PageUp: [row, column - this.shown],
    };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#pick(cell);
    } else if (event.key in moves) {
      event.preventDefault();
      event.stopPropagation();
      this.#cell = moves[event.key].map((place, axis) => Math.max(0, Math.min(last[axis], place)));
      this.#focus();
    }
  }

  /** Bring the keyboard's number into the window and give it the focus. */
  #focus() {
    const found = this.#reveal();
    if (!found) return;
    for (const cell of this.table.querySelectorAll("td[tabindex='0']")) cell.tabIndex = -1;
    found.tabIndex = 0;
    found.focus();
  }

  /** The cell of the keyboard's number, brought into the window. */
  #reveal() {
    const [row, column] = this.#cell;
    if (column < this.#first) this.#move(column);
    if (column >= this.#first + this.shown) this.#move(column - this.shown + 1);
    return this.table.querySelector(`td[data-row="${this.options.rows[row]}"][data-column="${column}"]`);
  }

  #move(first) {
    this.moveTo(first);
    this.options.onMove(this.#first);
  }

  // ── the strip ───────────────────────────────────────────────────────────────────────────────────────────────────

  #strip() {
    const canvas = element("canvas", {"aria-hidden": "true"});
    const lens = element("div", {class: "lens", "aria-hidden": "true"});
    const slider = element("input", {
      type: "range", min: 0, max: this.columns - this.shown, value: 0, class: "strip-slider",
      "aria-label": this.options.sliderName, oninput: () => this.#move(Number(slider.value)),
    });
    const made = element("div", {class: "strip"}, canvas, lens, slider);
    const height = Math.max(10, Math.min(120, this.options.rows.length * STRIP_ROW));
    made.style.height = `${height}px`;
    return {element: made, canvas, lens, slider};
  }

  #paint() {
    const {view, rows} = this.options;
    const {canvas} = this.strip;
    [canvas.width, canvas.height] = [this.columns, rows.length];
    const context = canvas.getContext("2d");
    const image = context.createImageData(this.columns, rows.length);
    const pixels = new Uint32Array(image.data.buffer);
    const factor = 255 / (this.most - this.least);
    let at = 0;
    for (const row of rows) {
      for (let column = 0; column < this.columns; column++) {
        const share = Math.round((view.value(row, column) - this.least) * factor);
        pixels[at++] = this.scale.bytes[Math.max(0, Math.min(255, share)) || 0];
      }
    }
    context.putImageData(image, 0, 0);
    this.#placeLens();
  }

  #placeLens() {
    const {lens, slider} = this.strip;
    lens.style.left = `${(100 * this.#first) / this.columns}%`;
    lens.style.width = `${(100 * this.shown) / this.columns}%`;
    slider.value = this.#first;
  }
}

/** The place of a number in the trace, as PyTorch's users write it: encoder.0.self.q[0, 3, 5]. */
export function placeText({path, index}) {
  return `${path}[${index.join(", ")}]`;
}
