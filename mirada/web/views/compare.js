// Two models on one sentence, side by side, with one scale of colours.

import {element, choice} from "../elements.js";
import {looksIn} from "../looks.js";
import {countOff, partsOff} from "../switch_names.js";
import {MapFigure} from "../draw/map_figure.js";
import {pictureButtons} from "../draw/picture.js";
import {MapChoices, unitsOf, placeName, rowTitle, largestWeight} from "./attention.js";
import {summaryOf} from "./predict.js";

export class CompareView {
  static id = "compare";
  static defaults = {places: {}}; // of each model "part layer head"

  static fits(app) {
    return app.models.length > 1;
  }

  constructor(app) {
    this.app = app;
    this.sides = app.models.map((model) => new Side(app, model));
    this.choices = new MapChoices(app);
    this.element = element(
      "div",
      {class: "compare"},
      element("p", {class: "hint"}, app.t("hint.compare")),
      element("div", {class: "tools"}, this.choices.elements),
      element(
        "div",
        {class: "sides"},
        this.sides.map((side) => side.element),
      ),
    );
  }

  async update(state) {
    const {app} = this;
    await Promise.all(app.models.map((model) => model.open()));
    this.choices.show(state);
    const largest = await Promise.all(this.sides.map((side) => side.update(state)));
    const most = state.stretch ? Math.max(...largest) : 1; // one scale for both
    for (const side of this.sides) side.draw(most);
  }
}

/** One of the models: what it makes of the sentence, and one map. */
class Side {
  constructor(app, model) {
    this.app = app;
    this.model = model;
    this.map = new MapFigure(app);
    this.off = element("p", {class: "parts-off"});
    this.output = element("p", {class: "made", dir: "auto"});
    this.tools = element("div", {class: "tools"});
    this.caption = element("h3");
    this.element = element(
      "section",
      {"aria-label": model.entry.name},
      element("h2", {}, model.entry.name),
      element(
        "p",
        {class: "facts"},
        `${model.entry.architecture} · ${app.t("parameters", {count: app.number(model.entry.parameters, 0)})}`,
      ),
      this.off,
      this.output,
      this.tools,
      this.caption,
      this.map.element,
      pictureButtons(
        app,
        () => this.map.scene(),
        () => `${model.entry.name}-attention`,
      ),
    );
  }

  /** Compute, and return the largest weight of the map. */
  async update({places, words}) {
    const {app, model} = this;
    const switches = model === app.model ? app.values.switches : {};
    this.off.hidden = partsOff(switches).length === 0;
    this.off.textContent = countOff(app, switches);
    const options = {beam: app.values.beam || model.entry.decode?.beam, switches, to: app.into};
    let target = null;
    if (model.description.generates) {
      const {
        hypotheses: [best],
      } = await app.computed(model, "generate", app.text, {...options, nBest: 1, prefix: []});
      this.output.textContent = best.text;
      target = best.ids;
    } else {
      this.output.textContent = summaryOf(app, await app.computed(model, "predict", app.text, {switches}));
    }
    const trace = await app.computed(model, "trace", app.text, {target, switches, to: app.into});
    const looks = looksIn(trace, unitsOf(model.entry));
    this.map.element.hidden = looks.length === 0;
    this.drawn = null;
    if (looks.length > 0) return this.#choose(trace, looks, places[model.number], words);
    this.caption.textContent = app.t("attention.none");
    return 0;
  }

  /** Show the map, in colours that end at the weight `most`. */
  draw(most) {
    if (this.drawn) this.map.show({...this.drawn.matrix, most}, this.drawn.about);
  }

  #choose(trace, looks, place, words) {
    const {app} = this;
    const options = looks.flatMap((one) =>
      placesOf(one).map(([layer, head]) => [
        `${one.part} ${layer} ${head}`,
        `${app.t(`part.${one.part}`)}: ${placeName(app, layer, head)}`,
      ]),
    );
    const chosen = options.some(([value]) => value === place) ? place : options[0][0];
    const [part, layer, head] = chosen.split(" ");
    const one = looks.find((candidate) => candidate.part === part);
    const labels = one.labels(words);
    this.caption.textContent = options.find(([value]) => value === chosen)[1];
    const select = choice(app.t("map"), options, chosen, (value) =>
      app.set({places: {...app.values.places, [this.model.number]: value}}),
    );
    const focused = this.tools.contains(document.activeElement);
    this.tools.replaceChildren(select);
    if (focused) select.querySelector("select").focus();
    const index = (value) => (Number(value) < 0 ? null : Number(value));
    const about = {
      rowLabels: labels.rows,
      columnLabels: labels.columns,
      rowTitle: rowTitle(app, trace, part),
      columnTitle: app.t("looksAt"),
      legend: app.t("weight"),
      title: `${this.model.entry.name}: ${this.caption.textContent}`,
    };
    this.drawn = {matrix: one.matrix(index(layer), index(head), words), about};
    return largestWeight(this.drawn.matrix);
  }
}

/** The mean first, then every layer and head. */
function placesOf({layers, heads}) {
  const all = [...Array(layers * heads).keys()].map((i) => [Math.floor(i / heads), i % heads]);
  return layers * heads === 1 ? all : [[-1, -1], ...all];
}
