/**
 * Answers as elements of the page. All text is set as text: nothing of data or question is markup.
 *
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./answer.js").Found} Found
 * @typedef {import("./table.js").Row} Row
 *
 * @typedef {object} Page where to draw and what from
 * @property {HTMLFormElement} form
 * @property {HTMLElement} place
 * @property {import("./table.js").Rules} rules
 * @property {import("./table.js").Table} table
 * @property {URL} site
 */

import { BEYOND, contradictions, foldsOf } from "./answer.js";
import * as sentences from "./sentences.js";
import { say } from "./text.js";

const AT_FIRST = 10;
const AT_ONCE = 30;
const ASIDE_AT_FIRST = 5;
const TASKS_AT_FIRST = 5;
const MOST_BEFORE = 2;

/**
 * An element with attributes and children; what is blank or false is left out.
 *
 * @param {string} name
 * @param {Record<string, string | boolean | undefined> | null} [attributes]
 * @param {...(Node | string | false | null | undefined)} children
 * @returns {HTMLElement}
 */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value) made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children) if (child) made.append(child);
  return made;
}

/** @param {HTMLFormElement} form @param {HTMLElement} place */
export function showNothing(form, place) {
  clearMistake(form);
  place.replaceChildren();
}

/** Say that the data are on their way, where nothing is shown yet. @param {HTMLElement} place */
export function showLoading(place) {
  if (!place.childElementCount) place.append(element("p", { class: "hint" }, "Loading the data …"));
}

/**
 * Say that there are no data, with what to do.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement} place
 * @param {URL} site
 * @param {() => void} again
 * @returns {string} what to tell a reader who does not see it
 */
export function showFailure(form, place, site, again) {
  clearMistake(form);
  const button = element("button", { type: "button", class: "finder-button" }, "Try again");
  button.addEventListener("click", again);
  const tables = element("a", { href: new URL("what-fits/", site).href }, "in plain tables");
  place.replaceChildren(element("div", { class: "finder-mistake" },
    element("p", null, element("strong", null, "The data could not be loaded.")),
    element("p", null, button, " The common questions are answered ", tables, ".")));
  return "The data could not be loaded.";
}

/**
 * Draw all that was found.
 *
 * @param {Page} page
 * @param {Found} found
 * @param {string[]} notes how the question was understood
 * @returns {string} what to tell a reader who does not see it
 */
export function showAnswers(page, found, notes) {
  clearMistake(page.form);
  const headline = sentences.headline(page.rules, found);
  const worse = found.question.size ? found.failures.slice(0, found.worse) : [];
  const beside = [
    aside(page, FAILURES, found.failures.slice(worse.length), "finder-failures"),
    aside(page, "Not clear, so not counted", found.unclear, "finder-unclear"),
  ].filter((section) => section !== null);
  const main = element("div", { class: "finder-main" },
    aside(page, `${FAILURES} on as much or more`, worse, "finder-worse", MOST_BEFORE),
    largest(page, found), answers(page, found), nearest(page, found));
  page.place.replaceChildren(...[
    element("h2", { id: "finder-headline", tabindex: "-1" }, headline),
    ...notes.map((note) => element("p", { class: "hint" }, note)),
    ...extremes(page, found),
    found.failures.length > worse.length && element("p", { class: "finder-jump" },
      element("a", { href: "#finder-failures" }, `${FAILURES}: ${found.failures.length - worse.length}`)),
    element("div", { class: beside.length ? "finder-columns" : undefined },
      main, beside.length ? element("div", { class: "finder-beside" }, ...beside) : null),
  ].filter((child) => child !== false));
  const failed = found.failures.length;
  return `${headline}.${failed ? ` ${failed} known to run out of memory.` : ""}`;
}

/**
 * The smallest hardware of a model or size, where it does not come first, with all weights
 * trained, where that is something else, and the longest context.
 *
 * @param {Page} page
 * @param {Found} found
 */
