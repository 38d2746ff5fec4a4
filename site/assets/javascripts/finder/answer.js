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
 * @property {string} fit
 * @property {Question} question
 *
 * @typedef {{kind: string, answer: Answer}} Nearest
 * @typedef {{task: string, size: string, best: Answer, longest: Answer}} Largest
 *
 * @typedef {object} Found
 * @property {Question} question
 * @property {Answers} answers
 * @property {Answer[]} unclear
 * @property {Answer[]} failures those on no less hardware first
 * @property {number} worse how many of them are on no less hardware
 * @property {Nearest[]} nearest
 * @property {Largest[]} largest
 * @property {Answer | undefined} start the best answer that has a script
 * @property {Answer | undefined} smallest the answer that needs the least memory in all
 * @property {Answer | undefined} longest the answer with the longest context, where any tells one
 * @property {Answer | undefined} smallestWhole the same of full fine-tuning, where that is something else
 */

import { devicesOf } from "./question.js";

export const TESTED = "tested";
export const SHOULD_FIT = "should-fit";
export const CLAIMED = "claimed";
export const UNCLEAR = "unclear";
export const FAILED = "out-of-memory";
export const BEYOND = "beyond";
const TOO_SHORT = "too-short";

const ASKED = /** @type {const} */ (["task", "train", "infer", "tag"]);
const FITTING = [TESTED, SHOULD_FIT, CLAIMED];

/** Answers in their order: rows, of which objects are made when somebody looks. */
export class Answers {
  /**
   * @param {Uint32Array} rows
   * @param {Uint8Array} fitting for each row of the table the place of its fit in `FITTING`
   * @param {number[]} counts how many are of each fit
   * @param {Question} question
   */
  constructor(rows, fitting, counts, question) {
    this.rows = rows;
    this.fitting = fitting;
    [this.tested, this.shouldFit, this.claimed] = counts;
    this.question = question;
  }

  /** The rows that somebody ran. */
  get runs() {
    return this.rows.filter((row) => FITTING[this.fitting[row]] !== CLAIMED);
  }

  get length() {
    return this.rows.length;
  }

  /** The rows by series, those of one in the place of the first. @param {Table} table */
  folds(table) {
    return foldsOf(table, this.rows);
  }

  /** @param {number | undefined} row @returns {Answer | undefined} */
  of(row) {
    if (row === undefined) return undefined;
    return { row, fit: FITTING[this.fitting[row]], question: this.question };
  }

  /** @param {number} from @param {number} [to] */
  slice(from, to) {
    return Array.from(this.rows.subarray(from, to), (row) => /** @type {Answer} */ (this.of(row)));
  }
}

/**
 * Rows in folds: reports of one series together in the place of the first of them. Arrays are made
 * for folds that somebody looks at.
 */
export class Folds {
  /**
   * @param {number[]} firsts
   * @param {Int32Array} next for each row the next of its series, -1 for none
   */
  constructor(firsts, next) {
    this.firsts = firsts;
    this.next = next;
  }

  get length() {
    return this.firsts.length;
  }

  /** @param {number} from @param {number} [to] @returns {number[][]} */
  slice(from, to) {
    return this.firsts.slice(from, to).map((first) => {
      const rows = [];
      for (let row = first; row >= 0; row = this.next[row]) rows.push(row);
      return rows;
    });
  }
}

/** @param {Table} table @param {Iterable<number>} rows in their order */
export function foldsOf(table, rows) {
  const { words, at } = table.words.series;
  const last = new Int32Array(words.length).fill(-1);
  const next = new Int32Array(table.length).fill(-1);
  const alone = words.indexOf("");
  const firsts = [];
  for (const row of rows) {
    const before = at[row] === alone ? -1 : last[at[row]];
    last[at[row]] = row;
    if (before < 0) firsts.push(row);
    else next[before] = row;
  }
  return new Folds(firsts, next);
}

/**
 * @param {Table} table
 * @param {Rules} rules
 * @param {Question} question
 * @returns {Found}
 */
