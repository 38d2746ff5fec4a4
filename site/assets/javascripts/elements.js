/** What the finder, the estimate and the tables share. Text becomes text: nothing here reads HTML. */

/** How long nothing may have changed before what can wait is done. */
export const QUIET_MS = 400;
const DRAWN = ["svg", "rect", "path", "title"];

/**
 * An element with attributes and children; what is empty, 0 or false is left out.
 *
 * @param {string} name
 * @param {Record<string, string | number | boolean> | null} attributes
 * @param {...any} children
 */
export function element(name, attributes, ...children) {
  const made = DRAWN.includes(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value) made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter(Boolean));
  return made;
}

/** A copy of a template of the page with its slots filled; a style hides those that stay empty. @param {string} id @param {Record<string, any>} slots children by `data-slot` */
export function filled(id, slots) {
  const copy = document.getElementById(id).content.cloneNode(true);
  for (const place of copy.querySelectorAll("[data-slot]")) {
    place.append(...[slots[place.dataset.slot]].flat().filter(Boolean));
  }
  return copy;
}

/**
 * The first items of a list, and the others folded: a search in the page finds them, and print has them.
 * They are drawn a moment later, unless the list has been replaced by then.
 *
 * @template T
 * @param {string} name a CSS class
 * @param {T[]} items
 * @param {number} shown
 * @param {(item: T) => string | Node} draw
 * @param {(others: T[]) => string} [label] what the others are called
 */
export function list(name, items, shown, draw, label = ({ length }) => `${length} more`) {
  const drawn = (some) => some.map((item) => element("li", null, draw(item)));
  const first = shown > 0 && element("ul", { class: name }, ...drawn(items.slice(0, shown)));
  if (items.length <= shown) return [first];
  const [others, rest] = [items.slice(shown), element("ul", { class: name })];
  setTimeout(() => rest.isConnected && rest.append(...drawn(others)), QUIET_MS);
  return [first, element("details", { class: "fold" }, element("summary", null, label(others)), rest)];
}

/** A sentence with the words in its braces filled in. @param {string} text @param {Record<string, any>} words */
export const fill = (text, words) => text.replace(/\{(\w+)\}/g, (_, name) => words[name]);

/** Words as the query of a URL, without those that are empty. @param {Record<string, any>} words */
export function queryOf(words) {
  const query = new URLSearchParams(Object.entries(words).filter(([, word]) => word));
  return query.size ? `?${query}` : "";
}
