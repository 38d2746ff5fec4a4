/**
 * What fits by arithmetic, beside what is published: MIN and RECOMMENDED as cards.
 *
 * @typedef {import("./published.js").Index} Index
 * @typedef {import("./published.js").Row} Row
 * @typedef {import("./find.js").Found} Found
 * @typedef {import("../estimate/plan.js").Start} Start
 * @typedef {import("../estimate/estimate.js").Estimate} Estimate
 */

import { element, fill, filled, queryOf } from "../elements.js";
import { begin, plan, rareOf, roomOf, smallest, turnedOn } from "../estimate/plan.js";
import { stepTime } from "../estimate/time.js";
import { Mistake } from "../form.js";
import { adapterTasks, match, noLess, ordered } from "./find.js";
import { EITHER, minBy } from "./published.js";
import { understand } from "./understand.js";

const round = (gb) => gb.toFixed(gb < 100 ? 1 : 0);

/** What a plan is asked, in words of the estimate's form; nothing where the model is open. @param {Index} index @param {Row} query */
export function planWords({ plan: { usual }, profiled }, query) {
  const { memory_gb, devices: [device, other], prompt, length } = query;
  const [task] = (query.task || usual.task).split(EITHER);
  const weights = query.weights || (task.endsWith("-LoRA") ? "lora" : "full");
  const open = weights === "qlora" ? usual.framework_of_qlora : usual.framework;
  const framework = query.framework ? query.framework.split(EITHER).find((one) => profiled.includes(one)) : open;
  const infer = query.infer || usual.infer_of[framework] || usual.infer_of[query.vendor] || usual.infer;
  const first = prompt < length ? prompt : Math.min(usual.prompt_length, Math.floor(length / 2));
  const model = query.model || query.size;
  if (!model || weights === "partial") return undefined;
  return {
    model, weights, task, framework: framework ?? usual.framework, gpus: query.gpus, train: query.train, infer,
    ...(device && !other ? { device } : { device_gb: memory_gb }), host_memory: query.host_memory_gb,
    prompt_length: length ? first : usual.prompt_length, response_length: length ? length - first : usual.response_length,
  };
}

/** Draw the plan of a question, or without hardware the fewest GPUs of each class of devices. @param {HTMLElement} room @param {Index} index @param {any} formula `api/v1/estimate.json` @param {Record<string, string>} words of the form @param {Found} found what is published */
export function drawPlan(room, index, formula, words, found) {
  const { query, best } = found;
  const known = { ...formula, plan: index.plan };
  const asked = planWords(index, query);
  try {
    if (!asked) room.replaceChildren();
    else if (!query.memory_gb) drawTable(room, index, known, words, query);
    else {
      const start = begin(known, asked);
      const made = plan(start, query.gpus);
      room.replaceChildren(sectionOf(index, start, made, words, asked, found));
      if (!best) room.parentNode.querySelector("h2").textContent = sentenceOf(index, start, made, words, asked);
    }
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    room.replaceChildren(element("p", { class: "hint" }, `${index.plan.said.no_plan} ${error.message}.`));
  }
}

/** The fewest GPUs of each class of devices by arithmetic, one line after the other; less memory never takes fewer. @param {HTMLElement} room @param {Index} index @param {any} formula @param {Record<string, string>} words @param {Row} query */
async function drawTable(room, { plan: rules, vocabulary, weights: titles, ...index }, formula, words, query) {
  const kinds = query.weights ? [query.weights] : ["full", "lora", "qlora"];
  const counts = Object.fromEntries(kinds.map((kind) => [kind, rules.search.gpus]));
  const head = kinds.map((kind) => element("th", { scope: "col" }, titles[kind]));
  const body = element("tbody", null);
  room.replaceChildren(element("h3", null, rules.said.table),
    element("div", { class: "fewest" }, element("table", { class: "fewest-table fewest-table--free" },
      element("thead", null, element("tr", null, element("th", { scope: "col" }, "Device"), ...head)), body)));
  const devices = rules.class.map(({ device }) => vocabulary.devices[device]).sort((a, b) => b.memory_gb - a.memory_gb);
  for (const { label, memory_gb } of devices) {
    const cells = kinds.map((kind) => {
      const asked = planWords({ plan: rules, ...index }, { ...query, weights: kind, memory_gb, devices: [] });
      const gpus = smallest(begin(formula, asked), counts[kind], false)?.values.gpus;
      counts[kind] = counts[kind].filter((count) => !(count < gpus));
      const link = element("a", { href: `${queryOf({ ...words, weights: kind, device: label, gpus })}#finder-answers` }, String(gpus));
      return gpus ? element("td", { class: "certain certain--estimated" }, link) : element("td", { class: "fewest-none" }, "–");
    });
    body.prepend(element("tr", null, element("th", { scope: "row" }, label), ...cells));
    await new Promise((resolve) => { setTimeout(resolve); });
    if (!room.isConnected) return;
  }
}

