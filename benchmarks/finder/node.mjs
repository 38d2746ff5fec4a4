// Medians of answering without a page, beside a plain Array.filter and sort over objects.
// Arguments: the folder of the finder's modules, the published data, questions as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, data, questions] = process.argv.slice(2);
const module = (name) => import(pathToFileURL(`${folder}/${name}.js`).href);
const { Table } = await module("table");
const { understand } = await module("question");
const { find } = await module("answer");

const text = readFileSync(data, "utf-8");
const timed = (run) => {
  const start = performance.now();
  run();
  return performance.now() - start;
};
const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];
let table;
let rules;
const load = timed(() => {
  rules = JSON.parse(text);
  table = new Table(rules);
});
const asked = JSON.parse(questions).map((words) => understand(rules, words).question);
const rows = Array.from({ length: table.length }, (_, i) => table.row(i));

/** The peer: answers alone, no failures, no nearest, no largest, in a simpler order. */
function plain(question) {
  const fits = rows.filter((row) =>
    row.outcome === "ran"
    && ["model", "task", "train", "infer", "tag"].every((name) => !question[name] || row[name] === question[name])
    && (question.model || !question.size || row.size === question.size)
    && (!question.gpus || row.gpus <= question.gpus)
    && (!question.memory_gb || (row.memory_gb > 0 && row.memory_gb <= question.memory_gb))
    && (!question.device || row.vendor === question.vendor));
  return fits.sort((a, b) => (a.kind < b.kind ? -1 : 1) || b.position - a.position
    || Math.abs(question.gpus - a.gpus) - Math.abs(question.gpus - b.gpus));
}

const rounds = [0, 1, 2, 3, 4];
const times = (answer) => asked.map((question) => median(rounds.map(() => timed(() => answer(question)))));
const finder = times((question) => find(table, rules, question));
const peer = times(plain);
console.log(JSON.stringify({
  load,
  finder: { median: median(finder), worst: Math.max(...finder) },
  plain: { median: median(peer), worst: Math.max(...peer) },
}));
