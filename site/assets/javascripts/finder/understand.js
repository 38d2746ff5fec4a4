/**
 * A question about hardware: from the words of the form to keys of the tables.
 * The rules are those of `query/understand.py`; a test compares both. A task is chosen from a list, so
 * it needs no more than its name here.
 *
 * @typedef {import("./published.js").Index} Index
 * @typedef {Record<string, string>} Tokens the words of a question by field
 */

import { Mistake } from "../form.js";
import { EITHER, minBy, say } from "./published.js";

const UNITS = {
  billions: { m: 0.001, t: 1000 },
  memory: { mib: 1 / 1024, mb: 1 / 1024, tb: 1000 },
  length: { k: 1000, m: 1e6 },
};

/** The question in keys, and notes on how it was read. Throws `Mistake`. @param {Index} index @param {Tokens} tokens */
export function understand(index, tokens) {
  const reader = new Reader(index, tokens);
  return { query: reader.query(), notes: reader.notes };
}

class Reader {
  /** @param {Index} index @param {Tokens} tokens */
  constructor(index, tokens) {
    Object.assign(this, { index, tokens, known: index.vocabulary, notes: [] });
  }

  query() {
    const { model, size } = this.modelAndSize();
    const { gpus, device } = this.gpusAndDevice();
    const hardware = this.hardware(device);
    const names = this.index.filters.filter((name) => name !== "task");
    const words = Object.fromEntries([...names, "task"].map((name) => [name, this.word(name)]));
    const withAdapters = words.weights.endsWith("lora") && this.known.tasks[words.task];
    const task = withAdapters || words.task;
    return {
      ...words,
      model,
      size,
      position: this.known.sizes.find(({ name }) => name === size)?.position ?? 0,
      task,
      adapter_task: task && this.known.tasks[task],
      gpus,
      ...hardware,
      length: this.length(),
    };
  }

  modelAndSize() {
    const { model: text = "" } = this.tokens;
    if (!text) return { model: "", size: "" };
    const { amount } = this.amount("billions", text);
    return amount ? { model: "", size: this.size(text, amount) } : this.model(text);
  }

  size(text, billions) {
    const size = this.sizeOf(billions);
    const bare = (name) => plain(name).replace(/b$/, "");
    if (bare(text) !== bare(size)) this.note("read-as", text, { meaning: size });
    return size;
  }

  /** The size that so many parameters, in 10⁹, belong to. */
  sizeOf(billions) {
    return this.known.sizes.find(({ below }) => below === null || billions < below).name;
  }

  /** The model, empty where several are meant or only the size is known, and the size. */
  model(text) {
    const name = text.replace(this.pattern("hub", "gi"), "");
    const keys = this.meaning("model", plain(name));
    const sizes = new Set(keys.map((key) => this.known.models[key]));
    if (sizes.size === 1) {
      const spelt = [keys[0], lastPart(keys[0])].map(plain);
      if (!spelt.includes(plain(name))) this.note("read-as", text, { meaning: keys.join(EITHER) });
      return { model: keys.length === 1 ? keys[0] : "", size: [...sizes][0] };
    }
    const [, figure] = this.pattern("size_in_name").exec(name.replace(/[\s_-]+/g, "-")) ?? [];
    if (!Number(figure)) this.unknown("model", text);
    const size = this.sizeOf(Number(figure));
    this.note("by-size", text, { size });
    return { model: "", size };
  }

  /** The number of GPUs, also that of `8xH100`, and the device without it. */
  gpusAndDevice() {
    const { gpus: asked, device: text = "" } = this.tokens;
    const gpus = this.count("gpus", asked);
    const [number, device] = this.counted(text);
    const count = this.count("device", number);
    if (gpus && count && gpus !== count) throw new Mistake(say(this.index, "two-counts", { text }), "", "device");
    return { gpus: gpus || count, device };
  }

  /** The number and the rest of `8xH100`; no number where the whole is a device. */
  counted(text) {
    const orders = this.named(text).length ? [] : [["device_count", 2, 1], ["count_device", 1, 2]];
    for (const [name, countAt, deviceAt] of orders) {
      const { [countAt]: number, [deviceAt]: device = "" } = this.read(name, text) ?? [];
      if (device && (this.amount("memory", device).unit || this.named(device).length)) return [number, device];
    }
    return ["", text];
  }

