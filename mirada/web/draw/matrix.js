// A matrix of weights as a map with labelled axes: rows look, columns are looked at.

import {Scene, textWidth, shortened, wrapped} from "./scene.js";
import {colourAt, inkOn} from "./colours.js";

const LARGEST_CELL = 40;
const LEGEND = 34; // pixels below the map for the scale
const LEGEND_LINE = 14; // and for each line below that, where its text does not fit beside it
const NARROW = 420;
const STEPS = 48; // of the scale
const TITLE = 22; // and above it for what the axes are

/**
 * Where everything is, for a map as wide as `width` allows.
 *
 * `about` has rowLabels, columnLabels, rowTitle and columnTitle, and the height of a row where cells are not square.
 */
export function matrixLayout(about, width) {
  const {rowLabels, columnLabels, rowHeight} = about;
  const style = {size: 14};
  const widest = (labels, most) => Math.min(most, Math.max(...labels.map((label) => textWidth(label, style))));
  const left = Math.ceil(
    Math.max(widest(rowLabels, Math.min(150, width * 0.3)), textWidth(about.rowTitle, {size: 12})) + 12,
  );
  const upright = width < NARROW; // on a phone labels stand, elsewhere they lean to the right
  const reach = widest(columnLabels, 120) * (upright ? 1 : Math.SQRT1_2);
  const lean = upright ? 0 : reach;
  const room = width - left - 2;
  const cell = Math.min(
    LARGEST_CELL,
    Math.max(2, Math.min(room / columnLabels.length, (room - lean) / (columnLabels.length - 0.5))),
  );
  const high = rowHeight ?? cell;
  const size = Math.max(9, Math.min(14, cell - 2)); // of the labels
  const top = TITLE + (columnLabels.length ? reach + 12 : 0);
  const right = left + cell * columnLabels.length;
  const bottom = top + high * rowLabels.length;
  const scaled = left + 2 * STEPS + 48; // where the scale and its numbers end
  const legendWidth = textWidth(about.legend, {size: 11});
  const legendLines = scaled + legendWidth <= width ? [] : wrapped(about.legend, width - left, {size: 11});
  return {
    left,
    top,
    right,
    bottom,
    cell,
    high,
    size,
    everyRow: Math.max(1, Math.ceil((size + 1) / high)), // where cells are small only each so many labels fit
    everyColumn: Math.max(1, Math.ceil((size + 1) / cell)),
    width: Math.min(width, Math.max(right + lean, scaled + legendWidth)),
    height: bottom + LEGEND + LEGEND_LINE * legendLines.length,
    legendLines,
    widestRow: left - 12,
    widestColumn: 120,
    angle: upright ? -90 : -45,
  };
}

/** The map as a scene: `matrix` {rows, columns, data, least, most}, `about` as above with a title and a legend. */
export function matrixScene(matrix, about, layout, colours, scale) {
  const scene = new Scene(layout.width, layout.height, about.title);
  const {left, top, right, bottom, cell, high, size} = layout;
  scene.rect(0, 0, layout.width, layout.height, {fill: colours.panel});
  scene.cells(left, top, {width: cell, height: high}, matrix, scale);
  scene.rect(left, top, right - left, bottom - top, {stroke: colours.line});
  about.rowLabels.forEach((label, row) => {
    if (row % layout.everyRow) return;
    const text = shortened(label, layout.widestRow, {size});
    scene.text(left - 8, top + (row + 0.5) * high, text, {size, anchor: "end", fill: colours.ink});
  });
  about.columnLabels.forEach((label, column) => {
    if (column % layout.everyColumn) return;
    const text = shortened(label, layout.widestColumn, {size});
    scene.text(left + (column + 0.5) * cell, top - 6, text, {size, angle: layout.angle, fill: colours.ink});
  });
  scene.text(left, 10, about.columnTitle, {size: 12, fill: colours.soft});
  scene.text(left - 8, top - 10, about.rowTitle, {size: 12, anchor: "end", fill: colours.soft});
  if (Math.min(cell, high) >= 30) drawNumbers(scene, matrix, layout, scale, about.number);
  drawLegend(scene, matrix, layout, colours, scale, about);
  return scene;
}

function drawNumbers(scene, {rows, columns, data, least, most}, {left, top, cell}, scale, number) {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = data[row * columns + column];
      if (Math.abs(value) < 0.005) continue;
      const fill = inkOn(scale, value, least, most);
      scene.text(left + (column + 0.5) * cell, top + (row + 0.5) * cell, number(value), {
        size: 11,
        anchor: "middle",
        fill,
      });
    }
  }
}

/** The colours from the least value to the most, with what they mean. */
function drawLegend(scene, {least, most}, {left, bottom, width, legendLines}, colours, scale, {legend, number}) {
  const y = bottom + 14;
  for (let i = 0; i < STEPS; i++) {
    scene.rect(left + 2 * i, y, 2.2, 8, {fill: colourAt(scale, i / (STEPS - 1))});
  }
  scene.rect(left, y, 2 * STEPS, 8, {stroke: colours.line});
  scene.text(left - 6, y + 4, number(least), {size: 11, anchor: "end", fill: colours.soft});
  const x = left + 2 * STEPS + 6;
  const beside = legendLines.length > 0 ? number(most) : `${number(most)}  ${legend}`;
  scene.text(x, y + 4, shortened(beside, width - x, {size: 11}), {size: 11, fill: colours.soft});
  legendLines.forEach((line, n) => {
    scene.text(left, y + 6 + LEGEND_LINE * (n + 1), line, {size: 11, fill: colours.soft});
  });
}
