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
 * @property {string} weights
 * @property {string} scenario
 * @property {number} gpus
 * @property {string} device every key that the words may mean
 * @property {string} vendor
 * @property {number} memory_gb
 * @property {number} length the least context in tokens
 * @property {string} framework
 * @property {string} train
 * @property {string} infer
 * @property {string} tag
 */

import { didYouMean, number, say, shown } from "./text.js";

const EITHER = " or ";

/** The keys of all devices that a question may mean. @param {Question} question */
export const devicesOf = ({ device }) => (device ? device.split(EITHER) : []);

export const WORDS = /** @type {const} */ ([
  "gpus", "device", "memory", "model", "size", "task", "weights", "scenario", "length",
  "framework", "train", "infer", "tag",
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
  const { gpus, devices, memory } = hardware(rules, words);
  const device = devices.join(EITHER);
  const each = devices.map((key) => rules.vocabulary.devices[key]);
  const own = each.reduce((least, one) => (one.memory_gb < least.memory_gb ? one : least),
    each[0] ?? { name: "", vendor: "", memory_gb: memory, bf16: true });
  if (devices.length > 1) {
    const amounts = each.map((one) => number(one.memory_gb)).join(EITHER);
    notes.push(say(rules, "several-devices", { word: device, memory: amounts }));
  } else notes.push(...aboutHardware(rules, device, own, !gpus));
  const length = words.length === undefined ? 0 : tokens(rules, words.length);
  if (length) notes.push(say(rules, "asked-length", { length }));
  const { task, weights, notes: told } = taskAndWeights(rules, words);
  notes.push(...told);
  const question = {
    model,
    size,
    position: rules.vocabulary.sizes.find((item) => item.name === size)?.position ?? 0,
    task,
    adapter_task: task && rules.vocabulary.tasks[task],
    weights,
    scenario: knownWord(rules, "scenario", words.scenario),
    gpus,
    device,
    vendor: own.vendor,
    memory_gb: own.memory_gb,
    length,
    framework: knownWord(rules, "framework", words.framework),
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
  const { model = "", size: bySize = "", note = "" } =
    words.model === undefined || isSize ? {} : knownModel(rules, words.model);
  const size = asked === undefined ? "" : knownSize(rules, asked);
  const notes = [];
  if (asked !== undefined && bare(rules, asked) !== bare(rules, size)) {
    notes.push(say(rules, "belongs-to", { word: shown(trimmed(rules, asked)), size }));
  }
  if (note) notes.push(note);
  if (bySize) return { model: "", size: bySize, notes };
  if (model && words.model && !entry(rules.vocabulary.spelt_models, modelName(rules, words.model))) {
    notes.push(say(rules, "read-as", { word: shown(trimmed(rules, words.model)), model }));
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

/**
 * Key of the model, else the size that its name tells, and what to tell of it.
 *
 * @param {Rules} rules
 * @param {string} text
 * @returns {{model?: string, size?: string, note?: string}}
 */
function knownModel(rules, text) {
  text = trimmed(rules, text).replace(new RegExp(rules.patterns.hub, "i"), "");
  const found = modelsCalled(rules, text);
  if (found.length === 1) return { model: found[0] };
  const { models } = rules.vocabulary;
  const word = shown(text);
  if (new Set(found.map((key) => models[key])).size === 1) {
    const size = models[found[0]];
    const names = found.map(lastPart).join(EITHER);
    return { size, note: say(rules, "several-models", { word, models: names, size }) };
  }
  const told = new RegExp(rules.patterns["size-in-name"], "i").exec(plain(rules, text));
  const size = told && section(rules, Number(told[1]));
  if (size) {
    const names = Object.keys(models).filter((key) => models[key] === size).map(lastPart);
    const note = say(rules, "model-by-size", { word, size });
    return { size, note: `${note} ${didYouMean(rules, lastPart(text), names)}`.trim() };
  }
  throw unknown(rules, "model", text, otherThanModel(rules, text));
}

/**
 * The models of a name, of a name with the size behind it, or of a name's beginning.
 *
 * @param {Rules} rules
 * @param {string} text
 * @returns {string[]}
 */
function modelsCalled(rules, text) {
  const { models, spelt_models: spelt, begun_models: begun } = rules.vocabulary;
  const exact = entry(spelt, modelName(rules, text));
  if (exact) return [exact];
  const named = read(rules, "named-size", plain(rules, text));
  const key = named && entry(spelt, modelName(rules, named[1]));
  if (key && section(rules, parseFloat(named[2])) === models[key]) return [key];
  return entry(begun, modelName(rules, text)) ?? [];
}

/** What to ask in place of a model that is not known. @param {Rules} rules @param {string} text */
function otherThanModel(rules, text) {
  const { models, sizes } = rules.vocabulary;
  const close = didYouMean(rules, lastPart(text), Object.keys(models).map(lastPart));
  const listed = sizes.map((size) => `\`${size.name}\``).join(", ");
  return close || say(rules, "ask-by-size", { ...rules.asking, sizes: listed });
}

/** @param {string} text */
const lastPart = (text) => text.slice(text.lastIndexOf("/") + 1);

/** @param {Rules} rules @param {string} text */
function knownSize(rules, text) {
  const { sizes } = rules.vocabulary;
  const lower = tidy(rules, text).toLowerCase();
  const named = (/** @type {string} */ name) =>
    sizes.find((size) => size.name.toLowerCase() === name)?.name;
  const found = named(lower) ?? named(`${lower}b`);
  if (found) return found;
  const [, figure, unit] = read(rules, "billions", lower) ?? ["", "0", ""];
  const own = section(rules, Number(figure) * ({ m: 0.001, t: 1000 }[unit] ?? 1));
  if (own) return own;
  const help = didYouMean(rules, text, sizes.map((size) => size.name));
  throw unknown(rules, "size", text, help);
}

/** The size that so many parameters belong to; blank for none. @param {Rules} rules @param {number} billions */
function section(rules, billions) {
  const { sizes } = rules.vocabulary;
  return (billions && sizes.find(({ below }) => below === null || billions < below)?.name) || "";
}

/**
 * Number, key of the device and GB of memory, of which one at most is asked.
 *
 * @param {Rules} rules
 * @param {Words} words
 */
function hardware(rules, { gpus: wanted, device: told, memory }) {
  if (told !== undefined && memory !== undefined) {
    const help = say(rules, "device-has-memory", rules.asking);
    throw new UnusableInput(say(rules, "device-and-memory"), help, "device");
  }
  const asked = wanted === undefined ? 0 : accelerators(rules, wanted);
  if (told === undefined) {
    return { gpus: asked, devices: [], memory: memory === undefined ? 0 : gigabytes(rules, memory) };
  }
  const { count, name } = counted(rules, told);
  if (asked && count && asked !== count) {
    const words = { gpus: shown(wanted ?? ""), device: shown(told) };
    throw new UnusableInput(say(rules, "two-counts", words), say(rules, "one-count"), "device");
  }
  const gpus = asked || count;
  if (isAmount(rules, name)) return { gpus, devices: [], memory: gigabytes(rules, name) };
  return { gpus, devices: knownDevices(rules, name), memory: 0 };
}

/** The number and the rest of `8xH100`; 0 and the whole text without one. @param {Rules} rules @param {string} text */
function counted(rules, text) {
  if (!named(rules, text).length) {
    for (const [pattern, numberAt, nameAt] of /** @type {const} */ ([["many-last", 2, 1], ["many", 1, 2]])) {
      const found = read(rules, pattern, text);
      if (found && isHardware(rules, found[nameAt])) {
        return { count: accelerators(rules, found[numberAt]), name: found[nameAt] };
      }
    }
  }
  return { count: 0, name: text };
}

/** @param {Rules} rules @param {string} text */
const isHardware = (rules, text) =>
  Boolean(read(rules, "memory", text)?.[2] || named(rules, text).length);

/** Whether a device is asked by its memory. @param {Rules} rules @param {string} text */
function isAmount(rules, text) {
  const amount = read(rules, "memory", text);
  if (!amount || amount[2]) return Boolean(amount);
  return Number(amount[1]) <= rules.limits.most_gb_unsaid && !named(rules, text).length;
}

/** @param {Rules} rules @param {string} text */
function knownDevices(rules, text) {
  const found = named(rules, text);
  if (found.length) return found;
  throw unknown(rules, "device", text, otherThanDevice(rules, text));
}

/** What to ask in place of a device that is not known. @param {Rules} rules @param {string} text */
function otherThanDevice(rules, text) {
  const known = Object.keys(rules.vocabulary.devices);
  const close = didYouMean(rules, text, known);
  const { memory } = withMemory(rules, text);
  if (memory > 0 && memory <= rules.limits.most_gb) {
    const own = say(rules, "by-own-memory", { ...rules.asking, own_memory: number(memory) });
    return close ? `${close} ${own}` : own;
  }
  if (close) return `${close} ${say(rules, "else-by-memory", rules.asking)}`;
  return say(rules, "ask-by-memory", { ...rules.asking, devices: known.join(", ") });
}

/** The devices that a person's words can mean. @param {Rules} rules @param {string} text */
function named(rules, text) {
  const found = byName(rules, text);
  if (found.length) return found;
  const many = byName(rules, singular(rules, text));
  if (many.length) return many;
  const { name, memory } = withMemory(rules, text);
  const { devices } = rules.vocabulary;
  return byName(rules, name).filter((key) => devices[key].memory_gb === memory);
}

/** `H100` of `H100s`. @param {Rules} rules @param {string} text */
function singular(rules, text) {
  const bare = trimmed(rules, text);
  return /s$/i.test(bare) ? bare.slice(0, -1) : "";
}

/** The name and the GB of a device that is told with its memory. @param {Rules} rules @param {string} text */
function withMemory(rules, text) {
  const lower = text.toLowerCase();
  const last = read(rules, "memory-last", lower);
  if (last) return { name: last[1], memory: Number(last[2]) };
  const first = read(rules, "memory-first", lower);
  return first ? { name: first[2], memory: Number(first[1]) } : { name: "", memory: 0 };
}

/** @param {Rules} rules @param {string} text */
function byName(rules, text) {
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

/** A number of accelerators: `16`, `2x8`. @param {Rules} rules @param {string} text */
function accelerators(rules, text) {
  const factors = read(rules, "count", text)?.[1].split(new RegExp(rules.patterns.times, "i")) ?? [];
  const gpus = factors.reduce((product, factor) => product * Number(factor), Number(factors.length > 0));
  if (gpus > 0 && gpus <= rules.limits.most_gpus) return gpus;
  const message = say(rules, "no-gpus", { word: shown(text) });
  throw new UnusableInput(message, say(rules, "write-gpus", rules.asking), "gpus");
}

/** Tokens of prompt and response together. @param {Rules} rules @param {string} text */
function tokens(rules, text) {
  const told = text.split("+").map((part) => read(rules, "length", part));
  const sum = told.reduce((before, found) => before + (found ? tokensOf(found) : NaN), 0);
  if (sum > 0 && sum <= rules.limits.most_tokens) return sum;
  const message = say(rules, "no-length", { word: shown(text) });
  throw new UnusableInput(message, say(rules, "write-length", rules.asking), "length");
}

/** @param {RegExpExecArray} found figure and unit */
function tokensOf([, figure, unit]) {
  const thousands = { k: 1000, m: 1e6 }[unit.toLowerCase()] ?? 1;
  return Math.floor(Number(figure.replaceAll(",", "")) * thousands + 0.5);
}

/**
 * Task, weights and what to tell; `LoRA`, `QLoRA` and `full` as a task are weights.
 *
 * @param {Rules} rules
 * @param {Words} words
 * @returns {{task: string, weights: string, notes: string[]}}
 */
function taskAndWeights(rules, { task: text = "", weights: asked }) {
  const parts = plain(rules, bareTask(rules, text)).split("-");
  const said = ["qlora", "lora", "full"].find((word) => parts.includes(word)) ?? "";
  const name = taskName(rules, text);
  const given = knownWord(rules, "weights", asked);
  const out = ["sft", "dpo"].find((word) => parts.includes(word));
  if (out && !spelt(rules, "task", text)) {
    const message = say(rules, `no-${out}`, { word: shown(text) });
    throw new UnusableInput(message, say(rules, "ask-a-task"), "task");
  }
  if (["rlhf", "rlvr", "rl"].includes(plain(rules, text))) {
    return { task: "", weights: given, notes: [say(rules, "any-task", { word: shown(text) })] };
  }
  if (!text || name === "lora" || (said && !name)) {
    return { task: "", weights: given || said || (text ? "lora" : ""), notes: [] };
  }
  const weights = given || (said === "lora" ? "" : said);
  const known = spelt(rules, "task", text);
  const begun = known || rules.vocabulary.words.task
    .filter((word) => name.startsWith(`${taskName(rules, word)}-`))
    .reduce((longest, word) => (word.length > longest.length ? word : longest), "");
  const task = begun || knownWord(rules, "task", text);
  const notes = known ? [] : [say(rules, "variant-of", { word: shown(text), known: begun })];
  const adapter = ["lora", "qlora"].includes(weights) ? rules.vocabulary.tasks[task] : "";
  return { task: adapter || task, weights, notes };
}

/** The known word that `text` spells; blank for none. @param {Rules} rules @param {import("./table.js").Kind} kind @param {string} text */
function spelt(rules, kind, text) {
  const name = kind === "task" ? taskName : plain;
  const { [kind]: words } = rules.vocabulary.words;
  return words.findLast((word) => name(rules, word) === name(rules, text))
    ?? entry(rules.vocabulary.aliases[kind] ?? {}, plain(rules, text)) ?? "";
}

/**
 * The known word that `text` spells, upper and lower case and punctuation regardless.
 *
 * @param {Rules} rules
 * @param {import("./table.js").Kind} kind
 * @param {string | undefined} text
 */
function knownWord(rules, kind, text) {
  if (text === undefined) return "";
  const words = rules.vocabulary.words[kind];
  const found = spelt(rules, kind, text);
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
 * @param {{name: string, memory_gb: number, bf16: boolean}} own
 * @param {boolean} anyNumber
 */
function* aboutHardware(rules, device, own, anyNumber) {
  const memory = number(own.memory_gb);
  if (device) {
    const known = say(rules, own.memory_gb ? "known-memory" : "unknown-memory", { memory });
    yield say(rules, "known-device", { device, name: own.name, memory: known });
    if (!own.bf16) yield say(rules, "no-bf16");
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

/** A task without brackets and points. @param {Rules} rules @param {string} text */
const bareTask = (rules, text) => text.replace(new RegExp(rules.patterns.beside, "g"), " ");

/** A task without what is only said of it, adapters last. @param {Rules} rules @param {string} text */
function taskName(rules, text) {
  const [adapters, said] = ["adapters", "said-of-tasks"].map((name) =>
    new RegExp(rules.patterns[name], "i"));
  const parts = plain(rules, bareTask(rules, text)).split("-").filter(Boolean);
  const kept = parts.filter((part) => !adapters.test(part) && !said.test(part));
  return [...kept, ...(parts.some((part) => adapters.test(part)) ? ["lora"] : [])].join("-");
}

/** A model's name without the `-` that keep no two numbers apart. @param {Rules} rules @param {string} text */
function modelName(rules, text) {
  return plain(rules, text).replace(new RegExp(rules.patterns["no-figures"], "g"), "");
}

/** @param {Rules} rules @param {string} text */
function trimmed(rules, text) {
  const { space } = rules.patterns;
  return text.replace(new RegExp(`^${space}+|${space}+$`, "g"), "");
}

/**
 * The parts of a text that is wholly of a pattern, with one blank for any number of them.
 *
 * @param {Rules} rules
 * @param {string} name of the pattern
 * @param {string} text
 */
function read(rules, name, text) {
  return new RegExp(`^(?:${rules.patterns[name]})$`, "i")
    .exec(tidy(rules, text));
}

/** One blank for any number of them, and none around. @param {Rules} rules @param {string} text */
const tidy = (rules, text) =>
  trimmed(rules, text).replace(new RegExp(`${rules.patterns.space}+`, "g"), " ");

/**
 * @template T
 * @param {Record<string, T>} object
 * @param {string} key
 * @returns {T | undefined}
 */
const entry = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);
