// The compiled task, run by node as the agent does (inputs as INPUT_NAME), with a real bundlegate on recorded plans.
// BUNDLEGATE names the binary; by default the one that cargo built in this checkout.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { after, before, describe, test } from "node:test";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const task = path.join(import.meta.dirname, "..");
const root = path.join(task, "../../..");
const binary = path.resolve(process.env.BUNDLEGATE ?? path.join(root, "target/debug/bundlegate"));
const release = JSON.parse(readFileSync(path.join(task, "release.json"), "utf8"));
const { toArguments, lines, isOn, command } = require("../dist/arguments.js");

let folder;
before(() => {
    assert.ok(existsSync(binary), `${binary} is missing: cargo build`);
    folder = mkdtempSync(path.join(tmpdir(), "bundlegate task "));
});
after(() => rmSync(folder, { recursive: true, force: true }));

let number = 0;
/** A fresh agent: its folders, and a bundle's folder with a recorded scenario. */
function agent(scenario) {
    const home = path.join(folder, `agent ${number++}`);
    const made = Object.fromEntries(["work", "temp", "tools"].map((name) => [name, path.join(home, name)]));
    Object.values(made).forEach((each) => mkdirSync(each, { recursive: true }));
    if (scenario !== undefined) {
        cpSync(path.join(root, "tests/scenarios", scenario), made.work, { recursive: true });
    }
    return made;
}