  /** The device, or GB of any device: `80 GB`, or `80` where none is called so. GiB count as GB. */
  hardware(text) {
    const { amount, unit } = this.amount("memory", text);
    const keys = text ? this.named(text) : [];
    const isMemory = unit || (amount > 0 && amount <= this.index.most_gigabytes && !keys.length);
    if (text && !(isMemory ? amount : keys.length)) this.unknown("device", text);
    const own = keys.map((key) => this.known.devices[key]);
    if (isMemory) {
      const memory = ["mib", "mb"].includes(unit) ? Math.ceil(amount) : amount;
      this.note("any-vendor", "", { memory });
      return { device: "", vendor: "", memory_gb: memory };
    }
    if (own.length > 1) this.note("read-as", text, { meaning: own.map(({ label }) => label).join(EITHER) });
    else if (own[0]?.note) this.notes.push(own[0].note);
    const { vendor = "", memory_gb = 0 } = minBy(own, (one) => one.memory_gb) ?? {};
    return { device: keys.join(EITHER), vendor, memory_gb };
  }

  /** The devices that the words can mean: one, several of different memory, or none. */
  named(text) {
    const name = this.deviceName(text);
    const found = [name, name.replace(/s$/, "")].map((one) => this.meaning("device", one)).find((keys) => keys.length);
    if (found) return found;
    const gigabytes = this.pattern("gigabytes", "g");
    const memory = Number(gigabytes.exec(text.toLowerCase())?.[1] ?? 0);
    const bare = this.deviceName(text.toLowerCase().replace(gigabytes, " "));
    return this.meaning("device", bare).filter((key) => this.known.devices[key].memory_gb === memory);
  }

  /** `a10080g` of `NVIDIA A100 80GB`. */
  deviceName(text) {
    const bare = text.toLowerCase().replace(this.pattern("vendor", "g"), "");
    return bare.replace(this.pattern("gigabytes", "g"), "$1g").replace(/[^a-z0-9]/g, "");
  }

  /** A number of GPUs: `16`, `2x8`, `8 GPUs`; 0 of no text. */
  count(field, text) {
    if (!text) return 0;
    const [, factors] = this.read("count", text) ?? this.unknown(field, text);
    return factors.match(/[0-9]+/g).reduce((product, factor) => product * Number(factor), 1);
  }

  /** Tokens of prompt and response together. */
  length() {
    const { length: text } = this.tokens;
    if (!text) return 0;
    const parts = text.split("+").map((part) => this.amount("length", part).amount);
    if (!parts.every(Boolean)) this.unknown("length", text);
    return parts.reduce((sum, part) => sum + Math.floor(part + 0.5), 0);
  }

  /** The known word of a field, whatever its case and punctuation. */
  word(field) {
    const { [field]: text } = this.tokens;
    return text ? this.meaning(field, plain(text))[0] ?? this.unknown(field, text) : "";
  }

  /** The keys that a spelling can mean. @returns {string[]} */
  meaning(field, spelling) {
    const { [field]: spellings } = this.known.spellings;
    return Object.hasOwn(spellings, spelling) ? spellings[spelling].split(EITHER) : [];
  }

  note(name, text = "", words = {}) {
    this.notes.push(say(this.index, name, { text, ...words }));
  }

  /** Throw, with the known words that contain the text to choose from. @returns {never} */
  unknown(field, text) {
    const { [field]: spellings = {} } = this.known.spellings;
    const keys = [...new Set(Object.values(spellings))].filter((key) => !key.includes(EITHER));
    const names = keys.map((key) => (field === "device" ? this.known.devices[key].label : lastPart(key)));
    const near = names.filter((name) => plain(text) && plain(name).includes(plain(text)));
    const few = names.length <= 12 ? names : near.sort((a, b) => a.length - b.length).slice(0, 6);
    throw new Mistake(say(this.index, "unknown", { field, text }), this.index.hints[field] ?? "", field, few);
  }

  pattern(name, flags = "i") {
    return new RegExp(this.index.patterns[name], flags);
  }

  /** What a figure with its unit amounts to, and the unit; 0 where the text is none. */
  amount(name, text) {
    const [, figure = "0", unit = ""] = this.read(name, text) ?? [];
    const factor = UNITS[name][unit.toLowerCase()] ?? 1;
    return { amount: Number(figure.replaceAll(",", "")) * factor, unit: unit.toLowerCase() };
  }

  /** The parts of a text that is wholly of a pattern. */
  read(name, text) {
    const whole = new RegExp(`^(?:${this.index.patterns[name]})$`, "i");
    return whole.exec(text.trim().replace(/\s+/g, " "));
  }
}

const lastPart = (/** @type {string} */ name) => name.slice(name.lastIndexOf("/") + 1);

/** A text without what people spell in different ways: case, spaces, `_`, `-`, `++`. @param {string} text */
function plain(text) {
  const words = text.toLowerCase().replaceAll("++", "pp").replace(/[^a-z0-9.]+/g, "-");
  return words.replace(/(?<![0-9])[-.]+|[-.]+(?![0-9])/g, "");
}
