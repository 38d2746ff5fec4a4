/**
 * The published data: rows with their finished words, and what is needed to read a question.
 * `tools/rl_resources/site/finder.py` writes them.
 *
 * @typedef {Record<string, any>} Row one record or report
 * @typedef {Record<string, any>} Index the published value, with `rows`
 */

import { fill } from "../elements.js";

/** The published value, from now on with `rows`, made of its `columns`. @param {Index} index @returns {Index} */
export function indexOf(index) {
  const names = Object.keys(index.columns);
  const row = (_, i) => Object.fromEntries(names.map((name) => [name, index.columns[name][i]]));
  index.rows ??= index.columns.id.map(row);
  return index;
}

/** A message with its words filled in. @param {Index} index @param {string} name @param {Row} [words] */
export const say = (index, name, words = {}) => fill(index.messages[name], words);

/** Between keys of which a spelling may mean any. */
export const EITHER = " or ";

/** The first of the items with the smallest figure. @template T @param {T[]} items @param {(item: T) => number} of @returns {T | undefined} */
export const minBy = (items, of) => items.reduce((best, item) => (of(item) < of(best) ? item : best), items[0]);
