// `node package.mjs stage`: what the task carries beside its code. `node package.mjs`: the extension, dist/bundlegate.vsix.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as path from "node:path";

const here = import.meta.dirname;
const root = path.join(here, "../..");
const task = path.join(here, "BundleGateV0");
const cargo = readFileSync(path.join(root, "Cargo.toml"), "utf8");
const of = (key) => new RegExp(`^${key} = "(.*)"$`, "m").exec(cargo)[1];
const version = of("version");
const repository = of("repository");

writeFileSync(path.join(task, "release.json"), `${JSON.stringify({ version, repository })}\n`);
cpSync(path.join(root, "release/SHA256SUMS"), path.join(task, "SHA256SUMS"));
if (process.argv[2] === "stage") {
    process.exit(0);
}

const out = path.join(here, "dist");
rmSync(out, { recursive: true, force: true });
const staged = path.join(out, "staged");
mkdirSync(path.join(staged, "BundleGateV0"), { recursive: true });
for (const name of ["vss-extension.json", "overview.md", "images"]) {
    cpSync(path.join(here, name), path.join(staged, name), { recursive: true });
}
cpSync(path.join(root, "LICENSE-APACHE"), path.join(staged, "LICENSE"));
for (const name of ["task.json", "icon.png", "dist", "release.json", "SHA256SUMS"]) {
    cpSync(path.join(task, name), path.join(staged, "BundleGateV0", name), { recursive: true });
}
for (const name of ["package.json", "package-lock.json"]) {
    cpSync(path.join(here, name), path.join(staged, "BundleGateV0", name));
}
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
execFileSync(npm, ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], { cwd: path.join(staged, "BundleGateV0"), stdio: "inherit" });
// Version and repository stand in Cargo.toml alone.
const [major, minor, patch] = version.split(".").map(Number);
const edit = (file, change) => {
    const json = JSON.parse(readFileSync(file, "utf8"));
    change(json);
    writeFileSync(file, JSON.stringify(json, null, 2));
};
edit(path.join(staged, "vss-extension.json"), (json) => {
    json.version = version;
    json.links = { repository: { uri: repository } };
    json.repository = { type: "git", uri: repository };
});
edit(path.join(staged, "BundleGateV0/task.json"), (json) => {
    json.version = { Major: major, Minor: minor, Patch: patch };
    json.helpUrl = repository;
});
execFileSync(process.execPath, [path.join(here, "node_modules/tfx-cli/_build/tfx-cli.js"), "extension", "create", "--no-prompt", "--manifest-globs", "vss-extension.json", "--output-path", path.join(out, "bundlegate.vsix")], { cwd: staged, stdio: "inherit" });
