/** Python's built-in functions and methods for the modules that a build translates; `tools/rl_resources/site/javascript.toml` lists both. */

/** Whether Python takes a value for true: nothing empty is. */
export function isTrue(value) {
  const isKind = Array.isArray(value) || value instanceof Set || value?.constructor === Object;
  return isKind ? len(value) > 0 : Boolean(value);
}

export const and = (first, second) => (isTrue(first) ? second() : first);
export const or = (first, second) => (isTrue(first) ? first : second());

/** What a loop over a value has: of a dictionary its keys. A generator goes on after a loop that ends early. */
export const each = (value) => {
  if (Array.isArray(value)) return value;
  if (typeof value.next === "function") return { [Symbol.iterator]: () => ({ next: () => value.next() }) };
  return value[Symbol.iterator] ? value : Object.keys(value);
};
export const list = (values = []) => [...each(values)];
export const tuple = list;
export const set = (values = []) => new Set(each(values));
export const len = (value) => (value instanceof Set ? value.size : each(value).length);
export const { abs, ceil, exp, floor, log, sqrt, trunc: int } = Math;
export const float = Number;
/** A half to the even number. */
export const round = (value) => (abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));
/** What remains of a division has the sign of the divisor. */
export const modulo = (value, by) => ((value % by) + by) % by;
export const bool = isTrue;
export const str = String;
export const named = (value) => value.toJSON?.() ?? value;
export const dict = (value) => (value[Symbol.iterator] ? Object.fromEntries(value) : { ...named(value) });
export const getattr = (value, name) => value[name];
export const attrgetter = (name) => (value) => value[name];
export const range = (most) => [...Array(most).keys()];
export const zip = (values, others) => { const seconds = list(others); return list(values).slice(0, len(seconds)).map((value, place) => [value, seconds[place]]); };
export const any = (values) => { for (const value of each(values)) if (isTrue(value)) return true; return false; };
export const all = (values) => { for (const value of each(values)) if (!isTrue(value)) return false; return true; };
export const filter = (test, values) => list(values).filter(test ?? isTrue);
export const prod = (values) => values.reduce((product, value) => product * value, 1);
export const basename = (path) => path.replace(/^.*\//s, "");
export const sum = (values) => list(values).reduce((total, value) => total + value, 0);

/** Whether a text, a list, a set or the keys of a dictionary have a value. A key without one, as published tables have it, is missing. */
export function holds(container, value) {
  if (container instanceof Set) return container.has(value);
  if (container.includes) return container.includes(value);
  if (container[Symbol.iterator]) return list(container).includes(value);
  return !(value in Object.prototype) && (container[value] ?? null) !== null;
}

/** The next value of a list, or of a generator that goes on. */
export function next(values, otherwise) {
  const { value, done } = values[Symbol.iterator]().next();
  return done ? otherwise : value;
}

const itself = (value) => value;

/** Below 0 where the first of two figures, texts, or lists of them comes first. */
function compared(a, b) {
  if (!Array.isArray(a)) return Number(a > b) - Number(a < b);
  const place = a.findIndex((one, at) => compared(one, b[at]) !== 0);
  return place < 0 ? a.length - b.length : compared(a[place], b[place]);
}

const keyed = (values, key) => list(values).map((value) => ({ value, key: key(value) }));

export const sorted = (values, { key = itself } = {}) => keyed(values, key).sort((a, b) => compared(a.key, b.key)).map(({ value }) => value);

/** The first of the smallest values (sign -1) or of the largest ones (sign 1). */
function best(sign, values, { key = itself, default: otherwise = null } = {}) {
  const pairs = keyed(values, key);
  const first = pairs.reduce((found, pair) => (sign * compared(pair.key, found.key) > 0 ? pair : found), pairs[0]);
  return first ? first.value : otherwise;
}

export const min = (values, ...given) => (typeof values === "number" ? Math.min(values, ...given) : best(-1, values, ...given));
export const max = (values, ...given) => (typeof values === "number" ? Math.max(values, ...given) : best(1, values, ...given));

/** Two lists, figures or texts added. */
export const plus = (a, b) => (Array.isArray(a) ? [...a, ...b] : a + b);
/** Two sets, or two dictionaries, as one. */
export const merged = (a, b) => (a instanceof Set ? new Set([...a, ...b]) : { ...a, ...b });

/** Items by their key. */
export function grouped(items, key) {
  const groups = {};
  for (const item of items) (groups[key(item)] ??= []).push(item);
  return groups;
}

/** A function that always returns this. */
export const always = (value) => () => value;

/** The value of a cached property: found once, then stored. */
export const kept = (value, name, find) => Object.defineProperty(value, name, { value: find() })[name];

export function* count() { for (let number = 0; ; number += 1) yield number; }

export function* islice(values, most) {
  let left = most;
  for (const value of each(values)) {
    yield value;
    left -= 1;
    if (left < 1) return;
  }
}

export const heappop = (waiting) => waiting.shift();
export function heappush(waiting, value) {
  const place = waiting.findLastIndex((other) => compared(other, value) <= 0);
  waiting.splice(place + 1, 0, value);
}

/** A value with other fields. */
export const replace = (value, changes) => ({ __proto__: Object.getPrototypeOf(value), ...value, ...changes });

/** A value of a class by its fields, in their order or by name. */
export const made = (Kind, given, named) =>
  Object.assign(new Kind(), Object.fromEntries(given.map((value, place) => [Kind.fields[place], value])), named);

/** What Python calls as methods of its own kinds of values. */
export const methods = {
  _replace: replace,
  append: (values, value) => values.push(value),
  endswith: (text, end) => text.endsWith(end),
  discard: (values, value) => values.delete(value),
  format: (text, words) => text.replace(/\{(\w+)\}/g, (_, name) => words[name]),
  get: (values, key, otherwise = null) => (holds(values, key) ? values[key] : otherwise),
  isdisjoint: (values, others) => !list(others).some((value) => values.has(value)),
  index: (values, value) => values.indexOf(value),
  join: (between, texts) => list(texts).join(between),
  items: Object.entries, keys: Object.keys, values: Object.values,
  lower: (text) => text.toLowerCase(),
  pop: (values, key) => { const { [key]: value } = values; delete values[key]; return value; },
  removesuffix: (text, end) => (end && text.endsWith(end) ? text.slice(0, -end.length) : text),
  setdefault: (values, key, value) => (values[key] ??= value),
  startswith: (text, beginning) => text.startsWith(beginning),
  strip: (text) => text.trim(),
};