/** A link to the calculator of the estimate with the question of a plan. @param {Index} index @param {Record<string, any>} asked */
const calculator = (index, { host_memory: _, ...asked }) =>
  element("a", { href: `estimate/${queryOf(asked)}#estimate-result` }, index.plan.said.settings);

/** What is published of the model, task and weights of a plan, best first: `scope` of `query/plan_question.py`. @param {Index} index @param {Start} start @param {Row} query */
function published(index, { groups: [[{ values }]] }, query) {
  const { said, no_task, no_text } = index.plan;
  const tasks = [no_task, query.task, ...adapterTasks(query)];
  const isMeant = ({ row }) => tasks.includes(row.task_label) && (query.model || !row.words.scenario.some((one) => no_text.includes(one)));
  const matching = match(index, { ...query, task: "", experts: values.experts ? "mixture" : "dense" }).filter(isMeant);
  const marked = ordered(matching, query).map(({ row, fit, differs }) => {
    const mark = differs.includes("model") && fill(said.mark.twin, { model: nameOf(row.model) });
    return { ...row, fit, mark, where: `${row.hardware} (${[row.framework_label, row.context, mark].filter(Boolean).join(", ")})` };
  });
  return marked.sort((a, b) => Boolean(a.mark) - Boolean(b.mark));
}

/** The first sentence of the command: the word of `query/plan.py`, the words of `site/plan.py`. @param {Index} index @param {Start} start @param {ReturnType<typeof plan>} found @param {Record<string, string>} words @param {Record<string, any>} asked */
export function sentenceOf(index, start, { recommended, short }, words, { task, weights, prompt_length, response_length }) {
  const query = understand(index, { ...words, task, weights });
  const { values } = recommended ?? short;
  const length = prompt_length + response_length;
  const gb = values.gpus * values.device_gb;
  const rows = published(index, start, query);
  const runs = rows.filter((row) => row.task && row.state === "run" && !row.doubtful);
  const near = query.gpus && runs.find(({ fit }) => ["ran-on-it", "ran-on-no-more"].includes(fit));
  const less = runs.find((row) => row.length >= length && row.memory_gb > 0 && row.gpus > 0 && row.gpus * row.memory_gb <= gb);
  const failures = rows.filter((row) => !row.mark && row.state === "out-of-memory" && row.length <= length && noLess(query, row));
  const failed = query.model && minBy(failures, ({ rank }) => rank);
  const isRare = recommended && rareOf(start, recommended).length > 0;
  const verdicts = {
    yes: near && (query.model || new RegExp(`^(?:${index.patterns.billions})$`, "i").test(words.model)), yes_of_size: near,
    probably: recommended && !isRare && less, failed: recommended && failed, rare: isRare, arithmetic: recommended,
    tight: short?.verdict === "tight", no: true,
  };
  const model = nameOf(query.model || words.model);
  const what = `${query.task} of ${near ? nameOf(near.model) : model}, ${index.weights[weights]},`;
  const slots = { what, model, hardware: hardwareOf({ values }, query), ran: (near || less)?.where, failed: failed?.where };
  return fill(index.plan.said.verdict[Object.keys(verdicts).find((one) => verdicts[one])], slots);
}

/** A model without its owner. @param {string} model */
const nameOf = (model) => model.replace(/^[\w.-]+\/(?=[\w.-]+$)/, "");

const hardwareOf = ({ values }, { label }) => `${values.gpus} × ${label}`;

