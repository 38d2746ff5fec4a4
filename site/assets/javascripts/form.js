/**
 * A form that is answered while it is filled in. Its URL is its state: a field that is left puts
 * the question there, and what is there is answered on loading, Back and Forward.
 */

import { announcer, element } from "./elements.js";

/** A question without an answer; the message says why, `near` are words for the field `name`. */
export class Mistake extends Error {
  /** @param {string} message @param {string} help @param {string} name @param {string[]} near */
  constructor(message, help = "", name = "", near = []) {
    super(message);
    Object.assign(this, { help, name, near });
  }
}

/** The words of a form, without those that are empty. @param {HTMLFormElement} form @returns {Record<string, string>} */
const wordsOf = (form) => Object.fromEntries(
  [...new FormData(form)].map(([name, text]) => [name, text.trim()]).filter(([, text]) => text));

/** A text with what stands in backticks as code. @param {string} text */
const coded = (text) => text.split("`").map((part, i) => (i % 2 ? element("code", null, part) : part));

/** Whether a field took a text, a list in any case; one that a list does not offer is added to it. @param {HTMLInputElement | HTMLSelectElement | null} field @param {string} text */
function takes(field, text) {
  if (!field) return false;
  const isMeant = (word) => word.toLowerCase() === text.toLowerCase();
  const offered = [...(field.options ?? [])].find(({ value, label }) => isMeant(value) || isMeant(label));
  if (field.options && !offered) field.add(new Option(text));
  field.value = offered?.value ?? text;
  field.closest("details")?.toggleAttribute("open", true);
  return field.value !== "";
}

/**
 * Answer a form from now on.
 *
 * @param {HTMLFormElement} form its data are at `data-url`, its answers go to the element `data-answers`
 * @param {Record<string, string>} same other names of its fields in a URL
 * @param {(place: HTMLElement, data: any, words: Record<string, string>, strange: string[]) => string} draw
 *   draws an answer, given also what no field takes of the URL; returns what a screen reader says
 */
export function answer(form, same, draw) {
  const place = document.getElementById(form.dataset.answers);
  const announce = announcer(document.getElementById(`${form.id}-status`));
  const linkTo = (words, text) => element("a", { href: `?${new URLSearchParams(words)}` }, text);
  let [loading, latest, asked, search] = [undefined, 0, "", ""];

  /** The data, fetched once and not before somebody asks. */
  function load() {
    loading ??= fetch(form.dataset.url).then((reply) => (reply.ok ? reply.json() : Promise.reject(reply)));
    loading.catch(() => { loading = undefined; });
    return loading;
  }

  /** Of several questions that are asked while the data load the last is answered. */
  async function update(strange = []) {
    const [turn, words] = [++latest, wordsOf(form)];
    const isAsked = Object.keys(words).length > 0;
    document.querySelector("[data-unasked]")?.toggleAttribute("open", !isAsked);
    if (!isAsked || !place.hasChildNodes()) say(isAsked ? "Loading the data …" : "");
    const data = await load().catch(() => undefined);
    if (turn !== latest || !isAsked) return;
    if (data) show(data, words, strange);
    else say("The data could not be loaded.", linkTo(words, "Try again"));
  }

  function show(data, words, strange) {
    for (const field of form.elements) field.ariaInvalid = null;
    try {
      announce(draw(place, data, words, strange));
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      const { message, help, name, near } = error;
      say(`${message}.`, ...coded(help), ...near.flatMap((word) => [" ", linkTo({ ...words, [name]: word }, word)]));
      const field = form.elements.namedItem(name);
      if (field) field.ariaInvalid = "true";
    }
  }

  /** @param {string} text @param {...any} more */
  function say(text, ...more) {
    place.replaceChildren(...(text ? [element("p", { class: "form-says" }, element("strong", null, ...coded(text)), " ", ...more)] : []));
    announce(text);
  }

  function toURL() {
    const query = new URLSearchParams(wordsOf(form)).toString();
    if (query === asked) return;
    history.pushState(null, "", query ? `?${query}` : location.pathname);
    [asked, search] = [query, location.search];
  }

  function fromURL() {
    const words = [...new URLSearchParams(location.search)].map(([name, text]) => [same[name] ?? name, text]);
    form.reset();
    const strange = words.filter(([name, text]) => text && !takes(form.elements.namedItem(name), text));
    [asked, search] = [new URLSearchParams(wordsOf(form)).toString(), location.search];
    if (search || place.hasChildNodes()) update(strange.map((word) => word.join("=")));
  }

  form.addEventListener("focusin", () => update(), { once: true });
  form.addEventListener("input", () => update());
  form.addEventListener("change", toURL);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    toURL();
    place.querySelector("h2")?.focus();
  });
  addEventListener("popstate", () => location.search !== search && fromURL());
  fromURL();
}
