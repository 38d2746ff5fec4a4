/**
 * Forms whose state is the URL, and a form that is answered while it is filled in.
 */

import { comma, filled, nearest, queryOf, QUIET_MS, say, word } from "./elements.js";

const MOST_NEAR = 6;
const LEAST_ALIKE = 0.5;

/** A question without an answer: why, and as its cause the `field` that is wrong, with `help`. */
export class Mistake extends Error {}

/** Throw a `Mistake` of this sentence. @param {string} name @param {Record<string, any>} words @param {string} [field] @param {string} [help] @returns {never} */
export function refuse(name, words, field, help) {
  throw new Mistake(say(name, words), { cause: { field, help } });
}

/** The words of a form, without those that are empty. @param {HTMLFormElement} form @returns {Record<string, string>} */
const wordsOf = (form) => Object.fromEntries(
  [...new FormData(form)].map(([name, text]) => [name, text.trim()]).filter(([, text]) => text));

/** A text with what stands in backticks as code. @param {string} text */
const coded = (text) => text.split("`").map((part, i) => (i % 2 ? filled("code", { part }) : part));

/** The first words that a field offers and that contain a text, or stand in it, otherwise the most alike; none where it offers the text, which is no slip. @param {any} field @param {string} text */
function near(field, text) {
  if (field?.selectedOptions?.[0]?.className === "") return [];
  const offered = [...field?.list?.options ?? field?.options ?? []].map(({ value }) => value).filter((value) => value !== text);
  const parts = (one) => ` ${one.toLowerCase().replace(/[^a-z0-9.]+/g, " ")} `;
  const isNear = (word) => word && (word.toLowerCase().includes(text.toLowerCase()) || parts(text).includes(parts(word)));
  const found = offered.filter(isNear).slice(0, MOST_NEAR);
  if (found.length || !text) return found;
  return nearest(text, offered, LEAST_ALIKE);
}

/** Whether a field took a text, a list in any case; one that a list does not offer is added to it, with a class. @param {HTMLInputElement | HTMLSelectElement | null} field @param {string} text */
function takes(field, text) {
  if (!field) return false;
  const isMeant = (word) => word.toLowerCase() === text.toLowerCase();
  const offered = [...(field.options ?? [])].find(({ value, label }) => isMeant(value) || isMeant(label));
  if (field.options && !offered) field.add(Object.assign(new Option(text), { className: "unoffered" }));
  field.value = offered?.value ?? text;
  field.closest("details")?.toggleAttribute("open", true);
  return field.value !== "";
}

/**
 * Keep a form and the URL in step from now on: a field that is left puts the words of the form there,
 * and the form has what is there on loading, Back and Forward.
 *
 * @param {HTMLFormElement} form its method is `dialog`, by which Enter sends it nowhere
 * @param {Record<string, string>} same other names of its fields in a URL
 * @param {(strange: string[]) => void} update is called after a change, with what no field takes of the URL
 */
export function keepInURL(form, same, update) {
  let search = "";
  const example = Object.keys(wordsOf(form));

  /** Not for a link within the page, after which the query is as before. */
  function fromURL() {
    if (location.search === search) return;
    search = location.search;
    const words = [...new URLSearchParams(search)].map(([name, text]) => [same[name] ?? name, text]);
    form.reset(); // without a question it has that of its example
    if (search) example.forEach((name) => { form.elements.namedItem(name).value = ""; });
    const strange = words.filter(([name, text]) => text && !takes(form.elements.namedItem(name), text));
    update(strange.map((word) => word.join("=")));
  }

  form.addEventListener("input", () => update([]));
  form.addEventListener("change", () => {
    const url = new URL(location.pathname, location);
    url.search = queryOf(wordsOf(form));
    if (url.search !== search) history.pushState(null, "", url);
    search = location.search;
  });
  addEventListener("popstate", fromURL);
  fromURL();
}

/**
 * Answer a form from now on.
 *
 * @param {HTMLFormElement} form its data are at `data-url` and, of words, at `data-words`; its answers go to the element `data-answers`
 * @param {Record<string, string>} same other names of its fields in a URL
 * @param {(place: HTMLElement, data: any, words: Record<string, string>, strange: string[]) => string} draw
 *   draws an answer, given also what no field takes of the URL; returns what a screen reader says
 */
export function answer(form, same, draw) {
  const place = document.getElementById(form.dataset.answers);
  const status = document.getElementById(`${form.id}-status`);
  const sources = [form.dataset.url, form.dataset.words].map((url) => new URL(url, location));
  const [example, ofExample] = [[...place.childNodes], JSON.stringify(wordsOf(form))];
  let [asked, pending] = [{}, 0];

  /** The last of several questions is answered, once the data are here: they are not fetched before somebody asks. The page has the answer of its example. */
  async function update(strange) {
    const words = (asked = wordsOf(form));
    const isOpen = !location.search && ["{}", ofExample].includes(JSON.stringify(words));
    if (isOpen) place.replaceChildren(...example);
    else if (example.some((node) => node.isConnected)) place.replaceChildren(); // It answers another question.
    const modules = sources.map((source) => import(source, { with: { type: "json" } }));
    const data = await Promise.all(modules).then(([own, known]) => Object.assign(own.default, known.default)).catch(() => undefined);
    if (words !== asked || isOpen) return;
    for (const field of form.elements) field.ariaInvalid = null;
    if (!data) place.replaceChildren(filled("form-unloaded", { query: queryOf(words) }));
    const said = data ? answered(data, words, strange) : place.innerText;
    clearTimeout(pending);
    pending = setTimeout(() => { status.textContent = said; }, QUIET_MS); // once nothing has changed for a moment
  }

  function answered(data, words, strange) {
    try {
      return draw(place, data, words, strange);
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      const { field: name, help = "" } = error.cause ?? {};
      const field = form.elements.namedItem(name);
      if (field) field.ariaInvalid = true;
      const offered = near(field, words[name]);
      const before = (at) => at > 0 && (at < offered.length - 1 ? comma : ` ${word("or")} `);
      const meant = offered.length > 0 && { others: offered.map((one, at) => ({ before: before(at), word: one, query: queryOf({ ...words, [name]: one }) })) };
      const isOffline = form.id === "finder" && name === "task" && data.without_rollouts.includes(words.task.toLowerCase());
      const { length, host_memory, scenario, tag, ...ofCalculator } = words;
      const calculator = isOffline && { query: queryOf(ofCalculator) };
      place.replaceChildren(filled("form-says", { message: coded(error.message), help: isOffline ? "" : coded(help), meant, calculator }));
      return error.message;
    }
  }

  form.addEventListener("focusin", () => update([]), { once: true });
  form.addEventListener("submit", () => place.querySelector("h2")?.focus());
  keepInURL(form, same, update);
}
