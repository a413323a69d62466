// Making elements of a page: element("p", {class: "note"}, "some text", another).

/** An HTML element. Attributes whose value is null or false are left out; a function is a listener (onclick, …). */
export function element(tag, attributes = {}, ...children) {
  return furnished(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svgElement(tag, attributes = {}, ...children) {
  return furnished(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function furnished(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Put children into an element, unless they are there: what has the focus keeps it. */
export function arrange(parent, children) {
  const same =
    children.length === parent.childNodes.length && children.every((child, i) => child === parent.childNodes[i]);
  if (!same) parent.replaceChildren(...children);
}

/** A button with a text, and a longer label for those who hear it. */
export function button(text, action, attributes = {}) {
  return element("button", {type: "button", onclick: action, ...attributes}, text);
}

/** A labelled choice: options are [value, text] pairs. */
export function choice(label, options, value, action) {
  const select = element("select", {onchange: () => action(select.value)});
  for (const [key, text] of options)
    select.append(element("option", {value: key, selected: String(key) === String(value)}, text));
  return element("label", {class: "choice"}, element("span", {}, label), select);
}

/** A group of toggle buttons of which one is pressed, one tab stop; arrows move. Options are [value, text] pairs. */
export function segments(label, options, value, action) {
  const group = element("div", {class: "segments", role: "radiogroup", "aria-label": label});
  for (const [key, text] of options) {
    const chosen = String(key) === String(value);
    const one = button(text, () => action(key), {
      role: "radio",
      "aria-checked": String(chosen),
      tabindex: chosen ? 0 : -1,
      "data-value": key,
    });
    group.append(one);
  }
  roving(group, "[role=radio]", (one) => one.click());
  return group;
}

/** Arrow keys, Home and End move the focus among the items of a group; `columns` of them make a row of a grid. */
export function roving(group, selector, arrived = () => {}, columns = () => 0) {
  group.addEventListener("keydown", (event) => {
    const items = [...group.querySelectorAll(selector)];
    const place = items.indexOf(event.target.closest(selector));
    if (place < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = columns() || 1;
    const steps = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: row,
      ArrowUp: -row,
      Home: -place,
      End: items.length - 1 - place,
    };
    if (!(event.key in steps)) return;
    const next = place + steps[event.key];
    event.preventDefault();
    if (next < 0 || next >= items.length) return;
    for (const item of items) item.tabIndex = item === items[next] ? 0 : -1;
    items[next].focus();
    arrived(items[next]);
  });
}

/**
 * A table with its caption, which is heard and not seen. A cell is a text or an element, {number: text} or {head: text}; a row
 * is a list of cells, or {cells, name} with a class.
 */
export function tableOf(caption, head, rows, name = null) {
  const cellOf = (cell) => {
    if (cell?.head !== undefined) return element("th", {scope: "row", dir: "auto"}, cell.head);
    return cell?.number !== undefined ? element("td", {class: "number"}, cell.number) : element("td", {}, cell);
  };
  const cellsOf = (row) => row.cells ?? row;
  const rowOf = (row) => element("tr", {class: row.name ?? null}, cellsOf(row).map(cellOf));
  const ofNumbers = (column) => rows.length > 0 && cellsOf(rows[0])[column]?.number !== undefined;
  const headOf = (text, column) =>
    element("th", {scope: "col", dir: "auto", class: ofNumbers(column) ? "number" : null}, text);
  return element(
    "table",
    {class: name},
    element("caption", {class: "unseen"}, caption),
    element(
      "thead",
      {},
      element("tr", {}, head.map(headOf)),
    ),
    element("tbody", {}, rows.map(rowOf)),
  );
}

/** What is wider than its place, and can be scrolled by keyboard. */
export function scrolled(label, ...children) {
  return element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": label}, children);
}

/** A checkbox with its label. */
export function checkbox(label, checked, action) {
  const box = element("input", {type: "checkbox", checked, onchange: () => action(box.checked)});
  return element("label", {class: "check"}, box, element("span", {}, label));
}
