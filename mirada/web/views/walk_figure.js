// Draws the lines of a step: symbols at the left, the numbers or what else the line shows at the right.

import {element, button} from "../elements.js";
import {pageColours} from "../draw/colours.js";
import {formula} from "./formula.js";
import {NumberGrid, columnsThatFit, placeText} from "./number_grid.js";
import {largestColumns} from "./walk_steps.js";

const CHOICES_SHOWN = 8;
const VERDICT_SHOWN = 6; // words of a row
const VERDICTS_SHOWN = 12; // rows

/** Makes figures for one walk. `page` is {t, format, onPick, onToken, matrices, word(id)}. */
export class FigureMaker {
  constructor(walk, page, width) {
    this.walk = walk;
    this.page = page;
    this.fits = columnsThatFit(width);
    this.grids = [];
    this.choices = []; // {element, line}
    this.colours = pageColours();
    this.firsts = new Map(); // how many columns → where their windows are: equally wide grids move together
  }

  /** The figure of a step: its equations, one below another. */
  figure(step) {
    return element("div", {class: "walk-figure"}, step.equations.map((lines) =>
      element("div", {class: "equation"}, joinedParameters(lines).map((line) => this.#line(line)))));
  }

  /** About how high a step's figure will be, in pixels. */
  height(step) {
    const line = (one) => {
      if (one.kind === "choice") return 50 * Math.min(6, this.#rows(one).length);
      if (one.kind === "verdict") return 150;
      if (one.kind !== "numbers") return 40;
      const rows = this.#rows(one).length;
      return 44 + Math.min(304, 28 * rows) + Math.max(10, Math.min(120, 5 * rows)) * (one.view.columns > this.fits);
    };
    return 50 + 24 * step.equations.length + step.equations.flat().reduce((sum, one) => sum + line(one), 0);
  }

  /** Frame a number wherever it is shown. */
  mark(place) {
    for (const grid of this.grids) grid.mark(place);
  }

  /** Show in what is drawn as many columns as fit this width now; returns whether they are more or fewer than before. */
  fit(width) {
    const fits = columnsThatFit(width);
    if (fits === this.fits) return false;
    this.fits = fits;
    for (const grid of this.grids) grid.fit(fits);
    for (const grid of this.grids) grid.moveTo(this.firsts.get(grid.columns) ?? 0);
    for (const {element: shown, line} of this.choices) shown.replaceChildren(...this.#choices(line));
    return true;
  }

  #line(line) {
    const signs = element("div", {class: "signs"}, line.op ? element("span", {class: "op"}, line.op) : null,
      line.symbol ? formula(line.symbol) : null);
    return element("div", {class: `line of-${line.kind}`}, signs, element("div", {class: "what"}, this.#content(line)));
  }

  #content(line) {
    if (line.kind === "numbers") return this.#numbers(line);
    if (line.kind === "parameters") return line.parameters.map((one) => this.#parameter(one));
    if (line.kind === "tokens") return this.#tokens();
    if (line.kind === "choice") return this.#choicesOf(line);
    if (line.kind === "verdict") return this.#verdict(line);
    if (line.missing) return element("span", {class: "soft"}, this.page.t("walk.missing", {path: line.missing}));
    return element("span", {class: "amount"}, line.text(this.walk.token));
  }

  /** Which rows a line shows. */
  #rows(line) {
    const {view, rows} = line;
    if (typeof rows === "number") return [rows];
    const all = rows === "all" || this.page.matrices;
    return all ? Array.from({length: view.rows}, (_, row) => row) : [Math.min(this.walk.token, view.rows - 1)];
  }

  #rowLabel(line, row) {
    const label = (line.labels ?? this.walk.rows)[typeof line.rows === "number" ? 0 : row] ?? String(row);
    if (!line.weights || this.page.matrices) return label;
    return `${this.page.format(line.weights.value(this.walk.token, row), 2)} · ${label}`;
  }

  #numbers(line) {
    const {view, palette, columnLabels = null, digits} = line;
    const rows = this.#rows(line);
    const places = digits ?? (palette === "weight" ? 3 : 2);
    const width = view.columns;
    const grid = new NumberGrid({
      view, rows, colours: this.colours, labelled: Boolean(line.weights) && !this.page.matrices, palette, columnLabels, fits: this.fits,
      rowLabels: rows.map((row) => this.#rowLabel(line, row)),
      format: (value) => this.page.format(value, places),
      name: this.page.t("walk.grid", {symbol: formula(line.symbol).textContent, rows: rows.length, columns: width}),
      sliderName: this.page.t("walk.slider"),
      onPick: (place, opener) => this.page.onPick(place, opener),
      onMove: (first) => this.#moved(width, first),
    });
    grid.moveTo(this.firsts.get(width) ?? 0);
    this.grids.push(grid);
    return grid.element;
  }

  #moved(width, first) {
    this.firsts.set(width, first);
    for (const grid of this.grids) if (grid.columns === width) grid.moveTo(first);
  }

  #parameter({op, symbol, shape}) {
    const box = element("span", {class: "matrix-box", title: this.page.t("walk.parameter")}, formula(symbol));
    const size = element("span", {class: "size"}, shape.join(" × "));
    return element("span", {class: "parameter"}, op ? element("span", {class: "op"}, op) : null, box, size);
  }

  #tokens() {
    const {walk, page} = this;
    return element("ol", {class: "token-row"}, walk.rows.map((piece, row) => element("li", {},
      button(piece, () => page.onToken(row), {"aria-pressed": String(row === walk.token), dir: "auto"}))));
  }

  #choicesOf(line) {
    const made = element("div", {}, this.#choices(line));
    this.choices.push({element: made, line});
    return made;
  }

  #choices(line) {
    const {view} = line;
    const count = Math.min(this.fits, CHOICES_SHOWN, view.columns);
    const rows = this.#rows(line).map((row) => element("tr", {},
      element("th", {scope: "row", dir: "auto"}, this.#rowLabel(line, row)),
      largestColumns(view, row, count).map((column) => element("td", {}, this.#choice(line, row, column)))));
    const more = view.columns - count;
    return [
      element("div", {class: rows.length > 12 ? "grid-rows tall" : "grid-rows"}, element("table", {class: "choices"}, rows)),
      ...(more > 0 ? [element("p", {class: "soft"}, this.page.t("walk.more_columns", {count: more}))] : []),
    ];
  }

  #choice({view, palette}, row, column) {
    const place = view.place(row, column);
    return element("button", {
      type: "button", class: "choice-cell", "data-place": placeText(place),
      title: String(view.value(row, column)),
      onclick: ({currentTarget}) => this.page.onPick(place, {reveal: () => currentTarget}),
    }, element("span", {class: "piece-name", dir: "auto"}, this.page.word(column)),
      element("span", {class: "amount"}, this.page.format(view.value(row, column), palette === "weight" ? 3 : 2)));
  }

  /** The likeliest words of a row as bars, and which was taken. */
  #verdict(line) {
    const several = line.rows === "all";
    const rows = several ? this.#rows(line).slice(0, VERDICTS_SHOWN) : [this.#ownRow(line)];
    return rows.map((row) => element("div", {class: "verdict-of"},
      several ? element("p", {class: "soft", dir: "auto"}, this.#rowLabel(line, row)) : null, this.#bars(line, row)));
  }

  #ownRow({rows, view}) {
    return typeof rows === "number" ? rows : Math.min(this.walk.token, view.rows - 1);
  }

  #bars({view}, row) {
    const {walk, page} = this;
    const columns = largestColumns(view, row, Math.min(VERDICT_SHOWN, view.columns));
    const said = walk.said?.[row];
    return element("ol", {class: "verdict"}, columns.map((column) => {
      const value = view.value(row, column);
      const bar = element("span", {class: "verdict-bar"}, element("span", {class: "filled"}));
      bar.firstChild.style.width = `${100 * value}%`;
      const taken = said === undefined ? column === columns[0] : column === said;
      return element("li", {class: taken ? "taken" : null},
        element("span", {class: "piece-name", dir: "auto"}, page.word(column)), bar,
        element("span", {class: "amount"}, `${page.format(100 * value, 1)} %`));
    }));
  }
}

/** Parameters that follow one another share a line. */
function joinedParameters(lines) {
  const joined = [];
  for (const line of lines) {
    if (line.kind !== "parameter") joined.push(line);
    else if (joined.at(-1)?.kind === "parameters") joined.at(-1).parameters.push(line);
    else joined.push({kind: "parameters", op: "", symbol: "", parameters: [line]});
  }
  return joined;
}
