// Weights from the bytes of a safetensors file.
//
//     8 bytes: length of the header    header: JSON {name: {dtype, shape, data_offsets}}    the tensors' bytes

import {Tensor, sizeOf} from "./tensor.js";

const WIDEST_HEADER = 100_000_000;

/** A Map from names to tensors; `aliases` {name: name} are further names of tensors that several parts share. */
export function readSafetensors(bytes, aliases = {}) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.byteLength >= 8 ? Number(view.getBigUint64(0, true)) : Infinity;
  const room = Math.min(WIDEST_HEADER, bytes.byteLength - 8);
  if (length > room) throw new Error("the weights are cut off, or no safetensors");
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const found = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (name !== "__metadata__") found.set(name, readTensor(name, entry, bytes.subarray(8 + length)));
  }
  for (const [name, same] of Object.entries(aliases)) {
    if (!found.has(same)) throw new Error(`the weights have no ${same}, which ${name} shares`);
    found.set(name, found.get(same));
  }
  return found;
}

function readTensor(name, {dtype, shape, data_offsets: [begin, end]}, data) {
  const size = sizeOf(shape);
  const width = {F32: 4, F16: 2}[dtype];
  if (!width) throw new Error(`${name} has numbers of the type ${dtype}; F32 and F16 can be read`);
  if (end > data.length || end - begin !== size * width) throw new Error(`${name} is cut off in the weights`);
  const own = data.slice(begin, end).buffer; // a copy begins at an address that suits its numbers
  return new Tensor(shape, dtype === "F32" ? new Float32Array(own) : Float32Array.from(new Uint16Array(own), float16));
}

/** The number that 16 bits stand for: sign, 5 bits of exponent, 10 of fraction. */
export function float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 25) * (1024 + fraction) : sign * 2 ** -24 * fraction;
}
