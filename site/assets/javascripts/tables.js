/**
 * Tables: sorted, filtered, compared, copied. A table is complete without this.
 * `data-plain` on a table, or on anything around it, leaves it as it is. `data-few` is the number of
 * rows to begin with; `data-facets` names data attributes of its rows, each of which gets a list of
 * its values; then the query of the URL keeps what is chosen. The list of columns before a table is
 * moved to what else there is to choose.
 */

import { element } from "./elements.js";
import { keepInURL } from "./form.js";

const ROWS_WORTH_A_FILTER = 9;
const FIGURE = /^([-+]?\d[\d,]*(?:\.\d+)?)(?![.\d])\s?([KMGBT](?=B?\b))?/;
const DIRECTIONS = ["ascending", "descending"];
const MULTIPLES = { K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12 };
const { compare: compareWords } = new Intl.Collator("en", { numeric: true });

/** The text of a cell on one line. */
const textOf = (cell) => (cell?.textContent ?? "").trim().replace(/\s+/g, " ");

/** What a cell sorts by. 7B comes before 14B, and 128K before 1M. */
function keyOf(cell) {
  const text = (cell?.dataset.sort ?? textOf(cell)).trim();
  const [, figure, multiple] = FIGURE.exec(text) ?? [];
  return { text, figure: figure && figure.replaceAll(",", "") * (MULTIPLES[multiple] ?? 1) };
}

/** The rows by one column, blanks last either way, equals in the order given. */
function sorted(rows, column, direction) {
  const keyed = rows.map((row) => ({ row, ...keyOf(row.cells[column]) }));
  const figures = keyed.every(({ text, figure }) => !text || figure !== undefined);
  const compare = (a, b) => (figures && a.figure - b.figure) || compareWords(a.text, b.text);
  const sign = direction === "descending" ? -1 : 1;
  keyed.sort((a, b) => !a.text - !b.text || sign * compare(a, b));
  return keyed.map(({ row }) => row);
}

/** The rows that move within each body: those under a heading of their own stay there. */
function groupsOf(table) {
  const moves = (row) => !row.querySelector("th[scope=rowgroup]");
  return [...table.tBodies].map((body) => ({ body, rows: [...body.rows].filter(moves) }));
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
      choose(order, next.value);
    });
    header.append(button);
  });
  return order;
}

/** Gives a field a value as its reader would; a list that does not offer it is given it too. */
function choose(field, value) {
  field.value = value;
  if (field.value !== value) field.add(new Option("own choice", value, false, true));
  for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
}

/** The boxes that choose columns, in step with the list of sets of columns. Returns what shows that list's choice. */
function columnsOf(panel) {
  const list = panel.querySelector("select");
  const boxes = [...panel.querySelectorAll("input")];
  panel.addEventListener("input", ({ target }) => {
    if (target === list) return;
    const checked = boxes.filter((box) => box.checked).map(({ value }) => value);
    choose(list, checked.join("."));
  });
  return () => {
    const chosen = (list.value || list.dataset.first).split(".");
    for (const box of boxes) box.checked = chosen.includes(box.value);
  };
}

/** Rows side by side, a line for each column that any of them fills; lines that differ stand out. */
function sideBySide(headers, rows) {
  const lines = headers.map((header, index) => {
    const cells = rows.map((row) => row.cells[index].cloneNode(true));
    for (const cell of cells) cell.querySelector("input")?.remove();
    const texts = new Set(cells.map(textOf));
    const isEmpty = texts.size === 1 && texts.has("");
    return !isEmpty && element("tr", { class: texts.size > 1 && "differs" }, element("th", { scope: "row" }, textOf(header)), ...cells);
  });
  return element("table", { class: "compared", "data-plain": true }, element("tbody", null, ...lines));
}

