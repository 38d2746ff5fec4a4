/**
 * What runs on this hardware, best first: the rules of `query/find.py`; a test compares both.
 *
 * @typedef {import("./published.js").Index} Index
 * @typedef {import("./published.js").Row} Row
 * @typedef {Row} Query a question in keys; an empty text or a 0 leaves open
 * @typedef {{row: Row, fit: string}} Answer
 */

import { minBy, say } from "./published.js";

const FITTING = ["ran-on-it", "ran-on-no-more", "claimed"];

/** @param {Index} index @param {Query} query */
export function find(index, query) {
  const matching = match(index, query);
  const answers = ordered(of(matching, ...FITTING), query);
  const runs = undisputed(of(answers, "ran-on-it", "ran-on-no-more"));
  const failures = failuresOf(index, query);
  const smallest = minBy(runs, rank);
  const full = runs.filter(({ row }) => row.weights === "full");
  return {
    query,
    answers,
    unclear: ordered(of(matching, "unclear"), query),
    failures,
    worse: failures.filter(({ row }) => noLess(query, row)).length,
    nearest: answers.length ? [] : nearestTo(index, matching, query),
    largest: query.size ? [] : largestOf(runs),
    smallest,
    smallestFull: smallest?.row.weights === "full" ? undefined : minBy(full, rank),
    longest: minBy(runs.filter(({ row }) => row.length), ({ row }) => -row.length),
  };
}

/** Those that nothing contradicts, or all if there is none. @param {Answer[]} items */
function undisputed(items) {
  const sure = items.filter(({ row }) => !row.doubtful);
  return sure.length ? sure : items;
}

/** @typedef {ReturnType<typeof find>} Found */

/** Answers of one series together in the place of the first of them. @param {Answer[]} items @returns {Answer[][]} */
export const folded = (items) => [...Map.groupBy(items, ({ row }) => row.series || row.id).values()];

const rank = (/** @type {Answer} */ { row }) => row.rank;

/** @param {Answer[]} matching @param {...string} fits */
const of = (matching, ...fits) => matching.filter(({ fit }) => fits.includes(fit));

/** The rows that match, with their fit. @param {Index} index @param {Query} query @returns {Answer[]} */
function match({ rows, filters }, query) {
  const asked = [query.model ? "model" : "size", ...filters].filter((name) => query[name]);
  return rows
    .filter(({ words }) => asked.every((name) => words[name].includes(query[name])))
    .map((row) => ({ row, fit: fitOf(query, row) }));
}

/** How a row fits the hardware and the length of a question. @param {Query} query @param {Row} row */
function fitOf(query, row) {
  if (row.state === "out-of-memory") return row.state;
  if (row.length < query.length) return "too-short";
  if (query.gpus && row.gpus > query.gpus) return "beyond";
  const exact = onThatDevice(query, row);
  if (exact || (sameVendor(query, row) && row.memory_gb > 0 && row.memory_gb <= query.memory_gb)) {
    return { "no-answer": "unclear", claim: "claimed", run: exact ? "ran-on-it" : "ran-on-no-more" }[row.state];
  }
  const mayBe = row.state !== "no-answer" && row.possible_devices.some((key) => query.devices.includes(key));
  return mayBe ? "unclear" : "beyond";
}

/** Whether it ran on an asked device, or a device of just the asked memory. @param {Query} query @param {Row} row */
function onThatDevice(query, row) {
  if (query.device) return row.possible_devices.length > 0 && !row.variant && amongAsked(query, row);
  return !query.memory_gb || row.memory_gb === query.memory_gb;
}

/** @param {Query} query @param {Row} row */
const amongAsked = (query, row) => row.possible_devices.every((key) => query.devices.includes(key));

/** @param {Query} query @param {Row} row */
const sameVendor = (query, row) => !query.device || row.vendor === query.vendor;

/** Whether it had no fewer GPUs of no less memory each, of the same vendor. @param {Query} query @param {Row} row */
function noLess(query, row) {
  const known = query.gpus && query.memory_gb && (row.device || amongAsked(query, row));
  return Boolean(known) && row.gpus >= query.gpus && row.memory_gb >= query.memory_gb && sameVendor(query, row);
}

/** Compares by the first of several figures that differs. @param {...(item: Answer) => number | boolean} figures */
const by = (...figures) => (a, b) => figures.reduce((found, figure) => found || figure(a) - figure(b), 0);

