/**
 * A question about hardware: from the words of a person to keys of the tables.
 * The rules are those of `answer/question.py`; a test asks both.
 *
 * @typedef {import("./table.js").Rules} Rules
 * @typedef {Partial<Record<typeof WORDS[number], string>>} Words a question as it was asked
 *
 * @typedef {object} Question a question in keys; a blank text or a 0 leaves open
 * @property {string} model
 * @property {string} size
 * @property {number} position
 * @property {string} task
 * @property {string} adapter_task
 * @property {number} gpus
 * @property {string} device
 * @property {string} vendor
 * @property {number} memory_gb
 * @property {string} train
 * @property {string} infer
 * @property {string} tag
 */

import { didYouMean, number, say, shown } from "./text.js";

export const WORDS = /** @type {const} */ ([
  "gpus", "device", "memory", "model", "size", "task", "train", "infer", "tag",
]);

/** Words that cannot be understood, with what to write instead. */
export class UnusableInput extends Error {
  /** @param {string} message @param {string} help @param {string} word the name of the field */
  constructor(message, help, word) {
    super(message);
    this.help = help;
    this.word = word;
  }
}

/**
 * Turn words into keys. Throws `UnusableInput` with the nearest known words.
 *
 * @param {Rules} rules
 * @param {Words} words
 * @returns {{question: Question, notes: string[]}} with what a person must know of how it was read
 */
export function understand(rules, words) {
  const { model, size, notes } = modelAndSize(rules, words);
  const { device, memory } = deviceAndMemory(rules, words);
  const own = rules.vocabulary.devices[device] ?? { name: "", vendor: "", memory_gb: memory };
  notes.push(...aboutHardware(rules, device, own, words.gpus === undefined));
  const task = knownWord(rules, "task", words.task);
  const question = {
    model,
    size,
    position: rules.vocabulary.sizes.find((item) => item.name === size)?.position ?? 0,
    task,
    adapter_task: task && rules.vocabulary.tasks[task],
    gpus: count(rules, words.gpus),
    device,
    vendor: own.vendor,
    memory_gb: own.memory_gb,
    train: knownWord(rules, "train", words.train),
    infer: knownWord(rules, "infer", words.infer),
    tag: knownWord(rules, "tag", words.tag),
  };
  return { question, notes };
}

/**
 * Key of the model, name of the size, and what to tell; a number as model is a size.
 *
 * @param {Rules} rules
 * @param {Words} words
 */
function modelAndSize(rules, words) {
  const isSize = words.model !== undefined && words.size === undefined
    && read(rules, "billions", words.model);
  const asked = isSize ? words.model : words.size;
  const model = words.model === undefined || isSize ? "" : knownModel(rules, words.model);
  const size = asked === undefined ? "" : knownSize(rules, asked);
  const notes = [];
  if (asked !== undefined && bare(rules, asked) !== bare(rules, size)) {
    notes.push(say(rules, "belongs-to", { word: shown(trimmed(rules, asked)), size }));
  }
  const own = model && rules.vocabulary.models[model];
  if (model && size && size !== own) {
    const message = say(rules, "other-size", { model, own, size });
    throw new UnusableInput(message, say(rules, "leave-out", rules.asking), "model");
  }
  return { model, size: own || size, notes };
}

/** @param {Rules} rules @param {string} size */
const bare = (rules, size) => plain(rules, size).replace(/b$/, "");

/** @param {Rules} rules @param {string} text */
function knownModel(rules, text) {
  const { models, spelt_models: spelt, sizes } = rules.vocabulary;
  const found = entry(spelt, plain(rules, text));
  if (found) return found;
  const close = didYouMean(rules, lastPart(text), Object.keys(models).map(lastPart));
  const listed = sizes.map((size) => `\`${size.name}\``).join(", ");
  const help = close || say(rules, "ask-by-size", { ...rules.asking, sizes: listed });
  throw unknown(rules, "model", text, help);
}

/** @param {string} text */
const lastPart = (text) => text.slice(text.lastIndexOf("/") + 1);

/** @param {Rules} rules @param {string} text */
function knownSize(rules, text) {
  const { sizes } = rules.vocabulary;
  const lower = trimmed(rules, text).toLowerCase();
  const named = (/** @type {string} */ name) =>
    sizes.find((size) => size.name.toLowerCase() === name)?.name;
  const found = named(lower) ?? named(`${lower}b`);
  if (found) return found;
  const billions = Number(read(rules, "billions", lower)?.[1] ?? 0);
  const section = billions && sizes.find(({ below }) => below === null || billions < below);
  if (section) return section.name;
  const help = didYouMean(rules, text, sizes.map((size) => size.name));
  throw unknown(rules, "size", text, help);
}

/**
 * Key of the device and GB of memory, of which one at most is asked.
 *
 * @param {Rules} rules
 * @param {Words} words
 */
function deviceAndMemory(rules, { device, memory }) {
  if (device !== undefined && memory !== undefined) {
    const help = say(rules, "device-has-memory", rules.asking);
    throw new UnusableInput(say(rules, "device-and-memory"), help, "device");
  }
  if (device !== undefined && !isAmount(rules, device)) {
    return { device: knownDevice(rules, device), memory: 0 };
  }
  const amount = device ?? memory;
  return { device: "", memory: amount === undefined ? 0 : gigabytes(rules, amount) };
}

