/** The finder on the front page. */

import { answer } from "../form.js";
import { find } from "./find.js";
import { indexOf } from "./published.js";
import { understand } from "./understand.js";
import { draw } from "./view.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("finder"));

answer(form, { size: "model", memory: "device" }, (place, data, words) => {
  const index = indexOf(data);
  return draw(place, index, words, find(index, understand(index, words)));
});
