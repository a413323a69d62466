// A map that can be read cell by cell: by pointer, by arrow keys, and as a table.

import {element, scrolled, tableOf} from "../elements.js";
import {paintScene} from "./scene.js";
import {pageColours} from "./colours.js";
import {matrixLayout, matrixScene} from "./matrix.js";

export class MapFigure {
  #place = null; // [row, column] that is pointed at
  #shown = null;
  #width = 0; // that it is drawn for

  /** `chose(row, column)` is called when a cell is clicked or Enter is pressed on it. */
  constructor(app, chose = null) {
    this.app = app;
    this.chose = chose;
    this.canvas = element("canvas", {"aria-hidden": "true"});
    this.rowBand = element("div", {class: "band"});
    this.columnBand = element("div", {class: "band"});
    this.tip = element("div", {class: "tip", hidden: true});
    this.spoken = element("div", {class: "unseen", "aria-live": "polite"});
    this.stage = element(
      "div",
      {
        class: "stage",
        tabindex: 0,
        role: "application",
        "aria-roledescription": app.t("map"),
        onpointermove: (event) => this.#pointed(event),
        onpointerleave: () => this.#point(null),
        onpointerdown: (event) => this.#pointed(event),
        onclick: () => this.#place && this.chose?.(...this.#place),
        onkeydown: (event) => this.#pressed(event),
        onblur: () => this.#point(null),
      },
      this.canvas,
      this.rowBand,
      this.columnBand,
      this.tip,
    );
    this.table = element(
      "details",
      {class: "table", ontoggle: () => this.#fillTable()},
      element("summary", {}, app.t("map.table")),
    );
    this.element = element("div", {class: "map"}, this.stage, this.spoken, this.table);
    new ResizeObserver(() => this.element.clientWidth !== this.#width && this.draw()).observe(this.element);
  }

  /** Show a matrix; `about` has title, rowLabels, columnLabels, rowTitle, columnTitle, legend; `scale` its colours. */
  show(matrix, about, scale = "weights") {
    const number = about.number ?? ((value) => this.app.number(value, Number.isInteger(value) ? 0 : 2));
    this.#shown = {matrix, about: {...about, number}, scale};
    this.stage.setAttribute("aria-label", `${about.title}. ${this.app.t("map.keys")}`);
    this.#place = null;
    this.draw();
    if (this.table.open) this.#fillTable();
  }

  /** Draw again: the page has another width or other colours. */
  draw() {
    const width = this.element.clientWidth;
    this.#width = width; // 0 while it is not on the page
    if (!this.#shown || !width) return;
    this.layout = matrixLayout(this.#shown.about, width);
    paintScene(this.scene(), this.canvas);
    this.#point(null);
  }

  /** The map as it is shown, to be saved. */
  scene() {
    const {matrix, about, scale} = this.#shown;
    const colours = pageColours();
    return matrixScene(matrix, about, this.layout, colours, colours[scale]);
  }

  #pointed(event) {
    const {left, top, cell, high} = this.layout;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left) / cell);
    const row = Math.floor((event.clientY - box.top - top) / high);
    const {rows, columns} = this.#shown.matrix;
    this.#point(row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null);
  }

  #pressed(event) {
    const {rows, columns} = this.#shown.matrix;
    const [row, column] = this.#place ?? [0, 0];
    const moves = {
      ArrowRight: [row, column + 1],
      ArrowLeft: [row, column - 1],
      ArrowDown: [row + 1, column],
      ArrowUp: [row - 1, column],
      Home: [row, 0],
      End: [row, columns - 1],
    };
    if (event.key === "Escape") this.#point(null);
    if (event.key === "Enter" && this.#place) this.chose?.(...this.#place);
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const to = this.#place ? moves[event.key] : [0, 0];
    if (to[0] < 0 || to[0] >= rows || to[1] < 0 || to[1] >= columns) return;
    this.#point(to);
    this.spoken.textContent = this.tip.textContent;
  }

  #point(place) {
    this.#place = place;
    const bands = [this.rowBand, this.columnBand, this.tip];
    for (const band of bands) band.hidden = place === null;
    if (place === null) return;
    const [row, column] = place;
    const {left, top, right, bottom, cell, high, width} = this.layout;
    const {matrix, about} = this.#shown;
    setBox(this.rowBand, 0, top + row * high, right, high);
    setBox(this.columnBand, left + column * cell, top, cell, bottom - top);
    const value = this.app.number(matrix.data[row * matrix.columns + column], 3);
    this.tip.style.transform = "none"; // where it was, a longer text may not fit
    this.tip.replaceChildren(
      element("bdi", {}, about.rowLabels[row]),
      " → ",
      element("bdi", {}, about.columnLabels[column]),
      "  ",
      element("b", {}, value),
    );
    const x = Math.min(left + (column + 1) * cell + 8, width - this.tip.offsetWidth);
    this.tip.style.transform = `translate(${Math.max(0, x)}px, ${top + (row + 1) * high + 8}px)`;
  }

  #fillTable() {
    if (!this.table.open || !this.#shown) return;
    const {
      matrix: {columns, data},
      about,
    } = this.#shown;
    const head = [`${about.rowTitle} ${about.columnTitle}`, ...about.columnLabels];
    const cell = (row, column) => ({number: this.app.number(data[row * columns + column], 2)});
    const rows = about.rowLabels.map((label, row) => [
      {head: label},
      ...about.columnLabels.map((_, at) => cell(row, at)),
    ]);
    this.table.replaceChildren(this.table.firstChild, scrolled(about.title, tableOf(about.title, head, rows)));
  }
}

function setBox(band, x, y, width, height) {
  Object.assign(band.style, {left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px`});
}