/** Runs the task. What the agent would see: exit, output, variables, result, issues. */
function run({ work, temp, tools }, inputs, { env = {}, main = path.join(task, "dist/index.js"), withTools = true } = {}) {
    const given = { binary, workingDirectory: work, ...inputs };
    const variables = Object.fromEntries(Object.entries(given).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]));
    const child = spawn(process.execPath, [main], {
        cwd: work,
        env: { PATH: process.env.PATH, HOME: temp, TF_BUILD: "True", AGENT_TEMPDIRECTORY: temp, AGENT_VERSION: "3.250.0", ...(withTools ? { AGENT_TOOLSDIRECTORY: tools } : {}), ...variables, ...env },
        stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    child.stdout.on("data", (part) => (text += part));
    child.stderr.on("data", (part) => (text += part));
    return new Promise((done) =>
        child.on("close", (code) => {
            const set = {};
            for (const [, name, , value] of text.matchAll(/##vso\[task\.setvariable variable=([^;\]]+)((?:;[^\]]*)?)\](.*)/g)) {
                set[name] = value;
            }
            const result = [...text.matchAll(/##vso\[task\.complete result=(\w+);[^\]]*\](.*)/g)].at(-1);
            done({ code, text, variables: set, result: result?.[1], message: result?.[2] ?? "" });
        }),
    );
}

const PLAN = { plan: "plan.json", bundle: "bundle.json", state: "state.json", target: "prod", policy: "production" };

describe("check", () => {
    for (const [scenario, reviewOk, result, verdict, exitCode] of [
        ["no-change", "false", "Succeeded", "open", "0"],
        ["run-as-added", "false", "Failed", "review", "3"],
        ["run-as-added", "true", "Succeeded", "review", "0"],
        ["job-destroy", "false", "Failed", "closed", "1"],
        ["job-destroy", "true", "Failed", "closed", "1"],
    ]) {
        test(`${scenario}, reviewOk ${reviewOk}`, async () => {
            const at = agent(scenario);
            const done = await run(at, { command: "check", reviewOk, ...PLAN });
            assert.deepEqual([done.result, done.variables.verdict, done.variables.exitCode], [result, verdict, exitCode], done.text);
            assert.equal(done.variables.planSha256, createHash("sha256").update(readFileSync(path.join(at.work, "plan.json"))).digest("hex"));
            assert.equal(JSON.parse(readFileSync(done.variables.reportJson, "utf8")).verdict, verdict);
            assert.ok(existsSync(done.variables.reportHtml));
            assert.match(done.text, /##vso\[task\.uploadsummary\]/);
            assert.equal(/##vso\[task\.logissue type=error/.test(done.text), verdict !== "open", done.text);
        });
    }

    test("what cannot be judged has an exit code and no verdict", async () => {
        const done = await run(agent("no-change"), { command: "check", ...PLAN, plan: "nowhere.json" });
        assert.deepEqual([done.result, done.variables.exitCode, done.variables.verdict, done.variables.reportJson], ["Failed", "2", undefined, undefined]);
        assert.match(done.message, /exits 2: an input cannot be read/);
    });

    test("inputs are never a script", async () => {
        const hostile = '$(touch pwned)`touch pwned`"; touch pwned; #';
        const names = JSON.parse(readFileSync(path.join(task, "task.json"), "utf8")).inputs.map((input) => input.name);
        for (const name of names.filter((each) => !["command", "binary", "workingDirectory"].includes(each))) {
            const at = agent("no-change");
            await run(at, { command: "check", ...PLAN, [name]: hostile });
            assert.ok(!existsSync(path.join(at.work, "pwned")), name);
        }
    });

    test("masks", async () => {
        const done = await run(agent("no-change"), { command: "check", mask: "one secret\r\n\r\ntwo", ...PLAN });
        assert.match(done.text, /##vso\[task\.setsecret\]one secret/);
        assert.match(done.text, /##vso\[task\.setsecret\]two/);
    });
});

describe("other commands", () => {
    test("show", async () => {
        const done = await run(agent("job-destroy"), { command: "show", ...PLAN });
        assert.deepEqual([done.result, done.variables.exitCode], ["Succeeded", "0"], done.text);
    });
    test("authorize, with no way to approve", async () => {
        const at = agent("no-change");
        const git = (...args) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: at.work, env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null" } });
        git("init", "-q", "-b", "main");
        git("add", ".");
        git("commit", "-q", "-m", "bundle");
        const done = await run(at, { command: "authorize", trustedRef: "HEAD", ...PLAN });
        assert.deepEqual([done.result, done.variables.exitCode, done.variables.verdict, done.variables.approval], ["Failed", "3", "review", ""], done.text);
    });
    test("verify", async () => {
        const done = await run(agent("job-schedule-update"), { command: "verify", afterPlan: "after.json", witness: "plan", ...PLAN });
        assert.deepEqual([done.result, done.variables.exitCode], ["Succeeded", "0"], done.text);
    });
    test("an unknown one", async () => {
        const done = await run(agent("no-change"), { command: "chekc" });
        assert.equal(done.result, "Failed");
        assert.match(done.message, /expected collect, check, show/);
    });
});

describe("installing", () => {
    const asset = `bundlegate-${release.version}-${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-musl.tar.gz`;
    let server;
    let url;
    let copy;
    before(async () => {
        // The task with a list of digests of its own.
        copy = path.join(folder, "copied task");
        for (const name of ["dist", "release.json", "task.json"]) {
            cpSync(path.join(task, name), path.join(copy, name), { recursive: true });
        }
        cpSync(path.join(task, "../node_modules"), path.join(folder, "node_modules"), { recursive: true });
        const site = path.join(folder, "site");
        mkdirSync(site);
        cpSync(binary, path.join(site, "bundlegate"));
        execFileSync("tar", ["-czf", path.join(site, asset), "-C", site, "bundlegate"]);
        const archive = readFileSync(path.join(site, asset));
        writeFileSync(path.join(copy, "SHA256SUMS"), `${createHash("sha256").update(archive).digest("hex")}  ${asset}\n`);
        server = createServer((request, response) => response.end(request.url === `/good/${asset}` ? archive : Buffer.from("something else")));
        await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
        url = `http://127.0.0.1:${server.address().port}`;
    });
    after(() => server.close());
    const install = (at, inputs, options) => run(at, { binary: "", command: "check", ...PLAN, ...inputs }, { main: path.join(copy, "dist/index.js"), ...options });

    test("the release archive, kept in the tool cache", async () => {
        const at = agent("no-change");
        for (const downloadUrl of [`${url}/good`, "http://127.0.0.1:9"]) {
            const done = await install(at, { downloadUrl });
            assert.deepEqual([done.result, done.variables.verdict], ["Succeeded", "open"], done.text);
        }
    });
    test("without a tool cache", async () => {
        const done = await install(agent("no-change"), { downloadUrl: `${url}/good` }, { withTools: false });
        assert.deepEqual([done.result, done.variables.verdict], ["Succeeded", "open"], done.text);
    });
    test("another content is refused", async () => {
        const done = await install(agent("no-change"), { downloadUrl: `${url}/bad` });
        assert.equal(done.result, "Failed");
        assert.match(done.message, /expected SHA-256 [0-9a-f]{64}, found [0-9a-f]{64}/);
        assert.equal(done.variables.verdict, undefined);
    });
    test("no release", async () => {
        writeFileSync(path.join(copy, "SHA256SUMS.kept"), readFileSync(path.join(copy, "SHA256SUMS")));
        writeFileSync(path.join(copy, "SHA256SUMS"), "# none\n");
        const done = await install(agent("no-change"), {});
        cpSync(path.join(copy, "SHA256SUMS.kept"), path.join(copy, "SHA256SUMS"));
        assert.match(done.message, /there is no release archive .* give the input `binary`/);
    });
    test("a binary that is none", async () => {
        const done = await run(agent("no-change"), { command: "check", binary: "/nowhere" });
        assert.match(done.message, /binary: expected bundlegate, found \/nowhere/);
    });
});

describe("arguments", () => {
    const of = (name, inputs, report) => toArguments(name, (input) => inputs[input] ?? "", report);
    test("one word a flag, so that a value is never an option", () => {
        assert.deepEqual(of("check", { target: "--exit-zero", plan: "-" }), ["check", "--target=--exit-zero", "--", "-"]);
    });
    test("lists", () => {
        assert.deepEqual(of("collect", { variables: "a=1\r\n\r\nb=two words\n", plan: "gate" }), ["collect", "--var=a=1", "--var=b=two words", "--out=gate"]);
        assert.deepEqual(of("audit", { plan: "one\ntwo folders" }), ["audit", "--", "one", "two folders"]);
        assert.deepEqual(lines("\r\n a \n"), [" a "]);
    });
    test("reports", () => {
        assert.deepEqual(of("show", {}, { json: "a", html: "b" }), ["show", "--output=json=a", "--output=html=b", "--", "gate"]);
    });
    test("switches and commands", () => {
        assert.deepEqual([isOn("x", "True"), isOn("x", "false"), isOn("x", "")], [true, false, false]);
        assert.throws(() => isOn("reviewOk", "yes"), /reviewOk: expected true or false, found yes/);
        assert.throws(() => command(""), /found nothing/);
    });
    test("each input of task.json is read", () => {
        const source = ["arguments", "index", "install"].map((name) => readFileSync(path.join(task, `src/${name}.ts`), "utf8")).join("");
        for (const { name } of JSON.parse(readFileSync(path.join(task, "task.json"), "utf8")).inputs) {
            assert.ok(source.includes(`"${name}"`) || new RegExp(`\\b${name}\\b`).test(source), name);
        }
    });
});

test("the library's own mock runner", () => {
    // Its MockTestRunner would download a Node of its own; the mocked task runs under this one.
    const out = execFileSync(process.execPath, [path.join(import.meta.dirname, "mock.cjs")], { encoding: "utf8" });
    assert.match(out, /##vso\[task\.setvariable variable=exitCode;isOutput=true;issecret=false;\]0/);
    assert.match(out, /##vso\[task\.complete result=Succeeded;\]/);
});
