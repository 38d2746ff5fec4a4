/* The theme opens its menu and its search, on a narrow screen, with labels that no key reaches. */

import { filled, nearest } from "./elements.js";

const LOCAL = "http://localhost:8000/";
const FIRST = { drawer: ".md-sidebar--primary li a", search: ".md-search__input" };

for (const [name, first] of Object.entries(FIRST)) {
  const toggle = document.getElementById(`__${name}`);
  const label = document.querySelector(`.md-header__button[for=__${name}]`);
  label.replaceWith(filled(`menu-${name}`, { icon: [...label.childNodes] }));
  const button = document.querySelector(`[data-opens=__${name}]`);
  button.addEventListener("click", () => {
    toggle.click();
    if (toggle.checked) setTimeout(() => document.querySelector(first)?.focus(), 300);
  });
  toggle.addEventListener("change", () => { button.ariaExpanded = toggle.checked; });
  addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !toggle.checked) return;
    if (name === "drawer") toggle.click();
    button.focus();
  });
}

/* Examples of a site without a URL of its own name the one that this page came from. */
const { base } = JSON.parse(document.getElementById("__config").textContent);
const root = new URL(base.endsWith("/") ? base : `${base}/`, location);
const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const { data } = texts.currentNode;
  if (data.includes(LOCAL)) texts.currentNode.data = data.replaceAll(LOCAL, root);
}

/* The link to a page in the other language takes the question along, as it is when somebody is about to follow it. */
const pageOf = ({ pathname }) => pathname.slice(root.pathname.length).replace(/^zh\//, "");
for (const link of document.querySelectorAll(".language")) {
  const carry = () => { if (pageOf(link) === pageOf(location)) link.search = location.search; };
  for (const type of ["focus", "pointerdown"]) link.addEventListener(type, carry);
}

/* Each block of code gets a landmark for its buttons, which must differ by name. */
new MutationObserver(() => {
  document.querySelectorAll(".md-code__nav").forEach((nav, index) => { nav.ariaLabel ??= `Code ${index + 1}`; });
}).observe(document.body, { childList: true, subtree: true });

/* On the page of an unknown address: the three pages with the nearest ones. */
const addresses = document.getElementById("addresses");
if (addresses) {
  const asked = decodeURIComponent(location.pathname).slice(root.pathname.length);
  const near = nearest(asked, addresses.content.textContent.split("\n"), 0.4);
  if (near.length) document.getElementById("nearest").append(filled("near", { pages: near.map((path) => ({ path, url: new URL(path, root) })) }));
}
