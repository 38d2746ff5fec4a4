/** The form of the estimate. The address is the state: each field is a parameter of it. */

import { announcer, element } from "../elements.js";
import { sized } from "./estimate.js";
import { configuration, Unusable } from "./question.js";
import { draw } from "./view.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("estimate"));
const place = /** @type {HTMLElement} */ (document.getElementById("estimate-result"));
const announce = announcer(/** @type {HTMLElement} */ (document.getElementById("estimate-status")));
const SITE = new URL("../../", import.meta.url);
const OPTIONS = ["model", "gpus", "device", "weights", "train", "infer"];
const OFF = ["0", "false", "no"];

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */
const fields = /** @type {Field[]} */ ([...form.elements].filter((field) => field.getAttribute("name")));
const last = (/** @type {string} */ name) => name.slice(name.lastIndexOf("/") + 1).toLowerCase();
const isChecked = (/** @type {Field} */ field) => field instanceof HTMLInputElement && field.type === "checkbox";

/** What the form asks; a switch counts where it is not as it was. */
function fromForm() {
  const texts = fields.filter((field) => !field.disabled).map((field) => {
    if (!isChecked(field)) return [field.name, field.value.trim()];
    const { name, checked, defaultChecked, value } = /** @type {HTMLInputElement} */ (field);
    const text = checked ? value : "0";
    return [name, text === String(Number(defaultChecked)) ? "" : text];
  });
  return Object.fromEntries(texts.filter(([, text]) => text));
}

/** The words of the address by field; also keys of verl. @param {any} formula @returns {Record<string, string>} */
function fromAddress(formula) {
  const named = formula.inputs.flatMap(({ name, key }) => Object.values(key ?? {}).map((one) => [one, name]));
  const names = { ...Object.fromEntries(named), memory: "device_gb" };
  const words = Object.fromEntries([...new URLSearchParams(location.search)].map(([name, text]) => [names[name] ?? name, text]));
  const { quantized = "0", lora_rank: rank = "0", has_engine: engine = "0", ...rest } = words;
  const weights = OFF.includes(quantized) ? (OFF.includes(rank) ? "full" : "lora") : "qlora";
  return { weights, infer: OFF.includes(engine) ? "" : "vllm", ...rest, ...(OFF.includes(rank) ? {} : { lora_rank: rank }) };
}

/** Fill the form; returns what it could not take. @param {Record<string, string>} words */
function fill(words) {
  const unknown = Object.entries(words).filter(([name, text]) => text && !take(name, text)).map((word) => word.join("="));
  const more = /** @type {HTMLDetailsElement} */ (form.querySelector("details"));
  more.open ||= [...new FormData(form)].some(([name, text]) => text && more.querySelector(`[name="${name}"]:not([type="checkbox"])`));
  return unknown;
}

/** Whether a field took a text. @param {string} name @param {string} text */
function take(name, text) {
  const field = fields.find((one) => one.name === name);
  if (!field) return false;
  if (isChecked(field)) [field.checked, field.value] = [!OFF.includes(text.toLowerCase()), Number(text) > 0 ? text : "1"];
  else if (field instanceof HTMLInputElement) field.value = text;
  else field.value = [...field.options].find(({ value }) => [value.toLowerCase(), last(value)].includes(text.toLowerCase()))?.value ?? "";
  return field.value !== "";
}

/** Show the value that an empty field stands for. @param {Record<string, number>} inputs */
function showDefaults(inputs) {
  for (const field of fields.filter(({ name, value }) => name in inputs && !value)) {
    if (field instanceof HTMLSelectElement) field.options[0].text = `default: ${inputs[field.name] ? "yes" : "no"}`;
    else field.placeholder = String(inputs[field.name]);
  }
}

/** @param {Record<string, string>} words */
function commandOf({ device_gb: memory, ...words }) {
  const own = Object.entries(words).map(([name, text]) => (OPTIONS.includes(name) ? `--${name} ${text}` : `--set ${name}=${text}`));
  const gb = memory && (words.device ? `--set device_gb=${memory}` : `--memory ${memory}`);
  return ["rl-resources estimate", ...own, gb].filter(Boolean).join(" ");
}

/** Answer the form. @param {any[]} documents @param {string[]} [unknown] */
function answer([formula, { models }, { devices }], unknown = []) {
  const rank = /** @type {HTMLInputElement} */ (form.elements.namedItem("lora_rank"));
  rank.disabled = /** @type {HTMLSelectElement} */ (form.elements.namedItem("weights")).value === "full";
  const words = fromForm();
  try {
    if (unknown.length) throw new Unusable(`Not known: ${unknown.join(", ")}.`);
    const model = models.find((row) => row.model === words.model);
    if (!model || !words.gpus || !(words.device || words.device_gb)) throw new Unusable("Choose a model, the number of GPUs and a device.");
    const asked = configuration(formula, words, model, devices.find((row) => row.device === words.device));
    const found = sized(formula, asked);
    showDefaults(found.configuration.inputs);
    announce(draw(place, formula, found, commandOf(words)));
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    say(error.message);
  }
}

/** @param {string} text */
function say(text) {
  place.replaceChildren(element("p", { class: "nothing" }, text));
  announce(text);
}

/** @param {string} name */
async function published(name) {
  const reply = await fetch(new URL(`api/v1/${name}.json`, SITE));
  return reply.ok ? reply.json() : Promise.reject(new Error(reply.statusText));
}

/** @type {Promise<any[]> | undefined} */
let loading;

/** Do something with what an answer needs: 200 KB, fetched once and not before somebody asks. @param {(documents: any[]) => void} act */
function loaded(act) {
  loading ??= Promise.all(["estimate", "models", "devices"].map(published));
  loading.then(act, () => say("The formula could not be loaded. Reload the page to try again."));
}

const update = () => loaded((documents) => answer(documents));
form.addEventListener("focusin", update, { once: true });
form.addEventListener("input", update);
form.addEventListener("change", () => history.replaceState(null, "", `?${new URLSearchParams(fromForm())}`));
form.addEventListener("reset", () => setTimeout(() => {
  for (const field of fields.filter(isChecked)) field.value = "1";
  history.replaceState(null, "", location.pathname);
  update();
}));
form.addEventListener("submit", (event) => event.preventDefault());
if (location.search) loaded((documents) => answer(documents, fill(fromAddress(documents[0]))));
