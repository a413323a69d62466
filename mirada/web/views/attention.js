// Where the model looks: every layer and head as small maps, one large, as lines between words, and head by head.

import {element, arrange, segments, checkbox, choice} from "../elements.js";
import {looksIn, cellsIn} from "../looks.js";
import {unitOf} from "../words.js";
import {MapGrid} from "../draw/grid.js";
import {MapFigure} from "../draw/map_figure.js";
import {LinesFigure} from "../draw/lines_figure.js";
import {pictureButtons} from "../draw/picture.js";
import {GateFigure} from "./gates.js";
import {RestsFigure} from "./rests.js";

const UNCHOSEN = -2; // neither a layer or head nor a mean

export class AttentionView {
  static id = "attention";
  static defaults = {
    part: "", // cross, encoder, decoder or gates; empty: the first there is
    layer: UNCHOSEN, // −1: the mean over all layers
    head: UNCHOSEN, // −1: the mean over all heads
    words: false, // tokens merged to words
    stretch: false, // the darkest colour is the largest weight, and not 1
    figure: "map", // map, lines, heads or rests
    token: -1, // the row that is looked at head by head
    gate: "", // "encoder.0.forward f": which gate of a recurrent network is large
  };

  static fits(app) {
    return app.entry.architecture !== "bag";
  }

