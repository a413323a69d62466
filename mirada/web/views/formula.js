// Formulas as MathML, written in a small part of TeX: letters, _ and ^, {groups}, \frac{a}{b}, \sqrt{a}, \tilde{a}.
// Signs such as σ, ⊙, ·, −, ∞ stand for themselves; a run of letters is one name (softmax, LN).

const MATH_NAMESPACE = "http://www.w3.org/1998/Math/MathML";
const FORMULA_TOKEN = /\\[a-z]+|[A-Za-z]+|[0-9]+(?:\.[0-9]+)?|\s+|./gu;
const FORMULA_NAME = /^[\p{L}]+$/u;

/** A <math> element of a formula. */
export function formula(source) {
  const tokens = (source.match(FORMULA_TOKEN) ?? []).filter((token) => token.trim() !== "");
  const row = mathElement("mrow", ...mathRow(tokens));
  return mathElement("math", row);
}

function mathElement(name, ...children) {
  const element = document.createElementNS(MATH_NAMESPACE, name);
  element.append(...children);
  return element;
}

/** The elements up to the end of the tokens, or to the } that closes this group. */
function mathRow(tokens) {
  const row = [];
  while (tokens.length && tokens[0] !== "}") row.push(mathScripts(tokens));
  tokens.shift();
  return row;
}

/** An atom with what stands below and above it. */
function mathScripts(tokens) {
  const base = mathAtom(tokens);
  let below = null;
  let above = null;
  while (tokens[0] === "_" || tokens[0] === "^") {
    if (tokens.shift() === "_") below = mathAtom(tokens);
    else above = mathAtom(tokens);
  }
  if (below && above) return mathElement("msubsup", base, below, above);
  if (below) return mathElement("msub", base, below);
  return above ? mathElement("msup", base, above) : base;
}

function mathAtom(tokens) {
  const token = tokens.shift() ?? "";
  if (token === "{") return mathElement("mrow", ...mathRow(tokens));
  if (token === "\\frac") return mathElement("mfrac", mathAtom(tokens), mathAtom(tokens));
  if (token === "\\sqrt") return mathElement("msqrt", mathAtom(tokens));
  if (token === "\\tilde") return mathAccent(mathAtom(tokens));
  if (FORMULA_NAME.test(token)) return mathElement("mi", token);
  if (/^[0-9]/.test(token)) return mathElement("mn", token);
  const sign = mathElement("mo", token);
  if ("()[]".includes(token)) sign.setAttribute("stretchy", "false");
  return sign;
}

function mathAccent(base) {
  const over = mathElement("mover", base, mathElement("mo", "~"));
  over.setAttribute("accent", "true");
  return over;
}
