/** What the finder and the estimate draw with. Text becomes text: nothing here reads HTML. */

const QUIET_MS = 400;
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

/** A copy of a template of the page with its slots filled; one without children is removed. @param {string} id @param {Record<string, any>} slots children by `data-slot` */
export function filled(id, slots) {
  const copy = document.getElementById(id).content.cloneNode(true);
  for (const place of copy.querySelectorAll("[data-slot]")) {
    const children = [slots[place.dataset.slot]].flat().filter(Boolean);
    if (children.length) place.append(...children);
    else place.remove();
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

/** Says a text to a screen reader, once nothing has changed for a moment. @param {HTMLElement} status */
export function announcer(status) {
  let pending = 0;
  return (text) => {
    clearTimeout(pending);
    pending = setTimeout(() => { status.textContent = text; }, QUIET_MS);
  };
}
