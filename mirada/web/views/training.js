// How attention came to be: what the model looked at in one example, from its first steps to its last.

import {element} from "../elements.js";
import {packedTensors} from "../blobs.js";
import {Looks} from "../looks.js";
import {MapGrid} from "../draw/grid.js";
import {MapFigure} from "../draw/map_figure.js";
import {StepPlayer} from "../draw/player.js";
import {pictureButtons} from "../draw/picture.js";
import {pageColours} from "../draw/colours.js";
import {paintScene, Scene} from "../draw/scene.js";
import {textOf} from "../words.js";
import {MapChoices, unitsOf, placeName, smallMaps} from "./attention.js";

const FRAME = 350; // milliseconds a step while it plays

export class TrainingView {
  #kept = new Map(); // model → its snapshots

  static id = "training";
  static defaults = {moment: -1, place: "-1 -1"}; // which snapshot (−1: the last), layer and head

  static fits(app) {
    return Boolean(app.entry.training);
  }

  constructor(app) {
    this.app = app;
    this.grid = new MapGrid(app, (place) => app.set({place}));
    this.map = new MapFigure(app);
    this.curve = element("canvas", {role: "img"});
    this.player = new StepPlayer(app, app.t("training.step"), FRAME, (moment) => this.#go(moment));
    this.caption = element("h2");
    this.choices = new MapChoices(app);
    this.pair = element("p", {class: "pair"});
    this.element = element(
      "div",
      {class: "training"},
      element("p", {class: "hint"}, app.t("hint.training")),
      this.pair,
      element(
        "div",
        {class: "steps"},
        this.player.element,
        this.choices.elements,
        pictureButtons(
          app,
          () => this.map.scene(),
          () => `training-${this.steps[this.at]}`,
        ),
      ),
      this.curve,
      element(
        "div",
        {class: "looks"},
        this.grid.element,
        element("div", {class: "figure"}, this.caption, this.map.element),
      ),
    );
  }

  async update(state) {
    const {app} = this;
    const {looks, sharpness} = await this.#opened();
    this.steps = app.entry.training.steps;
    const units = unitsOf(app.entry);
    const texts = ["source", "target"].map((side) => textOf(app.entry.training[side], units[side]));
    this.pair.replaceChildren(element("bdi", {}, texts[0]), " → ", element("bdi", {}, texts[1]));
    this.at = state.moment < 0 ? this.steps.length - 1 : Math.min(state.moment, this.steps.length - 1);
    const told = app.t("training.of", {step: this.#count(this.steps[this.at]), last: this.#count(this.steps.at(-1))});
    this.player.show(this.at, this.steps.length, told);
    this.choices.show(state);
    const now = looks[this.at];
    const [layer, head] = this.#place(state.place, now);
    const {rows, most} = smallMaps(app, now, state.words, state.stretch);
    this.grid.show(rows, `${layer} ${head}`);
    this.grid.element.hidden = now.layers * now.heads === 1;
    const labels = now.labels(state.words);
    this.caption.textContent = app.t("training.title", {
      step: this.#count(this.steps[this.at]),
      place: placeName(app, layer, head),
    });
    this.map.show(
      {...now.matrix(layer < 0 ? null : layer, head < 0 ? null : head, state.words), most},
      {
        rowLabels: labels.rows,
        columnLabels: labels.columns,
        rowTitle: app.t("row.cross"),
        columnTitle: app.t("looksAt"),
        legend: app.t("weight"),
        title: this.caption.textContent,
      },
    );
    this.#drawCurve(sharpness);
  }

  /** The snapshots of the model that is shown, as `Looks`, and how sharp each is on average. */
  #opened() {
    const {model, entry} = this.app;
    if (!this.#kept.has(model)) this.#kept.set(model, this.#open(model.number, entry));
    return this.#kept.get(model);
  }

  async #open(number, entry) {
    const {steps, source, target, paths} = entry.training;
    const {weights} = await packedTensors(`training-${number}`);
    const [, , heads, rows, columns] = weights.shape; // [steps, paths, H, T, S]
    const size = heads * rows * columns;
    const units = unitsOf(entry);
    const looks = steps.map(
      (_, step) =>
        new Looks(
          "cross",
          paths,
          paths.map((_, layer) => ({
            shape: [heads, rows, columns],
            data: weights.data.subarray((step * paths.length + layer) * size, (step * paths.length + layer + 1) * size),
          })),
          target,
          source,
          {row: units.target, column: units.source},
        ),
    );
    return {looks, sharpness: looks.map(largestShare)};
  }

  #place(place, looks) {
    const [layer, head] = place.split(" ").map(Number);
    const within = (value, count) => (count === 1 ? 0 : Math.max(-1, Math.min(value || 0, count - 1)));
    return [within(layer, looks.layers), within(head, looks.heads)];
  }

  /** A line of the largest weight a word gives, on average: 1 is a look at one word alone. */
  #drawCurve(sharpness) {
    const width = Math.min(640, this.element.clientWidth || 320);
    const height = 84;
    const colours = pageColours();
    const scene = new Scene(width, height, this.app.t("training.sharp"));
    const last = sharpness.length - 1;
    const x = (i) => 34 + (i / Math.max(1, last)) * (width - 44);
    const y = (value) => height - 10 - value * (height - 34);
    scene.text(0, 6, this.app.t("training.sharp"), {size: 11, fill: colours.soft});
    for (const value of [0, 1]) {
      scene.path(`M34 ${y(value)}H${width - 10}`, {stroke: colours.line});
      scene.text(28, y(value), String(value), {size: 11, anchor: "end", fill: colours.soft});
    }
    const points = sharpness.map((value, i) => `${x(i)} ${y(value)}`);
    if (points.length > 1) scene.path(`M${points.join("L")}`, {stroke: colours.accent, thick: 2});
    scene.path(`M${x(this.at)} ${y(1)}V${y(0)}`, {stroke: colours.mark, thick: 1.5});
    scene.rect(x(this.at) - 4, y(sharpness[this.at]) - 4, 8, 8, {fill: colours.mark, radius: 4});
    paintScene(scene, this.curve);
    this.curve.setAttribute("aria-label", `${this.app.t("training.sharp")}: ${this.app.number(sharpness[this.at], 2)}`);
  }

  #count(number) {
    return this.app.number(number, 0);
  }

  #go(moment) {
    this.app.set({moment: moment === this.steps.length - 1 ? -1 : moment});
  }
}

/** The largest weight of each row, averaged over rows, heads and layers. */
function largestShare({tensors, columns}) {
  let sum = 0;
  let count = 0;
  for (const {data} of tensors) {
    for (let row = 0; row < data.length; row += columns, count++)
      sum += data.subarray(row, row + columns).reduce((a, b) => Math.max(a, b), 0);
  }
  return sum / count;
}
