// What a model that reads a text says of it: classes, tags, or the words that fit into gaps.

import {element, scrolled, tableOf} from "../elements.js";

export class PredictView {
  static id = "predict";

  static fits(app) {
    return !app.description.generates;
  }

  constructor(app) {
    this.app = app;
    this.element = element("div", {class: "predict"});
  }

  async update(state) {
    const {app} = this;
    const found = await app.computed(app.model, "predict", app.text, {switches: state.switches});
    if (found.labels)
      this.#show([[app.t("predict.labels"), found.labels.map(({label, probability}) => [label, probability])]]);
    else if (found.tags) this.#showTags(found.tags);
    else if (found.fills)
      this.#show(
        found.fills.map(({position, words}, gap) => [
          app.t("predict.gap", {gap: gap + 1, position: position + 1}),
          words.map(({word, probability}) => [word, probability]),
        ]),
      );
    else this.#showPlain(found.output);
  }

  /** Bars for the probabilities of one or more choices. */
  #show(choices) {
    const {app} = this;
    if (choices.length === 0)
      return this.element.replaceChildren(element("p", {class: "note"}, app.t("predict.noGap")));
    this.element.replaceChildren(
      ...choices.map(([title, rows]) =>
        element(
          "section",
          {},
          element("h2", {}, title),
          element(
            "ol",
            {class: "bars"},
            rows.map(([text, p]) => barOf(app, text, p)),
          ),
        ),
      ),
    );
  }

  #showTags(tags) {
    const {app} = this;
    const title = app.t("predict.tags");
    const head = ["token", "tag", "p"].map((key) => app.t(`predict.${key}`));
    const rows = tags.map(({token, label, probability: p}) => [
      element("bdi", {}, token),
      label ?? "",
      {number: typeof p === "number" ? app.probability(p, 3) : ""},
    ]);
    const table = scrolled(title, tableOf(title, head, rows));
    this.element.replaceChildren(element("section", {}, element("h2", {}, title), table));
  }

  #showPlain(output) {
    const text = typeof output === "string" ? output : JSON.stringify(output);
    this.element.replaceChildren(element("section", {}, element("p", {class: "made"}, text)));
  }
}

/** A line of a list: a text, a bar as long as its probability, the number. */
function barOf(app, text, probability) {
  const bar = element("span", {class: "bar", "aria-hidden": "true"});
  bar.style.setProperty("--share", probability.toFixed(4));
  return element(
    "li",
    {},
    element("bdi", {class: "piece"}, text),
    bar,
    element("span", {class: "number"}, app.probability(probability, 3)),
  );
}

/** The prediction in a few words, for the line beside the sentence. */
export function summaryOf(app, found) {
  const best = (list) => list.reduce((one, other) => (other.probability > one.probability ? other : one));
  if (found.labels?.length) {
    const {label, probability} = best(found.labels);
    return `${label} (${app.number(probability, 2)})`;
  }
  if (found.tags) return found.tags.map(({label}) => label ?? "").join(" ");
  if (found.fills?.length)
    return found.fills.map(({words}) => `${words[0].word.trim()} (${app.number(words[0].probability, 2)})`).join(", ");
  return typeof found.output === "string" ? found.output : "";
}
