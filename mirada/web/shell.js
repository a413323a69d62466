// What surrounds the views: title, choices, the sentence and its translation, the tabs, the proof and the keys.

import {element, button, choice, roving} from "./elements.js";
import {LANGUAGES} from "./i18n/strings.js";
import {notesOn} from "./notes.js";
import {SwitchedOff} from "./switched_off.js";
import {summaryOf} from "./views/predict.js";
import {ProofView} from "./views/proof.js";
import {Keys} from "./keys.js";

const LONG_TEXT = 200; // characters, from which on a text is set smaller
const THEMES = ["auto", "light", "dark"];

export class Shell {
  constructor(app) {
    this.app = app;
    this.element = element("div", {class: "shell"});
    this.colours = "auto"; // of the page: what maps were drawn with
    this.keys = new Keys(app);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#recolour());
    this.renew();
  }

  /** Make everything, in the language of the page. */
  renew() {
    const {app} = this;
    document.documentElement.lang = app.language;
    this.output = element("p", {
      class: "output",
      dir: "auto",
      "aria-live": "polite",
      lang: app.entry.languages?.target ?? null,
    });
    this.notes = element("ul", {class: "notes"});
    this.off = new SwitchedOff(app, () => this.#allOn());
    this.tabs = element("div", {class: "tabs", role: "tablist", "aria-label": app.t("views")});
    roving(this.tabs, "[role=tab]", (tab) => tab.click());
    this.panel = element("main", {class: "panel", role: "tabpanel", id: "panel"});
    this.status = element("p", {class: "status", role: "status"});
    this.header = element("header", {class: "top"});
    this.proof = new ProofView(app);
    this.facts = element("details", {class: "about"});
    this.element.replaceChildren(
      this.header,
      this.#sentence(),
      this.tabs,
      this.status,
      this.panel,
      element("footer", {}, this.proof.element, this.facts, element("p", {}, app.t(app.entry.recorded ? "offline.recorded" : "offline"))),
      this.keys.dialog(),
    );
    this.modelNumber = null;
    this.#showModel();
  }

  #sentence() {
    const {app} = this;
    const id = "sentence";
    if (app.entry.recorded) {
      const texts = app.entry.recorded.map(({text}) => text);
      this.input = element(
        "select",
        {id, onchange: () => this.#typed()},
        texts.map((text) => element("option", {value: text}, text)),
      );
    } else {
      this.input = element("textarea", {
        id,
        rows: 1,
        spellcheck: "false",
        dir: "auto",
        lang: app.entry.languages?.source ?? null,
        maxlength: 4000,
        oninput: () => this.#typed(),
      });
    }
    this.whole = app.entry.recorded ? element("p", {class: "whole", dir: "auto", "aria-hidden": "true"}) : null; // the list cuts it
    this.result = element("span", {class: "label", id: "result"});
    return element(
      "section",
      {class: "sentence", "aria-label": app.t("sentence")},
      element("div", {class: "side"}, element("label", {class: "label", for: id}, app.t("sentence")), this.input, this.whole),
      element(
        "div",
        {class: "side", role: "group", "aria-labelledby": "result"},
        element("div", {class: "side-head"}, this.result, this.off.element),
        this.output,
        this.notes,
      ),
    );
  }

  /** Show which model, sentence and view are chosen. */
  update() {
    const {app} = this;
    this.#showModel();
    const views = app.fitting;
    const current = views.find((view) => view.id === app.values.view) ?? views[0];
    const focused = this.tabs.contains(document.activeElement);
    this.tabs.replaceChildren(
      ...views.map((view) =>
        button(app.t(view.title?.(app) ?? `tab.${view.id}`), () => app.set({view: view.id}), {
          role: "tab",
          id: `tab-${view.id}`,
          "aria-controls": "panel",
          "aria-selected": String(view === current),
          tabindex: view === current ? 0 : -1,
        }),
      ),
    );
    if (focused) this.#chosenTab.focus();
    this.panel.setAttribute("aria-labelledby", `tab-${current.id}`);
    this.off.update();
    this.proof.update();
  }

  get #chosenTab() {
    return this.tabs.querySelector("[aria-selected=true]");
  }

