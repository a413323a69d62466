// The proof that the page computes what PyTorch does: every tensor of a recorded trace is recomputed and compared.

import {element, scrolled, tableOf} from "../elements.js";
import {packedTensors} from "../blobs.js";

const TOLERANCE = 1e-4; // beside the largest of 1 and the number itself

export class ProofView {
  #checked = new Map(); // model → what was found

  constructor(app) {
    this.app = app;
    this.line = element("summary", {}, app.t("proof.running"));
    this.body = element("div");
    this.element = element("details", {class: "proof", ontoggle: () => this.#fill()}, this.line, this.body);
  }

  /** Recompute the recorded sentence of the model that is shown; once for a model. */
  async update() {
    const {app} = this;
    const {model} = app;
    this.element.hidden = model.description.recorded || !model.entry.proof;
    if (this.element.hidden) return;
    if (!this.#checked.has(model)) this.#checked.set(model, this.#check(model));
    const found = await this.#checked.get(model).catch((error) => ({error}));
    if (model !== app.model) return;
    if (found === this.found) return; // it is shown
    this.found = found;
    this.element.classList.toggle("problem", !found.holds);
    this.line.textContent = this.#told(found);
    this.#fill();
  }

  async #check(model) {
    const {text, target} = model.entry.proof;
    const recorded = await packedTensors(`proof-${model.number}`);
    const {tensors} = await this.app.askedApart(model, "trace", text, {target, switches: {}});
    const rows = Object.entries(recorded).map(([path, tensor]) => comparedTensor(path, tensor, tensors[path]));
    const largest = Math.max(...rows.map(({difference}) => difference));
    const numbers = rows.reduce((sum, {count}) => sum + count, 0);
    return {rows, largest, numbers, holds: rows.every(({relative}) => relative <= TOLERANCE)};
  }

  #told(found) {
    const {app} = this;
    if (found.error) return app.t("proof.failed", {why: found.error.message});
    const values = {
      tensors: app.number(found.rows.length, 0),
      numbers: app.number(found.numbers, 0),
      difference: shortNumber(app, found.largest),
    };
    return app.t(found.holds ? "proof.holds" : "proof.differs", values);
  }

  #fill() {
    const {app, found} = this;
    if (!this.element.open || !found?.rows) return;
    const head = ["path", "shape", "count", "difference"].map((key) => app.t(`proof.${key}`));
    const rows = found.rows.map(({path, shape, count, difference}) => [
      {head: element("code", {}, path)},
      shape.join(" × "),
      {number: app.number(count, 0)},
      {number: shortNumber(app, difference)},
    ]);
    const title = app.t("proof.table");
    const told = element("p", {class: "hint"}, app.t("hint.proof", {text: app.entry.proof.text}));
    this.body.replaceChildren(told, scrolled(title, tableOf(title, head, rows)));
  }
}

/** How far a tensor is from the recorded one: the largest |a − b|, and beside the numbers' own size. */
function comparedTensor(path, recorded, own) {
  const {shape, data} = recorded;
  const row = {path, shape, count: data.length, difference: 0, relative: 0};
  if (own?.data.length !== data.length) return {...row, difference: Infinity, relative: Infinity};
  for (let i = 0; i < data.length; i++) {
    if (own.data[i] === data[i]) continue; // the same infinities too
    const apart = Math.abs(own.data[i] - data[i]);
    if (!(apart < Infinity)) return {...row, difference: Infinity, relative: Infinity};
    row.difference = Math.max(row.difference, apart);
    row.relative = Math.max(row.relative, apart / Math.max(1, Math.abs(data[i])));
  }
  return row;
}

/** 0, or "3.1 × 10⁻⁶". */
function shortNumber(app, value) {
  if (value === 0 || value === Infinity) return value === 0 ? "0" : "∞";
  const power = Math.floor(Math.log10(value));
  if (power >= -2) return app.number(value, 3);
  const raised = String(-power).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  return `${app.number(value / 10 ** power, 1)} × 10⁻${raised}`;
}
