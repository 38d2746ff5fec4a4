/**
 * What fits by arithmetic, beside what is published: MIN and RECOMMENDED as cards.
 *
 * @typedef {import("./index.js").Query} Query
 * @typedef {import("./page.js").Found} Found
 * @typedef {import("../estimate/question.js").Estimate} Estimate
 * @typedef {Record<string, any>} Start the same question for each training backend that may be taken: `PlanStart` of `estimate/plan.py`
 * @typedef {Record<string, any>} Settings MIN and RECOMMENDED: those of `estimate/plan.py`
 */

import { bracketed, EITHER, enumerated, filled, fixed, inSeconds, queryOf, quoted, SAID, say, word } from "../elements.js";
import { formula, load } from "../estimate/formula.js";
import { backend_of, is_offloaded, PlanStart, planned, smallest_after, turned_on } from "../estimate/plan.js";
import { configuration, estimated, modelMeant } from "../estimate/question.js";
import { step_time } from "../estimate/time.js";
import { Mistake } from "../form.js";
import { made, replace } from "../python.js";
import { INDEX } from "./index.js";
import { PlanQuestion } from "./published.js";
import { deviceOf, gpusOf } from "./sentences.js";
import { lengths_in, understand } from "./understand.js";
import { fits_gpus, Plan } from "./verdict.js";
import { without_owner } from "./vocabulary.js";

// Inputs of the estimate that other fields of its form stand for.
const OTHER_FIELDS = ["gpus", "quantized", "has_engine", "device_gb"];

/** What a plan is asked, in words of the estimate's form; nothing where the model is open. @param {Query} query @param {Record<string, string>} words of the form */
export function planWords(query, { model: named, length: lengths = "" }) {
  const { plan: { usual }, profiled } = INDEX;
  const { memory_gb, device, length } = query;
  const [prompt] = lengths_in(lengths);
  const [task] = (query.task || usual.task).split(EITHER);
  const inFourBits = ["", "lora"].includes(query.weights) && new RegExp(formula().names.four_bits, "i").test(named);
  const weights = inFourBits ? "qlora" : query.weights || (task.endsWith("-LoRA") ? "lora" : "full");
  const known = query.framework.split(EITHER).find((one) => one in profiled);
  const frameworks = known ? [known] : usualFrameworks(weights, query.train);
  const infer = query.infer || usual.infer_of[frameworks[0]] || usual.infer_of[query.vendor] || usual.infer;
  const first = prompt < length ? prompt : Math.min(usual.prompt_length, Math.floor(length / 2));
  if (!named || weights === "partial") return undefined;
  if (!trainsWeights(query, weights)) throw new Mistake(say("estimate.offline", { framework: query.framework_label, task: word(INDEX.weights[weights]) }));
  return {
    ...modelMeant(query, named), weights, task, frameworks, gpus: query.gpus, train: query.train, infer,
    ...(device ? { device } : { device_gb: memory_gb }), host_memory: query.host_memory_gb,
    prompt_length: length ? first : usual.prompt_length, response_length: length ? length - first : usual.response_length,
  };
}

/** Whether the framework that is asked trains them, as far as that is known of itself. @param {Query} query @param {string} weights */
function trainsWeights({ framework }, weights) {
  const [name] = framework.split(EITHER);
  const { weights: trained } = formula().frameworks.find((row) => row.framework === name) ?? {};
  return (trained ?? [weights]).includes(weights);
}

/** The words with the device of the least memory where the name of one leaves it open: `ask_plan` of `query/plan_question.py`. @param {Record<string, string>} words */
export function ofLeastMemory(words) {
  const [{ devices, gpus }] = understand(INDEX.vocabulary, words);
  const [least, ...others] = devices.map((key) => INDEX.vocabulary.devices.known[key]).sort((a, b) => a.memory_gb - b.memory_gb);
  return others.length ? { ...words, device: least.label, gpus: words.gpus || String(gpus || "") } : words;
}

