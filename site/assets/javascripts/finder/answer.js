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
 * @property {Answers} answers
 * @property {Answer[]} unclear
 * @property {Answer[]} failures
 * @property {Nearest[]} nearest
 * @property {Largest[]} largest
 * @property {Answer | undefined} start the best answer that has a script
 * @property {Answer | undefined} smallest the answer that needs the least memory in all
 * @property {Answer | undefined} longest the answer with the longest context, where any tells one
 * @property {Answer | undefined} smallestWhole the same with all weights, where that is adapters
 */

export const TESTED = "tested";
export const SHOULD_FIT = "should-fit";
export const UNCLEAR = "unclear";
export const FAILED = "out-of-memory";
export const BEYOND = "beyond";
const TOO_SHORT = "too-short";

const ASKED = /** @type {const} */ (["task", "train", "infer", "tag"]);

/** Answers in their order: rows, of which objects are made when somebody looks. */
export class Answers {
  /**
   * @param {Uint32Array} rows
   * @param {Uint8Array} fitting for each row of the table whether it should fit and is not tested
   * @param {number} tested how many are tested
   * @param {Question} question
   */
  constructor(rows, fitting, tested, question) {
    this.rows = rows;
    this.fitting = fitting;
    this.tested = tested;
    this.question = question;
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
    return { row, standing: this.fitting[row] ? SHOULD_FIT : TESTED, question: this.question };
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
  const judged = judge(table, question);
  const answers = answersOf(table, question, judged);
  const none = new Uint8Array(table.length);
  const smallest = least(answers.rows, (row) => table.bySize[row]);
  const told = (/** @type {Iterable<number>} */ rows, /** @type {string} */ standing) =>
    Array.from(rows, (row) => ({ row, standing, question }));
  return {
    question,
    answers,
    unclear: told(inOrder(table, question, judged[UNCLEAR], none), UNCLEAR),
    failures: told(nearFailures(table, question, judged[FAILED]), FAILED),
    nearest: answers.length ? [] : nearest(table, rules, question, judged[BEYOND]),
    largest: question.size ? [] : largest(table, answers),
    start: answers.of(answers.rows.find((row) => table.cell("script", row))),
    smallest: answers.of(smallest),
    longest: answers.of(longest(table, answers.rows)),
    smallestWhole: answers.of(smallestWhole(table, answers.rows, smallest)),
  };
}

/**
 * The rows that have every word that was asked, by standing.
 *
 * @param {Table} table
 * @param {Question} question
 * @param {number} [below] only models of a size before this position
 * @returns {Record<string, number[]>}
 */
function judge(table, question, below = Infinity) {
  const standing = standingOf(table, question);
  const { position } = table.numbers;
  /** @type {Record<string, number[]>} */
  const judged = {
    [TESTED]: [], [SHOULD_FIT]: [], [UNCLEAR]: [], [FAILED]: [], [BEYOND]: [], [TOO_SHORT]: [],
  };
  for (const row of matching(table, question)) {
    if (below < Infinity && !(position[row] > 0 && position[row] < below)) continue;
    judged[standing(row)].push(row);
  }
  return judged;
}

/** The rows that have every word. @param {Table} table @param {Question} question @returns {Uint32Array} */
function matching(table, question) {
  const asked = /** @type {("model" | "size" | "task" | "train" | "infer" | "tag")[]} */ (
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
  const { words, at } = table.words.possible_devices;
  const possible = words.map((keys) => keys.includes(question.device));
  return (row) => {
    if (!table.ran[row]) return FAILED;
    if (table.context[row] < question.length) return TOO_SHORT;
    if (question.gpus && gpus[row] > question.gpus) return BEYOND;
    const isExact = exact(row);
    const fits = isExact
      || (memory[row] > 0 && memory[row] <= question.memory_gb && sameStack(row));
    if (table.notRun[row]) return fits ? UNCLEAR : BEYOND;
    if (fits) return isExact ? TESTED : SHOULD_FIT;
    return possible[at[row]] ? UNCLEAR : BEYOND;
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
 * @param {Record<string, number[]>} judged
 */
function answersOf(table, question, judged) {
  const { [TESTED]: tested, [SHOULD_FIT]: fitting } = judged;
  const isFitting = new Uint8Array(table.length);
  for (const row of fitting) isFitting[row] = 1;
  const rows = inOrder(table, question, tested.concat(fitting), isFitting);
  return new Answers(rows, isFitting, tested.length, question);
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
    let digits = table.isReport[row] * 2 + fitting[row];
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
 */
function nearFailures(table, question, failed) {
  const { gpus, memory_gb: memory } = table.numbers;
  const exact = onThatDevice(table, question);
  const sameStack = sameStackAs(table, question);
  const noLess = (/** @type {number} */ row) =>
    Boolean(question.memory_gb || !question.device)
    && gpus[row] >= question.gpus && memory[row] >= question.memory_gb && sameStack(row);
  const near = failed.filter((row) => exact(row) || noLess(row));
  const ranks = Float64Array.from(near, (row) =>
    Number(!noLess(row)) * table.length + table.bySize[row]).sort();
  return Array.from(ranks, (rank) => table.inSize[rank % table.length]);
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
  const least = [...smallestBeyond(table, question, beyond), ...smallestOfSize(table, question)];
  return [...least, ...wider, ...smaller].filter(({ answer }) =>
    !told.has(answer.row) && told.add(answer.row));
}

/** The least that another model of the size needs. @param {Table} table @param {Question} question @returns {Nearest[]} */
function smallestOfSize(table, question) {
  if (!question.model) return [];
  const wider = { ...question, model: "" };
  const judged = judge(table, wider);
  if (judged[TESTED].length || judged[SHOULD_FIT].length) return [];
  return smallestBeyond(table, wider, judged[BEYOND]).filter(({ answer: { row } }) =>
    table.cell("model", row) !== question.model && sameStackAs(table, question)(row))
    .map(({ answer }) => ({ kind: "smallest-of-size", answer }));
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
 * The best answer, of the largest size that has one, to a question of which something is given up;
 * where that is the length, the answer with the longest context.
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
  return adapters ? { ...wider, task: question.adapter_task, adapter_task: "" } : wider;
}

/**
 * For each task the largest size that has an answer, and of that size the longest context.
 *
 * @param {Table} table
 * @param {Answers} answers
 * @returns {Largest[]}
 */
function largest(table, answers) {
  const { task, size } = table.words;
  const { position } = table.numbers;
  /** @type {Map<number, {best: number, longest: number}>} */
  const tops = new Map();
  for (const row of answers.rows) {
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
 * The least of those that train all weights, where the least of all trains adapters alone.
 *
 * @param {Table} table
 * @param {Uint32Array} rows
 * @param {number | undefined} smallest
 */
function smallestWhole(table, rows, smallest) {
  const { at } = table.words.trains;
  if (smallest === undefined || at[smallest] !== table.place("trains", "adapters")) return undefined;
  const whole = table.place("trains", "all weights");
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