export function find(table, rules, question) {
  const judged = judge(table, rules, question);
  const answers = answersOf(table, question, judged);
  const none = new Uint8Array(table.length);
  const { runs } = answers;
  const smallest = least(runs, (row) => table.bySize[row]);
  const failed = failing(table, rules, { ...question, model: "", tag: "" });
  const told = (/** @type {Iterable<number>} */ rows, /** @type {string} */ fit) =>
    Array.from(rows, (row) => ({ row, fit, question }));
  return {
    question,
    answers,
    unclear: told(inOrder(table, question, judged[UNCLEAR], none), UNCLEAR),
    ...nearFailures(table, question, failed, (rows) => told(rows, FAILED)),
    nearest: answers.length ? [] : nearest(table, rules, question, judged[BEYOND]),
    largest: question.size ? [] : largest(table, answers, runs),
    start: answers.of(answers.rows.find((row) => table.cell("script", row))),
    smallest: answers.of(smallest),
    longest: answers.of(longest(table, runs)),
    smallestWhole: answers.of(smallestWhole(table, runs, smallest)),
  };
}

/** The failures of a task, and those of it with LoRA. @param {Table} table @param {Rules} rules @param {Question} question */
function failing(table, rules, question) {
  const any = { ...question, weights: "" };
  let { [FAILED]: failed } = judge(table, rules, any);
  if (question.adapter_task && !question.weights) {
    failed = failed.concat(judge(table, rules, { ...any, task: question.adapter_task })[FAILED]);
  }
  if (!question.weights) return failed;
  const meant = ["", ...rules.weights[question.weights]];
  return failed.filter((row) => meant.includes(table.cell("weights", row)));
}

/**
 * The rows that have every word that was asked, by fit.
 *
 * @param {Table} table
 * @param {Rules} rules
 * @param {Question} question
 * @param {number} [below] only models of a size before this position
 * @returns {Record<string, number[]>}
 */
function judge(table, rules, question, below = Infinity) {
  const fit = standingOf(table, question);
  const { position } = table.numbers;
  /** @type {Record<string, number[]>} */
  const judged = {
    [TESTED]: [], [SHOULD_FIT]: [], [CLAIMED]: [], [UNCLEAR]: [], [FAILED]: [], [BEYOND]: [], [TOO_SHORT]: [],
  };
  for (const row of matching(table, rules, question)) {
    if (below < Infinity && !(position[row] > 0 && position[row] < below)) continue;
    judged[fit(row)].push(row);
  }
  return judged;
}

/** The rows that have every word. @param {Table} table @param {Rules} rules @param {Question} question */
function matching(table, rules, question) {
  const rows = withWords(table, question);
  const weights = question.weights ? rules.weights[question.weights] : undefined;
  const fits = [
    weights && table.holds("weights", (word) => weights.includes(word)),
    question.framework && table.holds("frameworks", (words) => words.includes(question.framework)),
    question.scenario && table.holds("scenario", (words) => words.includes(question.scenario)),
  ].filter((held) => held instanceof Uint8Array);
  return fits.length ? rows.filter((row) => fits.every((held) => held[row])) : rows;
}

/** @param {Table} table @param {Question} question @returns {Uint32Array} */
function withWords(table, question) {
  const asked = /** @type {("model" | "size" | typeof ASKED[number])[]} */ (
    [question.model ? "model" : "size", ...ASKED]).filter((name) => question[name]);
  const held = asked.map((name) => ({ name, place: table.place(name, question[name]) }));
  const [first, ...rest] = held
    .map(({ name, place }) => ({ at: table.words[name].at, place, rows: table.holders(name, place) }))
    .sort((a, b) => a.rows.length - b.rows.length);
  if (!first) return table.all;
  return first.rows.filter((row) => rest.every(({ at, place }) => at[row] === place));
}

