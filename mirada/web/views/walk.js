// The walk: one pass of the model, step by step, with its own numbers, for one word or as matrices.

import {element, button, choice, segments} from "../elements.js";
import {Walk, canBeWalked} from "./walk_context.js";
import {transformerWalk} from "./walk_transformer.js";
import {recurrentWalk} from "./walk_recurrent.js";
import {FigureMaker} from "./walk_figure.js";
import {NumberPanel} from "./numbers.js";
import {formula} from "./formula.js";
import {Vocabulary} from "./vocabulary.js";

export class WalkView {
  static id = "walk";
  static defaults = {walk_part: "", walk_layer: 0, walk_head: 0, walk_token: 0, walk_matrices: false, walk_step: ""};

  #walk = null;
  #maker = null;
  #steps = []; // {step, element, drawn}
  #current = 0;
  #drawing = null; // draws the figures of steps that come into view
  #arriving = false; // whether the step of the state is to be gone to

  static fits(app) {
    const walked = ({kind}) => ["stack", "recurrent"].includes(kind);
    return Boolean(app.description.recorded) || app.description.parts.some(walked);
  }

  constructor(app) {
    this.app = app;
    this.formats = new Map();
    this.controls = element("div", {class: "walk-controls"});
    this.contents = element("nav", {class: "walk-contents", "aria-label": app.t("walk.contents")});
    this.steps = element("div", {class: "walk-steps"});
    this.panel = new NumberPanel({
      t: (key, words) => app.t(key, words),
      format: (value, digits) => this.#format(value, digits),
      explain: (place) => this.#explain(place),
      onShow: (place) => this.#maker?.mark(place),
      onFind: (place) => this.#find(place),
    });
    this.stepper = this.#stepper();
    this.element = element("div", {class: "walk"}, this.controls, element("p", {class: "note"},
        app.t(app.entry.recorded ? "walk.hint.recorded" : "walk.hint"), " ", app.t("counted")),
      element("div", {class: "walk-body"}, this.contents, this.steps, this.panel.element), this.stepper);
    new ResizeObserver(() => this.#resized()).observe(this.steps);
  }

  /** Go so many steps on, or back. */
  walkOn(steps) {
    this.#show(this.#current + steps);
  }

  async update(state) {
    const trace = await this.app.trace();
    const before = this.#walk;
    if (!canBeWalked(trace)) return this.#nothing();
    this.#walk = new Walk(this.app, trace, state);
    this.vocabulary = Vocabulary.of(this.app.entry, this.#walk.side === "source" ? "source" : "target");
    const {walk_part: part, walk_layer: layer, walk_head: head, walk_token: token, walk_matrices: matrices} = state;
    const key = JSON.stringify([part, layer, head, token, matrices, this.app.shell.colours]);
    if (before?.trace === trace && this.key === key) return this.#arrive(state, false);
    this.key = key;
    this.stepper.hidden = false;
    this.#drawControls(state);
    this.#drawSteps(state);
    this.#arrive(state, before === null && state.walk_step !== "");
    if (before && before.trace !== trace) await this.panel.renew();
  }

  /** Mark the step of the state, and go there if the reader is to arrive at it. */
  #arrive(state, first) {
    this.#goTo(state.walk_step, first || this.#arriving);
    this.#arriving = false;
  }

  /** A recorded sentence may have been kept without its inner numbers. */
  #nothing() {
    this.#walk = null;
    this.key = "";
    this.controls.replaceChildren();
    this.contents.replaceChildren();
    this.steps.replaceChildren(element("p", {class: "note"}, this.app.t("walk.nothing")));
    this.stepper.hidden = true;
  }

  // ── what is walked through ──────────────────────────────────────────────────────────────────────────────────────

