/**
 * Words and figures as the command prints them.
 *
 * @typedef {import("./table.js").Rules} Rules
 */

/**
 * A template filled in.
 *
 * @param {Rules} rules
 * @param {string} name of the template
 * @param {Record<string, unknown>} [words] what stands in braces in it
 * @returns {string}
 */
export function say(rules, name, words = {}) {
  return rules.sentences[name].replace(/\{(\w+)\}/g, (_, word) => String(words[word]));
}

/** A figure with at most six digits that count. @param {number} value */
export function number(value) {
  const [mantissa, exponent] = value.toExponential(5).split("e");
  if (Number(exponent) >= -4 && Number(exponent) < 6) return String(Number(value.toPrecision(6)));
  const digits = String(Math.abs(Number(exponent))).padStart(2, "0");
  return `${Number(mantissa)}e${Number(exponent) < 0 ? "-" : "+"}${digits}`;
}

/** A word in a message: printable, on one line, not too long. @param {string} text */
export function shown(text, most = 60) {
  const signs = Array.from(text);
  return printable(signs.length <= most ? text : `${signs.slice(0, most).join("")}…`);
}

/** The text with every sign that would not show as an escape. @param {string} text */
export function printable(text) {
  return text.replace(/(?! )[\p{C}\p{Z}]/gu, escaped);
}

/** @param {string} sign */
function escaped(sign) {
  const code = /** @type {number} */ (sign.codePointAt(0)).toString(16);
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}

/**
 * What to write instead of an unknown word: the nearest, else all when they are few.
 *
 * @param {Rules} rules
 * @param {string} word
 * @param {readonly string[]} known
 * @returns {string} blank where nothing is near and much is known
 */
export function didYouMean(rules, word, known) {
  const near = nearest(rules, word, known).map(quoted);
  if (near.length) {
    const last = near.pop();
    const words = near.length ? `${near.join(", ")} or ${last}` : last;
    return say(rules, "did-you-mean", { words });
  }
  if (!known.length || known.length > rules.limits.listed) return "";
  return say(rules, "known-are", { words: known.map(quoted).join(", ") });
}

/** @param {string} word */
const quoted = (word) => `\`${shown(word, 200)}\``;

/**
 * Up to three known words that look like `word`, as `difflib.get_close_matches` finds them.
 *
 * @param {Rules} rules
 * @param {string} word
 * @param {readonly string[]} known
 */
function nearest(rules, word, known) {
  const byLower = new Map(known.map((candidate) => [candidate.toLowerCase(), candidate]));
  const wanted = Array.from(word).slice(0, rules.limits.compared).join("").toLowerCase();
  const close = [...byLower.keys()]
    .map((candidate) => ({ candidate, score: likeness(candidate, wanted) }))
    .filter(({ score }) => score >= 0.6)
    .sort((a, b) => b.score - a.score || (a.candidate < b.candidate ? 1 : -1))
    .slice(0, 3);
  const best = close[0]?.candidate === wanted ? close.slice(0, 1) : close;
  return best.map(({ candidate }) => /** @type {string} */ (byLower.get(candidate)));
}

/** Ratcliff and Obershelp's likeness of two texts, 0 to 1. @param {string} a @param {string} b */
function likeness(a, b) {
  const [one, other] = [Array.from(a), Array.from(b)];
  if (!one.length && !other.length) return 1;
  return (2 * common(one, other)) / (one.length + other.length);
}

/**
 * How many signs two texts share: those of the longest common piece, and so on beside it.
 *
 * @param {string[]} a
 * @param {string[]} b
 * @returns {number}
 */
function common(a, b) {
  let [longest, endA, endB] = [0, 0, 0];
  let before = new Uint8Array(b.length + 1);
  for (let i = 0; i < a.length; i++) {
    const here = new Uint8Array(b.length + 1);
    for (let j = 0; j < b.length; j++) {
      if (a[i] !== b[j]) continue;
      here[j + 1] = before[j] + 1;
      if (here[j + 1] > longest) [longest, endA, endB] = [here[j + 1], i + 1, j + 1];
    }
    before = here;
  }
  if (!longest) return 0;
  const left = common(a.slice(0, endA - longest), b.slice(0, endB - longest));
  return left + longest + common(a.slice(endA), b.slice(endB));
}
