/** The finder on the front page. */

import { answer } from "../form.js";
import { find } from "./find.js";
import { indexOf } from "./published.js";
import { understand } from "./understand.js";
import { draw } from "./view.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("finder"));
const site = new URL("../../", import.meta.url);
/** @type {import("./published.js").Index | undefined} */
let index;

answer(form, { size: "model", memory: "device" }, (place, data, words) => {
  index ??= indexOf(data);
  const { query, notes } = understand(index, words);
  return draw(place, { index, site, query, words }, find(index, query), notes);
});
