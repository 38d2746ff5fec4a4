// Usage: node lighthouse.mjs mobile|desktop CATEGORIES URL…
// Prints, for each address, Lighthouse's scores (0 to 100), the audits that fail and the timings as
// one JSON document. CATEGORIES are joined by commas. CHROME_PATH names the browser.
import { launch } from "chrome-launcher";
import lighthouse, { desktopConfig } from "lighthouse";

const [form, categories, ...addresses] = process.argv.slice(2);
const TIMINGS = [
  "first-contentful-paint",
  "largest-contentful-paint",
  "total-blocking-time",
  "cumulative-layout-shift",
  "total-byte-weight",
];

function summary(report) {
  const audits = Object.values(report.audits);
  return {
    scores: Object.fromEntries(
      Object.values(report.categories).map(({ id, score }) => [id, Math.round(score * 100)])
    ),
    failed: audits
      .filter(({ score }) => score !== null && score < 0.9)
      .map(({ id, title, displayValue, details }) => ({
        id,
        title: displayValue ? `${title}: ${displayValue}` : title,
        items: [details?.items ?? []].flat().slice(0, 5).map(placeOf),
      })),
    timings: Object.fromEntries(
      TIMINGS.filter((id) => report.audits[id]).map((id) => [id, report.audits[id].numericValue])
    ),
  };
}

function placeOf(item) {
  return item.node?.snippet ?? item.url ?? item.description ?? item.label ?? "";
}

const browser = await launch({
  chromeFlags: ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"],
});
try {
  const options = { port: browser.port, onlyCategories: categories.split(","), logLevel: "error" };
  if (!options.onlyCategories.includes("performance")) options.throttlingMethod = "provided";
  const results = {};
  for (const address of addresses) {
    const run = await lighthouse(address, options, form === "desktop" ? desktopConfig : undefined);
    if (run.lhr.runtimeError) throw new Error(run.lhr.runtimeError.message);
    results[address] = summary(run.lhr);
  }
  console.log(JSON.stringify(results));
} finally {
  browser.kill();
}
