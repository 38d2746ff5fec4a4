/**
 * Answers as elements of the page. All text is set as text: nothing of data or question is markup.
 *
 * @typedef {import("./published.js").Index} Index
 * @typedef {import("./published.js").Row} Row
 * @typedef {import("./find.js").Answer} Answer
 * @typedef {import("./find.js").Found} Found
 *
 * @typedef {object} Page what to draw from
 * @property {URL} site
 * @property {Index} index
 * @property {Row} query what was asked, in keys
 * @property {Record<string, string>} words what was asked, by field
 */

import { element, filled, list } from "../elements.js";
import { folded } from "./find.js";
import { devicesOf, EITHER, say } from "./published.js";

// How many of a list are in sight: of the only one, of the first and of each other one.
const [ALONE, FIRST, OTHER] = [4, 2, 1];

/** Why a row is listed. @param {Index} index @param {Row} row @param {string} fit */
export const reason = (index, row, fit) => say(index, fit, row);

/** What was asked, and how many answers of each fit there are. @param {Index} index @param {Found} found */
export function headline(index, { query, answers }) {
  const count = (/** @type {string} */ name) => answers.filter(({ fit }) => fit === name).length;
  const words = index.filters.map((/** @type {string} */ name) => index.weights[query[name]] ?? query[name]);
  const asked = [query.model.replace(/^.*\//, "") || query.size, ...words, query.length && `${query.length} tokens or more`];
  const hardware = askedHardware(index, query);
  return say(index, "headline", {
    what: asked.filter(Boolean).join(", ") || "Any model",
    on: hardware && ` on ${hardware}`,
    tested: count("tested"),
    should_fit: count("should-fit"),
    claimed: count("claimed"),
  });
}

/** @param {Index} index @param {Row} query */
function askedHardware(index, query) {
  const labels = devicesOf(query).map((key) => index.vocabulary.devices[key].label).join(EITHER);
  const device = labels || (query.memory_gb ? `${query.memory_gb} GB` : "");
  if (device) return query.gpus ? `${query.gpus} × ${device}` : device;
  return query.gpus ? `${query.gpus} GPU${query.gpus > 1 ? "s" : ""}` : "";
}

/** How many are listed as one. @param {Index} index @param {Answer[]} fold */
export const series = (index, { length: number }) => (number > 1 ? say(index, "series", { number }) : "");

/** Draw all that was found; returns what a screen reader announces. @param {HTMLElement} place @param {Page} page @param {Found} found @param {string[]} notes */
export function draw(place, page, found, notes) {
  const { failures, unclear } = found;
  const title = headline(page.index, found);
  const some = found.worse < failures.length ? `, ${found.worse} of them` : "";
  const worse = found.query.size && found.worse ? `${some} on as much or more` : "";
  const warning = failures.length ? `${failures.length} ran out of memory${worse}` : "";
  const isOpen = !askedHardware(page.index, found.query);
  place.replaceChildren(filled("finder-answer", {
    headline: title,
    notes: notes.join(" "),
    warning: warning && element("a", { href: "#finder-failures" }, warning),
    estimate: estimate(page, [...found.answers, ...found.nearest]),
    wider: wider(page),
    minimum: isOpen && extremes(page, found),
    found: [largest(page, found), ...answers(page, found), nearest(page, found)],
    aside: [
      ...(isOpen ? [] : extremes(page, found)),
      listed(page, "finder-failures", "Runs out of memory", failures),
      listed(page, "finder-unclear", "Not clear, so not counted", unclear, 0),
    ],
  }));
  return [title, warning].filter(Boolean).join(". ");
}

/** A link to the same question about all models of the size. @param {Page} page */
function wider({ query, words }) {
  const url = `?${new URLSearchParams({ ...words, model: query.size })}`;
  return query.model && ["Only this model counts. ", element("a", { href: url }, `All ${query.size} models`)];
}

/** A section of cards, those of one series as one; nothing where there are none. @param {Page} page @param {string} id @param {string} title @param {Answer[]} items @param {number} [shown] */
function listed(page, id, title, items, shown = OTHER) {
  const label = (/** @type {Answer[][]} */ folds) => {
    const others = folds.flat();
    const tested = others.filter((one) => one.fit === "tested").length;
    return `${others.length} ${shown ? "more" : "configurations"}${tested ? `, ${tested} tested` : ""}`;
  };
  return items.length > 0 && element("section", { id },
    element("h3", null, title, element("span", { class: "count" }, ` ${items.length}`)),
    ...list("finder-list", folded(items), shown, (fold) => card(page, fold), label));
}

/** The smallest hardware and the longest context, where the first answer does not say them. @param {Page} page @param {Found} found */
function extremes(page, { query, answers: [first], smallest, smallestFull, longest }) {
  const shown = { smallest: smallest !== first && smallest, smallest_full: smallestFull, longest: longest !== first && longest };
  return Object.entries(shown).filter(([, answer]) => answer && query.size).map(([name, { row }]) => {
    const summary = [row.model_label, row.task_label, row.hardware, row.conditions[0]].join(", ");
    const text = say(page.index, name, { ...row, summary });
    return element("p", { class: "finder-extreme" }, `${text} (`, link(page, row, `the ${row.kind}`), ").");
  });
}

/** The largest size of each task, where the size is open. @param {Page} page @param {Found} found */
function largest(page, { largest: tops }) {
  const line = (/** @type {Found["largest"][number]} */ { task, best: { row, fit: fits }, longest }) => element("div", null,
    element("strong", null, `${task}: ${row.size}`), " ", fit(fits), ", ran on ", link(page, row, row.hardware),
    element("span", { class: "said" }, row.conditions.join(", ")),
    element("span", { class: "said" }, "Longest: ", link(page, longest.row, `${longest.row.context} on ${longest.row.hardware}`)));
  return tops.length > 0 && element("section", { id: "finder-largest" },
    element("h3", null, "Largest size known to run, by task"), ...list("finder-list", tops, FIRST, line));
}

/** What trains decides most of the memory, so each has its own list, those with a run first. @param {Page} page @param {Found} found */
function answers(page, { answers: items }) {
  const order = [...Object.keys(page.index.weights), ""];
  const kinds = [...new Set([items.filter(({ fit: fits }) => fits !== "claimed"), items]
    .flatMap((some) => order.filter((kind) => some.some(({ row }) => row.weights === kind))))];
  return [
    ...kinds.map((kind, i) => listed(page, `finder-${kind || "unstated"}`, page.index.weights[kind] ?? "What trains is not stated",
      items.filter(({ row }) => row.weights === kind), kinds.length === 1 ? ALONE : i ? OTHER : FIRST)),
    items.length > 1 && element("p", { class: "hint" }, say(page.index, "frameworks")),
  ];
}

/** @param {Page} page @param {Found} found */
function nearest(page, { nearest: items, answers: { length } }) {
  if (length) return null;
  if (!items.length) return element("p", null, "Nothing that is known fits, and nothing comes near.");
  return element("section", { class: "finder-nearest" },
    element("h3", null, "Nothing that is known fits. The nearest"),
    ...list("finder-list", items, FIRST, ({ reason: text, ...answer }) => card(page, [answer], text)));
}

/** A link to the form of the estimate, filled in with the question; what it leaves open is as in the first row of its size. @param {Page} page @param {Answer[]} items */
function estimate({ index, site, query }, items) {
  const first = items.find(({ row }) => index.estimable.includes(row.model) && [row.size, ""].includes(query.size))?.row;
  const [model, weights] = [query.model || first?.model, query.weights || first?.weights];
  const open = !model || !query.gpus || !query.memory_gb || devicesOf(query).length > 1;
  if (open || weights === "partial" || !index.estimable.includes(model)) return null;
  const words = {
    model, weights, gpus: query.gpus, device: query.device, device_gb: !query.device && query.memory_gb,
    train: query.train, infer: query.infer, has_critic: query.task.startsWith("PPO") && 1,
    prompt_length: query.length && "0", response_length: query.length,
  };
  const known = Object.entries(words).filter(([, word]) => word).map(([name, word]) => [name, String(word)]);
  const url = new URL(`estimate/?${new URLSearchParams(known)}#estimate-result`, site);
  const title = `Estimate ${model.replace(/^.*\//, "")} on ${askedHardware(index, query)}`;
  return [element("a", { href: url.href }, title), ", and what would lower its memory."];
}

/** An item of a list: the first of a series, with the others on demand. @param {Page} page @param {Answer[]} fold @param {string} [why] */
function card(page, fold, why = "") {
  const [{ row, fit: fits }, ...others] = fold;
  const said = why || reason(page.index, row, fits);
  const isPlain = !why && fits !== "unclear";
  const settings = (other) => [...other.row.conditions, ...other.row.figures].join("; ");
  return filled("finder-card", {
    title: link(page, row, `${row.model_label}, ${row.task_label}`),
    badges: [fit(fits), tag(row.tag), status(row)],
    hardware: row.hardware,
    conditions: row.conditions.join(" · "),
    reason: !isPlain && said,
    figures: row.figures.join(" · "),
    doubts: row.doubts.map((text) => element("p", { class: "finder-doubt" }, text)),
    start: row.start && [row.nodes > 1 && `Start it ${say(page.index, "nodes", row)}: `, element("code", null, row.start)],
    said: isPlain && said,
    evidence: [row.evidence, ". ", row.source && source(row.source)],
    series: others.length > 0 && [element("summary", null, series(page.index, fold)),
      ...list("", others, others.length, (other) => link(page, other.row, settings(other)))],
  });
}

/** @param {string} name */
const fit = (name) => element("span", { class: `fit fit--${name}` },
  name === "beyond" ? "needs more" : name.replaceAll("-", " "));

/** @param {string} text */
const tag = (text) => text && element("span", { class: `tag tag--${text.toLowerCase()}` }, text);

/** @param {Row} row */
const status = ({ kind, evidence_level: level }) =>
  element("span", { class: `status${kind === "record" ? ` status--${level}` : ""}` }, `${kind}, ${level.replaceAll("-", " ")}`);

/** A link to the page of a record, or to the row of a report. @param {Page} page @param {Row} row @param {string} text */
function link(page, { folder, id, kind }, text) {
  const path = folder + encodeURIComponent(id) + (kind === "record" ? "/" : "");
  return element("a", { href: new URL(path, page.site).href }, text);
}

/** A source; only a URL as a whole becomes a link, as in `is_web_address`. @param {string} url */
const source = (url) => (/^https:\/\/[\w.-]+(:\d+)?([/?#][\w.~:/?#@!$&'()*+,;=%-]*)?$/.test(url)
  ? element("a", { href: url, rel: "nofollow noopener" }, "Source") : url);
