// Starts Chromium, and makes contexts that hold a page to what it may do.
import { chromium } from "playwright-core";

export function launch() {
  // Inside a container there is no user namespace for Chromium's own sandbox.
  return chromium.launch({ executablePath: process.env.BUNDLEGATE_CHROMIUM, args: ["--no-sandbox"] });
}

/** Opens a file and records what it asks for and what it complains about. */
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, ...options });
  const page = await context.newPage();
  const seen = { requests: [], complaints: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("console", (message) => seen.complaints.push(message.text()));
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    seen.complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(`file://${file}`);
  return { context, page, seen };
}