  constructor(app) {
    this.app = app;
    this.grid = new MapGrid(app, (value) => this.#choose(value));
    this.map = new MapFigure(app, (row) => app.set({token: row, figure: "heads"}));
    this.lines = new LinesFigure(app, (row) => app.set({token: row}));
    this.heads = new MapFigure(app, (row) => this.#choose(this.places[row].join(" ")));
    this.gates = new GateFigure(app);
    this.rests = new RestsFigure(app);
    this.tools = element("div", {class: "tools"});
    this.caption = element("h2");
    this.which = element("div");
    this.hint = element("p", {class: "hint"});
    this.figure = element("div", {class: "figure"});
    this.body = element("div", {class: "looks"}, this.grid.element, this.figure);
    this.pictures = pictureButtons(
      app,
      () => this.#shown().scene(),
      () => this.#fileName(),
    );
    this.element = element("div", {class: "attention"});
  }

  async update(state) {
    const {app} = this;
    const trace = await app.trace();
    if (this.trace !== trace) this.looks = looksIn(trace, unitsOf(app.entry));
    this.trace = trace;
    const cells = cellsIn(trace);
    const parts = [...this.looks.map(({part}) => part), ...(cells.length ? ["gates"] : [])];
    if (parts.length === 0) return this.element.replaceChildren(element("p", {class: "note"}, app.t("attention.none")));
    this.part = parts.includes(state.part) ? state.part : parts[0];
    const shapes = ["map", "lines", "heads", ...(this.#canScore ? ["rests"] : [])];
    this.shape = shapes.includes(state.figure) ? state.figure : "map";
    this.#showTools(parts, shapes, state);
    if (this.part === "gates") {
      this.gates.show(cells, trace, unitsOf(app.entry), state);
      arrange(this.element, [this.tools, this.gates.element]);
    } else {
      const looks = this.looks.find(({part}) => part === this.part);
      const drops = this.shape === "rests" ? await this.rests.drops(trace, looks) : null;
      this.#showLooks(looks, trace, state, drops);
    }
  }

  /** Go to another layer or head, by the keyboard; after the last there is the mean. */
  move(layers, heads) {
    const looks = this.looks?.find(({part}) => part === this.part);
    if (!looks) return;
    const step = (value, by, count) => (count === 1 ? 0 : ((value + 1 + by + count + 1) % (count + 1)) - 1);
    const [layer, head] = this.chosen;
    this.app.set({layer: step(layer, layers, looks.layers), head: step(head, heads, looks.heads)});
  }

  /** Whether the model can be asked how likely the translation is without a word of the sentence. */
  get #canScore() {
    return this.part === "cross" && this.app.entry.task === "translation" && !this.app.model.description.recorded;
  }

  #showTools(parts, shapes, {words, stretch}) {
    const {app} = this;
    const options = (prefix, keys) => keys.map((key) => [key, app.t(`${prefix}.${key}`)]);
    const all = [segments(app.t("part"), options("part", parts), this.part, (part) => app.set({part, token: -1}))];
    if (this.part !== "gates") {
      all.push(
        segments(app.t("figure"), options("figure", shapes), this.shape, (one) =>
          app.set({figure: one}),
        ),
      );
      if (this.shape !== "rests") all.push(checkbox(app.t("words"), words, (on) => app.set({words: on, token: -1})));
      all.push(checkbox(app.t("stretch"), stretch, (on) => app.set({stretch: on})));
    }
    if (this.shape !== "rests") all.push(this.pictures); // there each map has its own
    replaceKeepingFocus(this.tools, all);
  }

  #showLooks(looks, trace, state, drops) {
    const {app} = this;
    this.chosen = placeIn(looks, state);
    const [layer, head] = this.chosen;
    const words = state.words || drops !== null;
    if (this.maps?.looks !== looks || this.maps.words !== words || this.maps.stretch !== state.stretch) {
      this.maps = {looks, words, stretch: state.stretch, ...smallMaps(app, looks, words, state.stretch)};
    }
    this.grid.show(this.maps.rows, this.chosen.join(" "));
    this.grid.element.hidden = looks.layers * looks.heads === 1;
    const labels = looks.labels(words);
    const place = [layer, head].map((value) => (value < 0 ? null : value));
    const matrix = {...looks.matrix(...place, words), most: this.maps.most};
    const about = {
      rowLabels: labels.rows,
      columnLabels: labels.columns,
      rowTitle: rowTitle(app, trace, looks.part),
      columnTitle: app.t("looksAt"),
      legend: app.t("weight"),
      title: `${app.t(`part.${looks.part}`)}, ${placeName(app, layer, head)}`,
    };
    this.caption.textContent = about.title;
    this.hint.textContent = `${app.t(`hint.${this.shape}`)} ${app.t("counted")}`;
    arrange(this.element, [this.tools, this.body]);
    if (this.shape === "heads") return this.#showHeads(looks, labels, about, state);
    if (drops) {
      arrange(this.figure, [this.caption, this.rests.element, this.hint]);
      return this.rests.show(looks, ...place, drops, this.maps.most, about);
    }
    const shown = this.shape === "lines" ? this.lines : this.map;
    arrange(this.figure, [this.caption, shown.element, this.hint]);
    const bare = (title) => title.replace(/ [↓→]$/u, ""); // arrows are for rows and columns
    const named = {...about, rowTitle: bare(about.rowTitle), columnTitle: bare(about.columnTitle)};
    if (shown === this.lines) shown.show(matrix, named, state.token);
    else shown.show(matrix, about);
  }

  /** One word, and where each head of each layer looks from it. */
  #showHeads(looks, labels, about, state) {
    const {app} = this;
    const row = Math.max(0, Math.min(state.token, labels.rows.length - 1));
    this.places = headPlaces(looks);
    const data = new Float32Array(this.places.length * labels.columns.length);
    this.places.forEach(([layer, head], i) => {
      const all = looks.matrix(layer, head, state.words);
      data.set(all.data.subarray(row * all.columns, (row + 1) * all.columns), i * all.columns);
    });
    const matrix = {rows: this.places.length, columns: labels.columns.length, data, least: 0, most: this.maps.most};
    const which = choice(
      app.t("word"),
      labels.rows.map((label, i) => [i, label]),
      row,
      (value) => app.set({token: Number(value)}),
    );
    this.caption.textContent = app.t("heads.title", {word: labels.rows[row]});
    replaceKeepingFocus(this.which, [which]);
    arrange(this.figure, [this.caption, this.which, this.heads.element, this.hint]);
    this.heads.show(matrix, {
      ...about,
      rowLabels: this.places.map(([layer, head]) => `${layer}.${head}`),
      rowTitle: app.t("row.heads"),
      title: this.caption.textContent,
    });
  }

  #choose(value) {
    const [layer, head] = value.split(" ").map(Number);
    this.app.set({layer, head, figure: this.shape === "heads" ? "map" : this.shape});
  }

  #shown() {
    if (this.part === "gates") return this.gates.figure;
    return {map: this.map, lines: this.lines, heads: this.heads}[this.shape];
  }

  #fileName() {
    const [layer, head] = this.chosen ?? [0, 0];
    return this.part === "gates" ? "gates" : [this.part, ...[layer, head].map((one) => (one < 0 ? "mean" : one))].join("-");
  }
}

