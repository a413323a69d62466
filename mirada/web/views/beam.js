// Beam search, step by step: what was considered, what was kept, what ended, what was dropped, and why.

import {element, button} from "../elements.js";
import {pieceLabel} from "../words.js";
import {EOS} from "../engine/tokenizer.js";
import {unitsOf} from "./attention.js";
import {pageColours} from "../draw/colours.js";
import {paintScene} from "../draw/scene.js";
import {treeNodes, pathTo, treeScene} from "../draw/tree.js";
import {pictureButtons} from "../draw/picture.js";

const PAUSE = 900; // milliseconds a step while it plays

export class BeamFigure {
  #timer = 0;

  constructor(app) {
    this.app = app;
    this.canvas = element("canvas", {role: "img"});
    this.scroll = element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": app.t("beam.tree")}, this.canvas);
    this.slider = element("input", {type: "range", min: 0, "aria-label": app.t("beam.step"), oninput: () => this.#go(Number(this.slider.value))});
    this.counter = element("output");
    this.play = button("▶", () => this.#toggle(), {"aria-label": app.t("play")});
    this.why = element("p", {class: "why", "aria-live": "polite"});
    this.table = element("div", {class: "scroll"});
    this.element = element("section", {class: "beam"},
      element("h2", {}, app.t("beam.title")), element("p", {class: "hint"}, app.t("hint.beam")),
      element("div", {class: "steps"}, this.play,
        button("‹", () => this.#go(this.at - 1), {"aria-label": app.t("step.back")}), this.slider,
        button("›", () => this.#go(this.at + 1), {"aria-label": app.t("step.on")}), this.counter,
        pictureButtons(app, () => this.drawing.scene, () => "beam-search")),
      this.scroll, this.why, this.table);
  }

  /** Show a search; `best` is the hypothesis whose path is marked, `state.step` the step, −1 the last. */
  show(tree, best, state) {
    const {app} = this;
    this.steps = treeNodes(tree);
    this.at = state.step < 0 ? this.steps.length - 1 : Math.min(state.step, this.steps.length - 1);
    this.slider.max = this.steps.length - 1;
    this.slider.value = this.at;
    this.counter.textContent = app.t("step.of", {step: this.at + 1, count: this.steps.length});
    const forced = state.prefix.length;
    const path = pathTo(this.steps, best.ids.slice(forced), EOS);
    const unit = unitsOf(app.entry).target;
    const colours = pageColours();
    this.drawing = treeScene(this.steps, this.at, path, {
      title: app.t("beam.tree"), start: "<s>", step: (number) => String(number), number: (value) => app.number(value, 2),
      label: (node) => pieceLabel(node.candidate.piece, node.parent?.candidate.piece ?? "", unit),
    }, colours);
    paintScene(this.drawing.scene, this.canvas);
    this.#explain(unit, state.beam || app.entry.decode.beam);
    this.scroll.scrollLeft = this.drawing.scene.width;
  }

  #explain(unit, width) {
    const {app} = this;
    const nodes = this.steps[this.at];
    const last = this.at === this.steps.length - 1;
    const count = (fate) => nodes.filter(({candidate}) => candidate.fate === fate).length;
    this.why.textContent = app.t("beam.why", {step: this.at + 1, all: nodes.length, kept: count("kept"), ended: count("ended"), dropped: count("dropped")});
    this.canvas.setAttribute("aria-label", this.why.textContent);
    const head = ["rank", "after", "next", "p", "total", "fate"].map((key) => element("th", {scope: "col"}, app.t(`beam.${key}`)));
    const rows = nodes.map(({candidate, parent, rank, text}) => element("tr", {class: candidate.fate},
      element("td", {}, String(rank + 1)),
      element("td", {}, element("bdi", {}, ending(parent?.text ?? "<s>"))),
      element("td", {}, element("bdi", {}, pieceLabel(candidate.piece, parent?.candidate.piece ?? "", unit))),
      element("td", {class: "number"}, app.number(Math.exp(candidate.logP), 3)),
      element("td", {class: "number"}, app.number(candidate.score, 3)),
      element("td", {}, app.t(`fate.${reasonOf(candidate, last)}`, {rank: rank + 1, width}))));
    this.table.replaceChildren(element("table", {class: "candidates"},
      element("caption", {class: "unseen"}, this.why.textContent), element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)));
  }

  #go(step) {
    if (step < 0 || step >= this.steps.length) return;
    this.app.set({step: step === this.steps.length - 1 ? -1 : step});
  }

  #toggle() {
    const playing = this.#timer !== 0;
    clearInterval(this.#timer);
    this.#timer = 0;
    this.play.textContent = playing ? "▶" : "❚❚";
    this.play.setAttribute("aria-label", this.app.t(playing ? "play" : "pause"));
    if (playing) return;
    this.#go(this.at === this.steps.length - 1 ? 0 : this.at + 1);
    this.#timer = setInterval(() => {
      if (!this.element.isConnected || this.at >= this.steps.length - 1) this.#toggle();
      else this.#go(this.at + 1);
    }, PAUSE);
  }
}

/** Why a candidate met its fate. */
function reasonOf({fate, id}, last) {
  if (fate !== "dropped") return fate;
  if (id === EOS) return "noEnd";
  return last ? "over" : "dropped";
}

/** The last words of a text. */
function ending(text) {
  return text.length > 30 ? `… ${text.slice(-30).replace(/^\S*\s+/u, "")}` : text.trim();
}
