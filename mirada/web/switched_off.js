// The notice that parts of the model are switched off, beside what it then says, whichever view is open.

import {element, button} from "./elements.js";
import {SwitchNames, partsOff, countOff} from "./switch_names.js";

export class SwitchedOff {
  /** `allOn()` is called when everything is to be switched on. */
  constructor(app, allOn) {
    this.app = app;
    this.count = element("summary");
    this.names = element("ul");
    this.element = element(
      "div",
      {class: "parts-off", role: "group", "aria-label": app.t("off"), hidden: true},
      element("details", {}, this.count, this.names),
      button(app.t("off.all_on"), allOn),
    );
  }

  /** Show what is off, once the model is open; recorded sentences have no switches, whatever a link says. */
  update() {
    const {app} = this;
    const {parts, recorded} = app.description;
    const {switches} = app.values;
    const off = recorded ? [] : partsOff(switches);
    this.element.hidden = off.length === 0;
    if (off.length === 0) return;
    const names = new SwitchNames(app, parts);
    const all = off.map(([list, entry]) => names.whole(list, entry));
    this.count.textContent = countOff(app, switches);
    this.count.title = all.join("\n");
    this.names.replaceChildren(...all.map((name) => element("li", {}, name)));
  }
}