/** Whole words, and full contrast: the choices that every view with maps shares. */
export class MapChoices {
  constructor(app) {
    this.elements = ["words", "stretch"].map((name) => checkbox(app.t(name), false, (on) => app.set({[name]: on})));
  }

  show({words, stretch}) {
    [words, stretch].forEach((on, place) => (this.elements[place].querySelector("input").checked = on));
  }
}

/** How the tokenizers of a model cut text. */
export function unitsOf({tokenizers}) {
  const source = unitOf(tokenizers.source);
  return {source, target: tokenizers.target ? unitOf(tokenizers.target) : source};
}

/** What the rows of a part are: tokens that are being chosen, or tokens that were read. */
export function rowTitle(app, trace, part) {
  return app.t(trace.target && part === "decoder" ? "row.cross" : `row.${part}`);
}

/** "layer 1, head 2", counted from 0 as in paths; −1 is the mean. */
export function placeName(app, layer, head) {
  const which = (name, value) => (value < 0 ? app.t(`${name}.mean`) : app.t(`${name}.one`, {number: value}));
  return `${which("layer", layer)}, ${which("head", head)}`;
}

/**
 * A row for each layer and one for their mean, a column for each head and one for their mean; and the weight that the
 * strongest colour stands for, which is the same for all: 1, or the largest there is.
 */
export function smallMaps(app, looks, words, stretch) {
  const layers = [...Array(looks.layers).keys(), ...(looks.layers > 1 ? [-1] : [])];
  const heads = [...Array(looks.heads).keys(), ...(looks.heads > 1 ? [-1] : [])];
  const short = (layer, head) => {
    if (layer < 0 && head < 0) return app.t("mean");
    if (layer < 0) return app.t("head.short", {number: head});
    return head < 0 ? app.t("layer.short", {number: layer}) : `${layer}.${head}`;
  };
  const rows = layers.map((layer) => ({
    cells: heads.map((head) => ({
      matrix: looks.matrix(layer < 0 ? null : layer, head < 0 ? null : head, words),
      name: placeName(app, layer, head),
      short: short(layer, head),
      value: `${layer} ${head}`,
    })),
  }));
  const matrices = rows.flatMap(({cells}) => cells.map(({matrix}) => matrix));
  const most = stretch ? Math.max(...matrices.map(largestWeight)) : 1;
  for (const matrix of matrices) matrix.most = most;
  return {rows, most};
}

/** The largest weight of a matrix. */
export function largestWeight({data}) {
  return data.reduce((largest, weight) => Math.max(largest, weight), 0);
}

function headPlaces(looks) {
  return [...Array(looks.layers * looks.heads).keys()].map((i) => [Math.floor(i / looks.heads), i % looks.heads]);
}

/** The layer and head that are looked at: at first the last layer, all heads; if only one of the two is named, the other is 0. */
function placeIn({layers, heads}, {layer, head}) {
  if (layer === UNCHOSEN && head === UNCHOSEN) return [layers - 1, heads > 1 ? -1 : 0];
  return [clamped(layer, layers), clamped(head, heads)];
}

function clamped(value, count) {
  if (count === 1 || value === UNCHOSEN) return 0;
  return Math.max(-1, Math.min(value, count - 1));
}

/** Put new controls in the place of old ones; the one that had the focus, by its label and value, gets it back. */
function replaceKeepingFocus(parent, children) {
  const active = parent.contains(document.activeElement) ? document.activeElement : null;
  const path = active && [
    active.closest("[aria-label]")?.getAttribute("aria-label"),
    active.dataset.value,
    active.type,
  ];
  parent.replaceChildren(...children);
  if (!path) return;
  const same = [...parent.querySelectorAll("button, input, select")].find(
    (one) =>
      one.closest("[aria-label]")?.getAttribute("aria-label") === path[0] &&
      one.dataset.value === path[1] &&
      one.type === path[2],
  );
  same?.focus();
}
