// The pass of a network with random weights, as the tests run it in the browser.

import {readSafetensors} from "/engine/safetensors.js";
import {recording, switched} from "/engine/record.js";
import {Tensor, softmax} from "/engine/tensor.js";
import {TRANSFORMERS} from "/engine/transformer.js";
import {SEQ2SEQS} from "/engine/seq2seq.js";
import {newReader, readerLogits} from "/engine/reading.js";
import {explainNumber} from "/engine/explain.js";
import {differences, fetched} from "/tests/comparing.js";

const TRANSLATORS = {...TRANSFORMERS, ...SEQ2SEQS};

export async function opened({entry, weights: address}) {
  const weights = readSafetensors(await fetched(address));
  const network = entry.task === "translation" ? TRANSLATORS[entry.architecture](entry, weights) : newReader(entry, weights);
  return {entry, weights, network};
}

/** Every tensor of a pass by its path, without the axis B, and the probabilities. */
export function traced({entry, network}, {source, target, rows}, switches) {
  const run = () => (target ? network.forward(source, target) : readerLogits(network, entry, {ids: source, rows}));
  const {tensors} = switched(switches, () => recording(run), network);
  const found = Object.fromEntries(Object.entries(tensors).map(([path, tensor]) => [path, withoutBatch(path, tensor)]));
  const logits = Object.keys(found).find((path) => path.endsWith("output.logits"));
  return {...found, probabilities: softmax(found[logits])};
}

function withoutBatch(path, {shape, data}) {
  if (path === "positions.vectors") return {shape, data};
  if (path === "bridge.h") return new Tensor([shape[0], shape[2]], data);
  return new Tensor(shape.slice(1), data);
}

/** What differs between the page's passes, one for each set of switches, and PyTorch's. */
export async function passDifferences(given) {
  const model = await opened(given);
  const found = [];
  for (const {switches, expected} of given.passes) {
    found.push(differences(traced(model, given, switches), await fetched(expected)));
  }
  return found;
}

/** What made each of the numbers asked for, [path, index], as JSON, which is read many times faster. */
export async function explanations(given) {
  const model = await opened(given);
  const found = given.passes.map(({switches, asked}) => {
    const all = {scale: true, future_mask: true, positions: true, residual_off: [], heads_off: [], layers_off: [], ...switches};
    const tensors = traced(model, given, switches);
    const {entry, weights} = model;
    const view = {entry, weights, tensors, source: given.source, target: given.target, rows: given.rows, switches: all};
    return asked.map(([path, index]) => {
      try {
        return explainNumber(view, path, index);
      } catch (error) {
        throw new Error(`${path}[${index}]: ${error.message}\n${error.stack}`);
      }
    });
  });
  return JSON.stringify(found);
}
