/**
 * Draws an estimate. Text becomes text: nothing here reads HTML.
 *
 * @typedef {import("./estimate.js").Formula} Formula
 * @typedef {import("./estimate.js").Estimate} Estimate
 */

import { element, filled, queryOf } from "../elements.js";
import { evidence } from "./question.js";
import { cheapest, knobs, limits } from "./search.js";
import { timeOf } from "./time.js";

const DECIDES = 0.02;
const MOST_DECISIVE = 3;
const NO_COMBINATION = "None that is known: no settings that keep what is trained make it fit.";

const gigabytes = (gb) => `${gb.toFixed(1)} GB`;
const count = (figure) => Math.floor(figure).toLocaleString("en");
const lines = (texts) => texts.map((text) => element("li", null, text));

/** Returns what a screen reader announces. @param {HTMLElement} place @param {Formula} formula @param {Estimate} found @param {Record<string, string>} words of the form @param {string} command */
export function draw(place, formula, found, words, command) {
  const { verdict, peak, low, high, device, deciding, configuration: { assumed } } = found;
  const headline = `${verdict[0].toUpperCase()}${verdict.slice(1)}: ${gigabytes(peak)} (${low.toFixed(1)} to ${high.toFixed(1)}) of ${gigabytes(device)}`;
  place.replaceChildren(filled("estimate-answer", {
    headline: element("span", { class: `estimate-verdict estimate-verdict--${verdict.replace(" ", "-")}` }, headline),
    decisive: lines(decisive(found).slice(0, MOST_DECISIVE)),
    why: reasonOf(formula, found),
    deciding: deciding.moment !== found.tightest && `What decides is ${deciding.moment.phase}: `
      + `${gigabytes(deciding.moment.peak)}, ${deciding.low.toFixed(1)} to ${deciding.high.toFixed(1)}.`,
    evidence: evidence(formula, found).map((text) => element("p", null, ...linked(text))),
    time: timeOf(formula, found),
    rollout: rolloutOf(found),
    host: hostOf(found),
    bars: bars(found),
    ...table(found),
    knobs: turns(formula, found, words),
    limits: reach(formula, found),
    number: `All ${assumed.length} assumed values`,
    share: element("a", { href: `${queryOf(words)}#estimate-result` }, "Link to this question"),
    assumed: lines(assumed.map(({ input, value, reason }) => `${input} ${value}: ${reason}`)),
    command,
  }));
  return headline;
}

/** A text with its addresses as links. @param {string} text */
const linked = (text) => text.split(/(https:[^ ,]+)/).map((part) =>
  (part.startsWith("https:") ? element("a", { href: part, rel: "nofollow noopener" }, part.replace(/^https:..(github.com.)?/, "")) : part));

/** What was assumed and decides, the most first, as `Estimate.decisive` has it. @param {Estimate} found */
function decisive({ doubts, configuration: { assumed, notes } }) {
  const percent = (factor) => `${factor < 1 ? "-" : "+"}${Math.round(100 * Math.abs(factor - 1))}%`;
  const rows = assumed.map(({ input, value, reason }) => {
    const [least, most] = doubts[input] ?? [1, 1];
    const isDerived = reason.includes("derived: ");
    const effect = isDerived ? reason : `other usual values change the peak by ${percent(least)} to ${percent(most)}`;
    return { span: most - least, decides: isDerived || most - least >= DECIDES, text: `${input} ${value}: ${effect}` };
  });
  const shown = rows.filter(({ decides }) => decides).sort((a, b) => b.span - a.span);
  return [...shown.map(({ text }) => text), ...notes];
}

/** @param {Formula} formula @param {Estimate} found */
function reasonOf({ said, verdicts }, { starts, fits, verdict, phases }) {
  if (!starts) return said.no_cache;
  return fits ? verdicts[verdict] : said.no_room.replace("{moment}", phases.rollout.name);
}

/** What the rollout engine takes. @param {Estimate} found */
function rolloutOf({ phases: { rollout }, values }) {
  return rollout && `Rollout: ${gigabytes(rollout.peak)} with a KV cache for ${count(values.kv_tokens)} tokens.`;
}

