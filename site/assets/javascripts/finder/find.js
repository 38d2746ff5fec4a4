/**
 * What runs on this hardware, best first: the rules of `query/find.py`; a test compares both.
 *
 * @typedef {import("./published.js").Index} Index
 * @typedef {import("./published.js").Row} Row
 * @typedef {Row} Query a question in keys; an empty text or a 0 leaves open
 * @typedef {{row: Row, fit: string}} Answer
 */

import { devicesOf, minBy, say } from "./published.js";

const FITTING = ["tested", "should-fit", "claimed"];
const FARTHEST = 1e9;

/** @param {Index} index @param {Query} query */
export function find(index, query) {
  const matching = match(index, index.rows, query);
  const answers = ordered(of(matching, ...FITTING), query);
  const runs = answers.filter(({ fit }) => fit !== "claimed");
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
    smallestFull: smallest && smallest.row.weights !== "full" ? minBy(full, rank) : undefined,
    longest: minBy(runs.filter(({ row }) => row.length), ({ row }) => -row.length),
  };
}

/** @typedef {ReturnType<typeof find>} Found */

/** Answers of one series together in the place of the first of them. @param {Answer[]} items @returns {Answer[][]} */
export function folded(items) {
  /** @type {Record<string, Answer[]>} */
  const groups = {};
  for (const item of items) (groups[`of ${item.row.series || item.row.id}`] ??= []).push(item);
  return Object.values(groups);
}

const rank = (/** @type {Answer} */ { row }) => row.rank;

/** @param {Answer[]} matching @param {...string} fits */
const of = (matching, ...fits) => matching.filter(({ fit }) => fits.includes(fit));

/** The rows that match, with their fit. @param {Index} index @param {Row[]} rows @param {Query} query @returns {Answer[]} */
function match(index, rows, query) {
  const filters = index.filters.map((name, i) => [query[name], i]).filter(([word]) => word);
  const main = query.model ? "model" : "size";
  return rows
    .filter((row) => (!query[main] || row[main] === query[main])
      && filters.every(([word, i]) => row.matches[i].includes(word)))
    .map((row) => ({ row, fit: fitOf(query, row) }));
}

/** How a row fits the hardware and the length of a question. @param {Query} query @param {Row} row */
function fitOf(query, row) {
  if (row.state === "out-of-memory") return row.state;
  if (row.length < query.length) return "too-short";
  if (query.gpus && row.gpus > query.gpus) return "beyond";
  const exact = onThatDevice(query, row);
  if (exact || (sameVendor(query, row) && row.memory_gb > 0 && row.memory_gb <= query.memory_gb)) {
    return { "not-run": "unclear", claim: "claimed", run: exact ? "tested" : "should-fit" }[row.state];
  }
  const mayBe = row.state !== "not-run" && devicesOf(query).some((key) => row.possible_devices.includes(key));
  return mayBe ? "unclear" : "beyond";
}

/** Whether it ran on an asked device, or a device of just the asked memory. @param {Query} query @param {Row} row */
function onThatDevice(query, row) {
  if (query.device) return row.possible_devices.length > 0 && amongAsked(query, row);
  return !query.memory_gb || row.memory_gb === query.memory_gb;
}

/** @param {Query} query @param {Row} row */
const amongAsked = (query, row) => row.possible_devices.every((/** @type {string} */ key) => devicesOf(query).includes(key));

/** @param {Query} query @param {Row} row */
const sameVendor = (query, row) => !query.device || row.vendor === query.vendor;

/** Whether it had no fewer GPUs of no less memory each, of the same vendor. @param {Query} query @param {Row} row */
function noLess(query, row) {
  const known = query.gpus && query.memory_gb && (row.device || amongAsked(query, row));
  return Boolean(known) && row.gpus >= query.gpus && row.memory_gb >= query.memory_gb && sameVendor(query, row);
}

