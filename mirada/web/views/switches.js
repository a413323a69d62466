// Parts of the model switched off, and what it says with and without them.

import {element} from "../elements.js";

export class SwitchesView {
  static id = "switches";

  static fits() {
    return false;
  }

  constructor() {
    this.element = element("div", {class: "switches"});
  }

  async update() {}
}
