// Asks the plan's modules, without a page. Argument: the folder of all modules and the published data.
// Reads a list of questions in words from standard input; writes what is planned for each.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const module = (name) => import(pathToFileURL(`${folder}/${name}.js`).href);
const { SAID } = await module("elements");
const { INDEX, load } = await module("finder/index");
const { understand } = await module("finder/understand");
const { begin, ofLeastMemory, planWords, sentenceOf } = await module("finder/plan");
const { planned } = await module("estimate/plan");
const formula = await module("estimate/formula");
const { Mistake } = await module("form");

const read = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf-8"));
load({ ...read("words"), ...read("finder") });
Object.assign(SAID, read("said"));
formula.load(read("estimate"));

function answer(words) {
  const own = ofLeastMemory(words);
  const [query] = understand(INDEX.vocabulary, own);
  const asked = planWords(query, own);
  const start = begin(asked);
  const settings = planned(start, query.gpus);
  const { minimum, recommended, short, more } = settings;
  const summary = (one) => (one ? [one.configuration.train, one.values.gpus, one.deciding.high_gb] : null);
  const first = sentenceOf(start, settings, words, asked);
  return { first, minimum: summary(minimum), recommended: summary(recommended), short: summary(short), more: more?.values.gpus ?? null };
}

const answers = JSON.parse(readFileSync(0, "utf-8")).map((words) => {
  try {
    return answer(words);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { message: error.message };
  }
});
process.stdout.write(JSON.stringify(answers));
