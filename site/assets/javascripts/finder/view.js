/**
 * Answers as elements of the page. All text is set as text: nothing of data or question is markup.
 *
 * @typedef {import("./published.js").Index} Index
 * @typedef {import("./published.js").Row} Row
 * @typedef {import("./find.js").Answer} Answer
 * @typedef {import("./find.js").Found} Found
 */

import { element, filled, list, queryOf } from "../elements.js";
import { find, folded, isAsked, isOfProject } from "./find.js";
import { say } from "./published.js";

// How many of a list are in sight: of the only one, and of each of several.
const [ALONE, OTHER] = [4, 1];

/** What was asked, and how many answers of each fit there are. @param {Index} index @param {Found} found */
export function headline(index, { query, answers }) {
  const count = (/** @type {string} */ name) => answers.filter(({ fit }) => fit === name).length;
  const hardware = askedHardware(query);
  return say(index, hardware ? "headline" : "headline-open", {
    what: askedWords(index, query),
    hardware, on_it: count("ran-on-it"), on_no_more: count("ran-on-no-more"), claimed: count("claimed"),
  });
}

/** Model, filters and context of a question. @param {Index} index @param {Row} query */
function askedWords(index, query) {
  const words = index.filters.map((/** @type {string} */ name) => index.weights[query[name]] ?? query[name]);
  const model = (query.model || query.architecture).replace(/^.*\//, "");
  const asked = [model || query.size, ...words, query.length && `${query.length} tokens or more`];
  return asked.filter(Boolean).join(", ") || "Any model";
}

/** What a colleague would say first: a sentence, of an open device one for each memory. @param {Index} index @param {Found} found @returns {string[]} */
export function verdicts(index, found) {
  const { query } = found;
  if (query.devices.length < 2 || !found.best) return [verdict(index, found)];
  return query.devices.map((/** @type {string} */ device) => {
    const { memory_gb, label } = index.vocabulary.devices[device];
    return verdict(index, find(index, { ...query, device, devices: [device], memory_gb, label }));
  });
}

/** @param {Index} index @param {Found} found */
function verdict(index, { query, best, failures }) {
  const on = askedHardware(query);
  const failed = failures.find((failure) => isAsked(query, failure));
  if (best && !(best.row.doubtful && best.differs.includes("adapters"))) {
    const said = saidOf(index, opening(query, best, on), best, { project: query.project });
    return best.row.state === "claim" && on && failed ? `${said} ${saidOf(index, "but-failed", failed)}` : said;
  }
  const what = askedWords(index, query);
  if (!on) return say(index, "nobody-open", { what });
  return failed ? saidOf(index, "nobody-failed", failed, { what, on }) : say(index, "nobody", { what, on });
}

/** The message that a verdict begins with; the first doubt decides. @param {Row} query @param {Answer} best @param {string} on */
function opening(query, { row, fit: name, differs }, on) {
  const isClaim = row.state === "claim";
  const isLess = name === "ran-on-no-more";
  const openings = {
    "project-base": !isOfProject(query, row),
    "disputed": row.doubtful,
    "largest": !query.size && !isClaim,
    "least-claimed": isClaim && !on,
    "least": !on,
    "probably-claimed": isClaim,
    "probably-precision": differs.includes("precision"),
    "yes-part": differs.includes("adapters") || (row.weights === "partial" && !query.weights),
    "yes-host-memory": differs.includes("host-memory"),
    "probably": isLess && !query.vendor,
    "yes-fewer": isLess,
    "yes": true,
  };
  return Object.keys(openings).find((one) => openings[one]);
}

/** A message of a row, with what decides its memory, and in what it is not just what was asked, in brackets. @param {Index} index @param {string} name @param {Answer} answer @param {Row} [words] */
function saidOf(index, name, { row, differs }, words = {}) {
  const marks = differs.filter((one) => one !== "adapters").map((one) => say(index, `differs-${one}`));
  const stated = row.conditions.slice(0, -3).filter((one) => !one.includes("stated"));
  const parts = [...marks, [...stated, row.length && row.context].filter(Boolean).join(", ")].filter(Boolean).join("; ");
  return say(index, name, { ...row, ...words, given: parts && ` (${parts})` });
}

/** @param {Row} query */
function askedHardware({ gpus, label }) {
  if (label) return gpus ? `${gpus} × ${label}` : label;
  return gpus ? `${gpus} GPU${gpus > 1 ? "s" : ""}` : "";
}

/** Draw all that was found; returns what a screen reader announces. @param {HTMLElement} place @param {Index} index @param {Record<string, string>} words what was asked, by field @param {Found} found */
export function draw(place, index, words, found) {
  const { failures, query, unclear } = found;
  const title = verdicts(index, found).join(" ");
  const some = found.worse < failures.length ? `, ${found.worse} of them` : "";
  const worse = query.size && found.worse ? `${some} on as much or more` : "";
  const warning = failures.length ? `${failures.length} ran out of memory${worse}` : "";
  const isOpen = !askedHardware(query);
  place.toggleAttribute("data-open", isOpen); // There is no hardware that anything "ran on".
  const wider = element("a", { href: queryOf({ ...words, model: query.size }) }, `All ${query.size} models`);
  place.replaceChildren(filled("finder-answer", {
    headline: headlineOf(title),
    plan: query.size && element("p", { class: "hint" }, "What fits by arithmetic …"),
    notes: [headline(index, found), ...query.notes].join(". ").replace("..", "."),
    warning: warning && element("a", { href: "#finder-failures" }, warning),
    wider: query.model && ["Only this model counts. ", wider],
    minimum: isOpen && extremes(index, found),
    found: [largest(index, found), ...answers(index, found), nearest(index, found)],
    aside: [
      ...(isOpen ? [] : extremes(index, found)),
      listed(index, "finder-failures", "Runs out of memory", failures),
      listed(index, "finder-unclear", "Not clear, so not counted", unclear, 0),
    ],
  }));
  return [title, warning].filter(Boolean).join(". ");
}

/** A sentence, with what stands in brackets less loud. @param {string} text */
function headlineOf(text) {
  const [first] = text.split(" (", 1);
  return [first, element("span", null, text.slice(first.length))];
}

/** A section of cards, those of one series as one; nothing where there are none. @param {Index} index @param {string} id @param {string} title @param {Answer[]} items @param {number} [shown] */
function listed(index, id, title, items, shown = OTHER) {
  const label = (/** @type {Answer[][]} */ folds) => {
    const others = folds.flat();
    const ran = others.filter((one) => one.fit === "ran-on-it").length;
    return `${others.length} ${shown ? "more" : "configurations"}${ran && title ? `, ${ran} ran on it` : ""}`;
  };
  return items.length > 0 && element("section", { id },
    element("h3", null, title, element("span", { class: "count" }, ` ${items.length}`)),
    ...list("finder-list", folded(items), shown, (fold) => card(index, fold), label));
}

/** The smallest hardware and the longest context, where the first answer does not say them. @param {Index} index @param {Found} found */
function extremes(index, { query, answers: [first], smallest, smallestFull, longest }) {
  const shown = { smallest: smallest !== first && smallest, smallest_full: smallestFull, longest: longest !== first && longest };
  return Object.entries(shown).filter(([, answer]) => answer && query.size).map(([name, { row }]) => {
    const summary = [row.model_label, row.task_label, row.hardware, ...row.conditions].join(", ");
    const text = say(index, name, { ...row, summary });
    return element("p", { class: "finder-extreme" }, `${text} (`, link(row, `the ${row.kind}`), ").");
  });
}

/** The largest size of each task, where the size is open. @param {Index} index @param {Found} found */
function largest(index, { largest: tops }) {
  const line = (/** @type {Answer} */ { row }) => element("div", null,
    element("strong", null, `${row.task}: ${row.size}`), `, ${row.model_label}, `, ...sure(row), " on ", link(row, row.hardware),
    element("span", { class: "said" }, row.conditions.join(", ")));
  return tops.length > 0 && element("section", { id: "finder-largest" },
    element("h3", null, "Largest size known to run, by task"), ...list("finder-list", tops, OTHER, line));
}

/** What trains decides most of the memory, so each has its own list, those with a run first. @param {Index} index @param {Found} found */
function answers(index, { answers: items }) {
  const isClaimed = (kind) => items.every(({ row, fit: fits }) => row.weights !== kind || fits === "claimed");
  const kinds = [...Object.keys(index.weights), ""].filter((kind) => items.some(({ row }) => row.weights === kind));
  const lists = kinds.sort((a, b) => isClaimed(a) - isClaimed(b)).map((kind) => listed(
    index, `finder-${kind || "unstated"}`, index.weights[kind] ?? "What trains is not stated",
    items.filter(({ row }) => row.weights === kind), kinds.length === 1 ? ALONE : OTHER));
  return [...lists, items.length > 1 && element("p", { class: "hint" }, say(index, "frameworks"))];
}

/** @param {Index} index @param {Found} found */
function nearest(index, { nearest: items, answers: { length } }) {
  if (length) return null;
  if (!items.length) return element("p", null, "Nothing that is known comes near.");
  return element("section", { class: "finder-nearest" },
    element("h3", null, "The nearest"),
    ...list("finder-list", items, OTHER, ({ reason: text, ...answer }) => card(index, [answer], text)));
}

/** An item of a list: the first of a series, with the others on demand. @param {Index} index @param {Answer[]} fold @param {string} [why] */
function card(index, fold, why = "") {
  const [{ row, fit: fits }, ...others] = fold;
  const said = why || say(index, fits, row);
  const isPlain = !why && fits !== "unclear";
  const settings = (other) => [...other.row.conditions, ...other.row.figures].join("; ");
  return filled("finder-card", {
    title: link(row, `${row.model_label}, ${row.task_label}`),
    badges: [fit(fits, row), tag(index, row), row.kind, ...sure(row)],
    hardware: row.hardware,
    conditions: row.conditions.join(" · "),
    reason: !isPlain && said,
    figures: row.figures.join(" · "),
    doubts: row.doubts.map((text) => element("p", { class: "finder-doubt" }, text)),
    start: row.start && [`${row.script}. `, row.nodes > 1 && `Start it ${say(index, "nodes", row)}: `, element("code", null, row.start)],
    said: isPlain && said,
    evidence: [row.evidence, row.source && element("a", { href: row.source, rel: "nofollow noopener" }, "Source")],
    series: others.length > 0 && [element("summary", null, say(index, "series", { number: fold.length })),
      ...list("", others, others.length, (other) => link(other.row, settings(other)))],
  });
}

/** A word in the colors of its kind. @param {string} kind @param {string} name @param {string} [text] */
const badge = (kind, name, text = name.replaceAll("-", " ")) =>
  text && element("span", { class: `${kind} ${kind}--${name}` }, text);

/** Nothing that is disputed is loud. @param {string} name @param {Row} row */
const fit = (name, { doubtful }) => badge("fit", doubtful && name === "ran-on-it" ? "doubtful" : name, name === "beyond" ? "used more" : name.replaceAll("-", " "));

/** @param {Index} index @param {Row} row */
const tag = (index, { tag: word, kind, doubtful }) =>
  badge("tag", doubtful ? "quiet" : word.toLowerCase() || "none", word || (kind === "record" ? index.no_tag : ""));

/** The word of the scale, of a run that ended, and the marks beside it. @param {Row} row */
const sure = ({ state, certainty, marks }) => [
  state !== "out-of-memory" && badge("certainty", certainty.replace(" ", "-")),
  ...marks.map((mark) => badge("mark", mark)),
].filter(Boolean);

/** A link to the page of a record, or to the row of a report. @param {Row} row @param {string} text */
const link = ({ folder, id, kind }, text) =>
  element("a", { href: folder + encodeURIComponent(id) + (kind === "record" ? "/" : "") }, text);
