// The panel that explains a number: the sum that made it, its largest terms, and the PyTorch line that reproduces it.

import {element, button} from "../elements.js";
import {formula} from "./formula.js";
import {placeText} from "./number_grid.js";

const TERMS_SHOWN = 10;

/** A panel that is beside the view on a wide screen and at the bottom of a narrow one. */
export class NumberPanel {
  #history = []; // places that were explained before the one that is shown
  #place = null;
  #opener = null; // {reveal()}, which returns what gets the focus back
  #asked = 0;

  /** `page` is {t, format(value, digits), explain(place), onShow(place or null), onFind(place)}. */
  constructor(page) {
    this.page = page;
    const about = {class: "number-panel", hidden: true, tabindex: -1, "aria-label": page.t("number.panel")};
    this.element = element("aside", about);
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  /** The number that is shown: {path, index}, or null. */
  get place() {
    return this.#place;
  }

  /** Explain a number; what `opener.reveal()` returns gets the focus when the panel is closed. */
  open(place, opener = null) {
    this.#opener = opener;
    this.#history = [];
    return this.#show(place, opener !== null);
  }

  close() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.#place = null;
    this.page.onShow(null);
    this.#opener?.reveal()?.focus();
  }

  /** Compute it anew, for another sentence or other switches. */
  async renew() {
    if (this.#place) await this.#show(this.#place, false);
  }

  async #show(place, focus) {
    const asked = ++this.#asked;
    this.#place = place;
    this.element.hidden = false;
    this.page.onShow(place);
    const head = this.#head(place);
    this.element.replaceChildren(head);
    if (focus) this.element.focus();
    let body;
    try {
      body = this.#body(place, await this.page.explain(place));
    } catch (error) {
      body = [element("p", {class: "soft", role: "status"}, this.page.t("number.failed", {why: error.message}))];
    }
    if (asked === this.#asked) this.element.replaceChildren(head, ...body);
  }

  #jump(place) {
    this.#history.push(this.#place);
    this.#show(place, true);
  }

  #back() {
    const place = this.#history.pop();
    if (place) this.#show(place, true);
  }

  // ── what it shows ───────────────────────────────────────────────────────────────────────────────────────────────

  #head(place) {
    const {t} = this.page;
    const named = (key) => ({"aria-label": t(key), title: t(key)});
    return element("div", {class: "panel-head"},
      button("‹", () => this.#back(), {...named("number.back"), disabled: !this.#history.length}),
      element("code", {class: "place"}, placeText(place)),
      button("×", () => this.close(), named("number.close")));
  }

  #body(place, found) {
    const {t} = this.page;
    return [
      element("p", {class: "value-now", "data-total": found.total}, this.#number(found.value, 4)),
      element("p", {class: "sum-formula"}, found.formula.split("   ").map((one) => formula(one))),
      ...(found.where?.length ? [this.#where(found.where)] : []),
      this.#terms(found),
      element("h3", {}, t("number.torch")),
      this.#code(found.torch),
      button(t("number.find"), () => this.page.onFind(place), {class: "find"}),
    ];
  }

  #where(where) {
    const shown = ([name, value], n) => [n ? ",  " : "", formula(name), ` = ${this.#number(value, 4)}`];
    return element("p", {class: "soft"}, where.flatMap(shown));
  }

  /** A row for each term: the product a · b, or of a softmax the number and its exponential. */
  #terms(found) {
    const {t} = this.page;
    const columns = [t("number.term"), ...(found.heads ?? ["a", "b", "product"].map((name) => t(`number.${name}`)))];
    const most = Math.max(...found.terms.map(({product}) => Math.abs(product)).filter(Number.isFinite), 1e-12);
    const rows = found.terms.map((term, n) => element("tr", {hidden: n >= TERMS_SHOWN},
      element("th", {scope: "row", dir: "auto"}, term.label),
      this.#factor(term.a, term.aFrom), found.heads ? null : this.#factor(term.b, term.bFrom),
      element("td", {class: "product"}, this.#bar(term.product / most), this.#number(term.product, 4))));
    const summary = (key, value, words = {}) => element("tr", {class: `sum ${key}`},
      element("th", {scope: "row", colspan: columns.length - 1}, t(`number.${key}`, words)), element("td", {}, this.#number(value, 4)));
    const foot = [];
    const hidden = found.terms.slice(TERMS_SHOWN);
    const rest = (terms) => terms.reduce((sum, {product}) => sum + product, 0) + (found.more?.sum ?? 0);
    if (found.more || hidden.length) foot.push(summary("more", rest(hidden), {count: hidden.length + (found.more?.count ?? 0)}));
    if (hidden.length) {
      const showAll = () => {
        for (const row of rows) row.hidden = false;
        const others = found.more ? [summary("more", rest([]), {count: found.more.count})] : [];
        foot[0].replaceWith(...others);
        all.closest("tr").remove();
      };
      const all = button(t("number.all", {count: hidden.length}), showAll, {class: "link"});
      foot.splice(1, 0, element("tr", {}, element("td", {colspan: columns.length}, all)));
    }
    if (found.bias !== null && found.bias !== undefined) foot.push(summary("bias", found.bias));
    if (found.after && Number.isFinite(found.sum)) foot.push(summary("sum", found.sum));
    foot.push(summary(found.after ? "after" : "total", found.total, {name: found.after}));
    return element("table", {class: "terms"}, element("thead", {}, element("tr", {}, columns.map((name) => element("th", {scope: "col"}, name)))),
      element("tbody", {}, rows), element("tfoot", {}, foot));
  }

  /** A factor of a term; where it comes from the trace, it leads to its own sum. */
  #factor(value, from) {
    const text = this.#number(value, 4);
    if (!from?.path) return element("td", {}, text);
    const label = this.page.t("number.jump", {place: placeText(from)});
    return element("td", {}, button(text, () => this.#jump(from), {class: "jump", title: label, "aria-label": `${text}: ${label}`}));
  }

  #bar(share) {
    const bar = element("span", {class: share < 0 ? "signed-bar minus" : "signed-bar", "aria-hidden": "true"});
    const filled = element("span", {});
    filled.style.width = `${50 * Math.min(1, Math.abs(share)) || 0}%`;
    bar.append(filled);
    return bar;
  }

  #code(text) {
    const {t} = this.page;
    const said = element("span", {role: "status", class: "soft"});
    const copy = button(t("number.copy"), async () => {
      said.textContent = (await copied(text, code)) ? t("number.copied") : t("number.selected");
    });
    const code = element("code", {}, text);
    return element("div", {class: "torch"}, element("pre", {tabindex: 0}, code), element("p", {}, copy, " ", said));
  }

  #number(value, digits) {
    return this.page.format(value, digits);
  }
}

/** Put a text on the clipboard; a file that is opened from a disk may not be allowed to, so its text is selected then. */
async function copied(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(shown);
    return false;
  }
}
