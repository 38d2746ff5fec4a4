/** The form of the front page: what is published at once, and a plan once nothing has changed for a moment. */

import { QUIET_MS } from "../elements.js";
import { answer } from "../form.js";
import { find } from "./find.js";
import { indexOf } from "./published.js";
import { understand } from "./understand.js";
import { draw } from "./view.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("finder"));

/** Its modules and the formula are fetched when a plan is made. @param {HTMLElement} room @param {any} index @param {Record<string, string>} words @param {any} found */
async function addPlan(room, index, words, found) {
  const formula = new URL(form.dataset.formula, location);
  const [{ drawPlan }, { default: data }] = await Promise.all([import("./plan.js"), import(formula, { with: { type: "json" } })]);
  if (room.isConnected) drawPlan(room, index, data, words, found);
}

answer(form, { size: "model", memory: "device" }, (place, data, words) => {
  const index = indexOf(data);
  const found = find(index, understand(index, words));
  const said = draw(place, index, words, found);
  const room = place.querySelector("[data-slot=plan]");
  setTimeout(() => room.isConnected && addPlan(room, index, words, found), QUIET_MS);
  return said;
});
