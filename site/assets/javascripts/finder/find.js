/**
 * What runs on this hardware, best first: the rules of `query/find.py`; a test compares both.
 *
 * @typedef {import("./published.js").Index} Index
 * @typedef {import("./published.js").Row} Row
 * @typedef {Row} Query a question in keys; an empty text or a 0 leaves open
 * @typedef {{row: Row, fit: string, differs: string[]}} Answer in what it `differs` from the question
 */

import { EITHER, minBy, say } from "./published.js";

const FITTING = ["ran-on-it", "ran-on-no-more", "claimed"];

/** @param {Index} index @param {Query} query */
export function find(index, query) {
  const matching = match(index, query);
  const answers = ordered(of(matching, ...FITTING), query);
  const undoubted = undisputed(of(answers, "ran-on-it", "ran-on-no-more"));
  const ofProject = undoubted.filter(({ row }) => query.project && isOfProject(query, row));
  const runs = ofProject.length ? ofProject : undoubted;
  const own = matching.filter(({ differs }) => !differs.includes("adapters"));
  const failures = failuresOf(index, query);
  const smallest = minBy(runs, rank);
  const full = runs.filter(({ row }) => row.weights === "full");
  return {
    query,
    answers,
    unclear: ordered(of(matching, "unclear"), query),
    failures,
    worse: failures.filter(({ row }) => noLess(query, row)).length,
    nearest: of(own, ...FITTING).length ? [] : nearestTo(index, own, query, answers),
    best: bestOf(query, answers, query.size ? undefined : largestOf(runs)[0], smallest),
    largest: query.size ? [] : largestOf(runs),
    smallest,
    smallestFull: smallest?.row.weights === "full" ? undefined : minBy(full, rank),
    longest: minBy(runs.filter(({ row }) => row.length), ({ row }) => -row.length),
  };
}

/** The answer that a colleague would name; without model and size the largest, without hardware the one that used the least. @param {Query} query @param {Answer[]} answers @param {Answer} [top] @param {Answer} [smallest] */
function bestOf(query, answers, top, smallest) {
  if (top) return top;
  if (smallest && !query.gpus && !query.memory_gb && !query.device) return smallest;
  return [...answers].sort(by(
    ({ row }) => row.doubtful,
    ({ row, differs }) => differs.includes("adapters") || row.weights === "partial",
    ({ fit }) => fit === "claimed",
    ({ row }) => row.words.scenario.includes("synthetic"),
  ))[0];
}

/** Whether its source is the asked project; with none asked every one is. @param {Query} query @param {Row} row */
export const isOfProject = ({ project }, row) => row.software.toLowerCase().includes(project.toLowerCase());

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

/** The rows that match, with their fit and in what they differ. @param {Index} index @param {Query} query @returns {Answer[]} */
export function match({ rows, filters }, query) {
  const names = [query.architecture ? "architecture" : "size", ...filters].filter((name) => query[name]);
  const asked = names.map((name) => [name, query[name].split(EITHER).concat(name === "task" ? adapterTasks(query) : [])]);
  const isOther = ({ experts }) => query.experts && experts && query.experts !== experts;
  return rows
    .filter((row) => !isOther(row) && asked.every(([name, meant]) => row.words[name].some((word) => meant.includes(word))))
    .map((row) => ({ row, fit: fitOf(query, row), differs: differing(query, row) }));
}

/** @param {Query} query */
export const adapterTasks = ({ adapter_task: tasks }) => tasks.split(EITHER).filter(Boolean);

/** In what a match is not just what was asked. @param {Query} query @param {Row} row */
function differing(query, row) {
  const differs = {
    "model": query.model && row.model !== query.model,
    "adapters": adapterTasks(query).includes(row.task),
    "precision": query.lacks_bf16 && ["bf16", "fp8", "fp4"].includes(row.precision) && row.state !== "out-of-memory",
    "host-memory": query.host_memory_gb && !row.host_memory_gb,
  };
  return Object.keys(differs).filter((name) => differs[name]);
}

/** How a row fits the hardware and the length of a question. @param {Query} query @param {Row} row */
function fitOf(query, row) {
  if (row.state === "out-of-memory") return row.state;
  if (row.length < query.length) return "too-short";
  const isMore = (asked, used) => asked > 0 && used > asked;
  if (isMore(query.gpus, row.gpus) || isMore(query.host_memory_gb, row.host_memory_gb)) return "beyond";
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
  return sameVendor(query, row) && (!query.memory_gb || row.memory_gb === query.memory_gb);
}

/** @param {Query} query @param {Row} row */
const amongAsked = (query, row) => row.possible_devices.every((key) => query.devices.includes(key));

/** @param {Query} query @param {Row} row */
const sameVendor = (query, row) => !query.vendor || row.vendor === query.vendor;

/** Whether it had no fewer GPUs of no less memory each, of the same vendor. @param {Query} query @param {Row} row */
export function noLess(query, row) {
  const known = query.gpus && query.memory_gb && (row.device || amongAsked(query, row));
  if (row.out_of_memory_on === "host" && row.host_memory_gb < query.host_memory_gb) return false;
  return Boolean(known) && row.gpus >= query.gpus && row.memory_gb >= query.memory_gb && sameVendor(query, row);
}

/** Compares by the first of several figures that differs. @param {...(item: Answer) => number | boolean} figures */
const by = (...figures) => (a, b) => figures.reduce((found, figure) => found || figure(a) - figure(b), 0);