/** @param {Table} table @param {Question} question @returns {(row: number) => string} */
function standingOf(table, question) {
  const { gpus, memory_gb: memory } = table.numbers;
  const exact = onThatDevice(table, question);
  const sameStack = sameStackAs(table, question);
  const devices = devicesOf(question);
  const possible = table.holds("possible_devices", (keys) => devices.some((key) => keys.includes(key)));
  return (row) => {
    if (!table.ran[row]) return FAILED;
    if (table.context[row] < question.length) return TOO_SHORT;
    if (question.gpus && gpus[row] > question.gpus) return BEYOND;
    const isExact = exact(row);
    const fits = isExact
      || (memory[row] > 0 && memory[row] <= question.memory_gb && sameStack(row));
    if (table.notRun[row]) return fits ? UNCLEAR : BEYOND;
    if (fits && !table.isRun[row]) return CLAIMED;
    if (fits) return isExact ? TESTED : SHOULD_FIT;
    return possible[row] ? UNCLEAR : BEYOND;
  };
}

/** @param {Table} table @param {Question} question @returns {(row: number) => boolean} */
function onThatDevice(table, question) {
  const memory = table.numbers.memory_gb;
  const devices = devicesOf(question);
  const meant = table.holds("possible_devices", (keys) =>
    keys.length > 0 && keys.every((/** @type {string} */ key) => devices.includes(key)));
  if (devices.length) return (row) => meant[row] > 0;
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
 * @param {Record<string, number[]>} judged
 */
function answersOf(table, question, judged) {
  const fitting = new Uint8Array(table.length);
  const groups = FITTING.map((fit) => judged[fit]);
  groups.forEach((rows, place) => { for (const row of rows) fitting[row] = place; });
  const rows = inOrder(table, question, groups.flat(), fitting);
  return new Answers(rows, fitting, groups.map((group) => group.length), question);
}

/**
 * Rows in the order of answers. All that the order looks at is packed into one number, digit by
 * digit, because numbers are sorted many times faster than objects are compared.
 *
 * @param {Table} table
 * @param {Question} question
 * @param {number[]} rows
 * @param {Uint8Array} fitting
 */
function inOrder(table, question, rows, fitting) {
  const gpus = ranksByDistance(table, "gpus", question.gpus);
  const memory = ranksByDistance(table, "memory_gb", question.memory_gb);
  const { gpus: ofGpus, memory_gb: ofMemory } = table.distinct;
  const { values: positions, at: position } = table.distinctPosition;
  const packed = new Float64Array(rows.length);
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place];
    let digits = table.isReport[row] * FITTING.length + fitting[row];
    digits = digits * positions.length + (positions.length - 1 - position[row]);
    digits = digits * 2 + table.doubtful[row];
    digits = digits * gpus.length + gpus[ofGpus.at[row]];
    digits = digits * memory.length + memory[ofMemory.at[row]];
    packed[place] = digits * table.length + row;
  }
  packed.sort();
  const ordered = new Uint32Array(rows.length);
  for (let place = 0; place < rows.length; place++) ordered[place] = packed[place] % table.length;
  return ordered;
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
 * @param {(rows: number[]) => Answer[]} told
 */
function nearFailures(table, question, failed, told) {
  const { gpus, memory_gb: memory } = table.numbers;
  const exact = onThatDevice(table, question);
  const sameStack = sameStackAs(table, question);
  const devices = devicesOf(question);
  const meant = table.holds("possible_devices", (keys) =>
    keys.every((/** @type {string} */ key) => devices.includes(key)));
  const noLess = (/** @type {number} */ row) =>
    Boolean(question.gpus && question.memory_gb && (table.cell("device", row) || meant[row]))
    && gpus[row] >= question.gpus && memory[row] >= question.memory_gb && sameStack(row);
  const near = failed.filter((row) => exact(row) || noLess(row));
  const { at } = table.words.model;
  const model = table.place("model", question.model);
  const other = (/** @type {number} */ row) => Number(question.model !== "" && at[row] !== model);
  const ranks = Float64Array.from(near, (row) =>
    (Number(!noLess(row)) * 2 + other(row)) * table.length + table.bySize[row]).sort();
  const rows = Array.from(ranks, (rank) => table.inSize[rank % table.length]);
  return { failures: told(rows), worse: near.filter(noLess).length };
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
  const wider = rules.relaxations.flatMap((one) => instead(table, rules, question, one));
  const smaller = question.position ? rules.smaller.flatMap((line) => firstOf(line, (one) =>
    instead(table, rules, question, one, question.position))) : [];
  const told = new Set();
  const least = [...smallestBeyond(table, question, beyond), ...smallestOfSize(table, rules, question)];
  return [...least, ...wider, ...smaller].filter(({ answer }) =>
    !told.has(answer.row) && told.add(answer.row));
}

