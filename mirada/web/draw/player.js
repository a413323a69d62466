// Going through steps one by one: a slider, back and on, and playing.

import {element, button} from "../elements.js";

export class StepPlayer {
  #timer = 0;
  #at = 0;
  #count = 1;

  /** `go(step)` is called with the step to show; it plays one every so many milliseconds. */
  constructor(app, label, pause, go) {
    Object.assign(this, {app, pause, go});
    this.slider = element("input", {
      type: "range",
      min: 0,
      "aria-label": label,
      oninput: () => go(Number(this.slider.value)),
    });
    this.counter = element("output");
    this.play = button("▶", () => this.#toggle(), {"aria-label": app.t("play")});
    const back = button("‹", () => this.#move(-1), {"aria-label": app.t("step.back")});
    const on = button("›", () => this.#move(1), {"aria-label": app.t("step.on")});
    this.element = element("div", {class: "player"}, this.play, back, this.slider, on, this.counter);
  }

  /** Show at which of how many steps it is, in words too. */
  show(at, count, told) {
    this.#at = at;
    this.#count = count;
    this.slider.max = count - 1;
    this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", told);
    this.counter.textContent = told;
  }

  #move(by) {
    if (this.#at + by >= 0 && this.#at + by < this.#count) this.go(this.#at + by);
  }

  #toggle() {
    const playing = this.#timer !== 0;
    clearInterval(this.#timer);
    this.#timer = 0;
    this.play.textContent = playing ? "▶" : "❚❚";
    this.play.setAttribute("aria-label", this.app.t(playing ? "play" : "pause"));
    if (playing) return;
    this.go(this.#at === this.#count - 1 ? 0 : this.#at + 1);
    this.#timer = setInterval(() => {
      if (!this.element.isConnected || this.#at >= this.#count - 1) this.#toggle();
      else this.#move(1);
    }, this.pause);
  }
}
