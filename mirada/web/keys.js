// Keyboard shortcuts, their list, and a switch that turns them off.

import {element, button, checkbox} from "./elements.js";

export class Keys {
  #on = true;

  constructor(app) {
    this.app = app;
    document.addEventListener("keydown", (event) => this.#pressed(event));
  }

  /** The list of shortcuts as a dialog, made anew with the page. */
  dialog() {
    const {app} = this;
    const rows = [
      ["/", "sentence"],
      ["1 – 9", "tabs"],
      ["← ↑ → ↓", "move"],
      ["Enter", "choose"],
      ["w", "words"],
      ["[ ]", "layers"],
      ["{ }", "heads"],
      ["n p", "steps"],
      ["t", "theme"],
      ["l", "link"],
      ["?", "list"],
      ["Esc", "close"],
    ];
    const title = element("h2", {id: "keys-title"}, app.t("keys"));
    this.box = element(
      "dialog",
      {"aria-labelledby": "keys-title", onclick: (event) => event.target === this.box && this.box.close()},
      title,
      element(
        "dl",
        {class: "keys"},
        rows.flatMap(([key, name]) => [
          element("dt", {}, element("kbd", {}, key)),
          element("dd", {}, app.t(`key.${name}`)),
        ]),
      ),
      checkbox(app.t("keys.on"), this.#on, (on) => (this.#on = on)),
      button(app.t("close"), () => this.box.close()),
    );
    return this.box;
  }

  open() {
    this.box.showModal();
  }

  #pressed(event) {
    if (!this.#on || this.box.open || isCommand(event)) return;
    if (event.target.closest("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]"))
      return;
    const action = this.#action(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  }

  #action(key) {
    const {app} = this;
    const {words} = app.values;
    const view = app.description ? app.view : null; // until the model is open there is none
    if (/^[1-9]$/.test(key)) return () => app.shell.goTo(Number(key) - 1);
    return {
      "/": () => app.shell.input.focus(),
      "?": () => this.open(),
      t: () => app.shell.nextTheme(),
      l: () => app.shell.copyLink(),
      w: () => app.set({words: !words}),
      n: () => view?.walkOn?.(1),
      p: () => view?.walkOn?.(-1),
      "[": () => view?.move?.(-1, 0),
      "]": () => view?.move?.(1, 0),
      "{": () => view?.move?.(0, -1),
      "}": () => view?.move?.(0, 1),
    }[key];
  }
}

/** Whether a key is pressed for the browser or the system; not if AltGr, or ⌥ on a Mac, is what types a bracket. */
function isCommand(event) {
  if (event.metaKey) return true;
  const typed = event.getModifierState("AltGraph") || (!event.ctrlKey && "[]{}".includes(event.key));
  return (event.altKey || event.ctrlKey) && !typed;
}
