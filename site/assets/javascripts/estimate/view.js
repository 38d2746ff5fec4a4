/**
 * Draws an estimate. Text becomes text: nothing here reads HTML.
 *
 * @typedef {import("./estimate.js").Formula} Formula
 * @typedef {import("./estimate.js").Estimate} Estimate
 */

import { element, list } from "../elements.js";
import { knobs, limits } from "./estimate.js";

const COLORS = 9;
const FIRST_KNOBS = 4;
const LIMITS = {
  gpus: "fewest GPUs of this device",
  micro_batch: "largest micro batch",
  max_tokens: "most tokens of a micro batch",
  response_length: "longest response",
};

const gigabytes = (/** @type {number} */ gb) => `${gb.toFixed(1)} GB`;
const count = (/** @type {number} */ figure) => Math.floor(figure).toLocaleString("en");
const texts = (/** @type {string[]} */ lines) => element("ul", null, ...lines.map((line) => element("li", null, line)));

/** Returns what a screen reader announces. @param {HTMLElement} place @param {Formula} formula @param {Estimate} found @param {string} command */
export function draw(place, formula, found, command) {
  const { verdict, peak, low, high, device, configuration: { assumed } } = found;
  const words = verdict.replace(/^./, (/** @type {string} */ first) => first.toUpperCase());
  const headline = `${words}: ${gigabytes(peak)} (${low.toFixed(1)} to ${high.toFixed(1)}) of ${gigabytes(device)}`;
  const why = verdict === "tight" && high <= device
    ? "Training fits with its whole interval, the rollout engine does not." : formula.verdicts[verdict];
  place.replaceChildren(
    element("h2", { class: `estimate-verdict estimate-verdict--${verdict.replace(" ", "-")}` }, headline),
    element("p", null, `The peak of training on one GPU, estimated, not tested; in brackets its 90 % interval. ${why}`),
    ...remarks(found).map((text) => element("p", null, text)),
    bars(formula, found),
    element("details", { class: "more" }, element("summary", null, "By phase and component"), table(formula, found)),
    element("h3", null, "What would lower it"), ...turns(formula, found),
    element("h3", null, "What fits, all else unchanged"), reach(formula, found),
    element("details", { class: "more" }, element("summary", null, `${assumed.length} assumed values`),
      texts(assumed.map((/** @type {any} */ { input, value, reason }) => `${input} ${value}: ${reason}`))),
    element("p", null, "On the command line: ", element("code", null, command)));
  return headline;
}

/** @param {Estimate} found */
function remarks({ phases: { rollout }, rollout: trouble, values, host }) {
  const why = { memory: `That is more than the GPU has: ${rollout?.name} does not fit.`,
    cache: `One sequence may have ${count(values.sequence_length)}: the engine does not start.` }[trouble];
  const cache = rollout && `Rollout: ${gigabytes(rollout.peak)} with a KV cache for ${count(values.kv_tokens)} tokens.`;
  const memory = host >= 1 && `Host memory: ${host.toFixed(0)} GB over all nodes for what is offloaded.`;
  return [cache && [cache, why].filter(Boolean).join(" "), memory].filter(Boolean);
}

/** The color of a component is its place in the formula. @param {Formula} formula @param {string} title */
function color(formula, title) {
  const titles = formula.moments.flatMap((/** @type {any} */ { components }) => Object.keys(components));
  const place = [...new Set(titles)].indexOf(title);
  return `part part-${place % COLORS}${place < COLORS ? "" : " part--tint"}`;
}

/** @param {Formula} formula @param {Estimate} found */
function bars(formula, { phases, device, peak: most, low, high }) {
  const scale = 1.02 * Math.max(device, high, ...Object.values(phases).map(({ peak }) => peak));
  const rows = Object.entries(phases).map(([phase, { name, components, peak }]) => {
    let x = 0;
    const parts = Object.entries(components).map(([title, gb]) => {
      x += gb;
      const box = { class: color(formula, title), x: x - gb, width: gb, height: 1 };
      return element("rect", box, element("title", null, `${title} ${gigabytes(gb)}`));
    });
    const limit = element("path", { class: "limit", d: `M${device} 0V1` });
    const range = peak === most && element("rect", { class: "range", x: low, width: high - low, y: 0.8, height: 0.2 },
      element("title", null, "90 % interval of the peak"));
    return element("li", null, element("span", null, `${phase}: ${name}, ${gigabytes(peak)}`),
      element("svg", { viewBox: `0 0 ${scale} 1`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...parts, range, limit));
  });
  return element("ul", { class: "estimate-bars" }, ...rows);
}

/** A row for each component, a column for each phase. @param {Formula} formula @param {Estimate} found */
function table(formula, { phases }) {
  const moments = Object.values(phases);
  const cells = (/** @type {(moment: any) => number} */ figure) => moments.map((moment) =>
    element("td", { class: "number" }, figure(moment) >= 0.005 ? figure(moment).toFixed(2) : ""));
  const titles = [...new Set(moments.flatMap(({ components }) => Object.keys(components)))];
  const rows = titles.map((title) => element("tr", null,
    element("th", { scope: "row" }, element("svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": "true" },
      element("rect", { class: color(formula, title), width: 1, height: 1 })), ` ${title}`),
    ...cells(({ components }) => components[title] ?? 0)));
  const heads = ["GB of one GPU", ...Object.keys(phases)].map((text) => element("th", { scope: "col" }, text));
  const sum = element("tr", { class: "sum" }, element("th", { scope: "row" }, "peak"), ...cells(({ peak }) => peak));
  return element("table", { class: "estimate-parts" }, element("thead", null, element("tr", null, ...heads)),
    element("tbody", null, ...rows, sum));
}

/** @param {Formula} formula @param {Estimate} found */
function turns(formula, found) {
  const lines = knobs(formula, found).map((/** @type {any} */ { setting, saves, price }) => {
    const saved = Object.entries(saves).map(([phase, gb]) => `${gb > 0 ? "−" : "+"}${gigabytes(Math.abs(gb))} in ${phase}`);
    return element("p", null, element("code", null, setting), ` ${saved.join(", ")}. Price: ${price}.`);
  });
  return lines.length ? list("", lines, FIRST_KNOBS, (line) => line) : [element("p", null, "No setting that is known here would lower it.")];
}

/** @param {Formula} formula @param {Estimate} found */
function reach(formula, found) {
  const known = Object.entries(limits(formula, found)).filter(([, figure]) => figure);
  const lines = known.map(([name, figure]) => `${LIMITS[/** @type {keyof typeof LIMITS} */ (name)]}: ${count(figure)}`);
  return texts(lines.length ? lines : ["No number of GPUs, micro batch or length alone makes it fit."]);
}
