/**
 * The published data: rows with their finished words, and what is needed to read a question.
 * `tools/rl_resources/site/finder.py` writes them.
 *
 * @typedef {Record<string, any>} Row one record or report
 * @typedef {Record<string, any>} Index the published value, with `rows` in place of `columns`
 */

/** The rows of the published columns. @param {Record<string, any>} value @returns {Index} */
export function indexOf({ columns, ...rest }) {
  const names = Object.keys(columns);
  const cell = (/** @type {string} */ name, /** @type {number} */ i) =>
    (columns[name].words ? columns[name].words[columns[name].at[i]] : columns[name][i]);
  const rows = Array.from(columns.gpus, (_, i) => Object.fromEntries(names.map((name) => [name, cell(name, i)])));
  return { ...rest, rows: rows.map((row) => ({ ...row, model_label: row.model.replace(/^[\w.-]+\/(?=[\w.-]+$)/, "") })) };
}

/** A message with its words filled in. @param {Index} index @param {string} name @param {Row} [words] */
export function say(index, name, words = {}) {
  return index.messages[name].replace(/\{(\w+)\}/g, (/** @type {string} */ _, /** @type {string} */ word) => String(words[word]));
}

/** Between keys of which a spelling may mean any. */
export const EITHER = " or ";

/** The keys of all devices that a question may mean. @param {Row} query @returns {string[]} */
export const devicesOf = ({ device }) => (device ? device.split(EITHER) : []);

/** The first of the items with the smallest figure. @template T @param {T[]} items @param {(item: T) => number} figure @returns {T | undefined} */
export function minBy(items, figure) {
  return items.reduce((/** @type {T | undefined} */ best, item) =>
    (best !== undefined && figure(best) <= figure(item) ? best : item), undefined);
}
