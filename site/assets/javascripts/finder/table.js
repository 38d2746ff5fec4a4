/**
 * The published rows, by column, with what every question asks of them made ready.
 *
 * @typedef {object} Rules the published rules: words, sentences, limits; see `render/finder.py`
 * @property {Vocabulary} vocabulary
 * @property {Record<string, string>} patterns
 * @property {Record<string, number>} limits
 * @property {string[]} not_run
 * @property {string[]} runs
 * @property {Record<string, string[]>} weights
 * @property {Relaxation[]} relaxations
 * @property {Relaxation[][]} smaller
 * @property {Record<string, string>} sentences
 * @property {string[]} figures
 * @property {string[]} spans
 * @property {Record<string, string>} asking
 *
 * @typedef {object} Vocabulary
 * @property {Record<string, string>} models
 * @property {Record<string, string>} spelt_models
 * @property {Record<string, string[]>} begun_models
 * @property {{name: string, position: number, below: number | null}[]} sizes
 * @property {Record<string, {name: string, vendor: string, memory_gb: number, bf16: boolean}>} devices
 * @property {Record<string, string>} spelt_devices
 * @property {Record<string, string[]>} families
 * @property {Record<string, string>} tasks
 * @property {Record<Kind, string[]>} words
 * @property {Record<string, Record<string, string>>} aliases
 *
 * @typedef {"task" | "weights" | "scenario" | "framework" | "train" | "infer" | "tag"} Kind
 *
 * @typedef {{kind: string, drops: (keyof import("./question.js").Question)[], adapters: boolean}}
 *   Relaxation
 *
 * @typedef {{words: any[], at: Int32Array}} WordColumn each row's place among the different values
 *
 * @typedef {Record<string, any>} Row one configuration with the columns of `Configuration`
 */

/** All rows, in the order that no question changes. */
export class Table {
  /** @param {{columns: Record<string, any>, not_run: string[], runs: string[]}} published */
  constructor({ columns, not_run: notRun, runs }) {
    const names = Object.keys(columns);
    /** @type {Record<string, Float64Array>} */
    this.numbers = {};
    /** @type {Record<string, WordColumn>} */
    this.words = {};
    for (const name of names) {
      const column = columns[name];
      if (Array.isArray(column)) this.numbers[name] = Float64Array.from(column);
      else this.words[name] = { words: column.words, at: Int32Array.from(column.at) };
    }
    this.names = names;
    this.length = this.numbers.gpus.length;
    this.ran = this.holds("outcome", (word) => word === "ran");
    this.notRun = this.holds("evidence_level", (word) => notRun.includes(word));
    this.isRun = this.holds("statement", (word) => runs.includes(word));
    this.isReport = this.holds("kind", (word) => word !== "record");
    const disputed = this.holds("evidence_level", (word) => word === "disputed");
    this.doubtful = this.holds("contradicts", (ids) => ids.length > 0);
    disputed.forEach((is, i) => { this.doubtful[i] |= is; });
    this.context = contexts(this.numbers);
    /** The distinct numbers of the columns that are asked by distance, and each row's among them. */
    this.distinct = { gpus: distinct(this.numbers.gpus), memory_gb: distinct(this.numbers.memory_gb) };
    this.distinctPosition = distinct(this.numbers.position);
    this.all = Uint32Array.from({ length: this.length }, (_, i) => i);
    /** Rows by the memory that they need in all, the unknown last, and the place of each there. */
    this.inSize = inSize(this);
    this.bySize = new Uint32Array(this.length);
    this.inSize.forEach((i, rank) => { this.bySize[i] = rank; });
    /** @type {Map<string, Uint32Array[]>} */
    this.index = new Map();
  }

  /**
   * The rows that hold a word, in their order.
   *
   * @param {string} name of the column
   * @param {number} place of the word; with -1 none
   */
  holders(name, place) {
    let lists = this.index.get(name);
    if (!lists) this.index.set(name, lists = holdersOf(this.words[name]));
    return lists[place] ?? new Uint32Array();
  }

  /**
   * For each row whether its word is of a kind.
   *
   * @param {string} name of the column
   * @param {(word: any) => boolean} kind
   */
  holds(name, kind) {
    const { words, at } = this.words[name];
    const held = words.map((word) => Number(kind(word)));
    const rows = new Uint8Array(at.length);
    for (let i = 0; i < at.length; i++) rows[i] = held[at[i]];
    return rows;
  }

  /** The place of a word in its column; -1 where no row has it. @param {string} name @param {string} word */
  place(name, word) {
    return this.words[name].words.indexOf(word);
  }

  /** A cell. @param {string} name @param {number} i */
  cell(name, i) {
    const column = this.words[name];
    return column ? column.words[column.at[i]] : this.numbers[name][i];
  }

  /** A row as one object. @param {number} i @returns {Row} */
  row(i) {
    const cells = this.names.map((name) => [name, this.cell(name, i)]);
    return { ...Object.fromEntries(cells), length: this.context[i] };
  }

  /** The place of the row with an id, if there is one. @param {string} id */
  placeOf(id) {
    this.places ??= new Map(Array.from({ length: this.length }, (_, i) => [this.cell("id", i), i]));
    return this.places.get(id);
  }
}

/** The longest prompt and response together. @param {Record<string, Float64Array>} numbers */
function contexts(numbers) {
  const { max_prompt_length: prompt, max_response_length: response } = numbers;
  return numbers.max_total_length.map((total, i) => total || prompt[i] + response[i]);
}

/** @param {Float64Array} column */
function distinct(column) {
  const values = Float64Array.from(new Set(column)).sort();
  const places = new Map(Array.from(values, (value, place) => [value, place]));
  return { values, at: Int32Array.from(column, (value) => /** @type {number} */ (places.get(value))) };
}

/** For each word of a column the rows that hold it. @param {WordColumn} column */
function holdersOf({ words, at }) {
  const counts = new Uint32Array(words.length);
  for (const place of at) counts[place]++;
  const lists = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  at.forEach((place, row) => { lists[place][counts[place]++] = row; });
  return lists;
}

/** Rows by the memory that they need in all, the unknown last, of alike ones records first. @param {Table} table */
function inSize(table) {
  const { gpus, memory_gb: memory } = table.numbers;
  const { words, at } = table.words.id;
  return table.all.slice().sort((a, b) =>
    Number(!memory[a]) - Number(!memory[b])
    || gpus[a] * memory[a] - gpus[b] * memory[b]
    || gpus[a] - gpus[b]
    || table.isReport[a] - table.isReport[b]
    || (words[at[a]] < words[at[b]] ? -1 : 1));
}
