"use strict";
// Shows the attention in #data: lines from what looks to what is looked at, and a table of all weights.
const hypotheses = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const HINT = $("said").textContent;
let pinned = null;

function fill(select, texts, values, chosen) {
  select.replaceChildren(...texts.map((text, n) => new Option(text, values[n], false, String(values[n]) === String(chosen))));
}

function current() {
  const hypothesis = hypotheses[Number($("hypothesis").value)];
  return [hypothesis, hypothesis.parts.find((part) => part.name === $("part").value)];
}

// [Q][K]: the average over the chosen layers and heads, between tokens or words
function weights(part) {
  const layer = $("layer").value, head = $("head").value;
  const chosen = part.weights.filter((_, n) => layer === "all" || String(part.layers[n]) === layer)
    .flatMap((heads) => heads.filter((_, n) => head === "all" || String(part.heads[n]) === head));
  const mean = part.queries.pieces.map((_, q) => part.keys.pieces.map((_, k) =>
    chosen.reduce((sum, one) => sum + one[q][k], 0) / chosen.length / 1000));
  if (!$("words").checked) return mean;
  return part.queries.of.map((query) => part.keys.of.map((key) =>
    query.reduce((sum, q) => sum + key.reduce((all, k) => all + mean[q][k], 0), 0) / query.length));
}

const shown = (side) => ($("words").checked ? side.words : side.pieces);
const tint = (weight) => `rgba(var(--rgb), ${Math.min(1, weight).toFixed(3)})`;
const percent = (weight) => `${(100 * weight).toFixed(0)} %`;

function choosePart() {
  const hypothesis = hypotheses[Number($("hypothesis").value)];
  const before = $("part").value, names = hypothesis.parts.map((part) => part.name);
  fill($("part"), names, names, names.includes(before) ? before : hypothesis.main);
  $("title").textContent = hypothesis.output === null ? hypothesis.text : `${hypothesis.text} → ${hypothesis.output}`;
  $("without").textContent = hypothesis.without.length ? `without ${hypothesis.without.join(", ")}` : "";
  chooseLayer();
}

function chooseLayer() {
  const [, part] = current();
  for (const [id, numbers] of [["layer", part.layers], ["head", part.heads]]) {
    const several = numbers.length > 1, before = $(id).value;
    const values = [...(several ? ["all"] : []), ...numbers];
    fill($(id), values.map((value) => (value === "all" ? "average of all" : value)), values,
      values.map(String).includes(before) ? before : values[0]);
  }
  draw();
}

function draw() {
  const [hypothesis, part] = current();
  const mean = weights(part), queries = shown(part.queries), keys = shown(part.keys);
  pinned = null;
  $("keys").replaceChildren(...keys.map((key) => item(key)));
  $("queries").replaceChildren(...queries.map((query, q) => {
    const one = item(query);
    one.tabIndex = 0;
    const look = () => point(part, mean, q);
    one.addEventListener("pointerenter", () => pinned === null && look());
    one.addEventListener("focus", look);
    one.addEventListener("click", () => { pinned = pinned === q ? null : q; look(); });
    return one;
  }));
  $("queries").onpointerleave = () => pinned === null && point(part, mean, null);
  $("picture").hidden = hypothesis.picture === null;
  if (hypothesis.picture !== null) $("picture").src = hypothesis.picture;
  drawTable(part, mean, queries, keys);
  point(part, mean, null);
}

function item(text) {
  const one = document.createElement("li");
  one.textContent = text;
  one.title = text;
  one.dir = "auto";
  return one;
}

// Lines from one token, or from all of them.
function point(part, mean, only) {
  const lines = $("lines"), rows = [...$("queries").children], columns = [...$("keys").children];
  const top = $("look").getBoundingClientRect().top;
  const middle = (one) => { const box = one.getBoundingClientRect(); return (box.top + box.bottom) / 2 - top; };
  const places = [rows.map(middle), columns.map(middle)];
  lines.replaceChildren();
  mean.forEach((row, q) => row.forEach((weight, k) => {
    if (weight < 0.01 || (only !== null && q !== only)) return;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const ends = { x1: "0%", y1: places[0][q], x2: "100%", y2: places[1][k] };
    for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value);
    line.setAttribute("stroke-opacity", Math.min(1, weight));
    line.setAttribute("stroke-width", 0.5 + 3 * weight);
    lines.append(line);
  }));
  columns.forEach((one, k) => { one.style.background = only === null ? "" : tint(0.6 * mean[only][k]); });
  rows.forEach((one, q) => one.classList.toggle("on", q === only));
  if (only === null) { $("said").textContent = HINT; return; }
  const best = mean[only].map((weight, k) => [weight, k]).sort((a, b) => b[0] - a[0]).slice(0, 3);
  const named = best.map(([weight, k]) => `${shown(part.keys)[k]} ${percent(weight)}`).join(", ");
  $("said").textContent = `${shown(part.queries)[only]} looks at ${named}`;
}

function drawTable(part, mean, queries, keys) {
  const table = document.querySelector("table");
  table.caption.textContent = `${part.name}: each row looks, and sums to 100 %`;
  const cell = (name, text) => { const one = document.createElement(name); one.textContent = text; return one; };
  const header = document.createElement("tr");
  header.append(cell("td", ""), ...keys.map((key) => { const th = cell("th", key); th.scope = "col"; return th; }));
  table.tHead.replaceChildren(header);
  table.tBodies[0].replaceChildren(...mean.map((row, q) => {
    const line = document.createElement("tr"), heading = cell("th", queries[q]);
    heading.scope = "row";
    line.append(heading, ...row.map((weight, k) => {
      const one = document.createElement("td");
      one.style.background = tint(weight);
      one.title = `${queries[q]} → ${keys[k]}: ${percent(weight)}`;
      return one;
    }));
    return line;
  }));
}

const named = hypotheses.map((one, n) => (one.output === null ? one.text : `${n + 1}. ${one.output}`));
fill($("hypothesis"), named, hypotheses.map((_, n) => n), 0);
$("which-hypothesis").hidden = hypotheses.length < 2;
$("hypothesis").addEventListener("change", choosePart);
$("part").addEventListener("change", chooseLayer);
for (const id of ["layer", "head", "words"]) $(id).addEventListener("change", draw);
$("controls").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("resize", draw);
choosePart();