  /** Switch everything on; the button goes away, and the focus, which it had, to the tab. */
  #allOn() {
    this.#chosenTab.focus();
    this.app.set({switches: {}});
  }

  /** What is known of the model before it is open, and the sentence. */
  #showModel() {
    const {app} = this;
    if (this.modelNumber !== app.model.number) {
      this.modelNumber = app.model.number;
      this.#fillHeader();
      this.#fillFacts();
    }
    this.input.placeholder = app.entry.sentence;
    const typed = this.input.value.trim();
    const cleared = typed === "" && app.values.text === "" && document.activeElement === this.input;
    if (!cleared && typed !== app.text) this.input.value = app.text; // a link was followed, perhaps while typing
    if (this.whole) this.whole.textContent = app.text;
    this.#fit();
  }

  /** Put a view's element below the tabs. */
  show(view) {
    if (this.panel.firstChild !== view) this.panel.replaceChildren(view);
  }

  /** What the model makes of the sentence, beside it. */
  async showOutput() {
    const {app} = this;
    const {generates} = app.description;
    this.result.textContent = app.t(
      !generates ? "prediction" : app.entry.task === "language_model" ? "continuation" : "translation",
    );
    let text;
    if (generates) {
      const {hypotheses} = await app.generation();
      text = (hypotheses[app.values.best] ?? hypotheses[0]).text;
    } else {
      text = summaryOf(app, await app.computed(app.model, "predict", app.text, {switches: app.values.switches}));
    }
    if (this.output.textContent !== text) this.output.textContent = text;
    this.output.classList.toggle("long", text.length > LONG_TEXT);
    const notes = app.entry.task === "translation" && !app.entry.recorded ? notesOn(app.text) : [];
    this.notes.replaceChildren(...notes.map((key) => element("li", {}, app.t(key))));
    this.notes.hidden = notes.length === 0;
  }

  /** One line about what happens; `problem` if something went wrong. */
  say(text, problem = false) {
    this.status.textContent = text;
    this.status.hidden = text === "";
    this.status.classList.toggle("problem", problem);
  }

  /** Say what went wrong, in the place of the view, which may show another sentence. */
  fail(why) {
    this.panel.replaceChildren();
    this.say(why, true);
  }

  clearOutput() {
    this.output.textContent = "";
    this.notes.hidden = true;
  }

  /** Whether something is being computed. */
  busy(turns) {
    this.panel.setAttribute("aria-busy", String(turns > 0));
  }

  /** A tab by its place, for the keyboard. */
  goTo(place) {
    this.tabs.children[place]?.click();
  }

  /** Light, dark, or as the system has it. */
  setTheme(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    this.#recolour();
  }

  nextTheme() {
    const select = this.header.querySelector("[data-choice=theme] select");
    select.value = THEMES[(THEMES.indexOf(select.value) + 1) % THEMES.length];
    this.setTheme(select.value);
  }

  async copyLink() {
    const {app} = this;
    try {
      await navigator.clipboard.writeText(app.state.link);
      this.say(app.t("link.copied"));
    } catch {
      this.say(app.t("link.here", {link: app.state.link}));
    }
  }

  #recolour() {
    this.colours = document.documentElement.dataset.theme ?? String(matchMedia("(prefers-color-scheme: dark)").matches);
    this.app.refresh();
  }

  #typed() {
    this.#fit();
    const text = this.input.value.trim();
    this.app.set({...this.app.state.afresh, text: text === this.app.entry.sentence ? "" : text});
  }

  /** As high as its text. */
  #fit() {
    if (this.input.tagName !== "TEXTAREA") return;
    this.input.classList.toggle("long", this.input.value.length > LONG_TEXT);
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight}px`;
  }

  #fillHeader() {
    const {app} = this;
    const theme = document.documentElement.dataset.theme ?? "auto";
    const models = app.models.map(({entry}, number) => [number, entry.name]);
    const themes = choice(
      app.t("theme"),
      THEMES.map((one) => [one, app.t(`theme.${one}`)]),
      theme,
      (one) => this.setTheme(one),
    );
    themes.dataset.choice = "theme";
    const which =
      models.length > 1
        ? choice(app.t("model"), models, app.model.number, (number) =>
            app.set({...app.state.afresh, switches: {}, model: Number(number)}),
          )
        : element("span", {class: "name"}, app.entry.name);
    const into =
      app.entry.directions &&
      choice(
        app.t("into"),
        app.entry.directions.map(({target}) => [target, languageName(app, target)]),
        app.into,
        (to) => app.set({...app.state.afresh, to}),
      );
    this.header.replaceChildren(
      element("h1", {}, "Mirada"),
      which,
      into || "",
      element(
        "div",
        {class: "settings"},
        choice(app.t("language"), Object.entries(LANGUAGES), app.language, (lang) => app.set({lang})),
        themes,
        element(
          "div",
          {class: "together"},
          button(app.t("link"), () => this.copyLink()),
          button("?", () => this.keys.open(), {"aria-label": app.t("keys"), title: app.t("keys")}),
        ),
      ),
    );
  }

  #fillFacts() {
    const {app} = this;
    const {architecture, parameters, precision, scores = [], facts = []} = app.entry;
    const rows = [
      [app.t("fact.architecture"), architecture],
      [app.t("fact.parameters"), `${app.number(parameters, 0)} (${precision})`],
      ...scores.map(({name, value, digits}) => [name, app.number(value, digits ?? 1)]),
      ...facts,
    ];
    this.facts.replaceChildren(
      element("summary", {}, app.t("about")),
      element(
        "dl",
        {},
        rows.map(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]).flat(),
      ),
    );
  }
}

/** What a language is called in the reader's. */
function languageName(app, tag) {
  return new Intl.DisplayNames(app.language, {type: "language"}).of(tag);
}
