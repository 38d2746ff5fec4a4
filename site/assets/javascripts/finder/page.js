/** The form of the front page: what is published at once, and a plan once nothing has changed for a moment. */

import { clauses, enumerated, filled, labelled, queryOf, QUIET_MS, say, word } from "../elements.js";
import { answer } from "../form.js";
import { find, first_sentences, folded } from "./find.js";
import { INDEX, load } from "./index.js";
import { asked_hardware, certaintyOf, headline, reason } from "./sentences.js";
import { understand } from "./understand.js";
import { without_owner } from "./vocabulary.js";

/**
 * @typedef {import("./index.js").Row} Row
 * @typedef {Record<string, any>} Found that of `query/find.py`
 */

const form = /** @type {HTMLFormElement} */ (document.getElementById("finder"));
// How many of a list are in sight: of the only one, and of each of several.
const [ALONE, OTHER] = [4, 1];

/** Its modules and the formula are fetched when a plan is made. @param {HTMLElement} room @param {Record<string, string>} words @param {Found} found */
async function addPlan(room, words, found) {
  const formula = new URL(form.dataset.formula, location);
  const [{ drawPlan }, { default: data }] = await Promise.all([import("./plan.js"), import(formula, { with: { type: "json" } })]);
  if (room.isConnected) drawPlan(room, data, words, found);
}

