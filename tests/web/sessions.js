// Sessions and searches as the tests run them in the browser.

import {newNetwork, openSession} from "/engine/session.js";
import {decode} from "/engine/decoding.js";
import {readSafetensors} from "/engine/safetensors.js";
import {differences, fetched} from "/tests/comparing.js";

let session = null; // the page of a module keeps its model

export async function open({entry, weights}) {
  session = await openSession(entry, await fetched(weights));
  return session.describe();
}

/** The hypotheses for texts, as JSON, which is read many times faster. */
export function generations(texts, options) {
  return JSON.stringify(texts.map((text) => ({...session.generate(text, options), tree: null})));
}

export function asked(verb, ...given) {
  return session[verb](...given);
}

/** How a trace differs from PyTorch's tensors, and what it says beside them. */
export async function traceDifferences(text, options, expected) {
  const {tensors, ...said} = session.trace(text, options);
  return {said, ...differences(tensors, await fetched(expected))};
}

/** Searches with a network of random weights, as JSON. */
export async function searches({entry, weights: address}, source, target, settings) {
  const network = newNetwork(entry, readSafetensors(await fetched(address)));
  const found = settings.map((options) => decode(network, source, target, options));
  return JSON.stringify(found.map((one) => ({...one, paths: pathsOf(one)})));
}

/** The largest difference between the logits of whole passes and those of the same tokens, read step by step. */
export async function stepwise({entry, weights: address}, source, rows) {
  const network = newNetwork(entry, readSafetensors(await fetched(address)));
  const whole = rows.map((row) => network.forward(source, row));
  const begun = rows.map((row) => row[0]);
  let {logits, state} = network.start(source, [begun[0]]);
  state = state.select(rows.map(() => 0));
  const vocabulary = logits.shape[1];
  let largest = 0;
  const compare = (read, t) => rows.forEach((_, n) => {
    for (let v = 0; v < vocabulary; v++) {
      const row = read.shape[0] === 1 ? 0 : n;
      largest = Math.max(largest, Math.abs(read.data[row * vocabulary + v] - whole[n].data[t * vocabulary + v]));
    }
  });
  compare(logits, 0);
  for (let t = 1; t < rows[0].length; t++) {
    ({logits, state} = network.step(rows.map((row) => row[t]), state));
    compare(logits, t);
    const turned = rows.map((_, n) => (n + 1) % rows.length); // rows change places, and back
    state = state.select(turned).select(turned.map((_, n) => turned.indexOf(n)));
  }
  return {largest, scale: Math.max(...whole[0].data.map(Math.abs))};
}

/** The tokens of a hypothesis, from the candidates of the search that led to it. */
function pathsOf({tree, hypotheses}) {
  return hypotheses.map((_, rank) => {
    const last = tree.findIndex(({candidates}) => candidates.some((candidate) => candidate.rank === rank));
    if (last < 0) return null;
    let candidate = tree[last].candidates.find((one) => one.rank === rank);
    const path = [];
    let logP = candidate.logP;
    for (let step = last - 1; step >= 0; step--) {
      const child = candidate.parent;
      candidate = tree[step].candidates.find((one) => one.fate === "kept" && one.child === child);
      path.unshift(candidate.id);
      logP += candidate.logP;
    }
    return {path, logP, fate: tree[last].candidates.find((one) => one.rank === rank).fate};
  });
}

/** Messages to a worker, all at once; what it answers, in its order. */
export function messages(sent) {
  return new Promise((resolve, reject) => {
    const worker = new Worker("/engine/worker.js", {type: "module"});
    const answers = [];
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({data}) => {
      answers.push(data);
      if (answers.length === sent.length) {
        worker.terminate();
        resolve(answers);
      }
    };
    for (const message of sent) worker.postMessage(message);
  });
}
