// The translation: the n-best, and the search that found them.

import {element} from "../elements.js";

export class TranslateView {
  static id = "translate";

  static fits(app) {
    return app.description.generates;
  }

  constructor(app) {
    this.app = app;
    this.element = element("div", {class: "translate"});
  }

  async update() {
    const {hypotheses} = await this.app.generation();
    this.element.replaceChildren(element("ol", {}, hypotheses.map(({text, score}) =>
      element("li", {}, `${text} ${this.app.number(score, 2)}`))));
  }
}