/** Host memory of a node. @param {Estimate} found */
function hostOf({ host, hostRange, values: { local_gpus: gpus } }) {
  const [least, most] = hostRange.map((gb) => gb.toFixed(0));
  return `Host memory: ${host.toFixed(0)} GB of a node with ${gpus} GPU${gpus > 1 ? "s" : ""}, 90 % interval ${least} to ${most}.`;
}

/** A bar for each phase. @param {Estimate} found */
function bars({ phases, device, tightest, low, high }) {
  const moments = Object.values(phases);
  const scale = 1.02 * Math.max(device, high, ...moments.map(({ peak }) => peak));
  const bar = (attributes, title) => element("rect", attributes, element("title", null, title));
  return moments.map((moment) => {
    let x = 0;
    const parts = Object.entries(moment.components).map(([title, gb]) => {
      x += gb;
      return bar({ class: "part", "data-part": title, x: x - gb, width: gb, height: 1 }, `${title} ${gigabytes(gb)}`);
    });
    const interval = { class: "range", x: low, width: high - low, y: 0.8, height: 0.2 };
    return element("li", null, element("span", null, `${moment.phase}: ${moment.name}, ${gigabytes(moment.peak)}`),
      element("svg", { viewBox: `0 0 ${scale} 1`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...parts,
        moment === tightest && bar(interval, "90 % interval of the peak"),
        element("path", { class: "limit", d: `M${device} 0V1` })));
  });
}

/** Slots of the table: a column for each phase, a row for each component. @param {Estimate} found */
function table({ phases }) {
  const moments = Object.values(phases);
  const titles = [...new Set(moments.flatMap(({ components }) => Object.keys(components)))];
  const cell = (gb) => element("td", { class: "number" }, gb >= 0.005 && gb.toFixed(2));
  const swatch = (title) => element("svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": "true" },
    element("rect", { "data-part": title, width: 1, height: 1 }));
  const row = (title) => element("tr", null, element("th", { scope: "row" }, swatch(title), ` ${title}`),
    ...moments.map(({ components }) => cell(components[title])));
  return {
    phases: moments.map(({ phase }) => element("th", { scope: "col" }, phase)),
    components: titles.map(row),
    peaks: moments.map(({ peak }) => cell(peak)),
  };
}

/** The cheapest combination that suffices, then single settings, each applied by its link. @param {Formula} formula @param {Estimate} found @param {Record<string, string>} words */
function turns(formula, found, words) {
  const signed = (gb) => `${gb > 0 ? "−" : "+"}${gigabytes(Math.abs(gb))}`;
  const apply = (inputs, text) => element("a", { class: "finder-button", href: `${queryOf({ ...words, ...inputs })}#estimate-result` }, text);
  const code = ({ setting }) => element("code", null, setting);
  const knob = (one) => {
    const saved = Object.entries(one.saves).map(([phase, gb]) => `${signed(gb)} in ${phase}`).join(", ");
    return element("p", null, apply(one.inputs, "Apply"), code(one), ` ${saved}. Price: ${one.price}.`);
  };
  const every = knobs(formula, found);
  const together = found.verdict === "fits" ? { turns: [] } : cheapest(formula, found);
  const all = together?.turns.length > 0 && element("p", null, apply(together.inputs, "Apply all"), "The cheapest combination that fits: ", ...together.turns.flatMap((turn) => [code(turn), " "]));
  return [
    all, !together && element("p", null, NO_COMBINATION), ...every.map(knob),
    every.length === 0 && element("p", null, "No setting that is known here would lower it."),
  ].filter(Boolean);
}

/** @param {Formula} formula @param {Estimate} found */
function reach(formula, found) {
  const known = Object.entries(limits(formula, found)).filter(([, figure]) => figure);
  const texts = known.map(([name, figure]) => `${name === "gpus" ? "fewest GPUs" : `most ${name.replaceAll("_", " ")}`} ${count(figure)}`);
  return texts.length ? `With all else unchanged it fits up to: ${texts.join(", ")}.` : "No number of GPUs, micro batch or length alone makes it fit.";
}
