/**
 * Answers in words: what `query/sentences.py` says, by the messages of the page and in its language.
 *
 * @typedef {import("./index.js").Row} Row
 * @typedef {import("./index.js").Query} Query
 */

import { bracketed, clauses, enumerated, SAID, say, word } from "../elements.js";
import { Mistake } from "../form.js";
import { INDEX } from "./index.js";
import { plain, without_owner } from "./vocabulary.js";

export { say };

const SPOKEN = ["said", "kind", "memory_kind", "weights_label", "task_label", "context"];

/** What to throw for a word that is no number, or that no answer can have. @param {string} name @param {string} field @param {string} text */
export const refusal = (name, field, text) =>
  new Mistake(say(name, { field: word(field), text }), { cause: { field, help: say(`hint.${field}`) } });

/** What to throw for a word that is not known; what is near it, the form knows. @param {any} _ @param {string} field @param {string} text */
export function unreadable(_, field, text) {
  const isOffline = field === "task" && "offline" in SAID && INDEX.without_rollouts.includes(plain(text));
  return refusal(isOffline ? "offline" : "unknown", field, text);
}

/** What to throw where two words of a question exclude each other. @param {string} message */
export const contradiction = (message) => new Mistake(message, { cause: { field: "device", help: say("hint.device") } });

/** Texts any of which may be meant. @param {string[]} texts */
export const either = (texts) => texts.join(` ${word("or")} `);

/** The word of its certainty. @param {Row} row */
export const certaintyOf = ({ said }) => word(said).toLowerCase();

/** A message of a row, with what decides its memory, and in what it is not just what was asked, in brackets. @param {Row} row @param {string} [name] @param {Record<string, any>} [words] */
export function reason(row, name = row.fit, words = {}) {
  const spoken = Object.fromEntries(SPOKEN.map((one) => [one, word(row[one])]));
  const marks = row.differs.filter((one) => one !== "adapters").map((one) => say(`differs-${one}`, row));
  const stated = row.conditions.slice(0, -3).filter((one) => !one.includes("stated"));
  const decides = enumerated([...stated, row.length && row.context].filter(Boolean).map(word));
  const given = clauses([...marks, decides]);
  return say(name, { ...row, ...spoken, certainty: certaintyOf(row), claim: say(word(row.claim), row), given: given && bracketed(given), ...words });
}

/** What fits when something of the question is given up. @param {string} kind @param {Row} row */
export const instead = (kind, row) => reason(row, "instead", { what: reason(row, kind) });

/** Whether its source is the asked project; with none asked every one is. @param {Query} query @param {Row} row */
export const is_of_project = ({ project }, { software }) => software.toLowerCase().includes(project.toLowerCase());

/** Model, filters and context of a question. @param {Query} query @param {string} otherwise */
export function asked_words(query, otherwise) {
  const task = query.weights ? query.task.replaceAll("-LoRA", "") : query.task;
  const asked = { ...query, task };
  const words = INDEX.filters.map((name) => word(INDEX.weights[query[name]] ?? query[`${name}_label`] ?? asked[name]));
  const model = without_owner(query.model || query.architecture);
  const size = query.parameters_b ? `${query.parameters_b}B` : query.size;
  return enumerated([model || size, ...words, query.length && say("asked.length", query)]) || word(otherwise);
}

/** What was asked, and how many answers of each fit there are. @param {Query} query @param {Row[]} answers */
export function headline(query, answers) {
  const hardware = asked_hardware(query);
  const count = (name) => answers.filter(({ fit }) => fit === name).length;
  const counts = { on_it: count("ran-on-it"), on_no_more: count("ran-on-no-more"), claimed: count("claimed") };
  return say(hardware ? "headline" : "headline-open", { what: asked_words(query, "Any model"), hardware, ...counts });
}

/** @param {number} number */
export const gpusOf = (number) => say(number > 1 ? "asked.gpus" : "asked.gpu", { number });

/** The device of a question, or its memory. @param {Query} query */
export function deviceOf({ devices, memory_gb, vendor }) {
  const labels = devices.map((key) => INDEX.vocabulary.devices.known[key].label);
  return either(labels) || (memory_gb ? `${vendor} ${memory_gb} GB`.trim() : "");
}

/** The hardware of a question. @param {Query} query */
export function asked_hardware(query) {
  const device = deviceOf(query);
  if (!query.gpus) return device;
  return device ? `${query.gpus} × ${device}` : gpusOf(query.gpus);
}
