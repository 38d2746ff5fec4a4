/* The theme opens its menu and its search, on a narrow screen, with labels that no key reaches. */
"use strict";
(() => {
  const sidebar = document.querySelector(".md-sidebar--primary");
  const query = document.querySelector(".md-search__input");
  const firsts = { __drawer: () => sidebar?.querySelector("li a"), __search: () => query };
  const names = { __drawer: "Menu", __search: "Search" };
  const LOCAL = "http://localhost:8000/";

  for (const label of document.querySelectorAll("header label.md-header__button[for^=__]")) {
    const toggle = document.getElementById(label.htmlFor);
    if (!(label.htmlFor in firsts) || !toggle) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = label.className;
    button.dataset.opens = toggle.id;
    button.setAttribute("aria-label", names[toggle.id]);
    button.setAttribute("aria-expanded", "false");
    button.append(...label.childNodes);
    button.addEventListener("click", () => {
      toggle.click();
      if (toggle.checked) setTimeout(() => firsts[toggle.id]()?.focus(), 300);
    });
    toggle.addEventListener("change", () => button.setAttribute("aria-expanded", toggle.checked));
    addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !toggle.checked) return;
      if (toggle.id === "__drawer") toggle.click();
      button.focus();
    });
    label.replaceWith(button);
  }

  /* Examples of a site without an address of its own name the one that this page came from. */
  const { base } = JSON.parse(document.getElementById("__config").textContent);
  const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data } = texts.currentNode;
    if (data.includes(LOCAL)) texts.currentNode.data = data.replaceAll(LOCAL, new URL(`${base}/`, location));
  }

  /* Each block of code gets a landmark for its buttons, which must differ by name. */
  new MutationObserver(() => {
    document.querySelectorAll(".md-code__nav").forEach((nav, index) => {
      if (!nav.ariaLabel) nav.setAttribute("aria-label", `Code ${index + 1}`);
    });
  }).observe(document.body, { childList: true, subtree: true });
})();
