/**
 * What runs on this hardware, best first: the rules of `answer/find.py`; a test asks both.
 *
 * @typedef {import("./table.js").Table} Table
 * @typedef {import("./table.js").Rules} Rules
 * @typedef {import("./table.js").Relaxation} Relaxation
 * @typedef {import("./question.js").Question} Question
 *
 * @typedef {object} Answer a row of the table, how it stands, and to which question
 * @property {number} row
 * @property {string} standing
 * @property {Question} question
 *
 * @typedef {{kind: string, answer: Answer}} Nearest
 * @typedef {{task: string, size: string, best: Answer, longest: Answer}} Largest
 *
 * @typedef {object} Found
 * @property {Question} question
 * @property {Answer[]} answers
 * @property {Answer[]} unclear
 * @property {Answer[]} failures
 * @property {Nearest[]} nearest
 * @property {Largest[]} largest
 * @property {Answer | undefined} start the best answer that has a script
 * @property {Answer | undefined} smallest the answer that needs the least memory in all
 */

export const TESTED = "tested";
export const SHOULD_FIT = "should-fit";
export const UNCLEAR = "unclear";
export const FAILED = "out-of-memory";
export const BEYOND = "beyond";

const ASKED = /** @type {const} */ (["task", "train", "infer", "tag"]);

/**
 * @param {Table} table
 * @param {Rules} rules
 * @param {Question} question
 * @returns {Found}
 */
export function find(table, rules, question) {
  const judged = judge(table, question);
  const answers = answersOf(table, question, judged);
  const beyond = judged.get(BEYOND) ?? [];
  const asAnswers = (/** @type {number[]} */ rows, /** @type {string} */ standing) =>
    rows.map((row) => ({ row, standing, question }));
  return {
    question,
    answers,
    unclear: asAnswers(inOrder(table, question, judged.get(UNCLEAR) ?? [], 1), UNCLEAR),
    failures: asAnswers(nearFailures(table, question, judged.get(FAILED) ?? []), FAILED),
    nearest: answers.length ? [] : nearest(table, rules, question, beyond),
    largest: question.size ? [] : largest(table, answers),
    start: answers.find(({ row }) => table.cell("script", row)),
    smallest: least(answers, ({ row }) => table.bySize[row]),
  };
}

/**
 * The rows that have every word that was asked, by standing.
 *
 * @param {Table} table
 * @param {Question} question
 * @param {number} [below] only models of a size before this position
 * @returns {Map<string, number[]>}
 */
function judge(table, question, below = Infinity) {
  const matches = matching(table, question);
  const standing = standingOf(table, question);
  const { position } = table.numbers;
  const judged = new Map([TESTED, SHOULD_FIT, UNCLEAR, FAILED, BEYOND].map((name) =>
    /** @type {[string, number[]]} */ ([name, []])));
  for (let row = 0; row < table.length; row++) {
    if (below < Infinity && !(position[row] > 0 && position[row] < below)) continue;
    if (matches(row)) judged.get(standing(row))?.push(row);
  }
  return judged;
}

/** @param {Table} table @param {Question} question @returns {(row: number) => boolean} */
function matching(table, question) {
  const words = [question.model ? "model" : "size", ...ASKED]
    .filter((name) => question[/** @type {keyof Question} */ (name)])
    .map((name) => ({
      at: table.words[name].at,
      word: table.place(name, String(question[/** @type {keyof Question} */ (name)])),
    }));
  return (row) => words.every(({ at, word }) => at[row] === word);
}

/** @param {Table} table @param {Question} question @returns {(row: number) => string} */
function standingOf(table, question) {
  const { gpus } = table.numbers;
  const exact = onThatDevice(table, question);
  const sameStack = sameStackAs(table, question);
  const { memory_gb: memory } = table.numbers;
  const possible = table.holds("possible_devices", (keys) => keys.includes(question.device));
  return (row) => {
    if (!table.ran[row]) return FAILED;
    if (question.gpus && gpus[row] > question.gpus) return BEYOND;
    const fits = exact(row)
      || (sameStack(row) && memory[row] > 0 && memory[row] <= question.memory_gb);
    if (table.notRun[row]) return fits ? UNCLEAR : BEYOND;
    if (fits) return exact(row) ? TESTED : SHOULD_FIT;
    return possible[row] ? UNCLEAR : BEYOND;
  };
}

