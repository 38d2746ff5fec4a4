/**
 * A question about hardware: from the words of the form to keys of the tables.
 * The rules are those of `query/understand.py`; a test compares both. A task is chosen from a list, so
 * it needs no more than its name here.
 *
 * @typedef {Record<string, string>} Tokens the words of a question by field
 */

import { EITHER, minBy, say, SAID, without_owner, word } from "../elements.js";
import { refuse } from "../form.js";
import { INDEX, Query } from "./index.js";

/** The question in keys, with notes on how it was read. Throws `Mistake`. @param {Tokens} tokens */
export const understand = (tokens) => Object.assign(new Reader(), { tokens, known: INDEX.vocabulary, notes: [] }).query();

class Reader {
  query() {
    const { model: text = "", host_memory = "" } = this.tokens;
    const { keys = [], size = "" } = this.modelAndSize(text);
    const { gpus, device } = this.gpusAndDevice();
    const hardware = this.hardware(device);
    const words = Object.fromEntries(INDEX.filters.map((name) => [name, this.word(name)]));
    if (words.weights.endsWith("lora")) words.task = this.withAdapters(words.task) || words.task;
    const framework_label = words.framework.split(EITHER).map((key) => this.known.frameworks[key] ?? key).join(EITHER);
    const lengths = this.lengths();
    const [first = "", another] = new Set(keys.map((key) => this.known.architectures[key] ?? key));
    const architecture = another ? "" : first;
    const [key = text] = [...keys, ...this.begun(text)].filter((one) => one in INDEX.things);
    const host_memory_gb = this.amount("memory", host_memory).amount;
    if (host_memory && !host_memory_gb) this.refuse("host_memory", host_memory);
    return Object.assign(new Query(), words, hardware, {
      gpus, size, architecture, host_memory_gb, framework_label,
      model: keys.length === 1 ? keys[0] : "",
      position: this.known.sizes.find(({ name }) => name === size)?.position ?? 0,
      experts: this.pattern("active").test(text) ? "mixture" : this.known.experts[architecture] ?? "",
      adapter_task: this.withAdapters(words.task),
      length: lengths.reduce((sum, part) => sum + part, 0),
      prompt: lengths[0] ?? 0,
      project: this.project(framework_label),
      computed: { model: key, named: text, isRead: keys.length !== 1 && key !== text, billions: this.billions(text.replace(this.pattern("hub"), "")), isMixture: this.pattern("active").test(text) },
      notes: this.notes.filter(Boolean),
    });
  }

  /** The same algorithms with LoRA, as far as there are any. */
  withAdapters(tasks) { return tasks.split(EITHER).map((task) => this.known.tasks[task]).filter(Boolean).join(EITHER); }

  /** The project that the framework was asked by; its base is said. */
  project(framework) {
    const { framework: text = "" } = this.tokens;
    const { [plain(text)]: project = "" } = this.known.projects;
    if (project) this.note("project", text, { base: framework.split(EITHER).at(-1) });
    return project;
  }

  /** Keys of the models that may be meant, none where only the size is known, and the size. */
  modelAndSize(text) {
    if (!text) return {};
    const { amount } = this.amount("billions", text);
    if (amount) {
      const size = this.sizeOf(amount);
      if (amount !== this.amount("billions", size).amount) this.note("in-size", text, { meaning: size });
      return { size };
    }
    const written = text.replace(this.pattern("hub"), "");
    const name = plain(written) in this.known.spellings.model ? written : this.withPoints(written);
    const keys = this.meaning("model", plain(name));
    const [size, another] = new Set(keys.map((key) => this.known.models[key]));
    if (!size || another) return { size: this.sizeInName(text, name) };
    const spelt = [keys[0], without_owner(keys[0])].map(plain);
    if (!spelt.includes(plain(name))) this.note("read-as", text, { meaning: keys.join(EITHER) });
    return { keys, size };
  }

