// The translation, word by word with what else was likely; the n-best; and the search that found them.

import {element, button, choice, tableOf} from "../elements.js";
import {pieceLabel, pieceLabels} from "../words.js";
import {EOS} from "../engine/tokenizer.js";
import {unitsOf} from "./attention.js";
import {BeamFigure} from "./beam.js";

const ALTERNATIVES = 8;
const BEAMS = [1, 2, 3, 4, 5, 6, 8, 10];

export class TranslateView {
  static id = "translate";
  static defaults = {word: -1, step: -1}; // the output's token whose alternatives are open; the step of the search

  static fits(app) {
    return app.description.generates && !app.description.recorded; // all of it needs the weights
  }

  static title(app) {
    return app.entry.task === "language_model" ? "tab.continue" : "tab.translate";
  }

  constructor(app) {
    this.app = app;
    this.tokens = element("div", {class: "tokens", role: "group", "aria-label": app.t("wordByWord")});
    this.alternatives = element("div", {class: "alternatives"});
    this.forced = element("p", {class: "forced"});
    this.list = element("div");
    this.beam = new BeamFigure(app);
    this.element = element(
      "div",
      {class: "translate"},
      element(
        "section",
        {},
        element("h2", {}, app.t("wordByWord")),
        element("p", {class: "hint"}, app.t("hint.words")),
        this.tokens,
        this.forced,
        this.alternatives,
      ),
      element("section", {}, element("h2", {}, app.t(this.#listName())), this.list),
      this.beam.element,
    );
  }

  async update(state) {
    const {app} = this;
    const generation = await app.generation();
    const {hypotheses, tree} = generation;
    const best = hypotheses[state.best] ?? hypotheses[0];
    this.#showTokens(best, state);
    this.#showList(hypotheses, state);
    this.beam.element.hidden = !tree?.length;
    if (tree?.length) this.beam.show(tree, best, state);
    await this.#showAlternatives(best, state);
  }

  // ── word by word ────────────────────────────────────────────────────────────────────────────────────────────────

  #showTokens({pieces, tokenLogProbabilities}, {word, prefix}) {
    const {app} = this;
    const shown = pieceLabels(pieces, unitsOf(app.entry).target); // what the limit cut has no </s>
    const focused = this.tokens.contains(document.activeElement);
    this.tokens.replaceChildren(
      ...shown.map((label, place) => {
        const logP = tokenLogProbabilities[place];
        const p = logP === undefined ? null : Math.exp(logP);
        const made = button(
          [element("bdi", {}, label), p === null ? null : element("small", {}, app.probability(p, 2))],
          () => app.set({word: place === word ? -1 : place}),
          {
            class: place < prefix.length ? "token forced" : "token",
            "aria-expanded": String(place === word),
            "aria-label": p === null ? label : app.t("token.label", {token: label, p: app.probability(p, 2)}),
          },
        );
        made.style.setProperty("--doubt", p === null ? 0 : (1 - p).toFixed(3));
        return made;
      }),
    );
    if (focused && word >= 0) this.tokens.children[word]?.focus();
    this.forced.hidden = prefix.length === 0;
    this.forced.replaceChildren(
      app.t("prefix", {count: prefix.length}),
      " ",
      button(app.t("prefix.free"), () => app.set({prefix: [], best: 0, word: -1})),
    );
  }

  async #showAlternatives({ids, pieces}, {word, switches}) {
    const {app} = this;
    const open = word >= 0 && word <= ids.length;
    this.alternatives.hidden = !open;
    if (!open) return;
    const before = {ids: ids.slice(0, word), piece: pieces[word - 1] ?? ""};
    const found = await app.computed(app.model, "next", app.text, {
      prefix: before.ids,
      count: ALTERNATIVES,
      switches,
      to: app.into,
    });
    if (word !== app.values.word) return; // another was clicked meanwhile
    const rows = found.map(({id, piece, probability}) =>
      this.#alternative(before, id, piece, probability, id === ids[word]),
    );
    this.alternatives.replaceChildren(
      element("h3", {}, app.t("alternatives")),
      element("p", {class: "hint"}, app.t("hint.alternatives")),
      element("ol", {}, rows),
    );
  }

  #alternative(before, id, piece, probability, taken) {
    const {app} = this;
    const unit = unitsOf(app.entry).target;
    const label = pieceLabel(piece, before.piece, unit);
    const bar = element("span", {class: "bar", "aria-hidden": "true"});
    bar.style.setProperty("--share", probability.toFixed(4));
    const made = button(
      [element("bdi", {class: "piece"}, label), bar, element("span", {class: "number"}, app.probability(probability, 3))],
      () => app.set({prefix: [...before.ids, id], best: 0, word: -1}),
      {
        "aria-current": taken ? "true" : null,
        disabled: id === EOS,
        class: "alternative",
        "aria-label": app.t("alternative.label", {token: label, p: app.probability(probability, 3)}),
      },
    );
    return element("li", {}, made);
  }

  // ── the n-best ──────────────────────────────────────────────────────────────────────────────────────────────────

  #listName() {
    return this.app.entry.task === "language_model" ? "nBest.continue" : "nBest";
  }

  #showList(hypotheses, state) {
    const {app} = this;
    const usual = app.entry.decode.beam;
    const beams = [...new Set([...BEAMS, usual])].sort((a, b) => a - b).map((beam) => [beam, String(beam)]);
    const head = ["rank", "text", "score", "logP"].map((key) => app.t(`nBest.${key}`));
    const rows = hypotheses.map((one, place) => this.#hypothesis(one, place, place === state.best));
    const table = tableOf(app.t(this.#listName()), head, rows, "best");
    const focused = this.list.contains(document.activeElement) ? document.activeElement.tagName : null;
    this.list.replaceChildren(
      choice(app.t("beam"), beams, state.beam || usual, (value) =>
        app.set({beam: Number(value) === usual ? 0 : Number(value), best: 0, step: -1}),
      ),
      element("div", {class: "scroll"}, table),
      element("p", {class: "hint"}, app.t("hint.score", {alpha: app.number(app.entry.decode.length_penalty, 1)})),
    );
    if (focused === "SELECT") this.list.querySelector("select").focus();
    if (focused === "BUTTON") this.list.querySelector("[aria-current]")?.focus();
  }

  #hypothesis({text, complete, score, logProbability}, place, chosen) {
    const {app} = this;
    const attributes = {class: "link", "aria-current": chosen ? "true" : null};
    const choose = button(element("bdi", {}, text || "∅"), () => app.set({best: place, word: -1}), attributes);
    const cut = complete ? null : element("small", {}, ` ${app.t("nBest.cut")}`);
    const numbers = [score, logProbability].map((value) => ({number: app.number(value, 3)}));
    return {name: chosen ? "chosen" : null, cells: [String(place + 1), element("span", {}, choose, cut), ...numbers]};
  }
}