/** @param {Table} table @param {Question} question @returns {(row: number) => boolean} */
function onThatDevice(table, question) {
  const { at } = table.words.device;
  const device = table.place("device", question.device);
  const memory = table.numbers.memory_gb;
  if (question.device) return (row) => at[row] === device;
  return (row) => !question.memory_gb || memory[row] === question.memory_gb;
}

/** @param {Table} table @param {Question} question @returns {(row: number) => boolean} */
export function sameStackAs(table, question) {
  const { at } = table.words.vendor;
  const vendor = table.place("vendor", question.vendor);
  return (row) => !question.device || at[row] === vendor;
}

/**
 * @param {Table} table
 * @param {Question} question
 * @param {Map<string, number[]>} judged
 * @returns {Answer[]} in their order
 */
function answersOf(table, question, judged) {
  const tested = judged.get(TESTED) ?? [];
  const fitting = judged.get(SHOULD_FIT) ?? [];
  const standings = new Uint8Array(table.length);
  for (const row of fitting) standings[row] = 1;
  const rows = inOrder(table, question, tested.concat(fitting), standings);
  return rows.map((row) => ({ row, standing: standings[row] ? SHOULD_FIT : TESTED, question }));
}

/**
 * Rows in the order of answers. All that the order looks at is packed into one number, digit by
 * digit, because numbers are sorted many times faster than objects are compared.
 *
 * @param {Table} table
 * @param {Question} question
 * @param {number[]} rows
 * @param {Uint8Array | number} untested 0 where a row is tested
 */
function inOrder(table, question, rows, untested) {
  const gpus = ranksByDistance(table, "gpus", question.gpus);
  const memory = ranksByDistance(table, "memory_gb", question.memory_gb);
  const { values: positions, at: position } = table.distinctPosition;
  const digits = new Float64Array(rows.length);
  rows.forEach((row, place) => {
    let digit = table.isReport[row] * 2 + (typeof untested === "number" ? 1 : untested[row]);
    digit = digit * positions.length + (positions.length - 1 - position[row]);
    digit = digit * 2 + table.doubtful[row];
    digit = digit * gpus.length + gpus[table.distinct.gpus.at[row]];
    digit = digit * memory.length + memory[table.distinct.memory_gb.at[row]];
    digits[place] = digit * table.length + row;
  });
  return Array.from(digits.sort(), (packed) => packed % table.length);
}

/**
 * For each distinct number of a column how many are nearer to what was asked; the unknown is last.
 *
 * @param {Table} table
 * @param {"gpus" | "memory_gb"} name
 * @param {number} asked
 */
function ranksByDistance(table, name, asked) {
  const far = Array.from(table.distinct[name].values, (has) => (has ? Math.abs(asked - has) : Infinity));
  const order = [...new Set(far)].sort((a, b) => (a < b ? -1 : 1));
  return far.map((distance) => order.indexOf(distance));
}

/**
 * Failures on the asked hardware, or on no less; those on no less first, then by size.
 *
 * @param {Table} table
 * @param {Question} question
 * @param {number[]} failed
 */
function nearFailures(table, question, failed) {
  const { gpus, memory_gb: memory } = table.numbers;
  const exact = onThatDevice(table, question);
  const sameStack = sameStackAs(table, question);
  const noLess = (/** @type {number} */ row) =>
    Boolean(question.memory_gb || !question.device)
    && gpus[row] >= question.gpus && memory[row] >= question.memory_gb && sameStack(row);
  const rank = (/** @type {number} */ row) => Number(!noLess(row)) * table.length + table.bySize[row];
  return failed.filter((row) => exact(row) || noLess(row)).sort((a, b) => rank(a) - rank(b));
}

/**
 * What is missing, then what would fit instead; no row twice.
 *
 * @param {Table} table
 * @param {Rules} rules
 * @param {Question} question
 * @param {number[]} beyond
 * @returns {Nearest[]}
 */