function extremes(page, { question, answers: { rows }, smallest, smallestWhole, longest }) {
  if (!question.size) return [];
  const { rules } = page;
  const told = /** @type {[Answer | undefined, (row: Row, fit: string) => string][]} */ ([
    [smallest?.row === rows[0] ? undefined : smallest, (row) => sentences.smallest(rules, row)],
    [smallestWhole, (row) => sentences.smallest(rules, row, "smallest-whole")],
    [longest?.row === rows[0] ? undefined : longest,
      (row, fit) => sentences.longestContext(rules, row, fit)],
  ]);
  return told.flatMap(([answer, tell]) => (answer ? [extreme(page, answer, tell)] : []));
}

/** @param {Page} page @param {Answer} answer @param {(row: Row, fit: string) => string} tell */
function extreme(page, { row: place, fit }, tell) {
  const row = page.table.row(place);
  const which = link(page, row, `the ${row.kind}`);
  return element("p", { class: "finder-extreme" }, `${tell(row, fit)} (`, which, ").");
}

/** The largest sizes by task, where no model was asked. @param {Page} page @param {Found} found */
function largest(page, { largest: tops }) {
  if (!tops.length) return null;
  const { rules, table } = page;
  const rows = tops.map(({ task, size, best, longest }) => {
    const [first, far] = [table.row(best.row), table.row(longest.row)];
    const cells = [
      task,
      element("strong", null, size),
      fit(best.fit),
      link(page, first, sentences.resource(rules, first)),
      far.length ? link(page, far, sentences.longest(rules, far)) : sentences.longest(rules, far),
      first.conditions.join(" · "),
    ];
    return element("tr", null, ...cells.map((cell, place) =>
      element("td", { "data-label": LARGEST[place] }, cell)));
  });
  const body = element("tbody", null, ...rows.slice(0, TASKS_AT_FIRST));
  const heads = LARGEST.map((name) => element("th", { scope: "col" }, name));
  return element("section", { class: "finder-largest" },
    element("h3", null, "Largest size known to run, by task, and its longest context"),
    element("table", { class: "cards" }, element("thead", null, element("tr", null, ...heads)), body),
    more(rows, TASKS_AT_FIRST, (next) => body.append(...next), "tasks"));
}

const FAILURES = "Known to run out of memory";
const LARGEST = ["Task", "Size", "Fit", "Hardware", "Context", "Conditions"];

/** @param {Page} page @param {Found} found */
function answers(page, found) {
  if (!found.answers.length) return null;
  const folds = found.answers.folds(page.table);
  const card = (/** @type {number[]} */ rows) =>
    foldCard(page, rows.map((row) => /** @type {Answer} */ (found.answers.of(row))));
  const first = folds.slice(0, AT_FIRST);
  const list = element("ol", { class: "finder-list" }, ...first.map(card));
  const frameworks = new Set(first.map(([row]) => page.table.cell("framework_label", row)));
  return element("section", null,
    element("h3", null, "Configurations, best first"),
    list,
    more(folds, AT_FIRST, (next) => list.append(...next.map(card)), "answers"),
    frameworks.size > 1 && element("p", { class: "hint" }, say(page.rules, "frameworks")));
}

/**
 * A button that adds the next items, and goes when there are no more.
 *
 * @template T
 * @param {{length: number, slice: (from: number, to: number) => T[]}} items
 * @param {number} shown how many are there already
 * @param {(items: T[]) => void} add
 * @param {string} noun
 */
function more(items, shown, add, noun) {
  if (items.length <= shown) return null;
  const button = element("button", { type: "button", class: "finder-button" });
  const label = () => {
    const last = items.length - shown <= AT_ONCE;
    const next = last ? `all ${items.length}` : `${AT_ONCE} more of ${items.length}`;
    button.textContent = `Show ${next} ${noun}`.trim();
  };
  button.addEventListener("click", () => {
    add(items.slice(shown, shown + AT_ONCE));
    shown += AT_ONCE;
    if (shown < items.length) label();
    else button.remove();
  });
  label();
  return button;
}

