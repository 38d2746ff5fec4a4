// Asks the finder's modules, without a page. Argument: the folder of all modules and the published data.
// Reads a list of questions in words from standard input; writes what is found to each.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const module = (name) => import(pathToFileURL(`${folder}/finder/${name}.js`).href);
const { SAID, say } = await module("../elements");
const { understand } = await module("understand");
const { Mistake } = await module("../form");
const { find, first_sentences, folded } = await module("find");
const { INDEX, load } = await module("index");
const { headline, reason } = await module("sentences");

// As every browser has it, and Node since its release 21.
Map.groupBy ??= (items, key) => {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...groups.get(key(item)) ?? [], item]);
  return groups;
};

const read = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf-8"));
load({ ...read("words"), ...read("finder") });
Object.assign(SAID, read("said"));

function answer(words) {
  // As the page reads its fields.
  const tokens = Object.fromEntries(Object.entries(words).map(([name, text]) => [name, text.trim()]));
  const [query, notes] = understand(INDEX.vocabulary, tokens);
  const found = find(INDEX.rows, query);
  const ids = (answers) => answers.map((row) => [row.id, row.fit, reason(row), row.differs]);
  const folds = (answers) => folded(answers).map((fold) => [fold.length, fold.length > 1 ? say("series", { number: fold.length }) : ""]);
  const id = (one) => one?.id ?? null;
  return {
    query,
    notes,
    headline: headline(query, found.answers),
    verdict: first_sentences(INDEX.rows, found, INDEX.vocabulary),
    answers: ids(found.answers),
    unclear: ids(found.unclear),
    failures: ids(found.failures),
    worse: found.worse,
    folds: folds(found.answers),
    nearest: found.nearest.map((near) => [near.row.id, near.reason]),
    largest: found.largest.map(id),
    extremes: [found.smallest, found.smallest_full, found.longest].map(id),
  };
}

const answers = JSON.parse(readFileSync(0, "utf-8")).map((tokens) => {
  try {
    return answer(tokens);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { message: error.message };
  }
});
process.stdout.write(JSON.stringify(answers));
