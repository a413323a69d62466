// Beam search, step by step: what was considered, what was kept, what ended, what was dropped, and why.

import {element, scrolled, tableOf} from "../elements.js";
import {pieceLabel} from "../words.js";
import {EOS} from "../engine/tokenizer.js";
import {unitsOf} from "./attention.js";
import {pageColours} from "../draw/colours.js";
import {paintScene} from "../draw/scene.js";
import {treeNodes, pathTo, treeScene} from "../draw/tree.js";
import {StepPlayer} from "../draw/player.js";
import {pictureButtons} from "../draw/picture.js";

const PAUSE = 900; // milliseconds a step while it plays

export class BeamFigure {
  constructor(app) {
    this.app = app;
    this.canvas = element("canvas", {role: "img"});
    this.scroll = scrolled(app.t("beam.tree"), this.canvas);
    this.player = new StepPlayer(app, app.t("beam.step"), PAUSE, (step) => this.#go(step));
    this.why = element("p", {class: "why", "aria-live": "polite"});
    this.table = element("div", {class: "scroll"});
    const pictures = pictureButtons(
      app,
      () => this.drawing.scene,
      () => "beam-search",
    );
    this.element = element(
      "section",
      {class: "beam"},
      element("h2", {}, app.t("beam.title")),
      element("p", {class: "hint"}, app.t("hint.beam")),
      element("div", {class: "steps"}, this.player.element, pictures),
      this.scroll,
      this.why,
      this.table,
    );
  }

  /** Show a search; `best` is the hypothesis whose path is marked, `state.step` the step, −1 the last. */
  show(tree, best, state) {
    const {app} = this;
    this.steps = treeNodes(tree);
    this.at = state.step < 0 ? this.steps.length - 1 : Math.min(state.step, this.steps.length - 1);
    this.player.show(this.at, this.steps.length, app.t("step.of", {step: this.at + 1, count: this.steps.length}));
    const forced = state.prefix.length;
    const path = pathTo(this.steps, best.ids.slice(forced), EOS);
    const unit = unitsOf(app.entry).target;
    const colours = pageColours();
    this.drawing = treeScene(
      this.steps,
      this.at,
      path,
      {
        title: app.t("beam.tree"),
        start: "<s>",
        step: (number) => String(number),
        number: (value) => app.number(value, 2),
        label: (node) => pieceLabel(node.candidate.piece, node.parent?.candidate.piece ?? "", unit),
      },
      colours,
    );
    paintScene(this.drawing.scene, this.canvas);
    this.#explain(unit, state.beam || app.entry.decode.beam);
    this.scroll.scrollLeft = this.drawing.scene.width;
  }

  #explain(unit, width) {
    const {app} = this;
    const nodes = this.steps[this.at];
    const last = this.at === this.steps.length - 1;
    const count = (fate) => nodes.filter(({candidate}) => candidate.fate === fate).length;
    this.why.textContent = app.t("beam.why", {
      step: this.at + 1,
      all: nodes.length,
      kept: count("kept"),
      ended: count("ended"),
      dropped: count("dropped"),
    });
    this.canvas.setAttribute("aria-label", this.why.textContent);
    const head = ["rank", "after", "next", "p", "total", "fate"].map((key) => app.t(`beam.${key}`));
    const rows = nodes.map(({candidate, parent, rank}) => ({
      name: candidate.fate,
      cells: [
        String(rank + 1),
        element("bdi", {}, ending(parent?.text ?? "<s>")),
        element("bdi", {}, pieceLabel(candidate.piece, parent?.candidate.piece ?? "", unit)),
        {number: app.probability(Math.exp(candidate.logP), 3)},
        {number: app.number(candidate.score, 3)},
        app.t(`fate.${reasonOf(candidate, last)}`, {rank: rank + 1, width}),
      ],
    }));
    this.table.replaceChildren(tableOf(this.why.textContent, head, rows, "candidates"));
  }

  #go(step) {
    this.app.set({step: step === this.steps.length - 1 ? -1 : step});
  }
}

/** Why a candidate met its fate. */
function reasonOf({fate, cut, id}, last) {
  if (fate === "ended" && cut) return "cut";
  if (fate !== "dropped") return fate;
  if (id === EOS) return "noEnd";
  return last ? "over" : "dropped";
}

/** The last words of a text. */
function ending(text) {
  return text.length > 30 ? `… ${text.slice(-30).replace(/^\S*\s+/u, "")}` : text.trim();
}