/** The frameworks that are taken where none is named: `_frameworks` of `query/plan_question.py`. @param {string} weights @param {string} train */
function usualFrameworks(weights, train) {
  const { frameworks: { qlora, rollouts } } = INDEX.plan;
  const usual = weights === "qlora" ? qlora : rollouts;
  const rows = Object.fromEntries(formula().frameworks.map((row) => [row.framework, row]));
  const trains = (name) => rows[name].trains_rl && (rows[name].weights ?? [weights]).includes(weights) && (!train || rows[name].trains.includes(calledBy(name, train)));
  const able = [...usual, ...Object.keys(rows)].filter(trains);
  const found = able.filter((name) => usual.includes(name));
  return found.length ? found : [able[0] ?? usual[0]];
}

/** What a framework calls a training backend. @param {string} framework @param {string} train */
const calledBy = (framework, train) => INDEX.profiled[framework][train] ?? train;

/** Where a plan begins. Throws `Mistake`. @param {Record<string, any>} asked in words of the estimate's form @returns {Start} */
export function begin({ frameworks, host_memory = 0, ...words }) {
  const [first, ...others] = frameworks.map((framework) =>
    made(PlanStart, [groupsOf(framework, { ...words, train: calledBy(framework, words.train) }), host_memory, []]));
  return replace(first, { others });
}

/** The question with each training backend of a framework. @param {string} framework @param {Record<string, any>} words */
function groupsOf(framework, words) {
  const { search, verl, tasks } = INDEX.plan;
  const ask = (own) => estimated({ ...words, gpus: words.gpus || 8, ...own });
  const ofVerl = (train) => {
    const found = ask({ train });
    const { lora_rank, parameter_bytes } = found.values;
    const { rollout_n, has_reference } = tasks[words.task];
    const own = { ...verl.inputs, rollout_n, has_reference: lora_rank ? 0 : has_reference, lora_rank };
    return found.with_inputs(train === "megatron" ? { ...own, parameter_bytes } : own);
  };
  if (framework !== "verl") {
    const { trains } = formula().frameworks.find((row) => row.framework === framework);
    return (words.train ? [words.train] : trains).map((train) => [ask({ framework, train })]);
  }
  if (words.train) return [[ofVerl(words.train)]];
  const ofFull = () => (ofVerl("fsdp").values.experts ? "experts" : "full");
  return search[words.weights === "full" ? ofFull() : "lora"].map((group) => group.map(ofVerl));
}

/** Draw the plan of a question, or without hardware the fewest GPUs of each class of devices. @param {HTMLElement} room @param {any} data `api/v1/estimate.json` @param {Record<string, string>} said the words of the form @param {Found} found what is published */
export function drawPlan(room, data, said, { best }) {
  load(data);
  const words = ofLeastMemory(said);
  const [query] = understand(INDEX.vocabulary, words);
  try {
    const asked = planWords(query, words);
    if (!asked) room.replaceChildren();
    else if (!query.memory_gb && !query.vendor) drawTable(room, words, query);
    else {
      const start = begin(asked);
      const settings = planned(start, query.gpus);
      const isOther = best?.weights && best.weights !== asked.weights; // such as LoRA where the plan trains all weights
      const isBelieved = !settings.recommended && best?.state === "run" && !isOther;
      const sentence = sentenceOf(start, settings, said, asked);
      const first = isOther && sentence;
      room.replaceChildren(filled("finder-planned", { ...wordsOf(start, settings, words, asked, query), first, isBelieved }));
      if (!best) room.parentNode.querySelector("h2").textContent = sentence;
    }
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    room.replaceChildren(filled("finder-unplanned", { why: error.message }));
  }
}

