// What the tests run in the browser: compare tensors with those that PyTorch recorded.

import {readSafetensors} from "/engine/safetensors.js";

export async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** What differs between tensors by their paths and those of a file: a list of sentences, and the largest difference. */
export function differences(tensors, expectedBytes, tolerance = 1e-4) {
  const expected = readSafetensors(expectedBytes);
  const faults = [];
  let largest = 0;
  for (const path of Object.keys(tensors)) if (!expected.has(path)) faults.push(`${path} is not in PyTorch's`);
  for (const [path, {shape, data}] of expected) {
    const own = tensors[path];
    if (!own) {
      faults.push(`${path} is missing`);
    } else if (own.shape.join() !== shape.join()) {
      faults.push(`${path} is [${own.shape}] and not [${shape}]`);
    } else {
      const difference = apart(own.data, data);
      if (!(difference <= tolerance)) faults.push(`${path} differs by ${difference}`);
      largest = Math.max(largest, difference);
    }
  }
  return {faults, largest, count: expected.size};
}

/** The largest |a − b| / max(1, |b|), or NaN where there is one; the same infinities do not differ. */
function apart(a, b) {
  let largest = 0;
  for (let i = 0; i < a.length; i++) {
    if (a[i] === b[i]) continue;
    const difference = Math.abs(a[i] - b[i]) / Math.max(1, Math.abs(b[i]));
    if (Number.isNaN(difference)) return difference;
    if (difference > largest) largest = difference;
  }
  return largest;
}
