// Asks the estimate's modules, without a page. Argument: the folder of all modules and of the
// published data. Reads a list of questions from standard input; writes what is found.
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const module = (name) => import(pathToFileURL(`${folder}/estimate/${name}.js`).href);
const { advised, knobs, limits } = await module("search");
const { host_word } = await module("plan");
const { lacking, step_time } = await module("time");
const { load } = await module("formula");
const { answered, evidence, meant } = await module("question");
const words = await import(pathToFileURL(`${folder}/finder/index.js`).href);
const { SAID } = await import(pathToFileURL(`${folder}/elements.js`).href);
const { Mistake } = await import(pathToFileURL(`${folder}/form.js`).href);
if (existsSync(`${folder}/said.json`)) Object.assign(SAID, JSON.parse(readFileSync(`${folder}/said.json`, "utf-8")));
const read = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf-8"));
load(read("estimate"));
words.load(read("words"));

function timeOf(found) {
  const { seconds, phases } = step_time(found) ?? {};
  return { lacking: lacking(found), ...(seconds && { seconds: seconds.middle, low: seconds.low, high: seconds.high, phases }) };
}

let verdicts = 0;

function answer(tokens) {
  const begin = performance.now();
  const { asked, notes: read_as } = meant(tokens);
  const found = answered(asked);
  const { values, phases, interval_gb: [low, high], verdict, host_memory_gb: host, deciding, doubts, configuration: { notes } } = found;
  verdicts += performance.now() - begin;
  const combination = advised(found);
  const turned = knobs(found).map(({ setting, saves, price, helps }) => [setting, saves, price, helps]);
  return { values, phases: Object.fromEntries(Object.entries(phases).map(([phase, { name, peak_gb, components }]) => [phase, { phase, name, components, peak: peak_gb }])),
    low, high, verdict, host, notes, read_as, evidence: evidence(found), deciding: [deciding.moment.phase, deciding.low_gb, deciding.high_gb],
    advised: combination?.turns.map(({ setting, price }) => [setting, price]) ?? null, unsure: found.unsure, host_word: host_word(found), assumed: found.configuration.assumed.map((one) => one.input),
    time: timeOf(found), knobs: turned, limits: Object.fromEntries(Object.entries(limits(found)).map(([name, size]) => [name, size ?? 0])),
    doubts: Object.fromEntries(Object.entries(doubts).map(([input, { least, most }]) => [input, [least, most]])) };
}

const questions = JSON.parse(readFileSync(0, "utf-8"));
const start = performance.now();
const answers = questions.map((words) => {
  try {
    return answer(words);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { unusable: error.message };
  }
});
const all = performance.now() - start;
process.stderr.write(`${(verdicts / questions.length).toFixed(2)} ${(all / questions.length).toFixed(2)}\n`);
process.stdout.write(JSON.stringify(answers));