/** The fewest GPUs of each class of devices by arithmetic, one line after the other; what fits on less memory fits on more. @param {HTMLElement} room @param {Record<string, string>} words @param {Query} query */
async function drawTable(room, words, query) {
  const kinds = query.weights ? [query.weights] : ["full", "lora", "qlora"].filter((kind) => trainsWeights(query, kind));
  const fewest = {};
  const titles = kinds.map((kind) => ({ title: word(INDEX.weights[kind]) }));
  const lines = [];
  const devices = INDEX.plan.class.map(({ device }) => INDEX.vocabulary.devices.known[device]).sort((a, b) => a.memory_gb - b.memory_gb);
  for (const { label } of devices) {
    const cells = kinds.map((kind) => {
      const [asked] = understand(INDEX.vocabulary, { ...words, weights: kind, device: label });
      fewest[kind] = smallest_after(begin(planWords(asked, words)), fewest[kind] ?? null);
      const gpus = fewest[kind]?.values.gpus;
      const color = gpus ? "certain certain--estimated" : "fewest-none";
      return { gpus, none: !gpus, color, query: queryOf({ ...words, weights: kind, device: label, gpus }) };
    });
    lines.push({ label, cells });
    room.replaceChildren(filled("finder-fewest", { titles, lines }));
    await new Promise((resolve) => { setTimeout(resolve); });
    if (!room.isConnected) return;
  }
}

/** The first sentence of the command, in the words of `site/plan.py`. @param {Start} start @param {Settings} found @param {Record<string, string>} said @param {Record<string, any>} asked */
export function sentenceOf(start, found, said, { task, weights, prompt_length, response_length }) {
  const words = ofLeastMemory(said);
  const [query] = understand(INDEX.vocabulary, { ...words, task, weights });
  const [{ devices }] = understand(INDEX.vocabulary, said);
  const lengths = [prompt_length, response_length];
  const question = made(PlanQuestion, [], { words, query, task: query.task, weights, lengths, start, larger: devices.filter((key) => key !== query.device) });
  const { verdict, sentence, decisive, shown } = made(Plan, [question], found);
  const { values } = shown;
  const model = without_owner(query.model || words.model);
  const what = say("asked.what", { task: query.task.replace(/-LoRA$/, ""), model: verdict.startsWith("yes") ? without_owner(decisive.model) : model, weights: word(INDEX.weights[weights]) });
  const run = decisive && decisive.hardware + bracketed(enumerated([decisive.framework_label, word(decisive.context), ...decisive.differs]));
  const on = hardwareOf({ values: query.gpus ? query : values }, query);
  const offload = start.surely_holds(shown) ? "offload" : "offload_of_host";
  const isOffloaded = found.recommended && is_offloaded(shown);
  const hardware = isOffloaded ? say(`hardware.${offload}`, { hardware: on, most: fixed(shown.host_interval_gb[1]) }) : on;
  return say(`verdict.${sentence}`, { what, model, hardware, ran: run, failed: run });
}

const hardwareOf = ({ values }, query) => `${values.gpus} × ${deviceOf(query)}`;

/** What the page says of a plan: its cards, and what to do where nothing fits. @param {Start} start @param {Settings} found @param {Record<string, string>} words @param {Record<string, any>} asked @param {Query} query */
function wordsOf(start, { minimum, recommended, short, more }, words, asked, query) {
  const factsOf = (found) => JSON.stringify([found?.configuration.train, found?.values]);
  const isSame = recommended && factsOf(recommended) === factsOf(minimum);
  const options = recommended ? { RECOMMENDED: recommended, ...(!isSame && { MIN: minimum }) } : { "": short };
  const isHost = short && fits_gpus(short);
  return {
    taken: enumerated(takenOf(recommended ?? short, asked, query)),
    cards: Object.entries(options).map(([tag, one]) => ({ ...cardOf(tag, one, words, query), calculator: settingsIn(one, asked), ...(isSame && { tag: "RECOMMENDED, MIN" }) })),
    short_of_host: isHost && { most: fixed(start.host_gb ? short.host_interval_gb[1] : short.host_memory_gb), room: start.room_gb(short) },
    more: more && { gpus: more.values.gpus, query: queryOf({ ...words, gpus: more.values.gpus }) },
    lora: short && asked.weights === "full" && { query: queryOf({ ...words, weights: "lora" }) },
  };
}

/** What a plan takes where the question is open, as the command says it. @param {Estimate} found @param {Record<string, any>} asked @param {Query} query */
function takenOf({ configuration: { framework }, values }, { task, infer, prompt_length, response_length }, query) {
  return [
    !query.task && task, !query.infer && infer,
    !query.length && word(`${prompt_length} + ${response_length} tokens`),
    !query.memory_gb && say("plan.usual_memory", { gb: values.device_gb, vendor: query.vendor }),
    framework && !query.framework && say("plan.defaults", { framework: INDEX.vocabulary.frameworks[framework] }),
  ].filter(Boolean);
}

