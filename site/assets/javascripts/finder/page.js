/**
 * The finder on the front page: its form, the question in the page's address, the answers.
 *
 * What is typed is answered at once, and goes into the address when the field is left; what is there
 * is answered on loading, and on going back and forward.
 */

import { announcer } from "../elements.js";
import { find } from "./find.js";
import { indexOf } from "./published.js";
import { understand, Unknown } from "./understand.js";
import { clearMistake, showAnswers, showFailure, showLoading, showMistake } from "./view.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("finder"));
const place = /** @type {HTMLElement} */ (document.getElementById("finder-answers"));
const sizes = /** @type {HTMLDetailsElement} */ (document.querySelector("#sizes ~ details"));
const announce = announcer(/** @type {HTMLElement} */ (document.getElementById("finder-status")));
const SITE = new URL("../../", import.meta.url);
const FIELDS = Array.from(form.elements, (field) => field.getAttribute("name") ?? "").filter(Boolean);
/** @type {Record<string, string>} */
const SAME_FIELD = { model: "size", device: "memory" };

/** @typedef {import("./understand.js").Tokens} Tokens */

/** @type {Promise<import("./published.js").Index> | undefined} */
let loading;

/** The published data, fetched once and not before somebody asks. */
function published() {
  loading ??= fetch(new URL(String(form.dataset.url), document.baseURI))
    .then((reply) => (reply.ok ? reply.json() : Promise.reject(new Error(reply.statusText))))
    .then(indexOf);
  loading.catch(() => { loading = undefined; });
  return loading;
}

/** The question in the address, also as the command has it. @returns {Tokens} */
function fromAddress() {
  const query = new URLSearchParams(location.search);
  return filled(FIELDS.map((name) => [name, query.get(name) ?? query.get(SAME_FIELD[name]) ?? ""]));
}

/** The question in the form. @returns {Tokens} */
const fromForm = () => filled([...new FormData(form)].map(([name, text]) => [name, String(text)]));

/** @param {string[][]} tokens @returns {Tokens} */
const filled = (tokens) => Object.fromEntries(
  tokens.map(([name, text]) => [name, text.trim()]).filter(([, text]) => text));

/** @param {Tokens} tokens */
function fill(tokens) {
  for (const name of FIELDS) {
    const field = form.elements.namedItem(name);
    const text = tokens[name] ?? "";
    if (field instanceof HTMLSelectElement) choose(field, text);
    if (field instanceof HTMLInputElement && field.value.trim() !== text) field.value = text;
  }
  const more = /** @type {HTMLDetailsElement} */ (form.querySelector(".finder-more"));
  more.open ||= [...more.querySelectorAll("[name]")].some((field) => field.value);
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

/** Put the question into the address, as an entry of the history of its own. */
function toAddress() {
  const query = new URLSearchParams(/** @type {Record<string, string>} */ (fromForm())).toString();
  if (query === new URLSearchParams(/** @type {any} */ (fromAddress())).toString()) return;
  history.pushState(null, "", `${location.pathname}${query && `?${query}`}${location.hash}`);
  answered = location.search;
}

let latest = 0;
let answered = "";

/** Answer a question. Of several that are asked while the data load the last is answered. @param {Tokens} tokens */
async function answer(tokens) {
  const turn = ++latest;
  answered = location.search;
  clearMistake(form);
  sizes.open = !Object.keys(tokens).length;
  if (sizes.open) {
    place.replaceChildren();
    announce("");
    return;
  }
  let loaded;
  try {
    if (!loading) announce("Loading");
    showLoading(place);
    loaded = await published();
  } catch {
    if (turn === latest) announce(showFailure(place, SITE, () => answer(tokens)));
    return;
  }
  if (turn === latest) show(loaded, tokens);
}

/** @param {import("./published.js").Index} index @param {Tokens} tokens */
function show(index, tokens) {
  try {
    const { query, notes } = understand(index, tokens);
    announce(showAnswers({ form, place, index, site: SITE }, find(index, query), notes));
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    announce(showMistake(form, place, error));
  }
}

form.addEventListener("focusin", () => published().catch(() => {}), { once: true });
form.addEventListener("input", () => answer(fromForm()));
form.addEventListener("change", toAddress);
form.addEventListener("reset", () => setTimeout(() => {
  for (const added of form.querySelectorAll("[data-added]")) added.remove();
  toAddress();
  answer({});
}));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  toAddress();
  document.getElementById("finder-headline")?.focus({ preventScroll: true });
  place.scrollIntoView();
});
addEventListener("popstate", () => {
  if (location.search === answered) return;
  fill(fromAddress());
  answer(fromAddress());
});

fill(fromAddress());
answer(fromAddress());
