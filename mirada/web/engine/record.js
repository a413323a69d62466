// Parts of a network: their paths, what they record, which switches they honour.
//
//     const {result, tensors} = recording(() => network.logits(source, target));
//     tensors["decoder.0.cross.weights"]                                          // [B, H, T, S]
//
//     switched({scale: false, heads_off: [["encoder.0.self", 1]]}, () => network.logits(source, target));
//
// Both hold for everything that runs inside the function, as in `mirada/parts.py`.

import {concat} from "./tensor.js";

// ── recording ───────────────────────────────────────────────────────────────────────────────────────────────────────

let recorder = null; // the tensors of each pass by their paths, or nothing: then recording costs nothing

/** Run a function; its result, and the tensors by their paths: of the last pass, and in `steps` of every pass. */
export function recording(run) {
  const outer = recorder;
  const steps = (recorder = [{}]);
  try {
    const result = run();
    return {result, tensors: steps.at(-1), steps};
  } finally {
    recorder = outer;
  }
}

/** Whether there is a recorder. Ask first where what is to be recorded has to be computed for it. */
export function isRecording() {
  return recorder !== null;
}

/** Keep a tensor by its path, if there is a recorder. */
export function record(path, tensor) {
  if (recorder !== null) recorder.at(-1)[path] = tensor;
}

/** Tell the recorder, if there is one, that another step of a loop begins. */
export function nextStep() {
  if (recorder !== null) recorder.push({});
}

/**
 * Record a loop over time steps as one pass: the tensors of its rounds are joined along the last axis but one.
 * The loop calls `nextStep` at the beginning of every round but the first.
 */
export function joinedSteps(run) {
  if (recorder === null) return run();
  const {result, tensors, steps} = recording(run);
  for (const path of Object.keys(tensors)) record(path, concat(steps.map((step) => step[path]), -2));
  return result;
}

// ── switches ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Parts of a model to leave out, to see what they are for. Everything is on by default. */
export const ALL_ON = {
  scale: true, // the division of attention scores by √d_k
  future_mask: true, // the mask that hides later tokens
  positions: true, // position encodings, added or rotary
  residual_off: [], // paths of residual connections to cut: encoder.0.add_self
  heads_off: [], // [path, head] pairs that contribute nothing
  layers_off: [], // paths of layers that pass their input on: encoder.1
};

let switchesNow = ALL_ON;

/** The switches that hold now. */
export function activeSwitches() {
  return switchesNow;
}

/** Run a function with parts of a network left out; an Error names a switch that the network cannot honour. */
export function switched(wanted, run, network = null) {
  if (network !== null) checkSwitches(network, {...ALL_ON, ...wanted});
  const outer = switchesNow;
  switchesNow = {...ALL_ON, ...wanted};
  try {
    return run();
  } finally {
    switchesNow = outer;
  }
}

/** The heads of one attention that are switched off. */
export function disabledHeads(path) {
  return switchesNow.heads_off.filter(([owner]) => owner === path).map(([, head]) => head);
}

function checkSwitches(network, wanted) {
  const unknown = Object.keys(wanted).find((which) => !(which in ALL_ON));
  if (unknown !== undefined) throw new Error(`switch ${unknown}: there are ${Object.keys(ALL_ON).join(", ")}`);
  const parts = new Map(partsOf(network).map((part) => [part.path, part]));
  const name = network.config?.name ?? network.constructor.name;
  const honours = (path, which) => parts.has(path) && parts.get(path).honours.includes(which);
  for (const which of ["scale", "future_mask", "positions"]) {
    if (!wanted[which] && ![...parts.values()].some((part) => part.honours.includes(which))) {
      throw new Error(`without ${which}: ${name} has no such part, so nothing would change`);
    }
  }
  for (const path of wanted.residual_off) {
    if (!honours(path, "residual_off")) {
      throw new Error(`without ${path}: ${name} has no residual connection of that path`);
    }
  }
  for (const path of wanted.layers_off) {
    if (!honours(path, "layers_off")) {
      throw new Error(`without ${path}: ${name} has no Transformer layer of that path`);
    }
  }
  for (const [path, head] of wanted.heads_off) {
    const heads = honours(path, "heads_off") ? parts.get(path).heads : 0;
    if (!(Number.isInteger(head) && head >= 0 && head < heads)) {
      const found = heads ? `has ${heads} heads there, 0 to ${heads - 1}` : "has no attention of that path";
      throw new Error(`without ${path}.${head}: ${name} ${found}`);
    }
  }
}

// ── parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A module that knows its path in the model (`decoder.2.cross`), by which it records its tensors.
 *
 * It is built with the name that its weights have in the state dictionary (`decoder.layers.2.cross`). `kind` and
 * `heads` are for the page: what can be shown of it.
 */
export class Part {
  kind = "part"; // "attention", "feed_forward", "residual", "layer", "stack", "positions", "output", …
  honours = []; // the switches that this part looks at

  constructor(name = "") {
    this.path = name.replaceAll("layers.", "").replaceAll("self_", "self");
  }

  record(name, tensor) {
    if (recorder !== null) record(this.path ? `${this.path}.${name}` : name, tensor);
  }
}

/** A network's parts, itself first: what its properties hold, directly or in lists. */
export function partsOf(network) {
  const found = new Set();
  const visit = (value) => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!(value instanceof Part) || found.has(value)) return;
    found.add(value);
    Object.values(value).forEach(visit);
  };
  visit(network);
  return [...found];
}
