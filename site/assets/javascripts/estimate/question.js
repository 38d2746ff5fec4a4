/**
 * The question of the form as inputs of the formula: `query/estimate.py` in a browser.
 *
 * @typedef {Record<string, any>} Estimate that of `estimate/estimate.py`
 */

import { EITHER, minBy, say, word } from "../elements.js";
import { INDEX } from "../finder/index.js";
import { understand } from "../finder/understand.js";
import { active_billions_in, billions_in, models_begun, plain } from "../finder/vocabulary.js";
import { refuse } from "../form.js";
import { made } from "../python.js";
import { Estimate } from "./estimate.js";
import { formula } from "./formula.js";
import { fitted, has_usual_sizes, sized } from "./search.js";

const MOST_SOURCES = 3;
const WEIGHTS = { full: { lora_rank: 0 }, lora: {}, qlora: { quantized: 1 } };

/** An input that nobody gave: the value taken, and why; `open` where no framework says it. */
export class Assumed { static fields = ["input", "value", "reason"]; }

/** The model that is computed where a name means one, or begins with that of one; otherwise what its name says. @param {Record<string, any>} query @param {string} named */
export function modelMeant({ model }, named) {
  const keys = model ? [model] : [...models_begun(INDEX.vocabulary, named)];
  const key = keys.find((one) => one in INDEX.things) ?? named;
  return { model: key, named, isRead: !model && key !== named, billions: billions_in(named), isMixture: active_billions_in(named) > 0 };
}

/** The words without their task, if that has no rollouts, and that task: `without_offline` of `query/question_inputs.py`. @param {Record<string, string>} words */
function withoutOffline(words) {
  const { task = "", ...others } = words;
  const asked = plain(task);
  const adapters = ["qlora", "lora"].find((one) => asked.endsWith(one)) ?? "";
  const isAsked = ([name, { names }]) => [name, ...names].some((one) => plain(one) + adapters === asked);
  const [offline] = Object.entries(formula().offline).find(isAsked) ?? [];
  if (!offline) return { others: words };
  if (adapters) others.weights ??= adapters;
  if (adapters && others.weights === "full") refuse("estimate.contradiction", { weights: "full", setting: `${word("task")} ${task}` });
  return { offline, others };
}

/** The words of the form as keys of the formula, with notes on how they were read. @param {Record<string, string>} form */
export function meant(form) {
  const { offline, others: words } = withoutOffline(form);
  const [query, notes] = understand(INDEX.vocabulary, words);
  const { device, framework, gpus, infer, memory_gb, task, weights } = query;
  const gpus_per_node = query.gpus_per_node || words.gpus_per_node;
  const profiled = framework.split(EITHER).find((one) => one in INDEX.profiled) ?? framework;
  const train = INDEX.profiled[profiled]?.[query.train] ?? query.train;
  const computed = modelMeant(query, words.model ?? "");
  const keys = { ...computed, device, framework: profiled, gpus, gpus_per_node, infer, task: offline || task, train, weights };
  const { model, named: text, isRead } = computed;
  if (isRead) notes.push(say("read-as", { text, meaning: model }));
  if (text && !formula().models.some((row) => row.model === model)) notes.push(say("by-number", { text }));
  return { notes: notes.filter(Boolean), asked: { ...words, ...keys, device_gb: words.device_gb ?? (device ? undefined : memory_gb) } };
}

/** What is asked, as `EstimateInputs` of `estimate/configuration.py`; no script is read here. */
class EstimateInputs {
  lines = {};

  get profile() { return { is_verl: this.framework ? this.framework === "verl" : !this.offline && !this.isUnprofiled }; }

  get lacking() { return this.offline && !this.offline.reference ? ["log-probs"] : []; }

  leaves_open({ open }) { return open; }

  /** A knob at a value as the framework writes it. @param {Record<string, any>} row @param {number} value */
  written({ settings }, value) {
    const { framework, train, infer, asked, profile, inputs } = this;
    const stage = framework ? this.stage : "sft"; // without a profile inputs have their own names in any stage
    const offload = inputs.optimizer_on_host > 0 ? " offload" : "";
    const named = settings[`${framework} ${train} ${asked}`];
    const setting = profile.is_verl ? settings[`${train} ${infer}`] ?? settings[train] : named ?? settings[`${framework} ${train} ${stage}${offload}`] ?? settings[`${framework} ${train} ${stage}`];
    return setting?.endsWith("=") ? setting + Number(value.toPrecision(10)) : setting;
  }
}

/** The estimate of a question; what it leaves open is what fits, if anything does. @param {Record<string, string>} words by field of the form */
export const answered = (words) => fitted(sharded(words));

