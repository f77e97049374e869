// What the extension holds, compared with a list: nothing is missing, and nothing else ships.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

const here = import.meta.dirname;
test("the contents of the extension", () => {
    const code = "import sys, zipfile; print('\\n'.join(zipfile.ZipFile(sys.argv[1]).namelist()))";
    const names = execFileSync("python3", ["-c", code, path.join(here, "dist/bundlegate.vsix")], { encoding: "utf8" }).trim().split("\n");
    const packages = new Set();
    const files = names.filter((name) => {
        const inside = /^BundleGateV0\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name);
        if (inside !== null) packages.add(inside[1]);
        return inside === null && name !== "BundleGateV0/node_modules/.package-lock.json";
    });
    const list = readFileSync(path.join(here, "vsix.txt"), "utf8").trim().split("\n");
    assert.deepEqual([...files.sort(), ...[...packages].sort().map((name) => `package ${name}`)], list);
});
