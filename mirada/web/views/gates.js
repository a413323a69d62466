// What happens inside recurrent cells, over time: gates between 0 and 1, states between −1 and 1.

import {element} from "../elements.js";
import {pieceLabels} from "../words.js";
import {MapGrid} from "../draw/grid.js";
import {MapFigure} from "../draw/map_figure.js";

const BETWEEN_0_AND_1 = ["i", "f", "o", "r", "z"];
const SHORT = {candidate: "cand.", c: "C"}; // under the small maps

export class GateFigure {
  constructor(app) {
    this.app = app;
    this.grid = new MapGrid(app, (value) => app.set({gate: value}));
    this.figure = new MapFigure(app);
    this.caption = element("h2");
    this.element = element(
      "div",
      {class: "looks"},
      this.grid.element,
      element(
        "div",
        {class: "figure"},
        this.caption,
        this.figure.element,
        element("p", {class: "hint"}, app.t("hint.gates")),
      ),
    );
  }

  /** Show the cells of a trace; `state.gate` is the one that is large, as "encoder.0.forward f". */
  show(cells, trace, units, state) {
    if (this.trace !== trace) {
      this.trace = trace;
      this.rows = cells.map(({path, symbols}) => ({
        title: this.#cellName(path),
        cells: Object.entries(symbols).map(([symbol, tensor]) => this.#small(path, symbol, tensor)),
      }));
    }
    const all = this.rows.flatMap((row) => row.cells);
    const chosen = all.find(({value}) => value === state.gate) ?? all[0];
    this.grid.show(this.rows, chosen.value);
    this.caption.textContent = chosen.name;
    const [path] = chosen.value.split(" ");
    const decodes = path.startsWith("decoder") && trace.target;
    const labels = decodes
      ? pieceLabels(["<s>", ...trace.target.slice(0, -1)], units.target)
      : pieceLabels(trace.source, units.source);
    const {matrix} = chosen;
    this.figure.show(
      matrix,
      {
        title: chosen.name,
        rowLabels: [...Array(matrix.rows).keys()].map((unit) => String(unit)),
        columnLabels: labels.slice(0, matrix.columns),
        rowTitle: this.app.t("row.unit"),
        columnTitle: this.app.t("time"),
        legend: this.app.t("value"),
        rowHeight: Math.max(3, Math.min(16, 512 / matrix.rows)),
      },
      chosen.scale,
    );
  }

  /** "encoder.0.forward" as a reader says it. */
  #cellName(path) {
    const [owner, layer, direction] = path.split(".");
    return `${this.app.t(`cell.${owner}`)}, ${this.app.t("layer.one", {number: layer})}, ${this.app.t(`cell.${direction}`)}`;
  }

  #small(path, symbol, {shape: [steps, units], data}) {
    const turned = new Float32Array(data.length); // a column for each time step
    for (let t = 0; t < steps; t++)
      for (let unit = 0; unit < units; unit++) turned[unit * steps + t] = data[t * units + unit];
    const gate = BETWEEN_0_AND_1.includes(symbol);
    const most = gate
      ? 1
      : Math.max(
          1,
          data.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0),
        );
    const name = `${this.#cellName(path)}: ${this.app.t(`symbol.${symbol}`)}`;
    return {
      matrix: {rows: units, columns: steps, data: turned, least: gate ? 0 : -most, most},
      name,
      short: SHORT[symbol] ?? symbol,
      value: `${path} ${symbol}`,
      scale: gate ? "weights" : "signed",
    };
  }
}
