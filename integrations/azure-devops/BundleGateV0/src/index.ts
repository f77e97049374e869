// The task BundleGate: runs one command of bundlegate with the task's inputs.

import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import tl = require("azure-pipelines-task-lib/task");
import { InputError, command, lines, reports, toArguments } from "./arguments";
import { find } from "./install";

const WORDS: Record<number, string> = {
    1: "closed: the policy forbids something that the plan does",
    2: "an input cannot be read or judged",
    3: "a review is needed, or an approval is missing",
    4: "an approval is there but not valid for this",
    5: "the workspace does not hold what was approved, or the deploy failed",
    6: "a remote system could not be reached",
};

async function run(): Promise<void> {
    const inputs = (name: string): string => tl.getInput(name, false) ?? "";
    lines(inputs("mask")).forEach((value) => tl.setSecret(value));
    const name = command(inputs("command"));
    const folder = mkdtempSync(path.join(tl.getVariable("Agent.TempDirectory") ?? tmpdir(), "bundlegate-"));
    const report = reports(name) ? { json: path.join(folder, `${name}.json`), html: path.join(folder, `${name}.html`) } : undefined;
    const args = toArguments(name, inputs, report);
    const binary = await find(inputs("binary"), inputs("downloadUrl"));

    const tool = tl.tool(binary);
    args.forEach((arg) => tool.arg(arg));
    const cwd = inputs("workingDirectory") || process.cwd();
    const token = tl.getVariable("System.AccessToken");
    const env = { ...process.env, TF_BUILD: "True", ...(token === undefined ? {} : { SYSTEM_ACCESSTOKEN: token }) };
    const code = await tool.execAsync({ cwd, env, ignoreReturnCode: true });

    // bundlegate sets the variables of its report; what never came to a report has its exit code here, and no verdict.
    tl.setVariable("exitCode", String(code), false, true);
    if (report !== undefined) {
        if (existsSync(report.json)) {
            tl.setVariable("reportJson", report.json, false, true);
        }
        if (existsSync(report.html)) {
            tl.setVariable("reportHtml", report.html, false, true);
        }
    }
    if (code === 0) {
        tl.setResult(tl.TaskResult.Succeeded, "");
    } else {
        tl.setResult(tl.TaskResult.Failed, `bundlegate ${name} exits ${code}: ${WORDS[code] ?? "see the log"}`);
    }
}

run().catch((error: unknown) => {
    if (!(error instanceof InputError)) {
        tl.debug(error instanceof Error ? (error.stack ?? "") : String(error));
    }
    tl.setResult(tl.TaskResult.Failed, error instanceof Error ? error.message : String(error));
});
