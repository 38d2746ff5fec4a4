/**
 * Answers in words, with the templates that the command fills in: see `answer/sentences.py`.
 *
 * @typedef {import("./table.js").Rules} Rules
 * @typedef {import("./table.js").Row} Row
 * @typedef {import("./question.js").Question} Question
 */

import { BEYOND, CLAIMED, FAILED, SHOULD_FIT, TESTED, UNCLEAR } from "./answer.js";
import { number, say } from "./text.js";

/** The accelerators of a row: `2 x h800 (80 GB)`. @param {Rules} rules @param {Row} row */
export function resource(rules, row) {
  const most = row.gpus_maximum ? say(rules, "to", { gpus: row.gpus_maximum }) : "";
  const each = atMost(row) ? "memory-at-most" : "memory-each";
  const memory = row.memory_gb ? say(rules, each, { memory: number(row.memory_gb) }) : "";
  return say(rules, "resource", { gpus: `${row.gpus}${most}`, device: row.device_label, memory });
}

/** Whether memory is only known as the most that it can be. @param {Row} row */
const atMost = (row) => !row.device && row.possible_devices.length > 1;

/** The hardware of a question; blank where it is open. @param {Rules} rules @param {Question} asked */
export function askedHardware(rules, asked) {
  const device = asked.device || (asked.memory_gb ? each(rules, asked.memory_gb, "") : "");
  if (!asked.gpus) return device;
  if (device) return say(rules, "resource", { gpus: asked.gpus, device, memory: "" });
  return say(rules, asked.gpus === 1 ? "accelerator" : "accelerators", { gpus: asked.gpus });
}

/** @param {Rules} rules @param {number} memory @param {string} device */
function each(rules, memory, device) {
  if (memory) return say(rules, "gigabytes", { memory: number(memory) });
  return device || say(rules, "unknown-device");
}

/**
 * One sentence that says why a row is told.
 *
 * @param {Rules} rules
 * @param {Question} question
 * @param {Row} row
 * @param {string} fit
 */
export function reason(rules, question, row, fit) {
  const yours = askedHardware(rules, question);
  const words = { resource: resource(rules, row), yours };
  switch (fit) {
    case TESTED: {
      const more = question.gpus && question.gpus !== row.gpus;
      const within = more ? say(rules, "within", { yours }) : "";
      return say(rules, fit, { ...words, ran: ran(rules, row), within });
    }
    case SHOULD_FIT:
      return say(rules, fit, { ...words, ran: ran(rules, row) });
    case CLAIMED:
      return say(rules, `claimed-${row.statement}`, words);
    case FAILED:
      return say(rules, fit, { ...words, which: WHICH[row.out_of_memory_on] ?? "", beside: beside(rules, question, row) });
    case UNCLEAR: {
      const name = rules.not_run.includes(row.evidence_level) ? row.evidence_level : "one-of-several";
      return say(rules, name, { ...words, devices: row.possible_devices.join(", ") });
    }
    default:
      return missing(rules, question, row);
  }
}

/** @type {Record<string, string>} */
const WHICH = { gpu: "GPU ", host: "host " };

/** @param {Rules} rules @param {Row} row */
const ran = (rules, row) => say(rules, `ran-${row.kind === "record" ? "record" : row.evidence_level}`);

/** How the hardware of a failure differs. @param {Rules} rules @param {Question} asked @param {Row} row */
function beside(rules, asked, row) {
  const compared = /** @type {const} */ ([
    ["fewer-accelerators", "more-accelerators", row.gpus, asked.gpus],
    ["less-memory", "more-memory", atMost(row) ? 0 : row.memory_gb, asked.memory_gb],
  ]);
  const names = compared
    .filter(([, , has, wanted]) => wanted && has && has !== wanted)
    .map(([less, more, has, wanted]) => say(rules, has > wanted ? more : less));
  return names.length ? say(rules, "beside", { differences: names.join(" and ") }) : "";
}

/** What the hardware lacks. @param {Rules} rules @param {Question} asked @param {Row} row */
function missing(rules, asked, row) {
  if (asked.device && row.vendor !== asked.vendor) {
    const vendor = row.vendor || say(rules, "unknown-vendor");
    const words = { resource: resource(rules, row), vendor, own: asked.vendor };
    return say(rules, "another-vendor", words);
  }
  return say(rules, "needs", { need: needOf(rules, row), have: haveOf(rules, asked) });
}

/** @param {Rules} rules @param {Row} row */
const needOf = (rules, row) => `${row.gpus} x ${each(rules, row.memory_gb, row.device_label)}`;

/** @param {Rules} rules @param {Question} asked */
function haveOf(rules, asked) {
  const memory = each(rules, asked.memory_gb, asked.device);
  if (asked.gpus) return `${asked.gpus} x ${memory}`;
  return say(rules, "any-number", { device: asked.device || say(rules, "any-device", { memory }) });
}

/**
 * What comes nearest where nothing fits: what is missing, or what fits instead.
 *
 * @param {Rules} rules
 * @param {Question} question the one that was asked, not the wider one
 * @param {string} kind
 * @param {Row} row
 * @param {string} fit
 */
