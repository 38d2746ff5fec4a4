/**
 * What a colleague would say: `query/sentences.py` in a browser, by the messages of the page.
 *
 * @typedef {import("./find.js").Index} Index
 * @typedef {import("./find.js").Query} Query
 * @typedef {import("./find.js").Row} Row
 * @typedef {import("./find.js").Found} Found
 */

import { say, word } from "../elements.js";
import { find, isAsked, isOfProject, sayOf } from "./find.js";

/** What was asked, and how many answers of each fit there are. @param {Index} index @param {Found} found */
export function headline(index, { query, answers }) {
  const hardware = askedHardware(query);
  const count = (name) => answers.filter(({ fit }) => fit === name).length;
  const counts = { on_it: count("ran-on-it"), on_no_more: count("ran-on-no-more"), claimed: count("claimed") };
  return say(hardware ? "headline" : "headline-open", { what: askedWords(index, query), hardware, ...counts });
}

/** Model, filters and context of a question. @param {Index} index @param {Query} query @param {string} otherwise */
function askedWords(index, query, otherwise = "asked.any") {
  const words = index.filters.map((name) => word(index.weights[query[name]] ?? query[name] ?? ""));
  const model = (query.model || query.architecture).replace(/^.*\//, "");
  const asked = [model || query.size, ...words, query.length && say("asked.length", query)];
  return asked.filter(Boolean).join(", ") || say(otherwise);
}

/** What a colleague would say first: a sentence, of an open device one for each memory. @param {Index} index @param {Found} found @returns {string[]} */
export function verdicts(index, found) {
  const { query } = found;
  if (query.devices.length < 2 || !found.best) return [verdict(index, found)];
  return query.devices.map((device) => {
    const { memory_gb, label } = index.vocabulary.devices[device];
    return verdict(index, find(index, { ...query, device, devices: [device], memory_gb, label }));
  });
}

/** @param {Index} index @param {Found} found */
function verdict(index, { query, best, failures }) {
  const on = askedHardware(query);
  const what = askedWords(index, query, "asked.some");
  const failed = failures.find((row) => isAsked(query, row));
  if (best && !(best.doubtful && best.differs.includes("adapters"))) {
    const said = saidOf(opening(query, best, on), best, query);
    return best.state === "claim" && on && failed ? `${said} ${saidOf("but-failed", failed)}` : said;
  }
  if (!on) return say("nobody-open", { what });
  return failed ? saidOf("nobody-failed", failed, { what, on }) : say("nobody", { what, on });
}

/** The message that a verdict begins with; the first doubt decides. @param {Query} query @param {Row} best @param {string} on */
function opening(query, best, on) {
  const isClaim = best.state === "claim";
  const isLess = best.fit === "ran-on-no-more";
  const openings = {
    "project-base": !isOfProject(query, best),
    "disputed": best.doubtful,
    "largest": !query.size && !isClaim,
    "least-claimed": isClaim && !on,
    "least": !on,
    "probably-claimed": isClaim,
    "probably-precision": best.differs.includes("precision"),
    "yes-part": best.differs.includes("adapters") || (best.weights === "partial" && !query.weights),
    "yes-host-memory": best.differs.includes("host-memory"),
    "probably": isLess && !query.vendor,
    "yes-fewer": isLess,
    "yes": true,
  };
  return Object.keys(openings).find((name) => openings[name]);
}

/** A message of a row, with what decides its memory, and in what it is not just what was asked, in brackets. @param {string} name @param {Row} row @param {Record<string, any>} [words] */
function saidOf(name, row, { project, what, on } = {}) {
  const marks = row.differs.filter((one) => one !== "adapters").map((one) => say(`differs-${one}`));
  const stated = row.conditions.slice(0, -3).filter((one) => !one.includes("stated"));
  const decides = [...stated, row.length && row.context].filter(Boolean).map(word).join(", ");
  const given = [...marks, decides].filter(Boolean).join("; ");
  return sayOf(name, row, { project, what, on, given: given && ` (${given})` });
}

/** @param {number} number */
export const gpusOf = (number) => say(number > 1 ? "asked.gpus" : "asked.gpu", { number });

/** @param {Query} query */
export function askedHardware({ gpus, label }) {
  if (label) return gpus ? `${gpus} × ${label}` : label;
  return gpus ? gpusOf(gpus) : "";
}
