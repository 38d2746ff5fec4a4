/**
 * Sorting and filtering of tables. A table is complete without this: rows are only moved and hidden.
 * `data-plain` on a table, or on anything around it, leaves it as it is. `data-few` is the number of
 * rows to begin with; `data-facets` names data attributes of its rows, each of which gets a list of
 * its values; then the query of the URL keeps what is chosen.
 */

import { element } from "./elements.js";
import { keepInURL } from "./form.js";

const ROWS_WORTH_A_FILTER = 9;
const FIGURE = /^([-+]?\d[\d,]*(?:\.\d+)?)(?![.\d])\s?([KMGBT](?=B?\b))?/;
const DIRECTIONS = ["ascending", "descending"];
const MULTIPLES = { K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12 };
const { compare: compareWords } = new Intl.Collator("en", { numeric: true });

/** What a cell sorts by. 7B comes before 14B, and 128K before 1M. */
function keyOf(cell) {
  const text = (cell?.dataset.sort ?? cell?.textContent ?? "").trim();
  const [, figure, multiple] = FIGURE.exec(text) ?? [];
  return { text, figure: figure && figure.replaceAll(",", "") * (MULTIPLES[multiple] ?? 1) };
}

/** The rows by one column, blanks last either way, equals in the order given. */
function sorted(rows, column, direction) {
  const keyed = rows.map((row) => ({ row, ...keyOf((row.rows?.[0] ?? row).cells[column]) }));
  const figures = keyed.every(({ text, figure }) => !text || figure !== undefined);
  const compare = (a, b) => (figures && a.figure - b.figure) || compareWords(a.text, b.text);
  const sign = direction === "descending" ? -1 : 1;
  keyed.sort((a, b) => !a.text - !b.text || sign * compare(a, b));
  return keyed.map(({ row }) => row);
}

/**
 * What moves within what. Rows under a heading of their own stay there; a body without one, a row
 * with its note, moves as a whole.
 */
function groupsOf(table) {
  const [bodies, heading] = [[...table.tBodies], "th[scope=rowgroup]"];
  if (bodies.length > 1 && !table.querySelector(heading)) return [{ parent: table, rows: bodies }];
  return bodies.map((body) => ({ parent: body, rows: [...body.rows].filter((row) => !row.querySelector(heading)) }));
}

/** A list of the values of one data attribute, the most frequent first. */
function facetOf(name, rows) {
  const values = rows.map(({ dataset }) => dataset[name]).filter(Boolean);
  const counts = [...Map.groupBy(values, (value) => value)].sort(([, a], [, b]) => b.length - a.length);
  const options = counts.map(([value, { length }]) => new Option(`${value} (${length})`, value));
  return element("select", { name }, new Option("any", ""), ...options);
}

/** A list of all orders; headers are buttons that choose from it. */
function orderOf(headers) {
  const order = element("select", { name: "order" }, new Option("as given", ""));
  headers.forEach((header, index) => {
    const name = header.textContent.trim();
    if (!name) return;
    const orders = DIRECTIONS.map((direction) => new Option(`${name} ${direction}`, `${index} ${direction}`));
    order.append(...orders);
    const button = element("button", { type: "button" }, ...header.childNodes);
    button.addEventListener("click", () => {
      const next = orders[orders.findIndex(({ selected }) => selected) + 1] ?? order.options[0];
      next.selected = true;
      for (const type of ["input", "change"]) order.dispatchEvent(new Event(type, { bubbles: true }));
    });
    header.append(button);
  });
  return order;
}

function equip(table) {
  const headers = [...(table.tHead?.rows[0].cells ?? [])];
  const groups = groupsOf(table);
  const rows = groups.flatMap((group) => group.rows);
  if (!headers.length || rows.length < 2 || table.closest("[data-plain]")) return;

  const facets = (table.dataset.facets?.split(" ") ?? []).map((name) => facetOf(name, rows))
    .filter(({ options }) => options.length > 1);
  const more = element("button", { type: "button", class: "md-button" });
  const filter = element("input", { type: "search", name: "filter" });
  const order = orderOf(headers);
  const summary = element("output", null);
  let [few, placed] = [Number(table.dataset.few ?? Infinity), ""];

  function update() {
    const [column, direction] = order.value.split(" ");
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = facets.filter(({ value }) => value);
    const fits = (row) => words.every((word) => row.textContent.toLowerCase().includes(word))
      && chosen.every(({ name, value }) => row.dataset[name] === value);
    let found = 0;
    for (const { parent, rows: given } of groups) {
      const own = sorted(given, column, direction);
      if (order.value !== placed) parent.append(...own);
      for (const row of own) row.hidden = !fits(row) || (found += 1) > few;
      if (parent !== table) parent.hidden = own.every((row) => row.hidden);
    }
    placed = order.value;
    headers.forEach((header, index) => { header.ariaSort = String(index) === column ? direction : null; });
    const by = placed && `, by ${order.selectedOptions[0].text}`;
    summary.value = `${found < rows.length ? `${found} of ${rows.length}` : rows.length} rows${by}`;
    more.hidden = found <= few;
    more.textContent = `Show all ${found} rows`;
  }

  function showAll({ type }) {
    few = Infinity;
    if (type === "reveal") for (const field of [filter, ...facets]) field.value = "";
    update();
    if (type === "reveal") form.dispatchEvent(new Event("change"));
  }

  more.addEventListener("click", showAll);
  table.addEventListener("reveal", showAll);

  const title = `Filter and order: ${table.closest("[role=region]")?.ariaLabel ?? document.title}`;
  const labelled = (text, field) => element("label", null, `${text} `, field);
  const form = element("form", { autocomplete: "off", method: "dialog" },
    rows.length >= ROWS_WORTH_A_FILTER && labelled("Filter", filter),
    ...facets.map((facet) => labelled(facet.name[0].toUpperCase() + facet.name.slice(1), facet)),
    element("label", { class: "table-order" }, "Order ", order),
    facets.length && table.previousElementSibling,
    summary);
  const tools = element("div", { class: "table-tools", role: "group", "aria-label": title }, form);
  (table.closest(".contained") ?? table).before(tools);
  if (few < rows.length) table.after(more);
  update();
  if (facets.length) keepInURL(form, {}, update);
  else form.addEventListener("input", update);
}

/** Whatever a link leads to is shown: not in a closed drawer, nor beyond the first rows. */
function reveal({ newURL }) {
  // The field that loses the focus to the target has put itself into the URL by now, without the hash.
  const target = document.getElementById(decodeURIComponent(new URL(newURL).hash.slice(1)));
  for (let at = target; (at = at?.parentElement.closest("details")); ) at.open = true;
  target?.closest("[hidden]")?.closest("table")?.dispatchEvent(new Event("reveal"));
  target?.scrollIntoView();
}

document.querySelectorAll("article table").forEach(equip);
addEventListener("hashchange", reveal);
reveal({ newURL: location.href });
