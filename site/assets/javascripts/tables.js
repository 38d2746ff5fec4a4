/* Sorting and filtering of tables. A table is complete without this: rows are only moved and hidden.
   `data-plain` on a table, or on anything around it, leaves it as it is. `data-few` is the number of
   rows to begin with; `data-facets` names data attributes of its rows, each of which gets a list of
   its values. The query of the URL keeps what is chosen. */

import { element } from "./elements.js";

const ROWS_WORTH_A_FILTER = 9;
const FIGURE = /^([-+]?\d[\d,]*(?:\.\d+)?)(?![.\d])\s?([KMGBT](?=B?\b))?/;
const DIRECTIONS = ["ascending", "descending"];
const MULTIPLES = { K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12 };
const { compare: compareWords } = new Intl.Collator("en", { numeric: true });

/* What a cell sorts by. 7B comes before 14B, and 128K before 1M. */
function keyOf(cell) {
  const text = (cell?.dataset.sort ?? cell?.textContent ?? "").trim();
  const [, figure, multiple] = FIGURE.exec(text) ?? [];
  return { text, figure: figure && figure.replaceAll(",", "") * (MULTIPLES[multiple] ?? 1) };
}

/* The rows by one column, blanks last either way, equals in the order given. */
function sorted(rows, column, direction) {
  const keyed = rows.map((row) => ({ row, ...keyOf((row.rows?.[0] ?? row).cells[column]) }));
  const filled = keyed.filter(({ text }) => text);
  const figures = filled.every(({ figure }) => figure !== undefined);
  const sign = direction === "descending" ? -1 : 1;
  filled.sort((a, b) => sign * ((figures && a.figure - b.figure) || compareWords(a.text, b.text)));
  return [...filled, ...keyed.filter(({ text }) => !text)].map(({ row }) => row);
}

/* What moves within what. Rows under a heading of their own stay there; a body without one, a row
   with its note, moves as a whole. */
function groupsOf(table) {
  const [bodies, heading] = [[...table.tBodies], "th[scope=rowgroup]"];
  if (bodies.length > 1 && !table.querySelector(heading)) return [{ parent: table, rows: bodies }];
  return bodies.map((body) => ({ parent: body, rows: [...body.rows].filter((row) => !row.querySelector(heading)) }));
}

/* A list of the values of one data attribute, the most frequent first. */
function facetOf(name, rows) {
  const values = rows.map(({ dataset }) => dataset[name]).filter(Boolean);
  const counts = [...Map.groupBy(values, (value) => value)].sort(([, a], [, b]) => b.length - a.length);
  const options = counts.map(([value, { length }]) => new Option(`${value} (${length})`, value));
  return element("select", { name, autocomplete: "off" }, new Option("any", ""), ...options);
}

/* A check box for each column but the first, which names the row. */
function columnsOf(table, [, ...names]) {
  const boxes = names.map((name, index) => {
    const box = { type: "checkbox", checked: true, autocomplete: "off", value: index + 1 };
    return element("label", null, element("input", box), name);
  });
  const list = element("details", { class: "more" }, element("summary", null, "Columns"), ...boxes);
  list.addEventListener("change", ({ target: { value, checked } }) => {
    const rows = [...table.rows].filter(({ cells }) => cells.length > names.length);
    for (const { cells } of rows) cells[value].hidden = !checked;
  });
  return list;
}

/* A list of all orders; headers are buttons that choose from it. */
function orderOf(headers, names) {
  const order = element("select", { autocomplete: "off" }, new Option("as given", ""));
  headers.forEach((header, index) => {
    if (!names[index]) return;
    const orders = [...DIRECTIONS.map((direction) => `${index} ${direction}`), ""];
    for (const direction of DIRECTIONS) order.add(new Option(`${names[index]} ${direction}`, `${index} ${direction}`));
    const button = element("button", { type: "button" }, ...header.childNodes);
    button.addEventListener("click", () => {
      order.value = orders[(orders.indexOf(order.value) + 1) % orders.length];
      order.dispatchEvent(new Event("change"));
    });
    header.append(button);
  });
  return order;
}

function equip(table) {
  const headers = [...(table.tHead?.rows[0].cells ?? [])];
  const groups = groupsOf(table);
  const rows = groups.flatMap((group) => (group.order = group.rows));
  if (!headers.length || rows.length < 2 || table.closest("[data-plain]")) return;

  const names = headers.map((header) => header.textContent.trim());
  const facets = (table.dataset.facets?.split(" ") ?? []).map((name) => facetOf(name, rows));
  const more = element("button", { type: "button", class: "md-button" });
  const filter = element("input", { type: "search", autocomplete: "off" });
  const order = orderOf(headers, names);
  const summary = element("output", null);
  let few = Number(table.dataset.few ?? Infinity);

  function place() {
    const [column, direction] = order.value.split(" ");
    for (const group of groups) {
      group.order = direction ? sorted(group.rows, column, direction) : group.rows;
      group.parent.append(...group.order);
    }
    headers.forEach((header, index) => { header.ariaSort = String(index) === column ? direction : null; });
    narrow();
  }

  function narrow() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = facets.filter(({ value }) => value);
    const fits = (row) => words.every((word) => row.textContent.toLowerCase().includes(word))
      && chosen.every(({ name, value }) => row.dataset[name] === value);
    let found = 0;
    for (const { parent, order: own } of groups) {
      for (const row of own) row.hidden = !fits(row) || (found += 1) > few;
      if (parent !== table) parent.hidden = own.every((row) => row.hidden);
    }
    const by = order.value && `, by ${order.selectedOptions[0].text}`;
    summary.value = `${found < rows.length ? `${found} of ${rows.length}` : rows.length} rows${by}`;
    more.hidden = found <= few;
    more.textContent = `Show all ${found} rows`;
  }

  function showAll() {
    few = Infinity;
    narrow();
  }

  function fromURL() {
    const query = new URLSearchParams(location.search);
    for (const facet of facets) facet.value = query.get(facet.name) ?? "";
    narrow();
  }

  function toURL({ target: { name, value } }) {
    const url = new URL(location);
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
    url.hash = "";
    history.pushState(null, "", url);
    narrow();
  }

  order.addEventListener("change", place);
  filter.addEventListener("input", narrow);
  more.addEventListener("click", showAll);
  table.addEventListener("reveal", () => {
    for (const field of [filter, ...facets]) field.value = "";
    showAll();
  });
  for (const facet of facets) facet.addEventListener("change", toURL);
  addEventListener("popstate", fromURL);

  const title = table.closest("[role=region]")?.ariaLabel ?? document.title;
  const labelled = (text, field) => element("label", null, `${text} `, field);
  const tools = element("div", { class: "table-tools", role: "group", "aria-label": `Filter and order: ${title}` },
    rows.length >= ROWS_WORTH_A_FILTER && labelled("Filter", filter),
    ...facets.map((facet) => labelled(facet.name[0].toUpperCase() + facet.name.slice(1), facet)),
    element("label", { class: "table-order" }, "Order ", order),
    facets.length && columnsOf(table, names),
    summary);
  (table.closest(".contained") ?? table).before(tools);
  if (few < rows.length) table.after(more);
  fromURL();
}

/* Whatever a link leads to is shown: not in a closed drawer, nor beyond the first rows. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; (at = at?.parentElement.closest("details")); ) at.open = true;
  target?.closest("[hidden]")?.closest("table")?.dispatchEvent(new Event("reveal"));
  target?.scrollIntoView();
}

document.querySelectorAll("article table").forEach(equip);
addEventListener("hashchange", reveal);
reveal();
