// What surrounds the views: title, choices, the sentence and its translation, the tabs.

import {element, button, choice, roving} from "./elements.js";
import {LANGUAGES} from "./i18n/strings.js";

export class Shell {
  constructor(app) {
    this.app = app;
    this.element = element("div", {class: "shell"});
    this.renew();
  }

  /** Make everything, in the language of the page. */
  renew() {
    const {app} = this;
    document.documentElement.lang = app.language;
    this.header = element("header", {class: "top"});
    this.input = element("textarea", {
      id: "sentence", rows: 1, spellcheck: "false", dir: "auto", oninput: () => this.#typed(),
    });
    this.output = element("p", {class: "output", dir: "auto", "aria-live": "polite"});
    this.tabs = element("div", {class: "tabs", role: "tablist"});
    roving(this.tabs, "[role=tab]", (tab) => tab.click());
    this.panel = element("main", {class: "panel", role: "tabpanel", id: "panel"});
    this.status = element("p", {class: "status", role: "status"});
    this.element.replaceChildren(
      this.header,
      element("section", {class: "sentence", "aria-label": app.t("sentence")},
        element("label", {for: "sentence"}, app.t("sentence")), this.input, this.output),
      this.tabs, this.status, this.panel,
    );
    this.#fillHeader();
  }

  /** Show which model, sentence and view are chosen. */
  update() {
    const {app} = this;
    if (this.input.value.trim() !== app.text) this.input.value = app.text;
    const views = app.fitting;
    const current = views.find((view) => view.id === app.values.view) ?? views[0];
    this.tabs.replaceChildren(...views.map((view) => button(app.t(`tab.${view.id}`), () => app.set({view: view.id}), {
      role: "tab", id: `tab-${view.id}`, "aria-controls": "panel",
      "aria-selected": String(view === current), tabindex: view === current ? 0 : -1,
    })));
    this.panel.setAttribute("aria-labelledby", `tab-${current.id}`);
  }

  /** Put a view's element below the tabs. */
  show(view) {
    if (this.panel.firstChild !== view) this.panel.replaceChildren(view);
  }

  async showTranslation() {
    const {app} = this;
    if (!app.description.generates) return;
    const {hypotheses} = await app.generation();
    this.output.textContent = (hypotheses[app.values.best] ?? hypotheses[0]).text;
  }

  /** One line about what happens; `problem` when something went wrong. */
  say(text, problem = false) {
    this.status.textContent = text;
    this.status.classList.toggle("problem", problem);
  }

  #typed() {
    this.app.set({text: this.input.value.trim(), prefix: [], best: 0});
  }

  #fillHeader() {
    const {app} = this;
    const languages = choice(app.t("language"), Object.entries(LANGUAGES), app.language, (lang) => app.set({lang}));
    this.header.replaceChildren(element("h1", {}, app.entry.name), languages);
  }
}