/** Whether a device is asked by its memory. @param {Rules} rules @param {string} text */
function isAmount(rules, text) {
  const amount = read(rules, "memory", text);
  return Boolean(amount && (amount[2] || !named(rules, text).length));
}

/** @param {Rules} rules @param {string} text */
function knownDevice(rules, text) {
  const found = named(rules, text);
  if (found.length === 1) return found[0];
  if (found.length) {
    const words = found.map((key) => `\`${key}\``).join(say(rules, "or"));
    const message = say(rules, "several-devices", { word: shown(text) });
    throw new UnusableInput(message, say(rules, "did-you-mean", { words }), "device");
  }
  const known = Object.keys(rules.vocabulary.devices);
  const help = didYouMean(rules, text, known)
    || say(rules, "ask-by-memory", { ...rules.asking, devices: known.join(", ") });
  throw unknown(rules, "device", text, help);
}

/** The devices that a person's words can mean. @param {Rules} rules @param {string} text */
function named(rules, text) {
  const { devices, spelt_devices: spelt, families } = rules.vocabulary;
  const letters = lettersOfDevice(rules, text);
  const exact = entry(spelt, letters);
  if (exact) return [exact];
  const family = entry(families, letters);
  if (family) return family;
  if (letters.length < rules.limits.shortest_part) return [];
  return Object.keys(devices).filter((key) => lettersOfDevice(rules, key).endsWith(letters));
}

/** `a10080g` of `NVIDIA A100 80GB`. @param {Rules} rules @param {string} text */
function lettersOfDevice(rules, text) {
  const named = text.toLowerCase().replace(new RegExp(rules.patterns.vendors, "g"), "");
  return named.replace(/[^a-z0-9]/g, "").replace(/([0-9])gi?b$/, "$1g");
}

/** GB of one device. @param {Rules} rules @param {string} text */
function gigabytes(rules, text) {
  const found = read(rules, "memory", text);
  const unit = found?.[2].toLowerCase() ?? "";
  let amount = Number(found?.[1] ?? 0);
  if (unit === "mib" || unit === "mb") amount = Math.ceil(amount / rules.limits.mib_per_gb);
  if (unit === "tb") amount *= 1000;
  if (amount > 0 && amount <= rules.limits.most_gb) return amount;
  const message = say(rules, "no-memory", { word: shown(text) });
  throw new UnusableInput(message, say(rules, "write-memory", rules.asking), "device");
}

/** @param {Rules} rules @param {string | undefined} text */
function count(rules, text) {
  if (text === undefined) return 0;
  if (read(rules, "count", text)) return Number(trimmed(rules, text));
  const message = say(rules, "no-gpus", { word: shown(text) });
  throw new UnusableInput(message, say(rules, "write-gpus", rules.asking), "gpus");
}

/**
 * The known word that `text` spells, upper and lower case and punctuation regardless.
 *
 * @param {Rules} rules
 * @param {"task" | "train" | "infer" | "tag"} kind
 * @param {string | undefined} text
 */
function knownWord(rules, kind, text) {
  if (text === undefined) return "";
  const words = rules.vocabulary.words[kind];
  const found = words.findLast((word) => plain(rules, word) === plain(rules, text));
  if (found) return found;
  const listed = words.map((word) => `\`${word}\``).join(", ");
  const help = didYouMean(rules, text, words) || say(rules, "known-are", { words: listed });
  throw unknown(rules, kind, text, help);
}

/**
 * How the hardware was understood.
 *
 * @param {Rules} rules
 * @param {string} device
 * @param {{name: string, memory_gb: number}} own
 * @param {boolean} anyNumber
 */
function* aboutHardware(rules, device, own, anyNumber) {
  const memory = number(own.memory_gb);
  if (device) {
    const known = say(rules, own.memory_gb ? "known-memory" : "unknown-memory", { memory });
    yield say(rules, "known-device", { device, name: own.name, memory: known });
  } else if (own.memory_gb) yield say(rules, "any-maker", { memory });
  if (own.memory_gb && anyNumber) yield say(rules, "any-gpus");
}

/** @param {Rules} rules @param {string} kind @param {string} text @param {string} help */
function unknown(rules, kind, text, help) {
  const message = say(rules, "unknown-word", { kind, word: shown(text) });
  return new UnusableInput(message, help, kind);
}

/** A word without what people spell in different ways. @param {Rules} rules @param {string} text */
function plain(rules, text) {
  const lower = trimmed(rules, text).toLowerCase().replaceAll("++", "-pp");
  return lower.replace(new RegExp(rules.patterns.between, "g"), "-");
}

/** @param {Rules} rules @param {string} text */
function trimmed(rules, text) {
  const { space } = rules.patterns;
  return text.replace(new RegExp(`^${space}+|${space}+$`, "g"), "");
}

/**
 * The parts of a text that is wholly of a pattern.
 *
 * @param {Rules} rules
 * @param {string} name of the pattern
 * @param {string} text
 */
function read(rules, name, text) {
  return new RegExp(`^(?:${rules.patterns[name]})$`, "i").exec(trimmed(rules, text));
}

/**
 * @template T
 * @param {Record<string, T>} object
 * @param {string} key
 * @returns {T | undefined}
 */
const entry = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);