/** The estimate at the sizes that suit. Throws `Mistake`. @param {Record<string, any>} words @returns {Estimate} */
export function estimated(words) {
  const found = made(Estimate, [configuration(words)]);
  const { gpus, undivided } = found.values;
  if (undivided) refuse("estimate.undivided", { gpus });
  const suited = sized(found);
  const { framework, notes } = suited.configuration;
  const title = formula().frameworks.find((row) => row.framework === framework)?.title;
  if (has_usual_sizes(suited)) notes.push(say(formula().said.usual_sizes, { framework: title }));
  return suited;
}

/** The estimate of what shards the model where that is open and the whole one does not fit each GPU. @param {Record<string, string>} words by field of the form */
function sharded(words) {
  const found = estimated(words);
  const { configuration: { framework, train: own }, values: { gpus, shards_parameters: isSharded } } = found;
  const profile = formula().frameworks.find((row) => row.framework === framework);
  const train = profile?.trains.find((name) => name !== own);
  if (words.train || !train || gpus === 1 || isSharded || found.peak_gb <= found.device_gb) return found;
  const other = estimated({ ...words, train });
  other.configuration.notes.unshift(say(formula().said.too_large, { train }));
  return other;
}

/** The figures of a model: of one that is known, or by the number in its name of the nearest typical one, as wide as its size asks for (`completed` of `estimate/model.py`). @param {Record<string, any>} words `modelMeant` */
function modelOf({ model: name, named, isRead, billions, isMixture }) {
  const { models, time, typical } = formula();
  const known = models.find((row) => row.model === name);
  if (known && isRead) return { ...known, assumed: [...known.assumed, "parameters_b"], reasons: { ...known.reasons, parameters_b: say("read-as", { text: named, meaning: name }) } };
  if (known || !billions) return known;
  const isAlike = ({ experts, parameters_b }) => experts > 0 === Boolean(isMixture) || parameters_b === billions;
  const alike = models.filter(({ model, inputs }) => typical.models.includes(model) && isAlike(inputs));
  const { model, inputs } = minBy(alike, (row) => Math.abs(Math.log(row.inputs.parameters_b / billions)));
  const wider = ["intermediate_size", "moe_intermediate_size"].map((input) => [input, Math.round(inputs[input] * billions / inputs.parameters_b)]);
  const assumed = Object.keys(inputs).filter((input) => inputs[input] || input === "tie_word_embeddings");
  const reason = say("typical", { model });
  return {
    inputs: { ...inputs, ...Object.fromEntries(wider), parameters_b: billions, thinks: Number(new RegExp(time.thinking, "i").test(name.replace(/^.*\//, ""))) },
    assumed: assumed.filter((input) => input !== "thinks"), reasons: { ...Object.fromEntries(assumed.map((input) => [input, reason])), parameters_b: "that of its name" },
  };
}

/** What is asked, in inputs, and what nobody gave. Throws `Mistake`. @param {Record<string, any>} words by field of the form, with those of its model */
export function configuration({ model: name, named = name, isRead, billions, isMixture, device, weights: trained = "", train = "", infer = "", task: asked = "", framework = "", ...settings }) {
  const { backends, frameworks, inputs: known, names, of_engine, said, speeds } = formula();
  // What the words mean; a task without rollouts is no task of RL.
  const { [asked]: offline } = formula().offline;
  const task = offline ? "" : asked;
  const model = modelOf({ model: name, named, isRead, billions, isMixture });
  const isOne = Number(settings.gpus) === 1;
  const inFourBits = ["", "lora"].includes(trained) && new RegExp(names.four_bits, "i").test(named);
  const weights = inFourBits || (!trained && settings.quantized > 0) ? "qlora" : trained; // nothing but adapters trains on a base in 4 bits
  const profile = frameworks.find((row) => row.framework === framework);
  const isUnprofiled = Boolean(framework && !profile);
  const usualTrain = profile ? (isOne ? profile.alone : profile.trains[0]) : isOne ? "transformers" : "fsdp";
  const own = train || usualTrain;
  const backend = backends.find((row) => row.backend === own);
  const devices = (device || "").split(EITHER).map((key) => ({ ...speeds[key], device_gb: settings.device_gb ?? formula().devices[key] }));
  const least = Object.keys(devices[0]).map((input) => [input, Math.min(...devices.map((one) => Number(one[input] ?? 0)))]);
  const stated = Object.fromEntries(least.filter(([, figure]) => figure));
  const { [device]: { vendor } = {} } = INDEX.vocabulary.devices.known;
  const hardware = { device_gb: vendor && INDEX.vocabulary.devices.middle_gb(vendor), ...stated };

  if (!model || !hardware.device_gb || !settings.gpus) refuse("estimate.open", {});
  if (weights === "partial") refuse("estimate.weights", { weights }, "weights");
  if (profile && !profile.trains.includes(own)) refuse("estimate.backend", { framework: profile.title, train: own }, "train");
  if (offline && infer) refuse("estimate.rollouts", { task: asked, what: word("rollout engine") }, "infer");
  if (offline && settings.rollout_n) refuse("estimate.rollouts", { task: asked, what: word("rollouts per prompt") }, "rollout_n");
  if ((task || infer) && profile && !profile.trains_rl) refuse("estimate.offline", { framework: profile.title, task: task || "RL" }, "task");
  if (offline && profile?.offline && !profile.offline.includes(asked)) refuse("estimate.offline", { framework: profile.title, task: asked }, "task");

  // What is given, and the rank of adapters.
  const numbers = Object.fromEntries(Object.entries(defined(settings)).map(([input, text]) => [input, Number(text)]));
  const engine = infer && { has_engine: names.no_engines.includes(infer) ? 0 : 1 };
  const given = { ...WEIGHTS[weights], ...(devices.length === 1 && stated), ...engine, ...numbers };
  const hasAdapters = weights.endsWith("lora") || task.endsWith("-LoRA");
  const ownRank = defaultsOf(profile, [own, "lora"]).lora_rank;
  const rank = numbers.lora_rank ?? (hasAdapters ? ownRank || names.usual_rank : undefined);
  const { quantized, mean_response_length: mean, response_length: longest } = numbers;
  if (weights && rank !== undefined && rank > 0 === (weights === "full")) refuse("estimate.contradiction", { weights, setting: `lora_rank ${rank}` });
  if ((weights === "full" && quantized === 1) || (weights === "qlora" && quantized === 0)) refuse("estimate.contradiction", { weights, setting: `quantized ${quantized}` });
  if (mean > longest) refuse("estimate.longer", { mean, longest });
  const weighed = { lora_rank: given.lora_rank ?? rank, quantized: given.quantized ?? (weights ? 0 : undefined) };

  // What the framework does by default, once it is known whether it trains adapters.
  const stage = task || infer ? "rl" : "sft";
  const run = [own, infer, stage, "no release", ...(offline ? ["offline", asked.toLowerCase()] : [])];
  const adapted = { ...defaultsOf(profile, [...run, ...wordsOf(weighed)]), ...defined(weighed) };
  const ofFramework = defaultsOf(profile, [...run, ...wordsOf(adapted)], { ...adapted, ...given });
  const hasNone = names.no_engines.includes(infer) || (task && !infer && ofFramework.has_engine === 0 && !("has_engine" in given));
  const generates = hasNone && ofFramework.generates !== 0; // its engines may have GPUs of their own

  // What nobody gave: its values, why, and whether it may be otherwise; the last that has an input counts.
  const usual = Object.fromEntries(known.map((item) => [item.name, item.default ?? undefined])); // what the time alone asks for has none
  const ofBackend = { ...backend.defaults, ...(adapted.lora_rank && formula().train_lora[own]), ...(profile || stage === "rl" ? {} : formula().train_sft[own]), ...(!profile && formula().train_named[train]) };
  const isSecond = offline?.reference > 1 || (offline?.reference === 1 && !adapted.lora_rank); // otherwise the model without its adapters
  const layers = [
    [usual, "not given"],
    [hardware, say(stated.device_gb ? "assumed.device" : "assumed.vendor", { device, vendor }), true],
    [of_engine[infer], say("assumed.engine", { infer })],
    [ofBackend, say("assumed.default", { name: own }), !profile],
    [offline && { has_reference: Number(isSecond), reference_offload: 0 }, say("assumed.task", { task: asked })],
    [ofFramework, say("assumed.default", { name: profile?.title }), !profile],
    [weights && { quantized: 0 }, say("assumed.weights", { weights })],
    [hasAdapters && !ownRank && { lora_rank: rank }, "LoRA of a usual rank"],
    [task && { has_critic: task.startsWith("PPO") ? 1 : 0, ...("has_engine" in ofFramework ? {} : { has_engine: 1 }) }, say("assumed.task", { task })],
    [generates && { generates: 1 }, "no rollout engine"],
    [offline && { has_engine: 0, sample_sequences: offline.sequences, ...(offline.reference > 1 && { base_is_reference: 0 }) }, say("assumed.task", { task: asked })],
  ];
  const often = ["any", framework, own].flatMap((name) => formula().often[name] ?? []);
  const of = [...run, ...wordsOf(adapted)];
  const earlier = {};
  for (const { input, value, when } of profile?.earlier ?? []) {
    if (typeof value === "number" && when.every((word) => of.includes(word))) (earlier[input] ??= []).push(value);
  }
  const assumed = Object.keys({ ...usual, ...hardware }).filter((input) => !(input in given)).map((input) => {
    const [values, reason, open = true] = layers.findLast(([found]) => found?.[input] !== undefined) ?? [{}];
    return { input, value: values[input], reason, open: open || often.includes(input) || input in earlier };
  }).filter(({ value }) => value !== undefined);

  const guessed = model.assumed.map((input) =>
    ({ input, value: model.inputs[input], reason: model.reasons[input], open: true }));
  const inputs = { ...model.inputs, ...Object.fromEntries(assumed.map(({ input, value }) => [input, value])), ...given };
  known.filter((item) => item.name in inputs).forEach((item) => check(item, inputs[item.name]));
  const hasReference = offline && inputs.has_reference > 0;
  const isBase = adapted.lora_rank && (inputs.base_is_reference || !hasReference);
  const sharded = Object.keys(given).some((input) => input.startsWith("shards_")) ? said.sharded_as_given : said.sharded;
  const notes = [
    !train && (profile ? say("assumed.train", { train: own, framework: profile.title }) : say(isOne ? said.one_gpu : sharded)),
    isUnprofiled && say(said.no_profile, { framework, train: own }),
    inFourBits && say(said.four_bits),
    generates && !infer && inputs.generates > 0 && say(said.generates, { framework: profile.title }),
    !offline && !("has_engine" in given || "has_engine" in ofFramework) && say(task ? said.engine : said.training),
    offline && !inputs.has_engine && say(said.offline, { task: asked }),
    offline?.sequences > 1 && say(said.pairs),
    hasReference && (offline.reference > 1 ? say(said.teacher) : !isBase && say(said.reference)),
    offline?.reference === 1 && isBase && (given.has_reference ?? ofFramework.has_reference) !== 0 && say(said.own_reference),
  ];
  return Object.assign(new EstimateInputs(), { framework: profile ? framework : "", isUnprofiled, stage, asked, offline, train: own, infer, earlier, assumed: [...assumed, ...guessed], inputs, notes: notes.filter(Boolean) });
}

/** What a framework does by default: of each input the first cell whose words the run has. @param {any} profile @param {string[]} words @param {Record<string, any>} [known] @returns {Record<string, any>} */
function defaultsOf(profile, words, known = {}) {
  const found = {};
  for (const { input, value, when } of profile?.cells ?? []) {
    if (value !== null && when.every((word) => words.includes(word))) found[input] ??= value;
  }
  const all = { ...found, ...known };
  return defined(Object.fromEntries(Object.entries(found).map(([input, value]) =>
    [input, typeof value === "string" ? all[value] : Number(value)])));
}

/** @param {Record<string, any>} values */
const wordsOf = ({ lora_rank: rank, quantized }) => [rank ? "lora" : "full", ...(quantized ? ["qlora"] : [])];

/** @param {Record<string, any>} values */
const defined = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** Throw where a value is out of its range. @param {Record<string, any>} item @param {number} value */
function check({ name, whole, minimum, maximum }, value) {
  if (!(value >= minimum && value <= maximum && (value % 1 === 0 || !whole))) refuse(whole ? "estimate.whole" : "estimate.number", { name, minimum, maximum }, name);
}

/** What published runs of the same size say: `evidence` of `query/plan.py`. @param {Estimate} found @returns {string[]} */
export function evidence({ configuration: { offline }, values, verdict }) {
  const { runs, sizes_of_models: sizes, said } = formula();
  if (offline) return []; // all published runs are of RL
  const { name: size } = sizes.find(({ below }) => below === null || values.parameters / 1e9 < below);
  const gb = values.gpus * values.device_gb;
  const weights = values.quantized ? "qlora" : values.lora_rank ? "lora" : "full";
  const alike = runs.filter((run) =>
    run.size === size && run.has_experts === values.experts > 0 && run.weights === weights);
  const failed = alike.filter((run) => !run.ran && run.gb >= gb && run.length <= values.sequence_length);
  const run = alike.filter((one) => one.ran && one.gb <= gb && one.length >= values.sequence_length).at(-1);
  const [failing, running] = verdict === "fits" ? [said.failed, said.ran_too] : [said.failed_too, said.ran];
  const sources = [...new Set(failed.map(({ source }) => source))].slice(0, MOST_SOURCES).join(", ");
  return [failed.length && say(failing, { count: failed.length, sources }), run && say(running, run)].filter(Boolean);
}