/** Draw all that was found; returns what a screen reader announces. @param {HTMLElement} place @param {Record<string, string>} words what was asked, by field @param {Found} found @param {string[]} notes how they were read, and what no field takes of the URL */
function draw(place, words, found, notes) {
  const { answers, failures, largest, nearest, query, unclear, worse } = found;
  const title = first_sentences(INDEX.rows, found, INDEX.vocabulary).join(" ");
  const [verdict] = title.split(/ \(|（/, 1);
  const isOpen = !asked_hardware(query);
  const kind = worse === failures.length ? "failures.worse" : "failures.some";
  const warning = failures.length && say(query.size && worse ? kind : "failures", { number: failures.length, worse });
  place.toggleAttribute("data-open", isOpen); // There is no hardware that anything "ran on".
  place.replaceChildren(filled("finder-answer", {
    verdict, given: title.slice(verdict.length), warning,
    headline: headline(query, answers), notes,
    isPlanned: Boolean(query.size),
    wider: query.model && { size: query.size, query: queryOf({ ...words, model: query.size }) },
    [isOpen ? "minimum" : "extremes"]: extremes(found),
    found: [section("largest", largest, (row) => filled("finder-largest", shown(row))), ...answersOf(answers)],
    frameworks: answers.length > 1 && say("frameworks"),
    nearest: !answers.length && section("nearest", nearest, (near) => card([near.row], near.reason)),
    isFar: !answers.length && !nearest.length,
    aside: [listed("failures", failures), listed("unclear", unclear, 0)],
  }));
  return [title, warning].filter(Boolean).join(" ");
}

/** A section of a list, the others folded: a search in the page finds them, and print has them. Nothing where there are none. @param {string} id @param {any[]} items @param {(item: any) => Node} drawn @param {number} [most] in sight @param {string} [title] */
function section(id, items, drawn, most = OTHER, title = say(`title.${id}`)) {
  const others = items.slice(most).flat();
  const ran = others.filter(({ fit }) => fit === "ran-on-it").length;
  const label = say(ran ? "more.ran" : most ? "more" : "more.all", { number: others.length, ran });
  return items.length > 0 && {
    id, title, number: items.flat().length,
    shown: most > 0 && { first: items.slice(0, most).map(drawn) },
    more: others.length > 0 && { label, rest: items.slice(most).map(drawn) },
  };
}

/** A list of cards, those of one series as one. @param {string} id @param {Row[]} rows @param {number} [most] @param {string} [title] */
const listed = (id, rows, most, title) => section(id, folded(rows), (fold) => card(fold), most, title);

/** What trains decides most of the memory, so each has its own list, those with a run first. @param {Row[]} rows */
function answersOf(rows) {
  const lists = Object.keys({ ...INDEX.weights, "": "" }).map((kind) => [kind, rows.filter(({ weights }) => weights === kind)]);
  const some = lists.filter(([, own]) => own.length);
  const isClaimed = ([, own]) => own.every(({ fit }) => fit === "claimed");
  const sorted = some.sort((a, b) => isClaimed(a) - isClaimed(b));
  const title = (kind) => (kind ? word(INDEX.weights[kind]) : say("title.unstated"));
  return sorted.map(([kind, own]) => listed(kind || "unstated", own, some.length === 1 ? ALONE : OTHER, title(kind)));
}

/** The smallest hardware and the longest context, where the first answer does not say them. @param {Found} found */
function extremes({ query, answers: [first], smallest, smallest_full, longest }) {
  const others = { smallest, smallest_full, longest };
  return Object.entries(others).filter(([, row]) => row && row.id !== first.id && query.size).map(([name, row]) => {
    const summary = enumerated([row.model_label, row.task_label, row.hardware, ...row.conditions.map(word)]);
    return { text: reason(row, name, { summary }), url: urlOf(row), kind: word(row.kind) };
  });
}

/** Below the root of the site the page of a record, or the row of a report. @param {Row} row */
const urlOf = ({ folder, id, kind }) => folder + encodeURIComponent(id) + (kind === "record" ? "/" : "");

/** What cards show of a row: words with the names of their colors, of which nothing that is disputed is loud. @param {Row} row */
function shown(row) {
  const { certainty, doubtful, fit, marks, state } = row;
  const tag = row.tag || (row.kind === "record" ? INDEX.no_tag : "");
  const titles = { [row.model]: without_owner(row.model), [row.asked.framework[0]]: row.framework_label };
  const pages = Object.entries(titles).map(([key, title]) => ({ title, url: INDEX.things[key] })).filter(({ url }) => url);
  const named = fit === "beyond" ? "used more" : fit.replaceAll("-", " ");
  return {
    ...row, url: urlOf(row), kind: word(row.kind), script: word(row.script),
    fits: { name: doubtful && fit === "ran-on-it" ? "doubtful" : fit, text: word(named) },
    tags: tag && { name: doubtful ? "quiet" : row.tag.toLowerCase() || "none", text: tag },
    sure: state !== "out-of-memory" && { name: certainty.replace(" ", "-"), text: certaintyOf(row) },
    marks: marks.map((name) => ({ name, text: word(name) })),
    device_page: INDEX.things[row.device], isOtherDevice: !INDEX.things[row.device], pages,
    conditions: row.conditions.map(word).join(" · "),
    figures: row.figures.map(word).join(" · "),
    evidence: clauses(row.evidence.split("; ").map(labelled).map(word)), doubts: row.doubts.map(labelled).map(word),
  };
}

/** The first of a series, with the others on demand. @param {Row[]} fold @param {string} [why] it is listed where it is no answer */
function card([row, ...others], why = "") {
  const text = why || reason(row);
  const isPlain = !why && row.fit !== "unclear";
  const inShort = (other) => ({ url: urlOf(other), settings: clauses([...other.conditions, ...other.figures].map(word)) });
  return filled("finder-card", {
    ...shown(row),
    reason: !isPlain && text, said: isPlain && text,
    where: row.nodes > 1 && say("nodes", row),
    series: others.length > 0 && { text: say("series", { number: others.length + 1 }), others: others.map(inShort) },
  });
}

answer(form, { size: "model", memory: "device" }, (place, data, words, strange) => {
  load(data);
  const [query, notes] = understand(INDEX.vocabulary, words);
  const found = find(INDEX.rows, query);
  const ignored = strange.length && say("strange", { words: enumerated(strange) });
  const said = draw(place, words, found, [...notes, ignored]);
  const room = place.querySelector(".finder-plan");
  setTimeout(() => room?.isConnected && addPlan(room, words, found), QUIET_MS);
  return said;
});