/** Best first; equal ones keep the published order. @param {Answer[]} items @param {Query} query */
function ordered(items, query) {
  const distance = (/** @type {number} */ asked, /** @type {number} */ has) => (has ? Math.abs(asked - has) : FARTHEST);
  return sorted(items, ({ row, fit }) => [
    Number(row.kind !== "record"), Math.max(FITTING.indexOf(fit), 0), -row.position, Number(row.doubtful),
    distance(query.gpus, row.gpus), distance(query.memory_gb, row.memory_gb),
  ]);
}

/** Sorted by the first of several figures that differs. @param {Answer[]} items @param {(item: Answer) => number[]} key */
function sorted(items, key) {
  return items.map((item) => ({ item, key: key(item) }))
    .sort((a, b) => a.key.map((figure, i) => figure - b.key[i]).find(Boolean) ?? 0)
    .map(({ item }) => item);
}

/** Of a task also those with LoRA; of asked weights also those that do not say what trains. @param {Index} index @param {Query} query */
function failuresOf(index, query) {
  const wider = { ...query, model: "", tag: "", weights: "" };
  const tasks = query.adapter_task && !query.weights ? [query.task, query.adapter_task] : [query.task];
  const at = index.filters.indexOf("weights");
  const near = tasks.flatMap((task) => of(match(index, index.rows, { ...wider, task }), "out-of-memory"))
    .filter(({ row }) => !query.weights || !row.weights || row.matches[at].includes(query.weights))
    .filter(({ row }) => onThatDevice(query, row) || noLess(query, row));
  return sorted(near, ({ row }) => [
    Number(!noLess(query, row)), Number(query.model !== "" && row.model !== query.model), row.rank]);
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
  const near = ({ row, fit }, kind, name) => ({ row, fit, kind, reason: say(index, name, { ...row, own: query.vendor }) });
  const ofSize = query.model ? match(index, index.rows, { ...query, model: "" }) : [];
  const own = smallestOf(matching, query);
  const other = of(ofSize, ...FITTING).length ? undefined : smallestOf(ofSize, query);
  const isOther = other && other.row.model !== query.model && sameVendor(query, other.row);
  return [
    own && near(own, "smallest-tested", sameVendor(query, own.row) ? "beyond" : "other-vendor"),
    isOther && near(other, "smallest-of-size", "smallest-of-size"),
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
  const wider = widened(query, alternative);
  if (!wider) return [];
  const rows = alternative.smaller
    ? index.rows.filter(({ position }) => position > 0 && position < query.position) : index.rows;
  const most = query.length > wider.length ? "length" : "position";
  const best = minBy(ordered(of(match(index, rows, wider), ...FITTING), wider), ({ row }) => -row[most]);
  if (!best) return [];
  const { row, fit } = best;
  const what = say(index, alternative.kind, row);
  return [{ row, fit, kind: alternative.kind, reason: say(index, "instead", { ...row, what, fits: index.fits[fit] }) }];
}

/** The wider question; nothing where there is nothing to give up. @param {Query} query @param {Row} alternative */
function widened(query, { drops, adapters }) {
  const asked = drops.filter((/** @type {string} */ name) => query[name]);
  if ((adapters && !query.adapter_task) || (drops.length && !asked.length)) return undefined;
  const open = asked.map((/** @type {string} */ name) => [name, typeof query[name] === "number" ? 0 : ""]);
  const wider = { ...query, ...Object.fromEntries(open) };
  return adapters ? { ...wider, task: query.adapter_task, weights: "" } : wider;
}

/** For each task the largest size that has a run, and of that size the longest context. @param {Answer[]} runs */
function largestOf(runs) {
  const known = runs.filter(({ row }) => row.task && row.size);
  const tasks = [...new Set(known.map(({ row }) => row.task))].sort();
  const tops = tasks.map((task) => {
    const items = known.filter(({ row }) => row.task === task);
    const best = minBy(items, ({ row }) => -row.position);
    const ofSize = items.filter(({ row }) => row.size === best.row.size);
    return { task, best, longest: minBy(ofSize, ({ row }) => -row.length) };
  });
  return tops.sort((a, b) => b.best.row.position - a.best.row.position);
}
