/**
 * The calculator: its form, and an estimate as words of its template.
 *
 * @typedef {import("./question.js").Estimate} Estimate
 */

import { enumerated, filled, fixed as rounded, inSeconds, queryOf, quoted, say, word } from "../elements.js";
import { load as loadWords } from "../finder/index.js";
import { answer, refuse } from "../form.js";
import { formula, load } from "./formula.js";
import { host_word, usual_host_gb } from "./plan.js";
import { answered, evidence, meant } from "./question.js";
import { advised, fits, knobs, limits } from "./search.js";
import { lacking, step_time } from "./time.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("estimate"));
const OPTIONS = ["model", "gpus", "device", "weights", "task", "framework", "train", "infer"];
const MOST_DECISIVE = 3;

const fixed = (gb) => rounded(gb, 1);
const rangeOf = ({ peak_gb: peak, interval_gb: [low, high] }) => ({ peak: fixed(peak), low: fixed(low), high: fixed(high) });
const count = (figure) => Math.floor(figure).toLocaleString("en");

/** Show the value that an empty field stands for. @param {Record<string, number>} values */
function showDefaults(values) {
  for (const field of form.elements) {
    const { [field.name]: value } = values;
    if (value === undefined || field.value) continue;
    if (field.options) field.options[0].text = say(value ? "default.yes" : "default.no");
    else field.placeholder = String(value);
  }
}

/** @param {Record<string, string>} words */
function commandOf(words) {
  const memory = words.device ? "--set device_gb=" : "--memory ";
  const option = (name) => (OPTIONS.includes(name) ? `--${name} ` : `--set ${name}=`);
  const own = Object.entries(words).map(([name, text]) => (name === "device_gb" ? memory : option(name)) + quoted(text));
  return ["rl-resources estimate", ...own].join(" ");
}

/** A text in parts: its addresses are links. @param {string} text */
const linked = (text) => text.split(/(https:[^ ,]+)/).map((part) =>
  (part.startsWith("https:") ? { url: part, shown: part.replace(/^https:..(github.com.)?/, "") } : { text: part }));

/** What was assumed and decides, the most first, as `Estimate.decisive` has it. @param {Estimate} found */
function decisive({ doubts, values, configuration: { assumed, notes } }) {
  const weights = values.quantized ? "QLoRA" : values.lora_rank ? "LoRA" : "full fine-tuning";
  const percent = (factor) => `${factor < 0.995 ? "-" : "+"}${rounded(100 * Math.abs(factor - 1))}%`;
  const rows = assumed.map(({ input, value, reason }) => {
    const { least, most, spread } = doubts[input] ?? { least: 1, most: 1, spread: 0 };
    const isTrained = input === "lora_rank"; // the input that says what trains
    const isSaid = isTrained || reason.includes("derived: ");
    const effect = isSaid ? word(reason) : say("assumed.effect", { least: percent(least), most: percent(most) });
    const label = isTrained ? ` (${word(weights)})` : "";
    return { spread: isTrained ? Infinity : spread, decides: isSaid || spread >= formula().search.decides, text: `${input} ${value}${label}: ${effect}` };
  });
  const shown = rows.filter(({ decides }) => decides).sort((a, b) => b.spread - a.spread);
  return [...shown.map(({ text }) => text), ...notes].slice(0, MOST_DECISIVE);
}

/** A bar and a column for each phase, a row for each component. @param {Estimate} found */
function chart({ phases, device_gb: device, training, interval_gb: [low, high] }) {
  const moments = Object.values(phases);
  const scale = 1.02 * Math.max(device, high, ...moments.map(({ peak_gb }) => peak_gb));
  const titles = new Set(moments.flatMap(({ components }) => Object.keys(components)));
  const shown = (gb) => gb >= 0.005 && gb.toFixed(2);
  const bars = moments.map((moment) => {
    let end = 0;
    const parts = Object.entries(moment.components).map(([title, gb]) => ({ title, text: word(title), x: end, gb, size: fixed(gb), end: (end += gb) }));
    const range = moment === training && { low, span: high - low, text: say("estimate.interval") };
    return { phase: word(moment.phase), name: word(moment.name), peak: fixed(moment.peak_gb), sum: shown(moment.peak_gb), scale, device, parts, range };
  });
  const cells = (title) => moments.map(({ components }) => ({ gb: shown(components[title]) }));
  return { bars, components: [...titles].map((title) => ({ title, text: word(title), cells: cells(title) })) };
}

/** Why not the whole interval fits where its middle does. @param {Estimate} found */
function whyUnsure({ unsure: names, configuration: { framework } }) {
  const { frameworks, said } = formula();
  if (names.length) return say(said.unsure_assumed, { names: enumerated(names) });
  return framework ? say(said.unsure_framework, { framework: frameworks.find((row) => row.framework === framework).title }) : say(said.unsure);
}

