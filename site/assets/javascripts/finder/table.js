/**
 * The published rows, by column, with what every question asks of them made ready.
 *
 * @typedef {object} Rules the published rules: words, sentences, limits; see `render/finder.py`
 * @property {Vocabulary} vocabulary
 * @property {Record<string, string>} patterns
 * @property {Record<string, number>} limits
 * @property {string[]} not_run
 * @property {Relaxation[]} relaxations
 * @property {Relaxation[][]} smaller
 * @property {Record<string, string>} sentences
 * @property {string[]} figures
 * @property {Record<string, string>} asking
 *
 * @typedef {object} Vocabulary
 * @property {Record<string, string>} models
 * @property {Record<string, string>} spelt_models
 * @property {{name: string, position: number, below: number | null}[]} sizes
 * @property {Record<string, {name: string, vendor: string, memory_gb: number}>} devices
 * @property {Record<string, string>} spelt_devices
 * @property {Record<string, string[]>} families
 * @property {Record<string, string>} tasks
 * @property {Record<"task" | "train" | "infer" | "tag", string[]>} words
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
  /** @param {{columns: Record<string, any>, not_run: string[]}} published */
  constructor({ columns, not_run: notRun }) {
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
    this.notRun = this.holds("trust", (word) => notRun.includes(word));
    this.isReport = this.holds("kind", (word) => word !== "record");
    const disputed = this.holds("trust", (word) => word === "disputed");
    this.doubtful = this.holds("contradicts", (ids) => ids.length > 0);
    disputed.forEach((is, i) => { this.doubtful[i] |= is; });
    this.context = contexts(this.numbers);
    /** The distinct numbers of the columns that are asked by distance, and each row's among them. */
    this.distinct = { gpus: distinct(this.numbers.gpus), memory_gb: distinct(this.numbers.memory_gb) };
    this.distinctPosition = distinct(this.numbers.position);
    this.bySize = ranksBySize(this);
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

/**
 * The place of each row in the order by the memory that it needs in all, the unknown last.
 *
 * @param {Table} table
 */
function ranksBySize(table) {
  const { gpus, memory_gb: memory } = table.numbers;
  const ids = table.words.id;
  const id = (/** @type {number} */ i) => ids.words[ids.at[i]];
  const order = Uint32Array.from(gpus.keys()).sort((a, b) =>
    Number(!memory[a]) - Number(!memory[b])
    || gpus[a] * memory[a] - gpus[b] * memory[b]
    || gpus[a] - gpus[b]
    || (id(a) < id(b) ? -1 : 1));
  const ranks = new Uint32Array(table.length);
  order.forEach((i, rank) => { ranks[i] = rank; });
  return ranks;
}
