// What the file carries besides its program: models as JSON, weights and recorded tensors as base64 of gzip
// of byte planes: the first bytes of all numbers, then the second ones, as explorer/weights.py writes them.

import {readSafetensors} from "./engine/safetensors.js";

/** The models the file was written with. */
export function packedModels() {
  const script = document.getElementById("models");
  return script ? JSON.parse(script.textContent).models : [];
}

/** The bytes of one of the file's blobs ("weights-0", "proof-0"), or null where it has none. */
export function packedBytes(id) {
  const script = document.getElementById(id);
  return script ? inflated(bytesOf(script.textContent.trim())).then(joined) : Promise.resolve(null);
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const PLANES = 4;

/** The bytes of numbers, from their planes. */
function joined(planes) {
  const bytes = new Uint8Array(planes.length);
  let from = 0;
  for (let plane = 0; plane < PLANES; plane++) for (let to = plane; to < bytes.length; to += PLANES) bytes[to] = planes[from++];
  return bytes;
}

/** The tensors of one of the blobs by their names, as a session's trace has them: {name: {shape, data}}. */
export async function packedTensors(id) {
  const bytes = await packedBytes(id);
  return bytes && Object.fromEntries(readSafetensors(bytes));
}
