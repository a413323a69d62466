// The worker that a model runs in: messages {id, verb, arguments} in, {id, result} or {id, error} out.
//
// What is asked of a sentence is dropped, if the same is asked of another sentence before it has begun: who types fast
// does not wait for what was typed before.

import {openSession} from "./session.js";

const VERBS = ["describe", "tokens", "generate", "next", "score", "predict", "trace", "explain"];
export const SUPERSEDED = "superseded: the same was asked of another text";

/** Answers messages one after the other, in their order. */
class Inbox {
  #waiting = [];
  #session = null;
  #busy = false;

  constructor(answer) {
    this.answer = answer;
  }

  receive(message) {
    const {verb} = message;
    const outdated = (other) => other.verb === verb && verb !== "open" && textAsked(other) !== textAsked(message);
    for (const {id} of this.#waiting.filter(outdated)) this.answer({id, error: SUPERSEDED});
    this.#waiting = this.#waiting.filter((other) => !outdated(other));
    this.#waiting.push(message);
    if (!this.#busy) this.#work();
  }

  async #work() {
    this.#busy = true;
    await pause(); // so that messages that came together are all here
    while (this.#waiting.length) {
      const {id, verb, arguments: given} = this.#waiting.shift();
      try {
        this.answer({id, result: await this.#run(verb, given)});
      } catch (error) {
        this.answer({id, error: error.message});
      }
      await pause();
    }
    this.#busy = false;
  }

  async #run(verb, given) {
    if (verb === "open") {
      this.#session = await openSession(...given);
      return true;
    }
    if (!VERBS.includes(verb)) throw new Error(`${verb}: there are open, ${VERBS.join(", ")}`);
    if (this.#session === null) throw new Error(`${verb}: no model is open`);
    return this.#session[verb](...given);
  }
}

/** The text that a message is about. */
function textAsked({verb, arguments: given = []}) {
  return verb === "explain" ? given[2]?.text : given[0];
}

/** Let messages come in; a timer would wait for milliseconds. */
function pause() {
  return new Promise((resolve) => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

if (typeof document === "undefined" && typeof WorkerGlobalScope !== "undefined") {
  const inbox = new Inbox((message) => self.postMessage(message));
  self.onmessage = ({data}) => inbox.receive(data);
}
