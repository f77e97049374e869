// From the task's inputs to the arguments of one command of bundlegate.

export type Inputs = (name: string) => string;

export class InputError extends Error {}

const COMMANDS = ["collect", "check", "show", "comment", "approve", "authorize", "deploy", "verify", "audit"] as const;
export type Command = (typeof COMMANDS)[number];

/** Each line that is not blank. */
export function lines(text: string): string[] {
    return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}

/** A switch that is on, off or not there. */
export function isOn(name: string, value: string): boolean {
    switch (value.toLowerCase()) {
        case "true":
            return true;
        case "false":
        case "":
            return false;
        default:
            throw new InputError(`${name}: expected true or false, found ${value}`);
    }
}

export function command(text: string): Command {
    const found = COMMANDS.find((name) => name === text);
    if (found === undefined) {
        throw new InputError(`command: expected ${COMMANDS.join(", ")}, found ${text || "nothing"}`);
    }
    return found;
}

/** Flags that take one value, by the name of the input. */
const VALUES = {
    target: "target",
    bundle: "bundle",
    baseBundle: "base-bundle",
    state: "state",
    warnings: "warnings",
    policy: "policy",
    trustedRef: "trusted-ref",
    approvals: "approvals",
    afterPlan: "after-plan",
    witness: "witness",
    profile: "profile",
    cli: "cli",
    log: "log",
} as const;
/** Flags that take one value a line. */
const LISTS = { variables: "var", select: "select", output: "output" } as const;
const SWITCHES = { reviewOk: "review-ok", explain: "explain" } as const;
type Input = keyof typeof VALUES | keyof typeof LISTS | keyof typeof SWITCHES;

const PLAN: Input[] = ["target", "bundle", "baseBundle", "state", "warnings"];
const CLI: Input[] = ["cli", "profile", "variables", "select"];
const SUBJECT: Input[] = [...PLAN, "policy", "trustedRef", "approvals", "log"];

/** Which inputs a command takes. */
const TAKES: Record<Command, Input[]> = {
    collect: ["target", ...CLI],
    check: [...PLAN, "policy", "trustedRef", "reviewOk", "log", "output"],
    show: [...PLAN, "output"],
    comment: [...PLAN, "policy", "trustedRef"],
    approve: SUBJECT,
    authorize: [...SUBJECT, "explain", "output"],
    deploy: [...SUBJECT, "explain", "witness", "output", ...CLI],
    verify: [...PLAN, "policy", "afterPlan", "witness", "log", "output", ...CLI],
    audit: ["output"],
};

/** Whether a command ends in a report. */
export function reports(name: Command): boolean {
    return ["check", "show", "authorize", "deploy", "verify"].includes(name);
}

/** The arguments of bundlegate. `report` is where the JSON and the HTML report go. */
export function toArguments(name: Command, inputs: Inputs, report?: { json: string; html: string }): string[] {
    const args: string[] = [name];
    // As one word, so that a value that begins with a dash is no option.
    const flag = (flagName: string, value: string): void => {
        if (value !== "") {
            args.push(`--${flagName}=${value}`);
        }
    };
    for (const input of TAKES[name]) {
        if (input in VALUES) {
            flag(VALUES[input as keyof typeof VALUES], inputs(input));
        } else if (input in LISTS) {
            lines(inputs(input)).forEach((line) => flag(LISTS[input as keyof typeof LISTS], line));
        } else if (isOn(input, inputs(input))) {
            args.push(`--${SWITCHES[input as keyof typeof SWITCHES]}`);
        }
    }
    if (report !== undefined) {
        flag("output", `json=${report.json}`);
        flag("output", `html=${report.html}`);
    }
    const plan = inputs("plan") || "gate";
    if (name === "collect") {
        flag("out", plan);
    }
    args.push(...lines(inputs("arguments")));
    if (name === "audit") {
        args.push("--", ...lines(plan));
    } else if (name !== "collect") {
        args.push("--", plan);
    }
    return args;
}