/** @param {Page} page @param {Found} found */
function nearest(page, { question, nearest: items, answers: { length } }) {
  if (length) return null;
  if (!items.length) return element("p", null, "Nothing that is known fits, and nothing comes near.");
  const cards = items.map(({ kind, answer }) => {
    const row = page.table.row(answer.row);
    const reason = sentences.nearestReason(page.rules, question, kind, row, answer.fit);
    return element("li", null, answerCard(page, answer, reason));
  });
  return element("section", { class: "finder-nearest" },
    element("h3", null, "Nothing that is known fits. The nearest"),
    element("ol", { class: "finder-list" }, ...cards));
}

/**
 * What is told beside the answers.
 *
 * @param {Page} page
 * @param {string} title
 * @param {Answer[]} items
 * @param {string} name
 * @param {number} [most] how many are shown at first
 */
function aside(page, title, items, name, most = ASIDE_AT_FIRST) {
  if (!items.length) return null;
  const byRow = new Map(items.map((answer) => [answer.row, answer]));
  const folds = foldsOf(page.table, byRow.keys());
  const card = (/** @type {number[]} */ rows) =>
    foldCard(page, rows.map((row) => /** @type {Answer} */ (byRow.get(row))));
  const list = element("ul", { class: "finder-list" }, ...folds.slice(0, most).map(card));
  return element("section", { id: name },
    element("h3", null, `${title} `, element("span", { class: "count" }, String(items.length))),
    list,
    more(folds, most, (next) => list.append(...next.map(card)), ""));
}

/** The first of a series with the others on demand. @param {Page} page @param {Answer[]} answers */
function foldCard(page, answers) {
  const [first, ...others] = answers;
  const card = answerCard(page, first, reasonOf(page, first));
  if (!others.length) return element("li", null, card);
  const rows = answers.map(({ row }) => page.table.row(row));
  const list = element("ul", null);
  const details = element("details", { class: "finder-series" },
    element("summary", null, sentences.series(page.rules, rows)), list);
  details.addEventListener("toggle", () => list.append(...rows.slice(1).map((row) =>
    element("li", null, link(page, row, [...row.conditions, ...sentences.figures(page.rules, row)].join("; "))))),
  { once: true });
  card.append(details);
  return element("li", null, card);
}

/** @param {Page} page @param {Answer} answer */
function reasonOf(page, { question, row, fit }) {
  return sentences.reason(page.rules, question, page.table.row(row), fit);
}

/** @param {Page} page @param {Answer} answer @param {string} reason */
function answerCard(page, answer, reason) {
  const { rules, table } = page;
  const row = table.row(answer.row);
  const figures = [...sentences.figures(rules, row)].map((text) => element("li", null, text));
  const noted = row.notes && row.evidence_level !== "disputed";
  const doubts = [...sentences.doubts(rules, row)].map((text, place, all) =>
    element("p", { class: noted && place === all.length - 1 ? "finder-note" : "finder-doubt" }, text));
  const others = contradictions(table, answer.row).map((other) => contradicted(page, other));
  const title = `${row.model_label.replace(/^.*\//, "")}, ${row.task_label || "task not told"}`;
  return element("article", { class: `finder-card finder-card--${answer.fit}` },
    element("header", null,
      element("h4", null, link(page, row, title)),
      element("p", { class: "badges" }, fit(answer.fit), tag(row.tag), status(row))),
    element("p", { class: "finder-hardware" }, sentences.resource(rules, row)),
    element("p", { class: "finder-conditions" }, row.conditions.join(" · ")),
    element("p", { class: "finder-reason" }, reason),
    figures.length ? element("ul", { class: "finder-figures" }, ...figures) : null,
    element("p", { class: "finder-evidence" }, [...sentences.evidence(rules, row)].join("; "), ". ",
      row.source ? source(row.source) : null),
    ...doubts,
    ...others,
    row.script ? command(rules, row) : null);
}

