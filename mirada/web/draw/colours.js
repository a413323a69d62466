// Colours for canvas and pictures: those of the page as it is now, and the scales of maps.

/** The page's colours, light or dark, as "rgb(…)", with the scales that fit them. */
export function pageColours() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "soft", "line", "paper", "panel", "accent", "mark"];
  const found = Object.fromEntries(names.map((name) => [name, read(name)]));
  probe.remove();
  const dark = lightnessOf(found.paper) < 0.5;
  return {...found, dark, weights: dark ? WEIGHTS_DARK : WEIGHTS_LIGHT, signed: dark ? SIGNED_DARK : SIGNED_LIGHT};
}

/** 256 colours from the first stop to the last, evenly spaced to the eye; one hue, ever more contrast to the page. */
const WEIGHTS_LIGHT = scaleThrough(["#f6f4ee", "#d5e2f0", "#9dc0e0", "#5b97cb", "#2767a8", "#0d3a73", "#07234a"]);
const WEIGHTS_DARK = scaleThrough(["#1f242c", "#1d3c5e", "#235f96", "#3d8acb", "#7ab5ea", "#bcdcf8", "#f2f9ff"]);

/** From −1 (orange) over 0 (the page) to 1 (blue): hues that everybody can tell apart. */
const SIGNED_LIGHT = scaleThrough(["#8a3c05", "#d5782a", "#f3c79b", "#f7f5f0", "#a9c9e6", "#3f81c0", "#0d3a73"]);
const SIGNED_DARK = scaleThrough(["#ffc48a", "#d9772a", "#7a3d12", "#1f242c", "#1f4c7c", "#3d8acb", "#bcdcf8"]);

/** The colour of a value between `least` and `most`, of a scale. */
export function colourAt(scale, value, least = 0, most = 1) {
  return scale.names[stepOf(value, least, most)];
}

/** Which of the 256 steps of a scale a value has. */
export function stepOf(value, least, most) {
  const share = (value - least) / (most - least || 1);
  return Math.max(0, Math.min(255, Math.round(share * 255))) || 0; // 0 for NaN
}

/** Black or white, whichever is read better on a colour of a scale. */
export function inkOn(scale, value, least = 0, most = 1) {
  return lightnessOf(colourAt(scale, value, least, most)) > 0.62 ? "rgb(20, 24, 30)" : "rgb(255, 255, 255)";
}

function scaleThrough(stops) {
  const points = stops.map((stop) => toOklab(stop));
  const bytes = new Uint32Array(256); // as ImageData wants them: red in the lowest byte
  const names = [];
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (points.length - 1);
    const low = Math.min(points.length - 2, Math.floor(place));
    const share = place - low;
    const rgb = fromOklab(points[low].map((value, axis) => value + share * (points[low + 1][axis] - value)));
    bytes[i] = ((255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
    names.push(`rgb(${rgb.join(", ")})`);
  }
  return {bytes, names};
}

/** OKLab (Ottosson 2020), in which equal steps look equal. */
function toOklab(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => lightOf(parseInt(hex.slice(at, at + 2), 16) / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([lightness_, a, b]) {
  const l = (lightness_ + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness_ - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness_ - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((value) =>
    Math.round(255 * Math.max(0, Math.min(1, value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055))),
  );
}

function lightOf(value) {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

/** OKLab's lightness of "rgb(r, g, b)". */
function lightnessOf(name) {
  const [r, g, b] = name.match(/[\d.]+/g).map(Number);
  const hex = [r, g, b].map((value) => Math.round(value).toString(16).padStart(2, "0")).join("");
  return toOklab(`#${hex}`)[0];
}
