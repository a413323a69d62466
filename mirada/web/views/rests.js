// What each word of a translation rests on: attention beside leaving each word of the sentence out, on the same axes,
// with the rank correlation of the two. As `mirada attend --attribution leave-out`.

import {element, scrolled, tableOf} from "../elements.js";
import {spearman} from "../engine/attribution.js";
import {MapFigure} from "../draw/map_figure.js";
import {pictureButtons} from "../draw/picture.js";

export class RestsFigure {
  #computed = new WeakMap(); // trace → the promise of its drops

  constructor(app) {
    this.app = app;
    this.sides = ["attention", "drops"].map((name) => {
      const map = new MapFigure(app);
      const heading = element("h3", {}, app.t(`rests.${name}`));
      const pictures = pictureButtons(
        app,
        () => map.scene(),
        () => `rests-${name}`,
      );
      return {map, element: element("section", {"aria-label": heading.textContent}, heading, map.element, pictures)};
    });
    this.said = element("p", {class: "summary"});
    this.table = element("div");
    this.element = element(
      "div",
      {class: "rests"},
      this.sides.map((side) => side.element),
      this.said,
      this.table,
    );
  }

  /** By how much each word of the translation becomes less likely without each of the source: see `dropsBetween`. */
  drops(trace, looks) {
    if (!this.#computed.has(trace)) {
      const found = dropsBetween(this.app, trace, looks);
      found.catch(() => this.#computed.delete(trace));
      this.#computed.set(trace, found);
    }
    return this.#computed.get(trace);
  }

  /** Show the weights of a layer and a head (null: the mean of all) beside drops; `darkest`: that of the darkest colour. */
  show(looks, layer, head, {rows, columns, data}, darkest, about) {
    const {app} = this;
    const [rowLabels, columnLabels] = [rows, columns].map((words) => words.map(({label}) => label));
    const weights = between(looks, layer, head, rows, columns);
    const most = data.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
    const size = {rows: rows.length, columns: columns.length};
    const [attention, drops] = this.sides.map(({map}) => map);
    const shown = {...about, rowLabels, columnLabels};
    const legend = app.t("rests.weight"); // a row need not sum to 1: </s> and tags are left out
    attention.show({...size, data: weights, least: 0, most: darkest}, {...shown, legend});
    const columnTitle = app.t("rests.leaving");
    drops.show(
      {...size, data, least: -most, most},
      {...shown, title: app.t("rests.drops"), columnTitle, legend: app.t("rests.legend")},
      "signed",
    );
    this.#showCorrelations(rowLabels, columnLabels, weights, data);
  }

  #showCorrelations(rowLabels, columnLabels, weights, drops) {
    const {app} = this;
    const width = columnLabels.length;
    const found = rowLabels.map((label, row) => {
      const [looked, needed] = [weights, drops.map(Math.abs)].map((all) => all.subarray(row * width, (row + 1) * width));
      const [first, second] = [looked, needed].map((values) => values.indexOf(Math.max(...values)));
      return {label, first, second, rho: spearman(looked, needed)};
    });
    const known = found.filter(({rho}) => !Number.isNaN(rho));
    const mean = known.reduce((sum, {rho}) => sum + rho, 0) / known.length; // NaN if there is none
    const number = (rho) => (Number.isNaN(rho) ? "–" : app.number(rho, 2));
    const same = found.filter(({first, second}) => first === second).length;
    this.said.textContent = app.t("rests.said", {same, count: found.length, rho: number(mean)});
    const head = ["word", "rests.looks", "rests.needs", "rests.rho"].map((key) => app.t(key));
    const rows = found.map(({label, first, second, rho}) => [
      {head: label},
      columnLabels[first],
      columnLabels[second],
      {number: number(rho)},
    ]);
    const title = app.t("rests.table");
    this.table.replaceChildren(scrolled(title, tableOf(title, head, rows)));
  }
}

/**
 * Words of the translation (rows) and of the sentence (columns), [{start, end, label}], without the tokens that stand
 * for no text; and by how much the log probability of each row drops without each column, the sum over its tokens.
 */
async function dropsBetween(app, trace, looks) {
  const tags = app.into === null ? 0 : 1; // before the sentence
  const rows = looks.rowWords.filter(({end}) => end < looks.rows); // the last token is </s>
  const columns = looks.columnWords.filter(({start, end}) => start >= tags && end < looks.columns);
  const options = {target: trace.ids, to: app.into, switches: app.values.switches};
  const score = (without) => app.computedOnce(app.model, "score", app.text, {...options, without});
  const whole = await score([0, 0]);
  const data = new Float32Array(rows.length * columns.length);
  for (const [column, {start, end}] of columns.entries()) {
    app.shell.say(app.t("rests.working", {word: column + 1, count: columns.length}));
    const rest = await score([start, end]); // one question at a time, so that typing is answered between two
    rows.forEach((word, row) => {
      for (let t = word.start; t < word.end; t++) data[row * columns.length + column] += whole[t] - rest[t];
    });
  }
  app.shell.say("");
  return {rows, columns, data};
}

/** The attention weights between some of the words. */
function between(looks, layer, head, rows, columns) {
  const all = looks.matrix(layer, head, true);
  const data = new Float32Array(rows.length * columns.length);
  rows.forEach((row, i) =>
    columns.forEach((column, j) => {
      const place = looks.rowWords.indexOf(row) * all.columns + looks.columnWords.indexOf(column);
      data[i * columns.length + j] = all.data[place];
    }),
  );
  return data;
}
