// What is switched off, and what the switches are called.

const PLACE = /^(?<stack>\w+)\.(?<layer>\d+)(?:\.(?:add_)?(?<sublayer>self|cross|feed_forward))?$/;

/** Each part that is off: ["scale"], or a list of engine/record.js with its entry, ["heads_off", ["encoder.0.self", 1]]. */
export function partsOff(switches) {
  return Object.entries(switches).flatMap(([name, value]) => {
    if (Array.isArray(value)) return value.map((entry) => [name, entry]);
    return value ? [] : [[name]];
  });
}

/** How many parts are off, in words. */
export function countOff(app, switches) {
  const count = partsOff(switches).length;
  return app.t(count === 1 ? "off.one" : "off.many", {count});
}

/** The names of a model's switches, in the language of the page. */
export class SwitchNames {
  constructor(app, parts) {
    this.app = app;
    this.parts = new Map(parts.map((part) => [part.path, part]));
  }

  /** "Encoder". */
  stack(path) {
    return this.app.t(`switches.${path}`);
  }

  /** "Masked self-attention". */
  sublayer(path) {
    const {stack, sublayer} = PLACE.exec(path).groups;
    const masked = sublayer === "self" && this.parts.get(stack)?.honours.includes("future_mask");
    return this.app.t(`switches.${masked ? "masked_self" : sublayer}`);
  }

  /** An entry of a list, for who sees which stack it is in: "Cross-attention, layer 0: head 1". */
  inStack(list, entry) {
    const {app} = this;
    const [path, head] = [entry].flat();
    const {layer} = PLACE.exec(path).groups;
    if (list === "layers_off") return app.t("switches.layer", {number: layer});
    const words = {part: this.sublayer(path), layer};
    return list === "heads_off" ? app.t("switches.head", {...words, head}) : app.t("switches.residual_of", words);
  }

  /** The same with its stack. A link may name what the model does not have: that is shown as it is. */
  whole(list, entry) {
    if (entry === undefined) return this.app.t(`switches.${list}`);
    const [path] = [entry].flat();
    if (!PLACE.test(path) || !this.parts.get(path)?.honours.includes(list)) return JSON.stringify(entry);
    return `${this.stack(path.split(".")[0])}: ${this.inStack(list, entry)}`;
  }
}
