// Every layer and head at once, as small maps; one of them is chosen.

import {element, button, roving} from "../elements.js";
import {pageColours} from "./colours.js";
import {bitmapOf} from "./scene.js";

export class MapGrid {
  constructor(app, chose) {
    this.app = app;
    this.chose = chose;
    this.columns = 1;
    this.element = element("div", {class: "grid", role: "radiogroup", "aria-label": app.t("heads")});
    roving(
      this.element,
      "[role=radio]",
      (one) => one.click(),
      () => this.columns,
    );
    this.rows = null;
  }

  /**
   * Show maps row by row: `rows` [{cells: [{matrix, name, short, value}, …], title}, …]. They are drawn anew when they
   * are others than before; otherwise the choice alone is marked.
   */
  show(rows, chosen) {
    const drawn = `${this.app.shell.colours}`;
    if (rows !== this.rows || drawn !== this.drawn) {
      Object.assign(this, {rows, drawn, columns: rows[0].cells.length});
      this.element.style.setProperty("--columns", this.columns);
      this.element.classList.toggle("wide", this.columns > 6);
      this.element.classList.toggle("widest", this.columns > 10);
      const colours = pageColours();
      this.element.replaceChildren(
        ...rows
          .flatMap(({cells, title}) => [
            title ? element("div", {class: "row-title"}, title) : null,
            ...cells.map((cell) => this.#small(cell, colours[cell.scale ?? "weights"])),
          ])
          .filter(Boolean),
      );
    }
    for (const one of this.element.querySelectorAll("[role=radio]")) {
      const is = one.dataset.value === chosen;
      one.setAttribute("aria-checked", String(is));
      one.tabIndex = is ? 0 : -1;
    }
  }

  #small({matrix, name, short, value}, scale) {
    const canvas = element("canvas", {"aria-hidden": "true"});
    drawSmall(canvas, matrix, scale);
    return button([canvas, element("span", {"aria-hidden": "true"}, short)], () => this.chose(value), {
      role: "radio",
      "aria-label": name,
      title: name,
      "data-value": value,
    });
  }
}

/** A matrix on a small canvas whose longer side has at most 160 pixels, drawn once. */
function drawSmall(canvas, matrix, scale) {
  const most = 160;
  const factor = Math.max(1, Math.floor(most / Math.max(matrix.rows, matrix.columns)));
  canvas.width = matrix.columns * factor;
  canvas.height = matrix.rows * factor;
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(bitmapOf(matrix, scale), 0, 0, canvas.width, canvas.height);
}