export function nearestReason(rules, question, kind, row, fit) {
  if (kind === "smallest-of-size") {
    const words = { size: row.size, model: row.model_label, need: needOf(rules, row) };
    return say(rules, kind, words);
  }
  if (fit === BEYOND) return missing(rules, question, row);
  const name = kind === "shorter" && !row.length ? "shorter-unknown" : kind;
  const what = say(rules, name, {
    context: contextOf(rules, row),
    software: [row.framework_label, row.backends_label].filter(Boolean).join(" "),
    tag: question.tag,
    scenario: question.scenario,
    weights: row.conditions[0],
    size: row.size,
    model: row.model_label,
    task: row.task_label,
  });
  const fits = say(rules, `instead-${fit}`);
  return say(rules, "instead", { what, fits, resource: resource(rules, row) });
}

/**
 * What was asked, and how many answers there are.
 *
 * @param {Rules} rules
 * @param {import("./answer.js").Found} found
 */
export function headline(rules, { question, answers }) {
  const asked = [question.model || question.size, question.task, question.weights, question.scenario];
  if (question.length) asked.push(say(rules, "headline-length", { length: question.length }));
  asked.push(question.framework, question.train, question.infer, question.tag);
  const yours = askedHardware(rules, question);
  return say(rules, "headline", {
    what: asked.filter(Boolean).join(", ") || say(rules, "any-model"),
    on: yours ? say(rules, "headline-on", { yours }) : "",
    tested: answers.tested,
    fitting: answers.shouldFit,
    claimed: answers.claimed,
  });
}

/** The row that needs the least memory in all. @param {Rules} rules @param {Row} row @param {string} [name] */
export function smallest(rules, row, name = "smallest") {
  const { model_label: model, task_label: task } = row;
  const conditions = row.conditions.join(", ");
  return say(rules, name, { model, task, resource: resource(rules, row), conditions });
}

/** The row with the longest context. @param {Rules} rules @param {Row} row @param {string} fit */
export function longestContext(rules, row, fit) {
  const { model_label: model, task_label: task } = row;
  const fits = fit === SHOULD_FIT ? say(rules, "that-should-fit") : "";
  return say(rules, "longest-context", { model, task, fits, longest: longest(rules, row) });
}

/** The context of a row and where it ran. @param {Rules} rules @param {Row} row */
export function longest(rules, row) {
  if (!row.length) return say(rules, "not-known");
  return say(rules, "longest", { context: contextOf(rules, row), resource: resource(rules, row) });
}

/** The context of a row, as far as it is told. @param {Rules} rules @param {Row} row */
function contextOf(rules, row) {
  const whole = row.max_total_length || (row.max_prompt_length && row.max_response_length);
  return say(rules, whole ? "context" : "context-of-part", { length: row.length });
}

/**
 * What is known of batch, rollouts, memory and time.
 *
 * @param {Rules} rules
 * @param {Row} row
 */
export function* figures(rules, row) {
  const { batch } = row;
  if (batch) {
    const name = `batch-${row.batch_unit}`;
    const known = Object.hasOwn(rules.sentences, name) ? name : "batch";
    yield say(rules, known, { batch, unit: row.batch_unit });
  }
  for (const name of rules.figures) {
    if (row[name]) yield say(rules, name, { figure: number(row[name]) });
  }
}

/**
 * How many rows are told as one, and from what to what they differ; blank for a single one.
 *
 * @param {Rules} rules
 * @param {Row[]} rows
 */
export function series(rules, rows) {
  if (rows.length === 1) return "";
  const spans = rules.spans.map((name) => span(rules, name, rows)).filter(Boolean);
  const words = { number: rows.length, spans: spans.join("; ") };
  return say(rules, spans.length ? "series" : "series-alike", words);
}

/** @param {Rules} rules @param {string} name @param {Row[]} rows */
function span(rules, name, rows) {
  const told = rows.filter((row) => row[name]);
  const known = told.map((row) => row[name]);
  if (new Set(known).size < 2) return "";
  if (name === "batch" && new Set(told.map((row) => row.batch_unit)).size > 1) return "";
  const words = { least: number(Math.min(...known)), most: number(Math.max(...known)) };
  return say(rules, `span-${name}`, words);
}

/**
 * Why a row may be believed: kind, status, evidence, software, age.
 *
 * @param {Rules} rules
 * @param {Row} row
 */
export function* evidence(rules, row) {
  yield `${row.kind}, ${spaced(row.evidence_level)}`;
  if (row.evidence_kind) yield spaced(row.evidence_kind);
  if (row.wording) yield say(rules, "in-its-words", { wording: row.wording });
  const software = [row.framework_label, row.backends_label].filter(Boolean).join(" ");
  if (software) yield software;
  yield* row.remarks;
}

/** Trials that failed, and the notes. @param {Rules} rules @param {Row} row */
export function* doubts(rules, row) {
  const batches = row.failed_batches;
  if (batches.length) yield say(rules, "failed-batches", { batches: batches.join(", ") });
  const { notes, evidence_level: status } = row;
  if (notes) yield say(rules, status === "disputed" ? "disputed" : "note", { notes });
}

/** What another report says against one. @param {Rules} rules @param {Row} other */
export function contradicted(rules, other) {
  return say(rules, "contradicted", {
    model: other.model_label,
    task: other.task_label,
    outcome: other.outcome === "ran" ? other.conditions.at(-1) : say(rules, "contradicted-out-of-memory"),
    resource: resource(rules, other),
  });
}

/** The command that starts a record's script. @param {Rules} rules @param {Row} row */
export const start = (rules, row) => say(rules, "start", { script: row.script });

/** A key as words. @param {string} text */
export const spaced = (text) => text.replaceAll("-", " ");
