// Parts of the model switched off: a diagram of what it is made of, and what it says with and without them.

import {element, button} from "../elements.js";
import {pieceLabels, unitOf} from "../words.js";
import {partsOff} from "../switch_names.js";
import {changedWords, probabilitiesOf} from "./switches_compare.js";
import {SwitchDiagram} from "./switches_diagram.js";

export class SwitchesView {
  static id = "switches";

  static fits(app) {
    return app.description.parts.length > 0;
  }

  constructor(app) {
    this.app = app;
    this.diagram = null;
    this.place = element("div", {class: "diagram-place"});
    this.results = element("div", {class: "switch-results", "aria-live": "polite"});
    this.allOn = button(app.t("switches.all_on"), () => app.set({switches: {}}), {class: "all-on"});
    this.count = element("p", {class: "soft", role: "status"});
    this.now = element("div", {class: "switch-now", "aria-hidden": "true"});
    this.heads = element("span", {}, ` ${app.t("switches.heads")}`);
    this.element = element("div", {class: "switches"},
      element("p", {class: "note"}, app.t("switches.intro"), this.heads),
      element("div", {class: "switches-body"}, this.place,
        element("div", {}, element("div", {class: "switch-bar"}, this.allOn, this.count), this.results)), this.now);
  }

  async update(state) {
    const {app} = this;
    if (this.diagram?.model !== app.model) {
      this.diagram = new SwitchDiagram(app, app.model, (switches) => app.set({switches}));
      this.place.replaceChildren(this.diagram.element);
    }
    this.diagram.show(state.switches);
    this.heads.hidden = !app.description.parts.some(({heads}) => heads > 0);
    const off = partsOff(state.switches).length;
    this.allOn.disabled = off === 0;
    this.count.textContent = off ? app.t("switches.count", {count: off}) : app.t("switches.none");
    this.results.setAttribute("aria-busy", "true");
    const shown = app.description.generates ? await this.#texts(state, off) : await this.#answers(state, off);
    this.results.removeAttribute("aria-busy");
    this.results.replaceChildren(...shown);
  }

  // ── models that generate ────────────────────────────────────────────────────────────────────────────────────────

  async #texts(state, off) {
    const {app} = this;
    const width = state.beam || app.entry.decode.beam;
    const options = {beam: width, nBest: width, prefix: state.prefix, to: app.into};
    const before = await app.computed(app.model, "generate", app.text, {...options, switches: {}});
    const now = await app.generation();
    const original = before.hypotheses[0];
    const changed = now.hypotheses[0];
    const [old, fresh] = changedWords(original.text, changed.text);
    const traces = await Promise.all([{}, state.switches].map((switches) =>
      app.computed(app.model, "trace", app.text, {target: original.ids, switches, to: app.into})));
    const chances = traces.map((trace) => probabilitiesOf(trace, original.ids));
    this.now.replaceChildren(...(off ? [element("span", {class: "soft"}, app.t("switches.now")), " ", ...marked(fresh)] : []));
    return [
      element("div", {class: "before-after"},
        this.#said("before", "switches.before", old, chances[0], off),
        off ? this.#said("after", "switches.after", fresh, chances[1], off) : null),
      off && original.text === changed.text ? element("p", {class: "note"}, app.t("switches.same")) : null,
      this.#tokens(traces[0], original, off ? chances : chances.slice(0, 1)),
    ].filter(Boolean);
  }

  /** One translation with its changed words marked, and how probable the original is. */
  #said(side, key, words, chances, off) {
    const {app} = this;
    const logP = chances.reduce((sum, p) => sum + Math.log(p), 0);
    return element("section", {class: side},
      element("h3", {}, app.t(key, {count: off})),
      element("p", {class: "said", dir: "auto"}, words.length ? marked(words) : "∅"),
      element("p", {class: "soft"}, `${app.t("switches.probability")}: `,
        element("strong", {class: "original", "data-log": logP}, this.#percent(Math.exp(logP))),
        `, ${app.t("switches.probability.of", {value: this.#percent(Math.exp(logP / Math.max(1, chances.length)))})}`));
  }

  /** Each token of the original with its probability before and after. */
  #tokens(trace, {ids}, chances) {
    const {app} = this;
    const {tokenizers} = app.entry;
    const pieces = trace.target ?? trace.source.slice(-ids.length);
    const labels = pieceLabels(pieces, unitOf(tokenizers.target ?? tokenizers.source)).slice(0, chances[0].length);
    const cell = (row, t) => element("td", {class: row === chances[0] ? "with-all" : "without"}, this.#bar(row[t]));
    const rows = labels.map((label, t) => element("tr", {}, element("th", {scope: "row", dir: "auto"}, label),
      chances.map((row) => cell(row, t))));
    const names = ["switches.token", "switches.on", "switches.off"].slice(0, chances.length + 1);
    const head = names.map((key) => element("th", {scope: "col"}, app.t(key)));
    return element("section", {}, element("h3", {}, app.t(chances.length > 1 ? "switches.word_probability" : "switches.word_probability_now")),
      element("table", {class: "chances"}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)));
  }

  #bar(p) {
    const filled = element("span", {class: "filled"});
    filled.style.width = `${100 * p}%`;
    return element("span", {class: "chance-line"}, element("span", {class: "chance", "aria-hidden": "true"}, filled),
      element("span", {class: "amount"}, this.#percent(p)));
  }

  // ── models that answer ──────────────────────────────────────────────────────────────────────────────────────────

  async #answers(state, off) {
    const {app} = this;
    const found = [];
    for (const switches of [{}, state.switches]) {
      found.push(answersOf(await app.computed(app.model, "predict", app.text, {switches})));
    }
    const sides = [["before", "switches.before"], ["after", "switches.after"]].slice(0, off ? 2 : 1);
    const rowOf = ([name, answer, p], row, side) => {
      const said = found[0][row]?.[1] === answer ? answer : element("mark", {}, answer);
      const head = (text) => element("th", {scope: "row", dir: "auto"}, text);
      return element("tr", {}, name ? [head(name), element("td", {class: "answer", dir: "auto"}, said)] : head(said),
        element("td", {class: side === "after" ? "without" : "with-all"}, p === null ? "" : this.#bar(p)));
    };
    return [element("div", {class: "before-after"}, sides.map(([side, key], n) => element("section", {class: side},
      element("h3", {}, app.t(key, {count: off})),
      element("table", {class: "chances"}, element("tbody", {}, found[n].map((answer, row) => rowOf(answer, row, side)))))))];
  }

  #percent(p) {
    const {app} = this;
    if (p < LEAST_SHOWN) return `< ${app.number(100 * LEAST_SHOWN, 2)} %`;
    return `${app.number(100 * p, p < 0.0995 ? 2 : 1)} %`;
  }
}

const LEAST_SHOWN = 0.0001; // the smallest probability that has digits of its own, 0.01 %

/** Words with those that changed marked. */
function marked(words) {
  return words.flatMap(({text, changed}, n) => [n ? " " : "", changed ? element("mark", {}, text) : text]);
}

/** What a model that reads says, as [what about, answer, probability]. */
function answersOf({labels, tags, fills}) {
  if (labels) return labels.map(({label, probability}) => ["", label, probability]);
  if (tags) return tags.map(({token, label, probability}) => [token, label ?? "", probability ?? null]);
  const likeliest = ({words}, gap) => words.slice(0, 5).map(({word, probability}) => [`[MASK] ${gap + 1}`, word, probability]);
  return (fills ?? []).flatMap(likeliest);
}
