/* Answers from what the finder has kept where the net does not answer: see `finder/kept.js`. */
"use strict";

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(fetch(event.request).catch(async (error) => {
    const kept = await caches.match(event.request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }));
});
