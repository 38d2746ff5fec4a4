/**
 * What `tools/rl_resources/site/finder.py` publishes: the rows, and the words by which questions are read.
 *
 * @typedef {Record<string, any>} Row a `Configuration` of `query/configurations.py`, with its finished words
 */

import { word } from "../elements.js";
import { made } from "../python.js";
import { Devices } from "./devices.js";

/** The published value, once it is loaded. @type {Record<string, any>} */
export const INDEX = {};

const MIXTURE = "mixture of experts";
const AT_MOST = "at most";

class Row {
  get total_memory_gb() { return this.gpus * this.memory_gb; }

  words(field) { return this.asked[field]; }
}

/** All rows. */
export const configurations = () => INDEX.rows;

/** Take what was published. @param {Record<string, any>} data */
export function load(data) {
  const { columns: { model_label: labels = [], ...others } = {} } = data; // only the front page has rows
  const columns = Object.entries(others);
  const rowAt = (label, place) => {
    const cells = Object.fromEntries(columns.map(([name, own]) => [name, own[place]]));
    const hardware = cells.hardware.replace(AT_MOST, word(AT_MOST));
    return { __proto__: Row.prototype, ...cells, hardware, model_label: label.replace(MIXTURE, word(MIXTURE)) }; // many times faster to copy than what is filled later
  };
  const { vocabulary: known } = data;
  const vocabulary = { ...known, devices: made(Devices, [], known.devices) };
  return Object.assign(INDEX, data, { vocabulary, rows: INDEX.rows ?? labels.map(rowAt) });
}
