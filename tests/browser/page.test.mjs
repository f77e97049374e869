// node page.test.mjs FOLDER: the pages that `cargo test pages::pages` wrote.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import axe from "axe-core";
import { launch, open } from "./browser.mjs";

const folder = resolve(process.argv[2]);
const files = readdirSync(folder).filter((name) => name.endsWith(".html")).sort();
assert.ok(files.length > 40, `expected the pages of every hostile text, found ${files.length}`);

const browser = await launch();
let checks = 0;
const check = (condition, message) => {
  checks += 1;
  assert.ok(condition, message);
};

async function accessible(page, name) {
  await page.evaluate(axe.source);
  const result = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  const faults = result.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  check(result.passes.length > 10, `${name}: axe looked at nothing`);
  check(faults.length === 0, `${name}: ${faults.join("\n")}`);
}

// Nothing runs but the page's own script, and nothing goes out.
for (const name of files) {
  const { context, page, seen } = await open(browser, join(folder, name));
  check(seen.requests.length === 1, `${name} asks for ${seen.requests.join(" ")}`);
  check(seen.complaints.length === 0, `${name}: ${seen.complaints.join("\n")}`);
  check((await page.locator("script").count()) === 1, `${name} has another script`);
  check((await page.evaluate(() => document.body.dataset.owned)) === undefined, `${name}: a text of the plan ran`);
  check(await page.locator("#filter").isVisible(), `${name}: the page's own script did not run`);
  await context.close();
}

// The policy of the page is what keeps others out: a script added to the file does not run.
{
  const forged = readFileSync(join(folder, "report.html"), "utf8").replace("</main>", "<script>document.body.dataset.owned = 1</script><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' onerror='document.body.dataset.owned = 1'></main>");
  const file = join(folder, "forged.htm");
  writeFileSync(file, forged);
  const { context, page, seen } = await open(browser, file);
  check((await page.evaluate(() => document.body.dataset.owned)) === undefined, "the Content-Security-Policy let a forged script run");
  check(seen.complaints.some((text) => text.includes("Content Security Policy")), "the Content-Security-Policy did not complain of a forged script");
  await context.close();
}

// Accessible, light and dark, small and large.
for (const name of ["report.html", "hostile-00.html", "large.html"]) {
  for (const colorScheme of ["light", "dark"]) {
    const { context, page } = await open(browser, join(folder, name), { colorScheme });
    await accessible(page, `${name} (${colorScheme})`);
    await context.close();
  }
}

// The filter hides and shows, says so, and works from the keyboard.
{
  const { context, page } = await open(browser, join(folder, "report.html"));
  const all = await page.locator("[data-kind]:visible").count();
  const box = page.locator("#filter input").first();
  const kind = await box.inputValue();
  await box.focus();
  await page.keyboard.press("Space");
  const left = await page.locator("[data-kind]:visible").count();
  check(left < all, "the filter hides nothing");
  check((await page.locator(`[data-kind="${kind}"]:visible`).count()) === 0, `the filter leaves ${kind} in sight`);
  check((await page.locator("#shown").textContent()) === `${left} of ${all} shown`, "the filter does not say what is shown");
  await page.keyboard.press("Space");
  check((await page.locator("[data-kind]:visible").count()) === all, "the filter does not show again");
  await context.close();
}

// Without script everything can be read; a narrow window does not scroll sideways.
{
  const { context, page } = await open(browser, join(folder, "report.html"), { javaScriptEnabled: false, viewport: { width: 320, height: 640 } });
  check(!(await page.locator("#filter").isVisible()), "a filter that cannot work is in sight");
  check((await page.locator("article").count()) === (await page.locator("article:visible").count()), "findings are hidden without script");
  const width = await page.locator("html").evaluate((html) => html.scrollWidth);
  check(width <= 320, `the page is ${width} pixels wide in a window of 320`);
  await context.close();
}

await browser.close();
console.log(`${files.length} pages, ${checks} checks: ok`);