/** Best first; equal ones keep the published order. @param {Answer[]} items @param {Query} query */
function ordered(items, query) {
  const distance = (asked, has) => (has ? Math.abs(asked - has) : Infinity);
  return [...items].sort(by(
    ({ row }) => row.doubtful,
    ({ row }) => row.kind !== "record",
    ({ fit }) => FITTING.indexOf(fit),
    ({ row }) => -row.position,
    ({ row }) => distance(query.gpus, row.gpus),
    ({ row }) => distance(query.memory_gb, row.memory_gb),
  ));
}

/** Of a task also those with LoRA; of asked weights also those that do not say what trains. @param {Index} index @param {Query} query */
function failuresOf(index, query) {
  const wider = { ...query, model: "", tag: "", weights: "" };
  const tasks = query.adapter_task && !query.weights ? [query.task, query.adapter_task] : [query.task];
  return tasks.flatMap((task) => of(match(index, { ...wider, task }), "out-of-memory"))
    .filter(({ row }) => !query.weights || !row.weights || row.words.weights.includes(query.weights))
    .filter(({ row }) => onThatDevice(query, row) || noLess(query, row))
    .sort(by(({ row }) => !noLess(query, row), ({ row }) => query.model !== "" && row.model !== query.model, rank));
}

/** What is missing, then what would fit instead; no row twice. @param {Index} index @param {Answer[]} matching @param {Query} query */
function nearestTo(index, matching, query) {
  const instead = index.alternatives.reduce(
    (found, group) => (found.length ? found : group.flatMap((one) => insteadOf(index, query, one))), []);
  const seen = new Set();
  return [...missing(index, matching, query), ...instead].filter(({ row }) => !seen.has(row.id) && seen.add(row.id));
}

/** The smallest known run, and that of the size where none of it fits and it is another. @param {Index} index @param {Answer[]} matching @param {Query} query */
function missing(index, matching, query) {
  const near = ({ row, fit }, name) => ({ row, fit, reason: say(index, name, { ...row, own: query.vendor }) });
  const ofSize = query.model ? match(index, { ...query, model: "" }) : [];
  const own = smallestOf(matching, query);
  const other = of(ofSize, ...FITTING).length ? undefined : smallestOf(ofSize, query);
  const isOther = other && other.row.model !== query.model && sameVendor(query, other.row);
  return [
    own && near(own, sameVendor(query, own.row) ? "beyond" : "other-vendor"),
    isOther && near(other, "smallest-of-size"),
  ].filter(Boolean);
}

/** The smallest known run; of another vendor only where the asked one has none. @param {Answer[]} matching @param {Query} query */
function smallestOf(matching, query) {
  const ran = of(matching, "beyond").filter(({ row }) => row.state === "run");
  const own = ran.filter(({ row }) => sameVendor(query, row));
  return minBy(own.length ? own : ran, rank);
}

/** The best answer to a wider question: of the largest size, or of the longest context. @param {Index} index @param {Query} query @param {Row} alternative */
function insteadOf(index, query, alternative) {
  const wider = widened(index, query, alternative);
  if (!wider) return [];
  const isMeant = ({ row: { position } }) => !alternative.smaller || (position > 0 && position < query.position);
  const fitting = ordered(of(match(index, wider), ...FITTING).filter(isMeant), wider);
  const best = minBy(fitting, ({ row }) => -(query.length > wider.length ? row.length : row.position));
  if (!best) return [];
  const what = say(index, alternative.kind, best.row);
  return [{ ...best, reason: say(index, "instead", { ...best.row, what }) }];
}

/** The wider question; nothing where there is nothing to give up. @param {Index} index @param {Query} query @param {Row} alternative */
function widened(index, query, { drops, adapters, other_base: isOtherBase }) {
  if (isOtherBase) {
    const weights = index.other_base[query.weights];
    return weights && { ...query, weights };
  }
  const asked = drops.filter((name) => query[name]);
  if ((adapters && !query.adapter_task) || (drops.length && !asked.length)) return undefined;
  const wider = { ...query, ...Object.fromEntries(asked.map((name) => [name, ""])) };
  return adapters ? { ...wider, task: query.adapter_task, weights: "" } : wider;
}

/** The best run of the largest size of each task. @param {Answer[]} runs */
function largestOf(runs) {
  const known = runs.filter(({ row }) => row.task && row.size);
  const tops = [...Map.groupBy(known, ({ row }) => row.task).values()].map((items) => minBy(items, ({ row }) => -row.position));
  return tops.sort(({ row: a }, { row: b }) => b.position - a.position || (a.task < b.task ? -1 : 1));
}