/** Boxes in rows that choose which to compare, the field that the URL keeps, and where the comparison is shown. */
function comparisonOf(headers, rows) {
  const field = element("input", { name: "compare", hidden: true });
  const place = element("div", { class: "contained comparison", role: "region", "aria-label": "Comparison", tabindex: "0", hidden: true });
  const byId = new Map(rows.map((row) => [row.id, row]));
  const boxes = rows.map((row) => {
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${textOf(row.cells[1])}`, value: row.id });
    row.cells[1].prepend(box);
    box.addEventListener("change", () => choose(field, boxes.filter(({ checked }) => checked).map(({ value }) => value).join(" ")));
    return box;
  });
  function show() {
    const chosen = field.value.split(" ").filter((id) => byId.has(id));
    for (const box of boxes) box.checked = chosen.includes(box.value);
    place.hidden = chosen.length < 2;
    place.replaceChildren(...(place.hidden ? [] : [sideBySide(headers, chosen.map((id) => byId.get(id)))]));
  }
  return { field, place, show };
}

/** The columns in sight of some rows as CSV; a link by its address. */
function csvOf(headers, rows) {
  const shown = headers.map((header) => getComputedStyle(header).display !== "none");
  const inSight = (_, index) => shown[index];
  const written = (cell) => (cell.dataset.label === "Link" && cell.querySelector("a")?.href) || textOf(cell);
  const quoted = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [headers.filter(inSight).map(textOf), ...rows.map((row) => [...row.cells].filter(inSight).map(written))];
  return lines.map((line) => `${line.map(quoted).join(",")}\n`).join("");
}

/** Buttons that copy and save what `csv` gives. */
function exportsOf(csv) {
  const copy = element("button", { type: "button", class: "table-button" }, "Copy");
  const save = element("a", { class: "table-button", href: "#", download: "rl-resources.csv" }, "Save as CSV");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(csv());
    copy.textContent = "Copied";
  });
  save.addEventListener("click", () => { save.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" })); });
  return [copy, save];
}

function equip(table) {
  const headers = [...(table.tHead?.rows[0].cells ?? [])];
  const groups = groupsOf(table);
  const rows = groups.flatMap((group) => group.rows);
  if (!headers.length || rows.length < 2 || table.closest("[data-plain]")) return;

  const frame = table.closest(".contained") ?? table;
  const facets = (table.dataset.facets?.split(" ") ?? []).map((name) => facetOf(name, rows))
    .filter(({ options }) => options.length > 1);
  const panel = frame.previousElementSibling?.matches(".columns") && frame.previousElementSibling;
  const showColumns = panel ? columnsOf(panel) : () => {};
  const comparison = panel ? comparisonOf(headers, rows) : null;
  const more = element("button", { type: "button", class: "md-button" });
  const filter = element("input", { type: "search", name: "filter" });
  const order = orderOf(headers);
  const summary = element("output", null);
  let [few, placed] = [Number(table.dataset.few ?? Infinity), ""];

  function fits(row) {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = row.textContent.toLowerCase();
    return words.every((word) => text.includes(word)) && facets.every(({ name, value }) => !value || row.dataset[name] === value);
  }

  function update() {
    const [column, direction] = order.value.split(" ");
    let found = 0;
    for (const { body, rows: given } of groups) {
      const own = sorted(given, column, direction);
      if (order.value !== placed) body.append(...own);
      for (const row of own) row.hidden = !fits(row) || (found += 1) > few;
      body.hidden = own.every((row) => row.hidden);
    }
    placed = order.value;
    headers.forEach((header, index) => { header.ariaSort = String(index) === column ? direction : null; });
    const by = placed && `, by ${order.selectedOptions[0].text}`;
    summary.value = `${found < rows.length ? `${found} of ${rows.length}` : rows.length} rows${by}`;
    more.hidden = found <= few;
    more.textContent = `Show all ${found} rows`;
    showColumns();
    comparison?.show();
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
  const inSight = () => [...table.rows].filter((row) => rows.includes(row) && fits(row));
  const form = element("form", { autocomplete: "off", method: "dialog" },
    rows.length >= ROWS_WORTH_A_FILTER && labelled("Filter", filter),
    ...facets.map((facet) => labelled(facet.name[0].toUpperCase() + facet.name.slice(1), facet)),
    element("label", { class: "table-order" }, "Order ", order),
    panel, comparison?.field, summary,
    ...(panel ? exportsOf(() => csvOf(headers, inSight())) : []));
  const tools = element("div", { class: "table-tools", role: "group", "aria-label": title }, form);
  frame.before(tools);
  if (comparison) tools.after(comparison.place);
  if (few < rows.length) frame.after(more);
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