  #drawControls(state) {
    const {app} = this;
    const walk = this.#walk;
    const numbered = (count) => Array.from({length: count}, (_, n) => [n, String(n)]);
    const parts = walk.parts.map(({id}) => [id, app.t(`walk.part.${id}`)]);
    const ways = [[0, app.t("walk.forward")], [1, app.t("walk.backward")]];
    const tokens = walk.rows.map((piece, row) => [row, `${row}  ${piece}`]);
    const shown = [[false, app.t("walk.as.word")], [true, app.t("walk.as.matrices")]];
    const chosen = (key) => (value) => app.set({[key]: Number(value)});
    const afresh = {walk_layer: 0, walk_head: 0, walk_token: 0};
    const controls = [
      parts.length > 1 && segments(app.t("walk.part"), parts, walk.part, (id) => app.set({...afresh, walk_part: id})),
      walk.layers > 1 && choice(app.t("walk.layer"), numbered(walk.layers), walk.layer, chosen("walk_layer")),
      walk.H > 1 && (walk.recurrent
        ? choice(app.t("walk.direction"), ways, walk.head, chosen("walk_head"))
        : choice(app.t("walk.head"), numbered(walk.H), walk.head, chosen("walk_head"))),
      choice(app.t("walk.token"), tokens, walk.token, chosen("walk_token")),
      segments(app.t("walk.as"), shown, state.walk_matrices, (value) => app.set({walk_matrices: value})),
    ];
    const place = [...this.controls.querySelectorAll("select, button")].indexOf(document.activeElement);
    this.controls.replaceChildren(...controls.filter(Boolean));
    if (place >= 0) this.#focusControl(place);
  }

  /** The controls are made anew with each change: who was at one of them stays there. */
  #focusControl(place) {
    const found = this.controls.querySelectorAll("select, button")[place];
    const group = found?.closest("[role=radiogroup]");
    (group?.querySelector("[aria-checked=true]") ?? found)?.focus();
  }

  #drawSteps(state) {
    const {app} = this;
    const walk = this.#walk;
    const sections = sectionsOf(walk);
    this.#maker = new FigureMaker(walk, {
      matrices: state.walk_matrices,
      t: (key, words) => app.t(key, words),
      format: (value, digits) => this.#format(value, digits),
      word: (id) => (walk.labels ? walk.labels[id] : this.vocabulary.piece(id)),
      onPick: (place, opener) => this.#explainAt(place, opener),
      onToken: (row) => app.set({walk_token: row}),
    }, figureWidth(this.steps.clientWidth || 600));
    this.#drawing?.disconnect();
    this.#drawing = new IntersectionObserver((seen) => this.#seen(seen), {rootMargin: "600px 0px"});
    this.#steps = [];
    this.steps.replaceChildren(...sections.map((section) => this.#section(section)));
    for (const {element: shown} of this.#steps) this.#drawing.observe(shown);
    this.#drawContents(sections);
  }

  #section({key, words, steps}) {
    const say = (name) => this.app.t(name, words);
    return element("section", {class: "walk-section", "aria-label": say(`walk.section.${key}`)},
      element("h2", {}, say(`walk.section.${key}`)), element("p", {class: "lead"}, say(`walk.section.${key}.text`)),
      steps.map((step) => this.#step(step)));
  }

  #step(step) {
    const {app} = this;
    const number = this.#steps.length;
    const title = `title-${step.id}`;
    const made = element("article", {class: "walk-step", id: `step-${step.id}`, tabindex: -1, "aria-labelledby": title},
      element("h3", {id: title}, element("span", {class: "step-number"}, String(number + 1)),
        app.t(`walk.${step.key}`, step.words)),
      step.formula ? element("div", {class: "step-formula"}, step.formula.split("   ").map((one) => formula(one)),
        element("span", {class: "shapes"}, step.shapes)) : null,
      step.off ? element("p", {class: "switched-off"}, app.t(`walk.off.${step.off}`)) : null,
      element("p", {class: "step-text"}, app.t(`walk.${step.key}.text`, step.words)),
      this.#placeFor(step));
    made.addEventListener("focus", () => this.#setCurrent(number));
    this.#steps.push({step, element: made, drawn: false});
    return made;
  }

  /** A place as high as the figure will be, so that nothing jumps when it is drawn; out of view, it costs nothing. */
  #placeFor(step) {
    const place = element("div", {class: "figure-place"});
    place.style.containIntrinsicSize = `auto ${this.#maker.height(step)}px`;
    return place;
  }

  #seen(entries) {
    for (const {target, isIntersecting} of entries) {
      if (isIntersecting) this.#draw(this.#steps.find((one) => one.element === target));
    }
  }

  #draw(one) {
    if (!one || one.drawn) return;
    one.drawn = true;
    this.#drawing.unobserve(one.element);
    one.element.querySelector(".figure-place").replaceChildren(this.#maker.figure(one.step));
    if (this.panel.place) this.#maker.mark(this.panel.place);
  }

  #drawContents(sections) {
    const {app} = this;
    let number = 0;
    this.contents.replaceChildren(element("ol", {}, sections.map((section) => element("li", {},
      element("span", {}, app.t(`walk.section.${section.key}`, section.words)),
      element("ol", {}, section.steps.map((step) => {
        const at = number++;
        return element("li", {}, button(app.t(`walk.${step.key}`, step.words), () => this.#show(at), {"data-step": at}));
      }))))));
  }

  // ── from step to step ───────────────────────────────────────────────────────────────────────────────────────────

  #stepper() {
    this.previous = button("", () => this.#show(this.#current - 1), {class: "previous"});
    this.next = button("", () => this.#show(this.#current + 1), {class: "next"});
    this.where = element("span", {class: "where", role: "status"});
    return element("div", {class: "stepper"}, this.previous, this.where, this.next);
  }

  #goTo(id, scroll) {
    const found = this.#steps.findIndex(({step}) => step.id === id);
    if (found < 0 || !scroll) return this.#setCurrent(Math.max(0, found));
    this.#show(found);
  }

  /** Go to a step: draw it, bring it into view, and put the keyboard there. */
  #show(number) {
    const one = this.#steps[number];
    if (!one) return;
    this.#setCurrent(number);
    this.#draw(one);
    one.element.focus({preventScroll: true});
    one.element.scrollIntoView({block: "start"});
    setTimeout(() => this.#steps[number] === one && one.element.scrollIntoView({block: "start"}), DRAWN_AFTER);
    this.app.set({walk_step: one.step.id});
  }

  #setCurrent(number) {
    const {app} = this;
    this.#current = number;
    this.#steps.forEach(({element: shown}, n) => shown.classList.toggle("current", n === number));
    for (const entry of this.contents.querySelectorAll("button")) {
      if (Number(entry.dataset.step) !== number) {
        entry.removeAttribute("aria-current");
        continue;
      }
      entry.setAttribute("aria-current", "step");
      this.contents.scrollTop = entry.offsetTop - this.contents.clientHeight / 2;
    }
    const count = this.#steps.length;
    this.previous.textContent = `← ${app.t("walk.previous")}`;
    this.next.textContent = `${app.t("walk.next")} →`;
    this.previous.disabled = number <= 0;
    this.next.disabled = number >= count - 1;
    const step = this.#steps[number]?.step;
    const name = step ? app.t(`walk.${step.key}`, step.words) : "";
    this.where.replaceChildren(`${number + 1} / ${count} `, element("span", {class: "step-name"}, name));
  }

  // ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Open the panel, which takes room from the steps; the number stays at its height on the screen. */
  #explainAt(place, opener) {
    const top = () => opener.reveal().getBoundingClientRect().top;
    const before = top();
    this.panel.open(place, opener);
    this.#resized();
    scrollBy({top: top() - before, behavior: "instant"});
  }

  async #explain({path, index}) {
    const {app} = this;
    if (app.description.recorded) throw new Error(app.t("recorded.needs"));
    const {switches} = app.values;
    const target = app.description.generates ? this.#walk.trace.ids : null;
    return app.computed(app.model, "explain", path, index, {text: app.text, target, switches, to: app.into});
  }

  /** Go to the step that makes a number, in whatever part, layer and head it is. */
  #find(place) {
    const {app} = this;
    const wanted = whereIs(place, this.#walk);
    const walk = new Walk(app, this.#walk.trace, {...app.values, ...wanted});
    const makes = (line) => line.view?.place(0, 0)?.path === place.path;
    const steps = sectionsOf(walk).flatMap(({steps: own}) => own);
    const step = steps.find(({equations}) => equations.some((lines) => makes(lines.at(-1))));
    if (!step) return;
    const line = step.equations.flat().findLast(makes);
    const row = place.index.at(-2);
    this.#arriving = true;
    app.set({...wanted, walk_step: step.id, ...(line.rows === "one" && row !== undefined ? {walk_token: row} : {})});
    if (this.#arriving) this.#goTo(step.id, true);
  }

  #format(value, digits) {
    if (!Number.isFinite(value)) return value === -Infinity ? "−∞" : String(value);
    const places = Math.abs(value) >= 100 ? Math.max(0, digits - 1) : digits;
    const key = `${this.app.language} ${places}`;
    if (!this.formats.has(key)) {
      const rules = {minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: false, signDisplay: "negative"};
      this.formats.set(key, new Intl.NumberFormat(this.app.language, rules));
    }
    return this.formats.get(key).format(value).replace("-", "−");
  }

  #resized() {
    const width = this.steps.clientWidth;
    if (this.#walk && width) this.#maker.fit(figureWidth(width));
  }
}

