// A figure's buttons: save it as SVG or PNG.

import {element, button} from "../elements.js";
import {svgOf} from "./scene.js";

/** Buttons that save what `scene()` returns at that moment; `name()` is the file's name without its ending. */
export function pictureButtons(app, scene, name) {
  return element(
    "div",
    {class: "pictures", role: "group", "aria-label": app.t("picture")},
    button("SVG", () => saveFile(svgBlob(scene()), `${name()}.svg`), {"aria-label": app.t("picture.svg")}),
    button("PNG", async () => saveFile(await pngBlob(scene()), `${name()}.png`), {"aria-label": app.t("picture.png")}),
  );
}

function svgBlob(scene) {
  return new Blob([svgOf(scene)], {type: "image/svg+xml"});
}

/** The picture at twice its size, by way of SVG. */
async function pngBlob(scene) {
  const address = URL.createObjectURL(svgBlob(scene));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * scene.width;
    canvas.height = 2 * scene.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Hand a file to the reader. */
function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