/** @param {string} fit */
const fit = (fit) => element("span", { class: `fit fit--${fit}` },
  fit === BEYOND ? "needs more" : sentences.spaced(fit));

/** @param {string} text */
const tag = (text) => text && element("span", { class: `tag tag--${text.toLowerCase()}` }, text);

/** @param {Row} row */
function status(row) {
  const kind = row.kind === "record" ? ` status--${row.evidence_level}` : "";
  return element("span", { class: `status${kind}` }, `${row.kind}, ${sentences.spaced(row.evidence_level)}`);
}

/** A link to the page of a record, or to the row of a report. @param {Page} page @param {Row} row @param {string} text */
function link(page, row, text) {
  return element("a", { href: new URL(path(row), page.site).href }, text);
}

/** @param {Row} row */
function path({ kind, id, size }) {
  if (kind === "record") return `records/${encodeURIComponent(id)}/`;
  const section = (size || "unknown-size").toLowerCase().replace(/[^a-z0-9.-]+/g, "-");
  return `reports/${section}/#${encodeURIComponent(id)}`;
}

/** A source; only an address of the web becomes a link. @param {string} address */
function source(address) {
  if (!address.startsWith("https://")) return element("span", null, address);
  return element("a", { href: address, rel: "nofollow noopener" }, `Source at ${new URL(address).host}`);
}

/** @param {Page} page @param {number} other */
function contradicted(page, other) {
  const row = page.table.row(other);
  return element("p", { class: "finder-doubt" },
    `${sentences.contradicted(page.rules, row)}: `, link(page, row, "see it"), ".");
}

/** @param {import("./table.js").Rules} rules @param {Row} row */
function command(rules, row) {
  const text = sentences.start(rules, row);
  const button = element("button", { type: "button", class: "finder-button" }, "Copy");
  button.setAttribute("aria-label", `Copy the command that starts ${row.id}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  });
  return element("div", { class: "finder-start" },
    element("p", null, "Start it from the root of a checkout",
      row.nodes > 1 ? `, ${say(rules, "nodes", { nodes: row.nodes })}` : "", ":"),
    element("div", { class: "finder-command" }, element("code", { tabindex: "0" }, text), button));
}

/**
 * Say what cannot be understood, with the nearest known words to choose from.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement} place
 * @param {string} message
 * @param {string} help
 * @param {string} [word] the name of the field
 * @returns {string} what to tell a reader who does not see it
 */
export function showMistake(form, place, message, help, word = "") {
  clearMistake(form);
  const field = form.elements.namedItem(word);
  const parts = help.split("`").map((text, place_) =>
    (place_ % 2 && field instanceof HTMLElement ? proposal(form, field, text) : text));
  const sentence = message.replace(/`(.*)`/, "“$1”").replace(/^./, (sign) => sign.toUpperCase());
  place.replaceChildren(element("div", { class: "finder-mistake", id: "finder-mistake" },
    element("p", null, element("strong", null, `${sentence.replace(/\.$/, "")}.`)),
    help && element("p", null, ...parts)));
  if (field instanceof HTMLElement) {
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", "finder-mistake");
  }
  return `${message}. ${help}`.replaceAll("`", "");
}

/** A button that puts a word into a field. @param {HTMLFormElement} form @param {HTMLElement} field @param {string} text */
function proposal(form, field, text) {
  const button = element("button", { type: "button", class: "finder-button" }, text);
  button.addEventListener("click", () => {
    const control = /** @type {HTMLInputElement | HTMLSelectElement} */ (field);
    if (control instanceof HTMLSelectElement
      && ![...control.options].some(({ value }) => value === text)) control.add(new Option(text, text));
    control.value = text;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.dispatchEvent(new Event("change", { bubbles: true }));
    control.focus();
  });
  return button;
}

/** @param {HTMLFormElement} form */
function clearMistake(form) {
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  }
}