const DRAWN_AFTER = 250; // milliseconds: until then, the figures around a step are drawn and have found their height
const SIGNS_WIDTH = 112; // pixels, of the symbols at the left of a line; on a narrow screen they are above it
const FIGURE_PADDING = 34;

/** The sections of a walk, as its architecture has them. */
function sectionsOf(walk) {
  return walk.recurrent ? recurrentWalk(walk) : transformerWalk(walk);
}

/** The values of the state by which a walk comes to a number of the trace. */
function whereIs({path, index}, walk) {
  const [first, number, inner] = path.split(".");
  const sides = {source: "encoder", encoder: "encoder", recurrent: "recurrent"};
  const stays = first === "positions" || (walk.part === "cross" && inner === "cross");
  const stack = sides[first] ?? (walk.parts.some(({id}) => id === "decoder") ? "decoder" : walk.part);
  const found = {walk_part: stays || !walk.side ? walk.part : stack, walk_head: walk.head, walk_layer: walk.layer};
  if (/^\d+$/.test(number ?? "")) found.walk_layer = Number(number);
  if (inner === "forward" || inner === "backward") found.walk_head = Number(inner === "backward");
  else if (index.length === 3 && first !== "attention") found.walk_head = index[0];
  return found;
}

/** How much room the numbers of a figure have. */
function figureWidth(width) {
  return width - FIGURE_PADDING - (matchMedia("(max-width: 40rem)").matches ? 0 : SIGNS_WIDTH);
}
