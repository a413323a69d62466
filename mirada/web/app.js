// The page: its header, the sentence, the tabs, and what all views share: the model, its translation, its trace.

import {element} from "./elements.js";
import {State, SHELL_DEFAULTS} from "./state.js";
import {packedModels} from "./blobs.js";
import {RunningModel} from "./model.js";
import {RecordedModel} from "./recorded.js";
import {LANGUAGES, textOf, numberText, preferredLanguage} from "./i18n/strings.js";
import {SUPERSEDED} from "./engine/worker.js";
import {VIEWS} from "./views/all.js";
import {Shell} from "./shell.js";

/** A computation for a sentence, model or switch that is no longer chosen; whoever waits for it stops. */
class Superseded extends Error {}

class App {
  #views = new Map(); // view class → view, made when it is first shown
  #kept = new Map(); // results by what they were computed from
  #timer = 0;
  #turns = 0; // how many refreshes are under way

  constructor(entries) {
    this.models = entries.map((entry, number) =>
      entry.recorded ? new RecordedModel(entry, number) : new RunningModel(entry, number),
    );
    this.state = new State(Object.assign({}, SHELL_DEFAULTS, ...VIEWS.map((view) => view.defaults ?? {})));
    this.shell = new Shell(this);
  }

  // ── what views ask ──────────────────────────────────────────────────────────────────────────────────────────────

  /** The values of the state; `set` changes them. */
  get values() {
    return this.state.values;
  }

  set(changes) {
    this.state.set(changes);
  }

  /** The model that is chosen. */
  get model() {
    return this.models[this.values.model] ?? this.models[0];
  }

  /** What the file says of it. */
  get entry() {
    return this.model.entry;
  }

  /** What it says of itself (`session.describe()`), once it is open. */
  get description() {
    return this.model.description;
  }

  get text() {
    const {recorded, sentence} = this.entry;
    const {text} = this.values;
    if (recorded && !recorded.some((one) => one.text === text)) return sentence; // a link may name any text
    return text || sentence;
  }

  /** The language to translate into, of a model that translates both ways; else null. */
  get into() {
    const {directions} = this.entry;
    return directions ? (directions.find(({target}) => target === this.values.to) ?? directions[0]).target : null;
  }

  get language() {
    return Object.hasOwn(LANGUAGES, this.values.lang) ? this.values.lang : preferredLanguage();
  }

  /** A text of the page in the reader's language. */
  t(key, values) {
    return textOf(this.language, key, values);
  }

  number(value, digits) {
    return numberText(this.language, value, digits);
  }

  /** A probability in so many digits; one that they would show as 0 is said to be less than the least. */
  probability(value, digits) {
    const least = 10 ** -digits;
    return value > 0 && value < least / 2 ? `< ${this.number(least, digits)}` : this.number(value, digits);
  }

  /** The n-best translations (or continuations) of the sentence, and the search that found them. */
  generation(model = this.model) {
    const {beam, prefix, switches} = this.values;
    const width = beam || model.entry.decode.beam;
    return this.computed(model, "generate", this.text, {beam: width, nBest: width, prefix, switches, to: this.into});
  }

  /** Every tensor of the pass over the sentence and the chosen translation. */
  async trace(model = this.model) {
    let target = null;
    if (model.description.generates) {
      const {hypotheses} = await this.generation(model);
      target = (hypotheses[this.values.best] ?? hypotheses[0]).ids;
    }
    return this.computed(model, "trace", this.text, {target, switches: this.values.switches, to: this.into});
  }

  /**
   * A verb of the session, computed once for the same arguments. Throws `Superseded` if the sentence, the model or
   * the switches changed while it was computed.
   */
  async computed(model, verb, ...given) {
    const key = JSON.stringify([model.number, verb, given]);
    return this.#whileAsked((wanted) => {
      if (!this.#kept.has(key)) {
        const result = lastingCall(model, verb, given, wanted);
        result.catch(() => this.#kept.delete(key));
        this.#kept.set(key, result);
        if (this.#kept.size > KEPT_RESULTS) this.#kept.delete(this.#kept.keys().next().value);
      }
      return this.#kept.get(key);
    });
  }

  /** The same, not kept: for one of many small questions. */
  computedOnce(model, verb, ...given) {
    return this.#whileAsked((wanted) => lastingCall(model, verb, given, wanted));
  }

  /** What `compute(wanted)` resolves to, unless something else is asked by then. */
  async #whileAsked(compute) {
    const asked = this.#asked();
    const wanted = () => this.#asked() === asked;
    const result = await compute(wanted).catch((error) => {
      throw wanted() ? error : new Superseded();
    });
    if (!wanted()) throw new Superseded();
    return result;
  }

  /** A verb of the session on a text of its own, whatever the reader asks meanwhile. */
  askedApart(model, verb, ...given) {
    return lastingCall(model, verb, given, () => true);
  }

  #asked() {
    const {model, beam, prefix, switches, best, to} = this.values;
    return JSON.stringify([model, this.text, beam, prefix, switches, best, to]);
  }

  // ── showing ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The views that fit the model. */
  get fitting() {
    return VIEWS.filter((view) => view.fits(this));
  }

  async start(root) {
    root.replaceChildren(this.shell.element);
    this.state.listen((values, before) => this.#changed(values, before));
    await this.refresh();
  }

  /** Show the state: open the model if need be, then the shell and the view. */
  async refresh() {
    const model = this.model;
    this.shell.busy(++this.#turns);
    try {
      model.description ?? this.shell.say(this.t("opening"));
      await model.open();
      if (model !== this.model) return;
      this.shell.say("");
      this.shell.update();
      const {view} = this;
      this.shell.show(view.element);
      await Promise.all([this.#showOutput(), view.update(this.values)]);
      this.shell.say("");
    } catch (error) {
      if (!(error instanceof Superseded)) this.shell.fail(this.t("failed", {why: error.message}));
    } finally {
      this.shell.busy(--this.#turns);
    }
  }

  /** What the model makes of the sentence; if it cannot, nothing of the sentence before stays there. */
  async #showOutput() {
    try {
      await this.shell.showOutput();
    } catch (error) {
      if (!(error instanceof Superseded)) this.shell.clearOutput();
      throw error;
    }
  }

  /** The view that is shown. */
  get view() {
    const View = this.fitting.find((view) => view.id === this.values.view) ?? this.fitting[0];
    if (!this.#views.has(View)) this.#views.set(View, new View(this));
    return this.#views.get(View);
  }

  #changed(values, before) {
    if (values.lang !== before.lang) {
      this.#views.clear(); // they are made anew in the other language
      this.shell.renew();
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), values.text === before.text ? 0 : TYPING_PAUSE);
  }
}

/** Ask a model, and once more if another text's turn came first, as long as the answer is still wanted. */
async function lastingCall(model, verb, given, wanted) {
  for (;;) {
    try {
      return await model.call(verb, ...given);
    } catch (error) {
      if (error.message !== SUPERSEDED || !wanted()) throw error;
    }
  }
}

/** Models with numbers after names that several of them have. */
function distinctlyNamed(entries) {
  const shared = ({name}) => entries.filter((other) => other.name === name).length > 1;
  return entries.map((entry, place) => (shared(entry) ? {...entry, name: `${entry.name} (${place + 1})`} : entry));
}

const KEPT_RESULTS = 24;
const TYPING_PAUSE = 180; // milliseconds without a key before the sentence is read

if (typeof document !== "undefined" && document.getElementById("page")) {
  new App(distinctlyNamed(packedModels())).start(document.getElementById("page"));
}
