/** The form of the estimate. */

import { answer, Mistake } from "../form.js";
import { answered } from "./question.js";
import { draw } from "./view.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("estimate"));
const OPTIONS = ["model", "gpus", "device", "weights", "task", "framework", "train", "infer"];

/** Show the value that an empty field stands for. @param {Record<string, number>} values */
function showDefaults(values) {
  for (const field of form.elements) {
    const { [field.name]: value } = values;
    if (value === undefined || field.value) continue;
    if (field.options) field.options[0].text = `default: ${value ? "yes" : "no"}`;
    else field.placeholder = String(value);
  }
}

/** @param {Record<string, string>} words */
function commandOf(words) {
  const memory = words.device ? "--set device_gb=" : "--memory ";
  const option = (name) => (OPTIONS.includes(name) ? `--${name} ` : `--set ${name}=`);
  const own = Object.entries(words).map(([name, text]) => (name === "device_gb" ? memory : option(name)) + text);
  return ["rl-resources estimate", ...own].join(" ");
}

answer(form, { memory: "device_gb" }, (place, formula, words, strange) => {
  if (strange.length) throw new Mistake(`Not known: ${strange.join(", ")}`);
  const found = answered(formula, words);
  showDefaults(found.values);
  return draw(place, formula, found, words, commandOf(words));
});