  /** A model's name with the points for which some write `_`: `Qwen2_5-1_5B`, not `qwen2_7b`. */
  withPoints = (name) => ["point_of_version", "point_of_size"].reduce((text, point) => text.replace(this.pattern(point), "$1.$2"), name);

  /** The parameters, in 10⁹, that a size or a name states; 0 where it states none. */
  billions(name) {
    const [, figure = 0] = this.pattern("size_in_name").exec(this.withPoints(name).replace(/[\s_-]+/g, "-")) ?? [];
    return this.amount("billions", name).amount || Number(figure);
  }

  /** The models that a name may mean, or the longest part of it that has a size. */
  begun(text) {
    const parts = this.withPoints(text).replace(/^.*\//, "").toLowerCase().split(/[\s_-]+/);
    const beginnings = this.amount("billions", text).amount ? [] : parts.map((_, i) => parts.slice(0, parts.length - i).join("-"));
    const sized = beginnings.filter((beginning) => this.pattern("size_in_name").test(beginning));
    return sized.flatMap((beginning) => this.meaning("model", plain(beginning)));
  }

  /** The size that the name of a model states, which is not known itself. */
  sizeInName(text, name) {
    const billions = this.billions(name);
    if (!billions) this.refuse("model", text);
    const size = this.sizeOf(billions);
    this.note("by-size", text, { size });
    return size;
  }

  /** The size that so many parameters, in 10⁹, belong to. */
  sizeOf(billions) { return this.known.sizes.find(({ below }) => below === null || billions < below).name; }

  /** The number of GPUs, also that of `8xH100`, and the device without it. */
  gpusAndDevice() {
    const { gpus: asked, device: text = "" } = this.tokens;
    const gpus = this.count("gpus", asked);
    const [number, device] = this.counted(text);
    const count = this.count("device", number);
    if (gpus && count && gpus !== count) this.refuse("device", text, "two-counts");
    return { gpus: gpus || count, device };
  }

  /** The number and the rest of `8xH100`; no number where the whole is a device. */
  counted(text) {
    const [, before, count] = this.read("device_count", text) ?? [];
    const [, number, after] = this.read("count_device", text) ?? [];
    const isDevice = ([, device]) => device && (this.amount("memory", device).unit || this.named(device).length || this.unlisted(device));
    const found = [[count, before], [number, after]].find(isDevice);
    return found && !this.named(text).length ? found : ["", text];
  }

  /** The device, or GB of any device: `80 GB`, or `80` where none is called so. GiB count as GB. */
  hardware(text) {
    for (const reason of ["shared", "no_gpu"]) if (this.pattern(reason).test(text)) this.refuse("device", text, reason);
    const named = this.named(text);
    const { amount, unit } = this.amount("memory", text);
    const isMemory = amount > 0 && amount <= INDEX.most_gigabytes && (unit || !named.length);
    const devices = isMemory ? [] : named;
    const memory = unit.startsWith("m") ? Math.ceil(amount) : amount;
    const own = isMemory ? [{ memory_gb: memory, notes: [["any-vendor", { memory }]] }] : devices.map((key) => this.known.devices.known[key]);
    if (text && !own.length) own.push(this.unlisted(text) || this.refuse("device", text));
    if (own.length > 1) this.note("read-as", text, { meaning: own.map(({ label }) => label).join(` ${word("or")} `) });
    if (own.length > 1 && own.every((one) => one.lacks_bf16)) this.note("no-bf16", text);
    if (own.length === 1) this.notes.push(own[0].notes.map(([name, words]) => say(name, { text, ...words })).join(" "));
    const { vendor = "", memory_gb = 0, lacks_bf16 = false } = minBy(own, (one) => one.memory_gb) ?? {};
    return { device: devices.join(EITHER), vendor, memory_gb, lacks_bf16 };
  }

  /** A device that the table lacks, by the vendor and the memory that its words say. */
  unlisted(text) {
    const [vendor] = Object.entries(this.known.vendors).find(([, words]) => new RegExp(words, "i").test(text)) ?? [];
    const memory = Number(this.pattern("gigabytes").exec(text)?.[1]);
    return vendor && memory && { vendor, memory_gb: memory, notes: [["unlisted", { vendor, memory }]] };
  }

  /** The devices that the words can mean: one, several of different memory, or none. */
  named(text) {
    if (!text) return [];
    const name = this.deviceName(text);
    const found = [name, name.replace(/s$/, "")].map((one) => this.meaning("device", one)).find((keys) => keys.length);
    if (found) return found;
    const gigabytes = this.pattern("gigabytes");
    const memory = Number(gigabytes.exec(text.toLowerCase())?.[1]);
    const keys = this.meaning("device", this.deviceName(text.toLowerCase().replace(gigabytes, " ")));
    return keys.filter((key) => this.known.devices.known[key].memory_gb === memory);
  }

  /** `a10080g` of `NVIDIA A100 80GB`. */
  deviceName(text) {
    const bare = text.toLowerCase().replace(this.pattern("vendor"), "");
    return bare.replace(this.pattern("gigabytes"), "$1g").replace(/[^a-z0-9]/g, "");
  }

  /** A number of GPUs: `16`, `2x8`, `8 GPUs`; 0 of no text. */
  count(field, text) {
    if (!text) return 0;
    const [, factors] = this.read("count", text) ?? this.refuse(field, text);
    return factors.match(/[0-9]+/g).reduce((product, factor) => product * Number(factor), 1);
  }

  /** Tokens of the parts of a context. */
  lengths() {
    const { length: text } = this.tokens;
    const parts = text?.split(this.pattern("between_lengths")).map((part) => this.amount("length", part).amount) ?? [];
    if (!parts.every(Boolean)) this.refuse("length", text);
    return parts.map((part) => Math.floor(part + 0.5));
  }

  /** The known word of a field, whatever its case and punctuation. */
  word(field) {
    const { [field]: text } = this.tokens;
    if (!text) return "";
    const isOffline = field === "task" && INDEX.without_rollouts.includes(plain(text));
    const meaning = this.meaning(field, plain(text)).join(EITHER) || this.refuse(field, text, isOffline ? "offline" : undefined);
    if (field === "task" && meaning.includes(EITHER)) this.note("read-as", text, { meaning });
    return meaning;
  }

  /** The keys that a spelling can mean. @returns {string[]} */
  meaning(field, spelling) {
    const { [field]: spellings } = this.known.spellings;
    return Object.hasOwn(spellings, spelling) ? spellings[spelling].split(EITHER) : [];
  }

  note(name, text, words) { this.notes.push(say(name, { text, ...words })); }

  /** @returns {never} */
  refuse(field, text, why = `unknown-${field}`) {
    const message = why in SAID ? why : "unknown";
    refuse(message, { field: word(field.replace("_", " ")), text }, field, say(`hint.${field}`));
  }

  pattern(name) { return new RegExp(INDEX.patterns[name], "gi"); }

  /** What a figure with its unit amounts to, and the unit; 0 where the text is none. */
  amount(name, text) {
    const [, figure = "0", unit = ""] = this.read(name, text) ?? [];
    const factor = INDEX.units[name][unit.toLowerCase()] ?? 1;
    return { amount: Number(figure.replaceAll(",", "")) * factor, unit: unit.toLowerCase() };
  }

  /** The parts of a text that is wholly of a pattern. */
  read(name, text) {
    return new RegExp(`^(?:${INDEX.patterns[name]})$`, "i").exec(text.trim().replace(/\s+/g, " "));
  }
}

/** A text without what people spell in different ways: case, spaces, `_`, `-`, `++`. @param {string} text */
function plain(text) {
  const words = text.toLowerCase().replaceAll("++", "pp").replace(/[^a-z0-9.]+/g, "-");
  return words.replace(/(?<![0-9])[-.]+|[-.]+(?![0-9])/g, "");
}
