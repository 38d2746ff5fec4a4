/** What the finder, the estimate and the tables share. Text becomes text: nothing here reads HTML. */

/** How long nothing may have changed before what can wait is done. */
export const QUIET_MS = 400;
/** Between keys of which a spelling may mean any. */
export const EITHER = " or ";
const HOLE = /\{(\w+)\}/;
const FIGURE = /\d+(?:[.,]\d+)*/g;

/** The sentences of the page by name, and words in its language: what its templates of the class `said` have. @type {Record<string, string>} */
export const SAID = {};
for (const { content } of globalThis.document?.querySelectorAll("template.said") ?? []) {
  for (const { dataset, textContent } of content.children) SAID[dataset.name] = textContent;
}

/** A sentence by its name, or the words themselves where the page has no others, with its holes filled. @param {string} name @param {Record<string, any>} [words] */
export const say = (name, words = {}) => (SAID[name] ?? name).replace(new RegExp(HOLE, "g"), (_, word) => words[word]);

const isChinese = globalThis.document?.documentElement.lang === "zh-CN";

/** Between the items of a list. */
export const comma = isChinese ? "、" : ", ";

/** The items of a list that are not empty. @param {any[]} items */
export const enumerated = (items) => items.filter(Boolean).join(comma);

/** The parts of a sentence that are not empty. @param {any[]} parts */
export const clauses = (parts) => parts.filter(Boolean).join(isChinese ? "；" : "; ");

/** A remark after what it is about. @param {string} text */
export const bracketed = (text) => (isChinese ? `（${text}）` : ` (${text})`);

/** A word or phrase in the language of the page, or its parts between commas, as far as the page has them. @param {string} text */
export function word(text) {
  const parts = text.split(", ");
  const said = parts.map(phrase);
  return SAID[`word.${text}`] ?? (said.some((one, at) => one !== parts[at]) ? enumerated(said) : text);
}

/** A text with what stands before its first colon in the language of the page. @param {string} text */
export const labelled = (text) => text.replace(/^[A-Za-z ]+(?=: )/, word);

/** A phrase in the language of the page, which has 1, 2 and so on in place of its figures. @param {string} text */
function phrase(text) {
  const figures = [];
  const numbered = text.replace(FIGURE, (figure) => String(figures.push(figure)));
  return SAID[`word.${text}`] ?? SAID[`word.${numbered}`]?.replace(FIGURE, (number) => figures[number - 1]) ?? text;
}

/**
 * A copy of a template of the page. A hole `{name}` in its texts and attributes is filled with the word
 * of that name: text, elements, or nothing; an attribute that only has an empty hole is left out. What
 * has `data-of` is there for each item of that word, whose own words come first, or not at all.
 *
 * @param {string} id @param {Record<string, any>} words
 */
export function filled(id, words) {
  const copy = document.getElementById(id).content.cloneNode(true);
  fill(copy, words);
  return copy;
}

const isShown = (item) => item !== "" && item !== false && item !== null && item !== undefined;

/** @param {any} place @param {Record<string, any>} words */
function fill(place, words) {
  for (const attribute of [...place.attributes ?? []].filter(({ value }) => HOLE.test(value))) {
    attribute.value = attribute.value.split(HOLE).map((part, i) => (i % 2 ? [words[part]].filter(isShown) : part)).join("");
    if (!attribute.value) place.removeAttribute(attribute.name);
  }
  for (const child of [...place.childNodes]) {
    if (child.dataset?.of) child.replaceWith(...copiesOf(child, words));
    else if (child.data === undefined) fill(child, words);
    else if (HOLE.test(child.data)) child.replaceWith(...child.data.split(HOLE).flatMap((part, i) => (i % 2 ? words[part] : part)).filter(isShown));
  }
}

/** @param {any} pattern @param {Record<string, any>} words */
const copiesOf = (pattern, words) => [words[pattern.dataset.of]].flat().filter(Boolean).map((item) => {
  const copy = pattern.cloneNode(true);
  copy.removeAttribute("data-of");
  fill(copy, { ...words, item, ...item });
  return copy;
});

/** Words as the query of a URL, without those that are empty. @param {Record<string, any>} words */
export const queryOf = (words) => String(new URLSearchParams(Object.entries(words).filter(([, text]) => text)));

/** A text as a word of a command. @param {string} text */
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** What a terminal shows of a text; here it is all of it. @param {string} text */
export const shown = (text) => text;

export const figure = String;

/** The one text; empty if there is none, or more than one. @param {Iterable<string>} texts */
export const only = (texts) => { const [text = "", another] = texts; return another === undefined ? text : ""; };

/** A figure of at least 0 with so many digits, of which Python makes the last one even where two are as near. @param {number} number @param {number} [digits] */
export function fixed(number, digits = 0) {
  const rounded = number.toFixed(digits);
  const isTie = (number * 2 ** (digits + 1)) % 2 === 1; // no other fraction is just between two in binary
  return isTie && rounded.at(-1) % 2 ? (number - 10 ** -digits / 2).toFixed(digits) : rounded;
}

/** Seconds, as the command counts them. @param {number} seconds */
export const inSeconds = (seconds) => (seconds >= 10 ? Number(fixed(seconds)).toLocaleString("en") : String(Number(seconds.toPrecision(2))));

/** The first of the items with the smallest figure. @template T @param {T[]} items @param {(item: T) => number} of @returns {T | undefined} */
export const minBy = (items, of) => items.reduce((best, item) => (of(item) < of(best) ? item : best), items[0]);

/** The three known texts that are most like one, by the pairs of characters that they share. @param {string} text @param {string[]} known @param {number} least how like, of 1 */
export function nearest(text, known, least) {
  const pairsOf = (one) => new Set([...one.toLowerCase()].map((character, at, all) => character + all[at + 1]).slice(0, -1));
  const asked = pairsOf(text);
  const like = new Map(known.map((one) => [one, 2 * pairsOf(one).intersection(asked).size / (pairsOf(one).size + asked.size)]));
  return [...like.keys()].filter((one) => like.get(one) > least).sort((a, b) => like.get(b) - like.get(a)).slice(0, 3);
}
