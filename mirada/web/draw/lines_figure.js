// Lines between words that follow the pointer and the keyboard.

import {element, svgElement, button, roving} from "../elements.js";
import {pageColours} from "./colours.js";
import {linesLayout, linesBetween, linesScene, strokeOf, titlePlaces} from "./lines.js";

export class LinesFigure {
  #shown = null;
  #width = 0; // that it is drawn for
  #only = null; // {row} or {column}: the word that is pointed at
  #kept = null; // the word that was clicked, which stays

  /** `chose(row)` is called when a word that looks is clicked. */
  constructor(app, chose = () => {}) {
    this.app = app;
    this.chose = chose;
    this.svg = svgElement("svg", {"aria-hidden": "true"});
    this.words = element("div", {class: "words", role: "group"});
    this.spoken = element("div", {class: "unseen", "aria-live": "polite"});
    this.stage = element("div", {class: "stage"}, this.svg, this.words);
    this.element = element("div", {class: "lines"}, this.stage, this.spoken);
    roving(this.words, "button");
    new ResizeObserver(() => this.element.clientWidth !== this.#width && this.draw()).observe(this.element);
  }

  /** Show a matrix between the words of `about`; `row` is the word whose lines are shown at first, or −1. */
  show(matrix, about, row = -1) {
    this.#shown = {matrix, about};
    this.#kept = row >= 0 && row < matrix.rows ? {row} : null;
    this.#only = this.#kept;
    this.words.setAttribute("aria-label", about.title);
    this.draw();
  }

  draw() {
    const width = this.element.clientWidth;
    this.#width = width; // 0 while it is not on the page
    if (!this.#shown || !width) return;
    const {about} = this.#shown;
    this.layout = linesLayout(about.rowLabels, about.columnLabels, width);
    this.stage.classList.toggle("upright", this.layout.upright);
    this.stage.style.width = `${this.layout.width}px`;
    this.stage.style.height = `${this.layout.height}px`;
    this.svg.setAttribute("width", this.layout.width);
    this.svg.setAttribute("height", this.layout.height);
    const focused = document.activeElement?.dataset?.word;
    this.words.replaceChildren(
      ...this.layout.looking.map((box, row) => this.#word(box, {row}, about.rowLabels[row])),
      ...this.layout.looked.map((box, column) => this.#word(box, {column}, about.columnLabels[column])),
      ...this.#titles(about),
    );
    (this.words.querySelector(`[data-word="${focused}"]`) ?? this.words.querySelector("button")).tabIndex = 0;
    if (focused) this.words.querySelector(`[data-word="${focused}"]`)?.focus();
    this.#drawLines();
  }

  scene() {
    const {matrix, about} = this.#shown;
    return linesScene(
      matrix,
      this.layout,
      linesBetween(matrix, this.layout, this.#only),
      this.#only,
      about,
      pageColours(),
    );
  }

  #word({x, y, width, height, text}, only, label) {
    const made = button(element("bdi", {}, text), () => this.#click(only), {
      class: "word",
      tabindex: -1,
      "data-word": JSON.stringify(only).replace(/[{}"]/g, ""),
      title: text === label ? null : label,
      onpointerenter: () => this.#point(only),
      onpointerleave: () => this.#point(this.#kept),
      onfocus: () => this.#point(only, true),
      onblur: () => this.#point(this.#kept),
    });
    Object.assign(made.style, {
      left: `${x}px`,
      top: `${y}px`,
      width: `${width}px`,
      height: `${height}px`,
      fontSize: `${this.layout.size}px`,
    });
    return made;
  }

  #titles(about) {
    const {x, y, anchor} = titlePlaces(this.layout);
    return [about.rowTitle, about.columnTitle].map((text, i) => {
      const made = element("span", {class: `title ${anchor[i]}`}, text);
      Object.assign(made.style, {left: `${x[i]}px`, top: `${y[i]}px`});
      return made;
    });
  }

  #click(only) {
    this.#kept = JSON.stringify(this.#kept) === JSON.stringify(only) ? null : only;
    this.#point(only);
    if (only.row !== undefined) this.chose(this.#kept ? only.row : -1);
  }

  #point(only, speak = false) {
    if (JSON.stringify(only) !== JSON.stringify(this.#only)) {
      this.#only = only;
      this.#drawLines();
    }
    if (speak) this.spoken.textContent = this.#told();
  }

  #drawLines() {
    const {matrix} = this.#shown;
    const colours = pageColours();
    const lines = linesBetween(matrix, this.layout, this.#only);
    this.svg.replaceChildren(
      ...lines.map(({row, column, weight, d}) => {
        const {stroke, thick, opacity} = strokeOf(weight, colours, this.#only !== null);
        return svgElement("path", {
          d,
          fill: "none",
          stroke,
          "stroke-width": thick,
          opacity,
          "data-row": row,
          "data-column": column,
          "data-weight": weight,
        });
      }),
    );
    this.#shade();
  }

  /** The words at the other end of the lines, as strong as they are looked at, with the number. */
  #shade() {
    const {matrix} = this.#shown;
    const only = this.#only;
    for (const word of this.words.querySelectorAll("button")) {
      const [side, place] = word.dataset.word.split(":");
      const at = Number(place);
      let weight = 0;
      if (only?.row !== undefined && side === "column") weight = matrix.data[only.row * matrix.columns + at];
      if (only?.column !== undefined && side === "row") weight = matrix.data[at * matrix.columns + only.column];
      word.style.setProperty("--weight", weight.toFixed(3));
      word.classList.toggle("chosen", only !== null && only[side] === at);
      if (weight >= 0.05) word.dataset.share = this.app.number(weight, 2);
      else delete word.dataset.share;
    }
  }

  #told() {
    const {matrix, about} = this.#shown;
    const lines = linesBetween(matrix, this.layout, this.#only).reverse().slice(0, 4);
    return lines
      .map(
        ({row, column, weight}) =>
          `${about.rowLabels[row]} → ${about.columnLabels[column]} ${this.app.number(weight, 2)}`,
      )
      .join(", ");
  }
}
