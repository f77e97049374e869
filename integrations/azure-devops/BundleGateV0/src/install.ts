// Finds bundlegate: at `binary`, on the path, in the agent's tool cache; else downloads the release archive and checks its digest.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { execFileSync } from "node:child_process";
import tl = require("azure-pipelines-task-lib/task");
import tools = require("azure-pipelines-tool-lib/tool");
import { InputError } from "./arguments";

const TOOL = "bundlegate";

/** What the task carries beside its code: its version, where releases are, their digests. */
interface Release {
    version: string;
    repository: string;
}

export async function find(binary: string, downloadUrl: string): Promise<string> {
    if (binary !== "") {
        if (versionOf(binary) === undefined) {
            throw new InputError(`binary: expected bundlegate, found ${binary}, which cannot be started or does not say its version`);
        }
        return binary;
    }
    const release = JSON.parse(readFileSync(path.join(__dirname, "..", "release.json"), "utf8")) as Release;
    const onPath = tl.which(TOOL, false);
    if (onPath !== "" && versionOf(onPath) === release.version) {
        return onPath;
    }
    const exe = process.platform === "win32" ? `${TOOL}.exe` : TOOL;
    const cached = hasToolCache() ? tools.findLocalTool(TOOL, release.version) : undefined;
    if (cached !== undefined && cached !== "" && versionOf(path.join(cached, exe)) === release.version) {
        return path.join(cached, exe);
    }
    const folder = await download(release, downloadUrl);
    if (!hasToolCache()) {
        return path.join(folder, exe);
    }
    return path.join(await tools.cacheDir(folder, TOOL, release.version), exe);
}

/** Agents that were set up by hand can be without one. */
function hasToolCache(): boolean {
    return (tl.getVariable("Agent.ToolsDirectory") ?? "") !== "";
}

async function download(release: Release, downloadUrl: string): Promise<string> {
    const asset = `${TOOL}-${release.version}-${target()}.tar.gz`;
    const listed = readFileSync(path.join(__dirname, "..", "SHA256SUMS"), "utf8");
    const expected = /^[0-9a-f]{64}(?=  )/.exec(listed.split(/\r?\n/).find((line) => line.endsWith(`  ${asset}`)) ?? "")?.[0];
    if (expected === undefined) {
        throw new InputError(`there is no release archive ${asset} for this agent: give the input \`binary\`, or put bundlegate ${release.version} on the path`);
    }
    const base = downloadUrl || `${release.repository}/releases/download/v${release.version}`;
    const archive = await tools.downloadTool(`${base.replace(/\/$/, "")}/${asset}`);
    const found = await sha256(archive);
    if (found !== expected) {
        tl.rmRF(archive);
        throw new InputError(`${asset}: expected SHA-256 ${expected}, found ${found}: the archive is not the released one`);
    }
    return tools.extractTar(archive);
}

/** The target triple of this agent, as release archives name it. */
function target(): string {
    const arch = { x64: "x86_64", arm64: "aarch64" }[process.arch as string];
    const system = { linux: "unknown-linux-musl", darwin: "apple-darwin", win32: "pc-windows-msvc" }[process.platform as string];
    if (arch === undefined || system === undefined) {
        throw new InputError(`there is no release for ${process.platform} on ${process.arch}: give the input \`binary\``);
    }
    return `${arch}-${system}`;
}

function versionOf(program: string): string | undefined {
    if (!existsSync(program)) {
        return undefined;
    }
    try {
        const text = execFileSync(program, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 30_000 });
        return /^bundlegate (\S+)/.exec(text)?.[1];
    } catch {
        return undefined;
    }
}

async function sha256(file: string): Promise<string> {
    const hash = createHash("sha256");
    for await (const part of createReadStream(file)) {
        hash.update(part as Buffer);
    }
    return hash.digest("hex");
}