/** The cheapest combination that suffices, then single settings, each applied by its link. @param {Estimate} found @param {Record<string, string>} words */
function turns(found, words) {
  const signed = (gb) => `${gb > 0 ? "−" : "+"}${fixed(Math.abs(gb))}`;
  const saved = ({ saves }) => enumerated(Object.entries(saves).map(([phase, gb]) => say("estimate.saves", { gb: signed(gb), phase: word(phase) })));
  const weightsOf = (rank, isQuantized) => (isQuantized ? { weights: "qlora" } : rank > 0 && { weights: "lora" });
  const query = ({ quantized, ...inputs }) => queryOf({ ...words, ...weightsOf(inputs.lora_rank, quantized), ...inputs });
  const every = knobs(found).map((knob) => ({ ...knob, saved: saved(knob), price: word(knob.price), query: query(knob.inputs) }));
  const together = advised(found);
  const all = together?.turns.length > 0 && { ...together, ...rangeOf(together.estimate), query: query(together.inputs) };
  const isSure = all && fits(together.estimate);
  const minor = every.filter(({ helps }) => !helps);
  return {
    all: isSure && all, likely: !isSure && all, unsure: together && !all && !fits(found) && whyUnsure(found), isHopeless: !together,
    knobs: every.filter(({ helps }) => helps), isMinor: minor.length > 0, minor, isLowest: !every.length && !all,
  };
}

/** Where host memory decides, or may; otherwise how much is needed, unless it is the GPU's. @param {Estimate} found */
function host(found) {
  const { host_memory_gb: need, host_interval_gb: [low, high], values: { local_gpus: gpus, unified_memory: isUnified } } = found;
  const node = say(gpus > 1 ? "asked.gpus" : "asked.gpu", { number: gpus });
  const figures = { need: rounded(need), low: rounded(low), high: rounded(high), node };
  const name = host_word(found);
  return name ? { short: say(formula().said[name], { ...figures, usual: String(usual_host_gb(found)) }) } : { host: !isUnified && figures };
}

/** How far it fits with all else unchanged, and the time of a step, or what that needs. @param {Estimate} found */
function reach(found) {
  const known = Object.entries(limits(found)).filter(([, figure]) => figure);
  const { seconds, phases = {} } = step_time(found) ?? {};
  const parts = enumerated(Object.entries(phases).map(([phase, one]) => `${word(phase)} ${inSeconds(one)}`));
  return {
    limits: enumerated(known.map(([name, figure]) => say(`limit.${name}`, { figure: count(figure) }))), isUnlimited: !known.length,
    lacking: enumerated(lacking(found).map((one) => say(one))),
    time: seconds && { seconds: inSeconds(seconds.middle), low: inSeconds(seconds.low), high: inSeconds(seconds.high), parts },
  };
}

/** @param {Estimate} found */
function reasonOf({ engine_starts, rollout_fits, verdict, fits_as_planned, phases }) {
  const { said, verdicts } = formula();
  if (!engine_starts) return say(said.no_cache);
  if (verdict === "tight" && fits_as_planned) return say(said.just_these);
  return rollout_fits ? say(verdicts[verdict]) : say(said.no_room, { moment: word(phases.rollout.name) });
}

/** Empty what only rollouts have, once a task without any is chosen. */
form.elements.task.addEventListener("input", ({ target }) => {
  if (target.selectedOptions[0].matches("[data-alone]")) form.elements.infer.value = form.elements.rollout_n.value = "";
});

answer(form, { memory: "device_gb", ...JSON.parse(form.dataset.short) }, (place, data, words, strange) => {
  load(data);
  loadWords(data);
  if (strange.length) refuse("estimate.strange", { words: enumerated(strange) });
  const { asked, notes } = meant(words);
  const found = answered(asked);
  const { verdict, deciding, phases: { rollout }, training, values } = found;
  const { assumed } = found.configuration;
  const figures = { ...rangeOf(found), device: fixed(found.device_gb) };
  const headline = say("estimate.headline", { ...figures, verdict: word(verdict[0].toUpperCase() + verdict.slice(1)) });
  showDefaults(values);
  place.replaceChildren(filled("estimate-answer", {
    headline, notes, kind: verdict.replace(" ", "-"), why: reasonOf(found), ...chart(found), ...turns(found, words), ...reach(found), ...host(found),
    deciding: deciding.moment !== training && { phase: word(deciding.moment.phase), peak: fixed(deciding.moment.peak_gb), low: fixed(deciding.low_gb), high: fixed(deciding.high_gb) },
    evidence: evidence(found).map((text) => ({ parts: linked(text) })),
    rollout: rollout && { peak: fixed(rollout.peak_gb), tokens: count(values.kv_tokens) },
    decisive: decisive(found), number: assumed.length, query: queryOf(words), command: commandOf(words),
    assumed: assumed.map(({ input, value, reason }) => `${input} ${value}: ${word(reason)}`),
  }));
  return headline;
});