/** The least that another model of the size needs. @param {Table} table @param {Rules} rules @param {Question} question @returns {Nearest[]} */
function smallestOfSize(table, rules, question) {
  if (!question.model) return [];
  const wider = { ...question, model: "" };
  const judged = judge(table, rules, wider);
  if (FITTING.some((fit) => judged[fit].length)) return [];
  return smallestBeyond(table, wider, judged[BEYOND]).filter(({ answer: { row } }) =>
    table.cell("model", row) !== question.model && sameStackAs(table, question)(row))
    .map(({ answer }) => ({ kind: "smallest-of-size", answer }));
}

/** @param {Table} table @param {Question} question @param {number[]} beyond @returns {Nearest[]} */
function smallestBeyond(table, question, beyond) {
  const ran = beyond.filter((row) => !table.notRun[row] && table.isRun[row]);
  const ours = ran.filter(sameStackAs(table, question));
  const row = least(ours.length ? ours : ran, (one) => table.bySize[one]);
  if (row === undefined) return [];
  return [{ kind: "smallest-tested", answer: { row, fit: BEYOND, question } }];
}

/**
 * The best answer, of the largest size that has one, to a question of which something is given up;
 * where that is the length, the answer with the longest context.
 *
 * @param {Table} table
 * @param {Rules} rules
 * @param {Question} question
 * @param {Relaxation} relaxation
 * @param {number} [below]
 * @returns {Nearest[]}
 */
function instead(table, rules, question, relaxation, below) {
  const wider = relaxed(question, relaxation);
  if (!wider) return [];
  const answers = answersOf(table, wider, judge(table, rules, wider, below));
  const most = relaxation.drops.includes("length") ? table.context : table.numbers.position;
  const best = answers.of(least(answers.rows, (row) => -most[row]));
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
  return adapters ? { ...wider, task: question.adapter_task, adapter_task: "", weights: "" } : wider;
}

/**
 * For each task the largest size that has an answer, and of that size the longest context.
 *
 * @param {Table} table
 * @param {Answers} answers
 * @param {Uint32Array} runs those of them that somebody ran
 * @returns {Largest[]}
 */
function largest(table, answers, runs) {
  const { task, size } = table.words;
  const { position } = table.numbers;
  /** @type {Map<number, {best: number, longest: number}>} */
  const tops = new Map();
  for (const row of runs) {
    const top = tops.get(task.at[row]);
    if (!task.words[task.at[row]] || !size.words[size.at[row]]) continue;
    if (!top || position[row] > position[top.best]) {
      tops.set(task.at[row], { best: row, longest: row });
    } else if (position[row] === position[top.best]
      && table.context[row] > table.context[top.longest]) top.longest = row;
  }
  return [...tops]
    .map(([place, { best, longest }]) => ({
      task: task.words[place],
      size: size.words[size.at[best]],
      best: /** @type {Answer} */ (answers.of(best)),
      longest: /** @type {Answer} */ (answers.of(longest)),
    }))
    .sort((a, b) => position[b.best.row] - position[a.best.row] || (a.task < b.task ? -1 : 1));
}

/** The first row with the longest context. @param {Table} table @param {Uint32Array} rows */
const longest = (table, rows) => least(rows, (row) => -table.context[row] || Infinity);

/**
 * The least of full fine-tuning, where the least of all is something else or does not say.
 *
 * @param {Table} table
 * @param {Uint32Array} rows
 * @param {number | undefined} smallest
 */
function smallestWhole(table, rows, smallest) {
  const { at } = table.words.weights;
  const whole = table.place("weights", "full");
  if (smallest === undefined || at[smallest] === whole) return undefined;
  return least(rows, (row) => (at[row] === whole ? table.bySize[row] : Infinity));
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
 * @param {Iterable<number>} items
 * @param {(item: number) => number} figure
 * @returns {number | undefined}
 */
function least(items, figure) {
  let [best, fewest] = [/** @type {number | undefined} */ (undefined), Infinity];
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