/** The cards of a plan, and what to do where nothing fits. @param {Index} index @param {Start} start @param {ReturnType<typeof plan>} found @param {Record<string, string>} words @param {Record<string, any>} asked @param {Found} found what is published */
function sectionOf(index, start, { minimum, recommended, short, more }, words, asked, { query, best }) {
  const { said } = index.plan;
  const link = (own, text) => element("a", { href: `${queryOf({ ...words, ...own })}#finder-answers` }, text);
  const options = recommended ? { RECOMMENDED: recommended, MIN: minimum } : { "": short };
  const cards = Object.entries(options).map(([tag, one]) => card(index, start, tag, one, words, query));
  const isHost = short && short.deciding.high <= short.device;
  const lines = short ? [
    isHost && fill(said.host, { host: round(start.hostGb ? short.hostRange[1] : short.host), room: roomOf(start, short) }),
    best?.row.state === "run" && said.line.believe_run,
    element("span", null, more && link({ gpus: more.values.gpus }, fill(said.more, { gpus: more.values.gpus })), " ", words.weights !== "lora" && link({ weights: "lora" }, said.lora)),
  ] : [];
  return element("section", { id: "finder-plan" },
    element("h3", null, said.title), element("p", { class: "hint" }, said.bars, " ", calculator(index, { ...asked, gpus: (recommended ?? short).values.gpus })),
    element("div", { class: "finder-example" }, ...cards),
    ...lines.filter(Boolean).map((text) => element("p", { class: "finder-examples" }, text)));
}

/** @param {Index} index @param {Start} start @param {string} tag @param {Estimate} found @param {Record<string, string>} words @param {Row} query */
function card(index, start, tag, found, words, query) {
  const { formula } = start;
  const { configuration: { train, infer }, deciding: { moment, high }, device, host, hostRange, phases, values } = found;
  const { seconds, low, high: longest } = stepTime(formula, found);
  const options = Object.entries(words).map(([name, text]) => `--${name.replace("_", "-")} ${/^[\w./-]+$/.test(text) ? text : `'${text}'`}`);
  const isWritten = tag && (start.groups[0][0].configuration.framework || "verl") === "verl";
  const parts = Object.values(phases).map(({ phase, peak }) => `${phase} ${peak.toFixed(0)}`);
  const scale = 1.02 * Math.max(device, high);
  return filled("finder-plan", {
    tag: element("span", { class: `tag tag--${tag.toLowerCase() || "none"}` }, tag || "too small"),
    hardware: hardwareOf(found, query),
    settings: [[train, infer].filter(Boolean).join(" and "), ...settingsOf(index, formula, found)].join(" · "),
    bar: element("svg", { viewBox: `0 0 ${scale} 1`, preserveAspectRatio: "none", "aria-hidden": true },
      element("rect", { class: "plan-peak", width: moment.peak, height: 1 }),
      element("rect", { class: "plan-high", x: moment.peak, width: Math.max(0, high - moment.peak), height: 1 }),
      element("path", { class: "limit", d: `M${device} 0V1` })),
    memory: `At most ${round(high)} of ${round(device)} GB a GPU, in ${moment.phase} (GB by phase: ${parts.join(", ")}).`,
    host: `Host memory of a node with ${values.local_gpus} GPU${values.local_gpus > 1 ? "s" : ""}: ${round(host)} GB, at most ${round(hostRange[1])}.`,
    time: tag && seconds && `One step: ${seconds.toFixed(0)} s (${low.toFixed(0)} to ${longest.toFixed(0)}).`,
    command: isWritten && element("code", null, ["rl-resources plan", ...options, `--script ${tag} > train.sh`].join(" ")),
  });
}

/** Precision, micro batch, what is on and saves memory, and the parallel sizes, in short. @param {Index} index @param {any} formula @param {Estimate} found */
function settingsOf({ plan: { said } }, formula, found) {
  const { values } = found;
  const isOwn = ({ input }) => said.setting[input] && (values.lora_rank || input !== "layered_summon");
  const sizes = Object.entries(said.size).filter(([input]) => values[input] > 1);
  return [
    fill(said.held[values.quantized ? "base" : "weights"], { bits: 8 * values.parameter_bytes }),
    fill(said.held[values.max_tokens ? "max_tokens" : "micro_batch"], values),
    ...turnedOn(formula, found).filter(isOwn).map(({ input }) => said.setting[input]),
    ...sizes.map(([input, word]) => `${word} ${values[input]}`),
    found.phases.rollout && `utilization ${Number(values.gpu_memory_utilization.toPrecision(2))}`,
  ].filter(Boolean);
}
