// A model of the file, running in a worker of its own, so that the page never freezes.

import {packedBytes} from "./blobs.js";

/** Asks a model's worker: `await model.call("generate", text, {beam: 5})`. */
export class RunningModel {
  #worker = null;
  #waiting = new Map(); // id → {resolve, reject}
  #next = 0;
  #failure = null; // why the worker stopped

  constructor(entry, number) {
    this.entry = entry;
    this.number = number;
    this.description = null; // what the model says it has, once it is open
    this.opened = null;
  }

  /** Start the worker and give it the weights; once. */
  open() {
    this.opened ??= this.#open();
    return this.opened;
  }

  async call(verb, ...given) {
    await this.open();
    return this.#post(verb, given);
  }

  async #open() {
    const weights = await packedBytes(`weights-${this.number}`);
    this.#worker = newWorker();
    this.#worker.onmessage = ({data}) => this.#settle(data);
    this.#worker.onerror = (event) => this.#stop(event.message);
    this.#worker.onmessageerror = () => this.#stop("an answer could not be read");
    await this.#post("open", [this.entry, weights], [weights.buffer]);
    this.description = await this.#post("describe", []);
  }

  #post(verb, given, transfer = []) {
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {resolve, reject});
      this.#worker.postMessage({id, verb, arguments: given}, transfer);
    });
  }

  #settle({id, result, error}) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!waiting) return;
    if (error === undefined || error === null) waiting.resolve(result);
    else waiting.reject(new Error(typeof error === "string" ? error : error.message));
  }

  /** The worker is gone, for what waits and for all that will be asked. */
  #stop(why) {
    const what = "the part of this page that runs the model has stopped";
    this.#failure = new Error(`${what}${why ? ` (${why})` : ""}; reload the page`);
    this.#worker.terminate();
    for (const {reject} of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}

/** In the written file page and worker are the same script; while developing each is a module of its own. */
function newWorker() {
  const program = document.getElementById("program");
  if (program.src) return new Worker(new URL("engine/worker.js", program.src), {type: "module"});
  return new Worker(URL.createObjectURL(new Blob([program.textContent], {type: "text/javascript"})));
}