/** @param {string} tag @param {Estimate} found @param {Record<string, string>} words @param {Query} query */
function cardOf(tag, found, words, query) {
  const { configuration: { framework }, deciding: { moment, high_gb: high }, device_gb: device, host_memory_gb, host_interval_gb, phases, values } = found;
  const { seconds } = step_time(found) ?? {};
  const options = Object.entries(words).map(([name, text]) => `--${name.replace("_", "-")} ${quoted(text)}`);
  return {
    tag: tag || say(`unfit.${fits_gpus(found) ? "host" : found.verdict === "tight" ? "tight" : "other"}`), color: tag.toLowerCase() || "none", hardware: hardwareOf(found, query),
    settings: settingsOf(found).join(" · "),
    scale: 1.02 * Math.max(device, high), gb: device, peak: moment.peak_gb, above: Math.max(0, high - moment.peak_gb),
    high: fixed(high, 1), device: fixed(device, 1), phase: word(moment.phase),
    phases: enumerated(Object.values(phases).map(({ phase, peak_gb }) => `${word(phase)} ${fixed(peak_gb)}`)),
    held: !values.unified_memory && { host: fixed(host_memory_gb), most: fixed(host_interval_gb[1]), node: gpusOf(values.local_gpus) },
    time: tag && seconds && { seconds: inSeconds(seconds.middle), low: inSeconds(seconds.low), longest: inSeconds(seconds.high) },
    wider: framework && { framework: INDEX.vocabulary.frameworks[framework] },
    command: tag && !framework && ["rl-resources plan", ...options, `--script ${tag} > train.sh`].join(" "),
  };
}

/** The query by which the calculator has the settings of an option: all that it would not assume, or the plan does not, and the parallel sizes. Settings are spelled as verl's without a framework; with it, the interval is that of what its users leave open. @param {Estimate} found @param {Record<string, any>} asked */
function settingsIn({ configuration: { assumed: still, framework, train, infer }, values }, { host_memory, named, isRead, billions, isMixture, frameworks, ...asked }) {
  const words = { ...asked, framework, model: named, gpus: values.gpus, train, infer };
  const { assumed, inputs } = configuration({ ...words, model: asked.model, named, isRead, billions, isMixture });
  const inputsOf = (items) => new Set(items.map(({ input }) => input));
  const settled = inputsOf(assumed).difference(inputsOf(still));
  const sizes = { ...formula().sizes[0], ...formula().engine_sizes[0] };
  const isOwn = (name) => name in sizes || settled.has(name) || values[name] !== inputs[name];
  const isAsked = ({ name, minimum }) => !OTHER_FIELDS.includes(name) && values[name] >= minimum && isOwn(name);
  return queryOf({ ...words, ...Object.fromEntries(formula().inputs.filter(isAsked).map(({ name }) => [name, String(values[name])])) });
}

/** Backends, precision, micro batch, what is on and saves memory, and the parallel sizes, in short. @param {Estimate} found */
function settingsOf(found) {
  const { configuration: { infer }, phases: { rollout }, values } = found;
  const isOwn = ([input]) => `setting.${input}` in SAID && (values.lora_rank || input !== "layered_summon");
  return [
    [backend_of(found), infer].filter(Boolean).join(` ${word("and")} `),
    say(values.quantized ? "held.base" : "held.weights", { bits: 8 * values.parameter_bytes }),
    say(values.max_tokens ? "held.max_tokens" : "held.micro_batch", values),
    ...[...turned_on(found)].filter(isOwn).map(([input]) => say(`setting.${input}`)),
    ...INDEX.plan.sizes.filter((input) => values[input] > 1).map((input) => `${say(`size.${input}`)} ${values[input]}`),
    rollout && say("plan.utilization", { share: Number(values.gpu_memory_utilization.toPrecision(2)) }),
  ].filter(Boolean);
}
