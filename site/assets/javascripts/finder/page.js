/**
 * The finder on the front page: its form, the question in the page's address, the answers.
 *
 * The address is the state. What is typed goes there, and what is there is answered: on loading, and
 * on going back and forward.
 */

import { find } from "./answer.js";
import { UnusableInput, understand, WORDS } from "./question.js";
import { Table } from "./table.js";
import { showAnswers, showFailure, showLoading, showMistake, showNothing } from "./view.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("finder"));
const place = /** @type {HTMLElement} */ (document.getElementById("finder-answers"));
const status = /** @type {HTMLElement} */ (document.getElementById("finder-status"));
const SITE = new URL("../../", import.meta.url);
const QUIET_MS = 400;

/** @typedef {import("./question.js").Words} Words */

/** @type {Promise<{rules: import("./table.js").Rules, table: Table}> | undefined} */
let loading;

/** The published data, fetched once and not before somebody asks. */
function published() {
  loading ??= fetch(new URL(String(form.dataset.url), document.baseURI))
    .then((reply) => (reply.ok ? reply.json() : Promise.reject(new Error(reply.statusText))))
    .then((rules) => ({ rules, table: new Table(rules) }));
  loading.catch(() => { loading = undefined; });
  return loading;
}

/** The question in the address. @returns {Words} */
function fromAddress() {
  const query = new URLSearchParams(location.search);
  const words = WORDS.map((name) => [name, query.get(name)?.trim()]);
  return Object.fromEntries(words.filter(([, text]) => text));
}

/** The question in the form. @returns {Words} */
function fromForm() {
  const words = [...new FormData(form)].map(([name, text]) => [name, String(text).trim()]);
  return Object.fromEntries(words.filter(([, text]) => text));
}

/** The form has one field for size and model, and one for memory and device. @param {Words} words */
function fill(words) {
  const told = { ...words, model: words.model ?? words.size, device: words.device ?? words.memory };
  for (const name of WORDS) {
    const field = form.elements.namedItem(name);
    const text = told[name] ?? "";
    if (field instanceof HTMLSelectElement) choose(field, text);
    if (field instanceof HTMLInputElement && field.value.trim() !== text) field.value = text;
  }
  const more = /** @type {HTMLDetailsElement} */ (form.querySelector(".finder-more"));
  more.open ||= Boolean(words.weights || words.scenario || words.length || words.framework || words.train
    || words.infer || words.tag);
}

/**
 * Choose a word in any spelling; one that the field does not offer is added to it.
 *
 * @param {HTMLSelectElement} field
 * @param {string} text
 */
function choose(field, text) {
  field.querySelector("[data-added]")?.remove();
  const options = [...field.options];
  const known = options.find(({ value }) => value.toLowerCase() === text.toLowerCase());
  if (!known && text) {
    const added = new Option(text, text);
    added.dataset.added = "";
    field.add(added);
  }
  field.value = known?.value ?? text;
}

/** Whether the entry of the history that is shown is one that the reader has left off typing. */
let committed = true;
let pending = 0;

/**
 * Put the question into the address; a new entry of the history for the first change of each. At
 * once, so that a reload keeps it; WebKit refuses more than a hundred changes in half a minute.
 */
function toAddress() {
  clearTimeout(pending);
  const query = new URLSearchParams(/** @type {Record<string, string>} */ (fromForm())).toString();
  if (query === new URLSearchParams(/** @type {any} */ (fromAddress())).toString()) return;
  const address = `${location.pathname}${query && `?${query}`}${location.hash}`;
  try {
    history[committed ? "pushState" : "replaceState"](null, "", address);
    committed = false;
  } catch {
    pending = setTimeout(toAddress, QUIET_MS);
  }
}

let announcement = 0;

/** Tell a screen reader, once nothing has changed for a moment. @param {string} text */
function announce(text) {
  clearTimeout(announcement);
  announcement = setTimeout(() => { status.textContent = text; }, QUIET_MS);
}

let latest = 0;
let answered = "";

/** Answer a question. Of several that are asked while the data load the last is answered. @param {Words} words */
async function answer(words) {
  const turn = ++latest;
  answered = location.search;
  if (!Object.keys(words).length) {
    showNothing(form, place);
    announce("");
    return;
  }
  let loaded;
  try {
    if (!loading) announce("Loading");
    showLoading(place);
    loaded = await published();
  } catch {
    if (turn === latest) announce(showFailure(form, place, SITE, () => answer(words)));
    return;
  }
  if (turn === latest) show(loaded, words);
}

/**
 * @param {{rules: import("./table.js").Rules, table: Table}} loaded
 * @param {Words} words
 */
function show({ rules, table }, words) {
  try {
    const { question, notes } = understand(rules, words);
    const found = find(table, rules, question);
    announce(showAnswers({ form, place, rules, table, site: SITE }, found, notes));
  } catch (error) {
    if (!(error instanceof UnusableInput)) throw error;
    announce(showMistake(form, place, error.message, error.help, error.word));
  }
}

form.addEventListener("focusin", () => published().catch(() => {}), { once: true });
form.addEventListener("input", () => {
  toAddress();
  answer(fromForm());
});
form.addEventListener("change", () => {
  toAddress();
  committed = true;
});
form.addEventListener("reset", () => setTimeout(() => {
  for (const added of form.querySelectorAll("[data-added]")) added.remove();
  toAddress();
  committed = true;
  answer({});
}));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  toAddress();
  committed = true;
  document.getElementById("finder-headline")?.focus();
});
addEventListener("popstate", () => {
  if (location.search === answered) return;
  committed = true;
  fill(fromAddress());
  answer(fromAddress());
});

fill(fromAddress());
answer(fromAddress());
