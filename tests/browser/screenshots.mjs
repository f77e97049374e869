// node screenshots.mjs FOLDER IMAGES: pictures of the HTML report, the terminal output and a comment.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import markdownIt from "markdown-it";
import { launch, open } from "./browser.mjs";

const [folder, images] = process.argv.slice(2).map((path) => resolve(path));
mkdirSync(images, { recursive: true });
const style = createRequire(import.meta.url).resolve("github-markdown-css/github-markdown-light.css");
const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

/** ANSI colours as HTML; knows what bundlegate writes. */
function terminal(text) {
  const colours = { 31: "#ff7b72", 32: "#7ee787", 33: "#f0c674", 36: "#79c0ff" };
  let state = { bold: false, dim: false, underline: false, colour: undefined };
  let html = "";
  for (const [, codes, plain] of `\u001b[0m${text}`.matchAll(/\u001b\[([0-9;]*)m([^\u001b]*)/g)) {
    for (const code of codes.split(";").map(Number)) {
      if (code === 0) state = { bold: false, dim: false, underline: false, colour: undefined };
      else if (code === 1) state.bold = true;
      else if (code === 2) state.dim = true;
      else if (code === 4) state.underline = true;
      else if (colours[code]) state.colour = colours[code];
      else throw new Error(`an ANSI code that this script does not know: ${code}`);
    }
    const css = `${state.bold ? "font-weight:bold;" : ""}${state.dim ? "opacity:.65;" : ""}${state.underline ? "text-decoration:underline;" : ""}${state.colour ? `color:${state.colour};` : ""}`;
    html += `<span style="${css}">${escape(plain)}</span>`;
  }
  return `<!doctype html><meta charset="utf-8"><body style="margin:0;background:#0d1117"><pre style="margin:0;padding:24px;color:#e6edf3;font:14px/1.45 'DejaVu Sans Mono',monospace">${html}</pre>`;
}

function comment(text) {
  const body = markdownIt({ html: true }).render(text);
  return `<!doctype html><meta charset="utf-8"><style>${readFileSync(style, "utf8")}</style><body style="margin:0;background:#fff"><article class="markdown-body" style="padding:24px;font-family:'DejaVu Sans',sans-serif">${body}</article>`;
}

writeFileSync(join(folder, "terminal.htm"), terminal(readFileSync(join(folder, "terminal.ansi"), "utf8")));
writeFileSync(join(folder, "comment.htm"), comment(readFileSync(join(folder, "comment.md"), "utf8")));
const browser = await launch();
for (const [from, to] of [["report.html", "report.png"], ["terminal.htm", "terminal.png"], ["comment.htm", "comment.png"]]) {
  const { context, page } = await open(browser, join(folder, from), { viewport: { width: 1000, height: 200 }, deviceScaleFactor: 1, colorScheme: "light" });
  await page.screenshot({ path: join(images, to), fullPage: true });
  await context.close();
}
await browser.close();
