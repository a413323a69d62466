// The model as a diagram of switches: stacks of layers, heads as numbered circles, residual connections.

import {element, roving} from "../elements.js";
import {SwitchNames} from "../switch_names.js";

const GENERAL = ["scale", "future_mask", "positions"];
const SUBLAYERS = ["self", "cross", "feed_forward"];

export class SwitchDiagram {
  #switches = {};
  #toggles = []; // {button, isOn(switches)}

  /** `onChange(switches)` gets what is off, in the form of engine/record.js, without what is on. */
  constructor(app, model, onChange) {
    Object.assign(this, {app, model, onChange});
    const {parts} = model.description;
    this.names = new SwitchNames(app, parts);
    this.parts = this.names.parts;
    const stacks = parts.filter(({kind}) => kind === "stack" || kind === "recurrent");
    this.element = element("div", {class: "model-diagram", role: "group", "aria-label": app.t("switches.model")},
      this.#general(), stacks.map((stack) => this.#stack(stack)));
  }

  /** Show what is on and off. */
  show(switches) {
    this.#switches = switches;
    for (const {button, isOn} of this.#toggles) button.setAttribute("aria-checked", String(isOn(switches)));
    for (const box of this.element.querySelectorAll(".layer-box")) {
      box.classList.toggle("is-off", (switches.layers_off ?? []).includes(box.dataset.path));
    }
  }

  // ── toggles ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A switch: `name` is its label, `reason` why it cannot be used, or null. */
  #toggle(content, name, isOn, change, reason = null, attributes = {}) {
    const button = element("button", {
      type: "button", role: "switch", "aria-checked": "true", title: reason ?? name,
      "aria-label": reason ? `${name}. ${reason}` : name,
      disabled: reason !== null, onclick: () => this.onChange(change(this.#switches)), ...attributes,
    }, content);
    this.#toggles.push({button, isOn});
    return button;
  }

  /** A switch for an entry of one of the lists of what is off. */
  #listed(content, name, list, entry, attributes) {
    const key = JSON.stringify(entry);
    const isOn = (switches) => !(switches[list] ?? []).some((other) => JSON.stringify(other) === key);
    const change = (switches) => {
      const others = (switches[list] ?? []).filter((other) => JSON.stringify(other) !== key);
      return withoutEmpty({...switches, [list]: isOn(switches) ? [...others, entry] : others});
    };
    return this.#toggle(content, name, isOn, change, null, attributes);
  }

  #general() {
    const {switches} = this.model.description;
    return element("section", {class: "general"}, element("h3", {}, this.app.t("switches.general")), GENERAL.map((name) => {
      const reason = switches.includes(name) ? null : this.app.t("switches.not_honoured");
      const isOn = (values) => values[name] ?? true;
      const change = (values) => withoutEmpty({...values, [name]: !isOn(values)});
      const label = this.app.t(`switches.${name}`);
      const made = this.#toggle([knob(), label], label, isOn, change, reason, {class: "wide-switch"});
      return element("div", {}, made, reason ? element("span", {class: "soft"}, reason) : null);
    }));
  }

  // ── stacks ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #stack({path, kind}) {
    const {app} = this;
    const layers = [...this.parts.values()].filter((part) => part.kind === "layer" && part.path.startsWith(`${path}.`));
    const name = this.names.stack(path);
    return element("section", {class: "stack", "aria-label": name}, element("h3", {}, name),
      kind === "recurrent" ? element("p", {class: "recurrent-note"}, app.t("switches.not_honoured_layers")) : null,
      layers.map((layer) => this.#layer(layer)));
  }

  #layer({path, honours}) {
    const title = this.names.inStack("layers_off", path);
    const head = honours.includes("layers_off")
      ? this.#listed([knob(), title], this.names.whole("layers_off", path), "layers_off", path, {class: "wide-switch"})
      : element("span", {}, title);
    return element("div", {class: "layer-box", "data-path": path}, head,
      SUBLAYERS.filter((name) => this.parts.has(`${path}.${name}`)).map((name) => this.#sublayer(path, name)));
  }

  #sublayer(path, name) {
    const {app, names} = this;
    const part = this.parts.get(`${path}.${name}`);
    const title = names.sublayer(part.path);
    const heads = Array.from({length: part.heads}, (_, head) => {
      const entry = [part.path, head];
      const label = names.inStack("heads_off", entry);
      return this.#listed(String(head), label, "heads_off", entry, {class: "head-dot", tabindex: head ? -1 : 0});
    });
    const group = heads.length ? element("span", {class: "heads", role: "group", "aria-label": title}, heads) : null;
    if (group) roving(group, "[role=switch]");
    const around = `${path}.add_${name}`;
    const residual = this.#listed(app.t("switches.residual"), names.inStack("residual_off", around), "residual_off",
      around, {class: "residual-switch"});
    return element("div", {class: "sublayer"}, element("span", {class: "sublayer-name"}, title), group ?? element("span"),
      residual);
  }
}

/** The knob of a switch. */
function knob() {
  return element("span", {class: "knob", "aria-hidden": "true"});
}

/** Switches without those that are on. */
function withoutEmpty(switches) {
  const isOff = ([, value]) => (Array.isArray(value) ? value.length > 0 : value === false);
  return Object.fromEntries(Object.entries(switches).filter(isOff));
}
