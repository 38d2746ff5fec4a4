// Asks the finder's modules, without a page. Arguments: the folder of the modules, the published data.
// Reads a list of questions in words from standard input; writes what is told to each.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, data] = process.argv.slice(2);
const module = (name) => import(pathToFileURL(`${folder}/${name}.js`).href);
const { Table } = await module("table");
const { understand, UnusableInput } = await module("question");
const { find, foldsOf, contradictions } = await module("answer");
const words = await module("sentences");

const rules = JSON.parse(readFileSync(data, "utf-8"));
const table = new Table(rules);
const MOST = 8;

function told(question) {
  const answer = ({ row, fit, question: asked }) => {
    const cells = table.row(row);
    return {
      id: cells.id,
      fit,
      reason: words.reason(rules, asked, cells, fit),
      facts: [words.figures, words.evidence, words.doubts].map((tell) => [...tell(rules, cells)]),
      contradicted: contradictions(table, row).map((other) =>
        words.contradicted(rules, table.row(other))),
      start: cells.script ? words.start(rules, cells) : null,
    };
  };
  const some = (answers) => answers.slice(0, MOST).map(answer);
  const ids = (answers) => answers.slice(0).map(({ row, fit }) => [table.cell("id", row), fit]);
  const rowOf = ({ row }) => row;
  const folds = (rows) => foldsOf(table, rows).slice(0).map((fold) => [
    fold.map((row) => table.cell("id", row)),
    words.series(rules, fold.map((row) => table.row(row))),
  ]);
  const id = (one) => (one ? table.cell("id", one.row) : null);
  const { question: asked, notes } = understand(rules, question);
  const found = find(table, rules, asked);
  return {
    question: asked,
    notes,
    headline: words.headline(rules, found),
    answers: ids(found.answers),
    unclear: ids(found.unclear),
    failures: ids(found.failures),
    some: [found.answers, found.unclear, found.failures].map(some),
    folds: [found.answers.rows, found.unclear.map(rowOf), found.failures.map(rowOf)].map(folds),
    nearest: found.nearest.map(({ kind, answer: one }) => [
      kind,
      words.nearestReason(rules, asked, kind, table.row(one.row), one.fit),
      answer(one),
    ]),
    largest: found.largest.map(({ task, size, best, longest }) =>
      [task, size, id(best), id(longest), words.longest(rules, table.row(longest.row))]),
    start: id(found.start),
    whole: id(found.smallestWhole),
    longest: found.longest ? words.longestContext(
      rules, table.row(found.longest.row), found.longest.fit) : null,
    smallest: found.smallest ? words.smallest(rules, table.row(found.smallest.row)) : null,
  };
}

const answers = JSON.parse(readFileSync(0, "utf-8")).map((question) => {
  try {
    return told(question);
  } catch (error) {
    if (!(error instanceof UnusableInput)) throw error;
    return { message: error.message, help: error.help };
  }
});
process.stdout.write(JSON.stringify(answers));