/** Best first; equal ones keep the published order. @param {Answer[]} items @param {Query} query */
export function ordered(items, query) {
  const distance = (asked, has) => (has ? Math.abs(asked - has) : Infinity);
  return [...items].sort(by(
    ({ row }) => row.doubtful,
    ({ row }) => !isOfProject(query, row),
    ({ differs }) => differs.length,
    ({ row }) => row.kind !== "record",
    ({ fit }) => Math.max(0, FITTING.indexOf(fit)),
    ({ row }) => -row.position,
    ({ row }) => distance(query.gpus, row.gpus),
    ({ row }) => distance(query.memory_gb, row.memory_gb),
  ));
}

/** Of asked weights also those that do not say what trains. @param {Index} index @param {Query} query */
function failuresOf(index, query) {
  return of(match(index, { ...query, model: "", architecture: "", tag: "", weights: "" }), "out-of-memory")
    .filter(({ row }) => !query.weights || !row.weights || row.words.weights.includes(query.weights))
    .filter(({ row }) => onThatDevice(query, row) || noLess(query, row))
    .sort(by(
      ({ row }) => !noLess(query, row),
      ({ row }) => query.architecture !== "" && row.architecture !== query.architecture,
      ({ row }) => query.host_memory_gb > 0 && row.out_of_memory_on !== "host",
      rank,
    ));
}

/** Whether a failure is one of just the question: its model, task and hardware, or no less. @param {Query} query @param {Answer} failure */
export const isAsked = ({ architecture, gpus, weights }, { row, differs }) =>
  architecture !== "" && row.architecture === architecture && row.gpus >= gpus
  && !differs.includes("adapters") && ["", row.weights].includes(weights);

/** What is missing, then what would fit instead of no answer; no row twice. @param {Index} index @param {Answer[]} matching @param {Query} query @param {Answer[]} answers */
function nearestTo(index, matching, query, answers) {
  const instead = answers.length ? [] : index.alternatives.reduce(
    (found, group) => (found.length ? found : group.flatMap((one) => insteadOf(index, query, one))), []);
  const seen = new Set();
  return [...missing(index, matching, query), ...instead].filter(({ row }) => !seen.has(row.id) && seen.add(row.id));
}

/** The smallest known run, and that of the size where none of it fits and it is another. @param {Index} index @param {Answer[]} matching @param {Query} query */
function missing(index, matching, query) {
  const near = ({ row, fit, differs }, name) => ({ row, fit, differs, reason: say(index, name, { ...row, own: query.vendor }) });
  const ofSize = query.architecture ? match(index, { ...query, model: "", architecture: "" }) : [];
  const own = smallestOf(matching, query);
  const claim = smallestOf(matching, query, "claim");
  const total = ({ row }) => row.gpus * row.memory_gb;
  const isLess = claim && !(own && total(own) <= total(claim));
  const other = of(ofSize, ...FITTING).length ? undefined : smallestOf(ofSize, query);
  const isOther = other && other.row.architecture !== query.architecture && sameVendor(query, other.row);
  return [
    own && near(own, sameVendor(query, own.row) ? "beyond" : "other-vendor"),
    isLess && near(claim, "smallest-claim"),
    isOther && near(other, "smallest-of-size"),
  ].filter(Boolean);
}

/** The smallest known run; of another vendor only where the asked one has none. @param {Answer[]} matching @param {Query} query @param {string} [state] */
function smallestOf(matching, query, state = "run") {
  const ran = of(matching, "beyond").filter(({ row }) => row.state === state);
  const own = ran.filter(({ row }) => sameVendor(query, row));
  return minBy(own.length ? own : ran, rank);
}

/** The best answer to a wider question: of the largest size, or of the longest context. @param {Index} index @param {Query} query @param {Row} alternative */
function insteadOf(index, query, alternative) {
  const wider = widened(index, query, alternative);
  if (!wider) return [];
  const isMeant = ({ row: { position } }) => !alternative.smaller || (position > 0 && position < query.position);
  const fitting = ordered(of(match(index, wider), ...FITTING).filter(isMeant), wider);
  const isOpen = !query.position && !query.memory_gb && !query.gpus;
  const most = ({ row }) => -(query.length > wider.length ? row.length : row.position);
  const best = minBy(fitting, alternative.nearest || isOpen ? rank : most);
  if (!best) return [];
  const what = say(index, alternative.kind, best.row);
  return [{ ...best, reason: say(index, "instead", { ...best.row, what }) }];
}

/** The wider question; nothing where there is nothing to give up. @param {Index} index @param {Query} query @param {Row} alternative */
function widened(index, query, { drops }) {
  const weights = index.other_base[query.weights];
  if (!drops.length) return weights && { ...query, weights };
  const asked = drops.filter((name) => query[name]);
  return asked.length ? { ...query, ...Object.fromEntries(asked.map((name) => [name, ""])) } : undefined;
}

/** The best run of the largest size of each task. @param {Answer[]} runs */
function largestOf(runs) {
  const known = runs.filter(({ row }) => row.task && row.size);
  const tops = [...Map.groupBy(known, ({ row }) => row.task).values()].map((items) => minBy(items, ({ row }) => -row.position));
  return tops.sort(({ row: a }, { row: b }) => b.position - a.position || (a.task < b.task ? -1 : 1));
}
