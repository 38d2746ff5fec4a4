/**
 * Keeping the front page and all that it is made of, for a reader without a network. The net is
 * always asked first, so nothing that is kept is shown in place of something newer.
 */

const NAME = "finder";

/**
 * @param {URL} site
 * @param {string[]} paths what else to keep, below the site
 */
export async function keep(site, paths) {
  // A preview changes at every save, and another project may be served at its address next.
  if (!("serviceWorker" in navigator) || "livereload" in window) return;
  await navigator.serviceWorker.register(new URL("offline.js", site));
  const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
  const own = paths.map((path) => new URL(path, site).href);
  const needed = new Set([...own, ...loaded].filter((address) => address.startsWith(site.href)));
  const kept = await caches.open(NAME);
  await kept.addAll(needed);
  for (const request of await kept.keys()) if (!needed.has(request.url)) await kept.delete(request);
}
