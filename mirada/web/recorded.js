// A model that is too large for a page: sentences as PyTorch computed them, read by the same views.

import {packedTensors} from "./blobs.js";

/** Answers as a running model does, for the sentences that were recorded. */
export class RecordedModel {
  #traces = new Map();

  constructor(entry, number) {
    this.entry = entry;
    this.number = number;
    const generates = entry.recorded.every(({target}) => target !== null);
    this.description = {parts: [], switches: [], hasDecoder: generates, hasEncoder: true, generates, recorded: true};
  }

  async open() {}

  async call(verb, text) {
    const place = this.entry.recorded.findIndex((sentence) => sentence.text === text);
    const {source, target, ids, output, predicted} = this.entry.recorded[Math.max(0, place)];
    if (verb === "generate") {
      const whole = {
        ids,
        pieces: target,
        text: output,
        logProbability: null,
        score: null,
        complete: true,
        tokenLogProbabilities: null,
      };
      return {source, hypotheses: [whole], tree: null};
    }
    if (verb === "trace") return {source, target, ids, tensors: await this.#tensors(Math.max(0, place))};
    if (verb === "predict") return predicted ?? {output};
    throw new Error(`${verb} needs the model's weights, and this file has recorded sentences only`);
  }

  #tensors(place) {
    if (!this.#traces.has(place)) this.#traces.set(place, packedTensors(`recorded-${this.number}-${place}`));
    return this.#traces.get(place);
  }
}