function nearest(table, rules, question, beyond) {
  const wider = rules.relaxations.flatMap((one) => instead(table, question, one));
  const smaller = question.position ? rules.smaller.flatMap((line) => firstOf(line, (one) =>
    instead(table, question, one, question.position))) : [];
  const told = new Set();
  return [...smallestBeyond(table, question, beyond), ...wider, ...smaller].filter(({ answer }) =>
    !told.has(answer.row) && told.add(answer.row));
}

/** @param {Table} table @param {Question} question @param {number[]} beyond @returns {Nearest[]} */
function smallestBeyond(table, question, beyond) {
  const ran = beyond.filter((row) => !table.notRun[row]);
  const ours = ran.filter(sameStackAs(table, question));
  const row = least(ours.length ? ours : ran, (one) => table.bySize[one]);
  if (row === undefined) return [];
  return [{ kind: "smallest-tested", answer: { row, standing: BEYOND, question } }];
}

/**
 * The best answer, of the largest size that has one, to a question of which something is given up.
 *
 * @param {Table} table
 * @param {Question} question
 * @param {Relaxation} relaxation
 * @param {number} [below]
 * @returns {Nearest[]}
 */
function instead(table, question, relaxation, below) {
  const wider = relaxed(question, relaxation);
  if (!wider) return [];
  const answers = answersOf(table, wider, judge(table, wider, below));
  const best = least(answers, ({ row }) => -table.numbers.position[row]);
  return best ? [{ kind: relaxation.kind, answer: best }] : [];
}

/**
 * The wider question; nothing where there is nothing to give up.
 *
 * @param {Question} question
 * @param {Relaxation} relaxation
 * @returns {Question | undefined}
 */
function relaxed(question, { drops, adapters }) {
  if (adapters && !question.adapter_task) return undefined;
  if (drops.length && !drops.some((name) => question[name])) return undefined;
  const open = drops.map((name) => [name, typeof question[name] === "number" ? 0 : ""]);
  const wider = { ...question, ...Object.fromEntries(open) };
  return adapters ? { ...wider, task: question.adapter_task, adapter_task: "" } : wider;
}

/**
 * For each task the largest size that has an answer, and of that size the longest context.
 *
 * @param {Table} table
 * @param {Answer[]} answers in their order
 * @returns {Largest[]}
 */
function largest(table, answers) {
  const { task, size } = table.words;
  const { position } = table.numbers;
  /** @type {Map<string, {top: number, best: Answer, longest: Answer}>} */
  const tops = new Map();
  for (const answer of answers) {
    const { row } = answer;
    const name = task.words[task.at[row]];
    if (!name || !size.words[size.at[row]]) continue;
    const known = tops.get(name);
    if (!known || position[row] > known.top) {
      tops.set(name, { top: position[row], best: answer, longest: answer });
    } else if (position[row] === known.top
      && table.context[row] > table.context[known.longest.row]) known.longest = answer;
  }
  return [...tops]
    .sort(([a, one], [b, other]) => other.top - one.top || (a < b ? -1 : 1))
    .map(([name, { best, longest }]) => (
      { task: name, size: table.cell("size", best.row), best, longest }));
}

/**
 * What other reports say against a row.
 *
 * @param {Table} table
 * @param {number} row
 * @returns {number[]}
 */
export function contradictions(table, row) {
  const places = table.cell("contradicts", row).map((/** @type {string} */ id) => table.placeOf(id));
  return places.filter((/** @type {number | undefined} */ place) => place !== undefined);
}

/**
 * The first of the items with the least figure.
 *
 * @template T
 * @param {T[]} items
 * @param {(item: T) => number} figure
 * @returns {T | undefined}
 */
function least(items, figure) {
  let [best, fewest] = [/** @type {T | undefined} */ (undefined), Infinity];
  for (const item of items) {
    const has = figure(item);
    if (has < fewest) [best, fewest] = [item, has];
  }
  return best;
}

/**
 * What the first item that gives anything gives.
 *
 * @template T, U
 * @param {T[]} items
 * @param {(item: T) => U[]} give
 * @returns {U[]}
 */
function firstOf(items, give) {
  for (const item of items) {
    const given = give(item);
    if (given.length) return given;
  }
  return [];
}
