// A drawing as a list of shapes, which is painted on a canvas or written as SVG: what is seen is what is exported.

/** Shapes on an area, in pixels of the page. */
export class Scene {
  items = [];

  constructor(width, height, title = "") {
    Object.assign(this, {width, height, title});
  }

  rect(x, y, width, height, style) {
    this.items.push({kind: "rect", x, y, width, height, ...style});
  }

  /** An SVG path. */
  path(d, style) {
    this.items.push({kind: "path", d, ...style});
  }

  /** A text whose anchor ("start", "middle", "end") is at x, and its middle at y; turned by `angle` degrees. */
  text(x, y, text, style) {
    this.items.push({kind: "text", x, y, text, size: 13, anchor: "start", family: SANS, ...style});
  }

  /** A matrix of values as coloured cells. */
  cells(x, y, cell, matrix, scale) {
    this.items.push({kind: "cells", x, y, cell, matrix, scale});
  }
}

const SANS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
export const SERIF = "'Iowan Old Style', 'Palatino Linotype', Palatino, 'Noto Serif', Georgia, 'DejaVu Serif', serif";

/** The font of a text item, as canvas and measuring want it. */
function fontOf({size = 13, family = SANS, weight = 400}) {
  return `${weight} ${size}px ${family}`;
}

/** How many pixels a text is wide. */
export function textWidth(text, style) {
  measuring ??= document.createElement("canvas").getContext("2d");
  measuring.font = fontOf(style);
  return measuring.measureText(text).width;
}

let measuring = null;

/** A text cut to so many pixels, with an ellipsis; never through the middle of a letter or an emoji. */
export function shortened(text, pixels, style) {
  if (textWidth(text, style) <= pixels) return text;
  const letters = [...new Intl.Segmenter().segment(text)].map(({segment}) => segment);
  while (letters.length > 1 && textWidth(`${letters.join("")}…`, style) > pixels) letters.pop();
  return `${letters.join("")}…`;
}

/** A text as lines of at most so many pixels, broken at its spaces. */
export function wrapped(text, pixels, style) {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && textWidth(longer, style) <= pixels) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Paint a scene on a canvas, which gets its size. */
export function paintScene(scene, canvas) {
  const density = Math.min(3, devicePixelRatio || 1);
  canvas.width = Math.round(scene.width * density);
  canvas.height = Math.round(scene.height * density);
  canvas.style.width = `${scene.width}px`;
  canvas.style.height = `${scene.height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, scene.width, scene.height);
  for (const item of scene.items) PAINTERS[item.kind](context, item);
}

const PAINTERS = {
  rect(context, {x, y, width, height, fill, stroke, thick = 1, radius = 0, opacity = 1}) {
    context.globalAlpha = opacity;
    context.beginPath();
    context.roundRect(x, y, width, height, radius);
    if (fill) Object.assign(context, {fillStyle: fill}).fill();
    if (stroke) Object.assign(context, {strokeStyle: stroke, lineWidth: thick}).stroke();
    context.globalAlpha = 1;
  },
  path(context, {d, fill, stroke, thick = 1, opacity = 1}) {
    context.globalAlpha = opacity;
    const path = new Path2D(d);
    if (fill) Object.assign(context, {fillStyle: fill}).fill(path);
    if (stroke) Object.assign(context, {strokeStyle: stroke, lineWidth: thick}).stroke(path);
    context.globalAlpha = 1;
  },
  text(context, item) {
    context.save();
    context.translate(item.x, item.y);
    if (item.angle) context.rotate((item.angle * Math.PI) / 180);
    context.font = fontOf(item);
    context.fillStyle = item.fill;
    context.textAlign = {start: "left", middle: "center", end: "right"}[item.anchor];
    context.textBaseline = "middle";
    context.fillText(item.text, 0, 0);
    context.restore();
  },
  cells(context, {x, y, cell, matrix, scale}) {
    context.imageSmoothingEnabled = false;
    context.drawImage(bitmapOf(matrix, scale), x, y, cell.width * matrix.columns, cell.height * matrix.rows);
  },
};

/** A matrix {rows, columns, data, least, most} as a bitmap of one pixel a cell. */
export function bitmapOf(matrix, scale) {
  const {rows, columns, data, least, most} = matrix;
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const factor = 255 / (most - least || 1);
  for (let i = 0; i < pixels.length; i++) {
    pixels[i] = scale.bytes[Math.max(0, Math.min(255, Math.round((data[i] - least) * factor))) || 0];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** A scene as an SVG document. */
export function svgOf(scene) {
  const {width, height, title} = scene;
  const body = scene.items.map((item) => WRITERS[item.kind](item)).join("\n");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${hundredths(width)}" height="${hundredths(height)}" ` +
    `viewBox="0 0 ${hundredths(width)} ${hundredths(height)}" role="img">\n<title>${xmlText(title)}</title>\n${body}\n</svg>\n`
  );
}

const WRITERS = {
  rect: ({x, y, width, height, radius, ...style}) =>
    `<rect x="${hundredths(x)}" y="${hundredths(y)}" width="${hundredths(width)}" height="${hundredths(height)}"` +
    `${radius ? ` rx="${radius}"` : ""}${styleOf(style)}/>`,
  path: ({d, ...style}) => `<path d="${d}"${styleOf(style)}/>`,
  text: ({x, y, text, size, anchor, angle, fill, family, weight}) =>
    `<text x="${hundredths(x)}" y="${hundredths(y)}" dominant-baseline="central" text-anchor="${anchor}" font-size="${size}" ` +
    `font-family="${family}"${weight ? ` font-weight="${weight}"` : ""} fill="${fill}"` +
    `${angle ? ` transform="rotate(${angle} ${hundredths(x)} ${hundredths(y)})"` : ""}>${xmlText(text)}</text>`,
  cells: ({x, y, cell, matrix, scale}) => {
    const {rows, columns, data, least, most} = matrix;
    const written = [];
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const share = (data[row * columns + column] - least) / (most - least || 1);
        const fill = scale.names[Math.max(0, Math.min(255, Math.round(share * 255))) || 0];
        written.push(
          `<rect x="${hundredths(x + column * cell.width)}" y="${hundredths(y + row * cell.height)}" ` +
            `width="${hundredths(cell.width)}" height="${hundredths(cell.height)}" fill="${fill}"/>`,
        );
      }
    }
    return `<g shape-rendering="crispEdges">\n${written.join("\n")}\n</g>`;
  },
};

function styleOf({fill, stroke, thick, opacity}) {
  return (
    ` fill="${fill ?? "none"}"${stroke ? ` stroke="${stroke}" stroke-width="${thick ?? 1}"` : ""}` +
    `${opacity !== undefined ? ` opacity="${opacity}"` : ""}`
  );
}

function hundredths(value) {
  return Math.round(value * 100) / 100;
}

function xmlText(text) {
  const names = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"};
  return text
    .replace(/[&<>"]/g, (letter) => names[letter])
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");
}
