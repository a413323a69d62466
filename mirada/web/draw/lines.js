// Two rows of words (or two columns, where there is little room) and lines between them as thick as the weights.

import {Scene, textWidth, shortened, SERIF} from "./scene.js";

const GAP = 14; // between words of a row
const BETWEEN = 130; // between the two rows
const LEAST = 0.02; // lines of less weight are not drawn
const MOST_LINES = 1200;

/** Where the words are: {width, height, looking: [{x, y, width, height, text}], looked: [...], upright}. */
export function linesLayout(rowLabels, columnLabels, width) {
  const size = 16;
  const sizes = (labels) => labels.map((label) => textWidth(label, {size, family: SERIF}) + 10);
  const rows = sizes(rowLabels);
  const columns = sizes(columnLabels);
  const total = (widths) => widths.reduce((sum, one) => sum + one + GAP, -GAP);
  const across = Math.max(total(rows), total(columns));
  if (across <= width - 8)
    return lying(rowLabels, columnLabels, rows, columns, Math.max(across + 8, Math.min(width, 420)), size);
  return standing(rowLabels, columnLabels, width, size);
}

function lying(rowLabels, columnLabels, rows, columns, width, size) {
  const place = (labels, widths, y) => {
    let x = (width - widths.reduce((sum, one) => sum + one + GAP, -GAP)) / 2;
    return labels.map((text, i) => {
      const box = {x, y, width: widths[i], height: 28, text};
      x += widths[i] + GAP;
      return box;
    });
  };
  const looking = place(rowLabels, rows, 26);
  const looked = place(columnLabels, columns, 26 + 28 + BETWEEN);
  return {width, height: 26 + 28 + BETWEEN + 28 + 36, looking, looked, upright: false, size};
}

function standing(rowLabels, columnLabels, width, size) {
  const height = 26;
  const each = Math.min(220, width * 0.36);
  const place = (labels, right) =>
    labels.map((label, i) => {
      const text = shortened(label, each - 10, {size, family: SERIF});
      const wide = textWidth(text, {size, family: SERIF}) + 10;
      return {x: right ? width - each : each - wide, y: 26 + i * height, width: wide, height: height - 2, text};
    });
  const most = Math.max(rowLabels.length, columnLabels.length);
  const area = Math.min(width, 640);
  const limit = Math.min(width, area);
  const looking = place(rowLabels, false);
  const looked = place(columnLabels, true).map((box) => ({...box, x: limit - each}));
  return {width: limit, height: 26 + most * height + 8, looking, looked, upright: true, size};
}

/** The lines of a matrix: [{row, column, weight, d}], the heaviest, or those of one word: `only` {row} or {column}. */
export function linesBetween(matrix, layout, only = null) {
  const found = [];
  for (let row = 0; row < matrix.rows; row++) {
    if (only?.row !== undefined && only.row !== row) continue;
    for (let column = 0; column < matrix.columns; column++) {
      if (only?.column !== undefined && only.column !== column) continue;
      const weight = matrix.data[row * matrix.columns + column];
      if (weight >= LEAST)
        found.push({row, column, weight, d: curve(layout.looking[row], layout.looked[column], layout.upright)});
    }
  }
  return found.sort((a, b) => a.weight - b.weight).slice(-MOST_LINES);
}

function curve(from, to, upright) {
  if (upright) {
    const [x1, y1, x2, y2] = [from.x + from.width + 2, from.y + from.height / 2, to.x - 2, to.y + to.height / 2];
    const bend = (x2 - x1) / 2;
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  }
  const [x1, y1, x2, y2] = [from.x + from.width / 2, from.y + from.height + 2, to.x + to.width / 2, to.y - 2];
  const bend = (y2 - y1) / 2;
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}

/** How a line of some weight is drawn. */
export function strokeOf(weight, colours, alone) {
  return {stroke: colours.accent, thick: 0.6 + 7 * weight, opacity: Math.min(1, (alone ? 0.25 : 0.1) + 0.75 * weight)};
}

/** The same picture to be saved. */
export function linesScene(matrix, layout, lines, only, about, colours) {
  const scene = new Scene(layout.width, layout.height, about.title);
  scene.rect(0, 0, layout.width, layout.height, {fill: colours.panel});
  for (const line of lines) scene.path(line.d, strokeOf(line.weight, colours, only !== null));
  const write = (boxes, chosen) =>
    boxes.forEach((box, i) =>
      scene.text(box.x + box.width / 2, box.y + box.height / 2, box.text, {
        size: layout.size,
        anchor: "middle",
        family: SERIF,
        fill: colours.ink,
        weight: i === chosen ? 700 : 400,
      }),
    );
  write(layout.looking, only?.row);
  write(layout.looked, only?.column);
  const {x, y, anchor} = titlePlaces(layout);
  scene.text(x[0], y[0], about.rowTitle, {size: 12, anchor: anchor[0], fill: colours.soft});
  scene.text(x[1], y[1], about.columnTitle, {size: 12, anchor: anchor[1], fill: colours.soft});
  return scene;
}

/** Where it says what the two rows are. */
export function titlePlaces({width, height, looking, looked, upright}) {
  if (upright) {
    return {x: [looking[0].x + looking[0].width, looked[0].x], y: [10, 10], anchor: ["end", "start"]};
  }
  return {x: [width / 2, width / 2], y: [10, height - 8], anchor: ["middle", "middle"]};
}
