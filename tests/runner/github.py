"""A small runner of GitHub workflows and composite actions, for tests: walks jobs and steps as GitHub's runner does.

It knows what the workflows of this repository use, and refuses the rest: `run` steps under bash, composite actions of this checkout,
and stand-ins for the few actions that fetch or keep files. Nothing is fetched; nothing reaches a network but loopback.
"""

import os
import pathlib
import re
import shutil
import subprocess

import yaml

from expressions import evaluate, substitute, text, truthy

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Unsupported(Exception):
    """The workflow uses something that this runner does not know."""


def load(path):
    return yaml.safe_load(pathlib.Path(path).read_text())


class Step:
    """What is left of a step: its outcome, conclusion, outputs and output on the terminal."""

    def __init__(self, name):
        self.name, self.outcome, self.conclusion, self.outputs, self.log, self.code = name, "skipped", "skipped", {}, "", None

    def context(self):
        return {"outcome": self.outcome, "conclusion": self.conclusion, "outputs": self.outputs}


def read_outputs(path):
    """The file behind GITHUB_OUTPUT or GITHUB_ENV: `name=value`, or `name<<delimiter` up to the delimiter."""
    found, lines = {}, iter(path.read_text().splitlines())
    for line in lines:
        heredoc = re.match(r"([^=<]+)<<(.+)$", line)
        if heredoc:
            value = []
            for line in lines:
                if line == heredoc[2]:
                    break
                value.append(line)
            else:
                raise ValueError(f"{path.name}: no end of {heredoc[1]}")
            found[heredoc[1]] = "\n".join(value)
        elif line:
            name, equals, value = line.partition("=")
            if not equals:
                raise ValueError(f"{path.name}: not an output: {line!r}")
            found[name] = value
    return found


class Job:
    """One job on one fresh runner: a workspace, a temporary folder, environment files."""

    def __init__(self, folder, github, env=None, secrets=None, variables=None, artifacts=None, actions=None, needs=None, matrix=None, inputs=None, source=None):
        self.folder = pathlib.Path(folder)
        self.workspace, self.temp, self.tools = (self.folder / n for n in ("work space", "temp", "tools"))
        for path in (self.workspace, self.temp, self.tools):
            path.mkdir(parents=True)
        self.github = {"workspace": str(self.workspace), "action_path": "", **github}
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **(env or {})}
        self.secrets, self.variables = secrets or {}, variables or {}
        self.artifacts = artifacts if artifacts is not None else {}
        self.actions, self.needs, self.matrix, self.inputs, self.source = actions or {}, needs or {}, matrix or {}, inputs or {}, source
        self.summary = self.temp / "summary.md"
        self.summary.write_text("")
        self.status, self.masks, self.log, self.counter = "success", [], [], 0

    def context(self, steps, env, inputs=None, action_path=None):
        return {
            "github": {**self.github, **({"action_path": action_path} if action_path else {})},
            "env": env,
            "secrets": self.secrets,
            "vars": self.variables,
            "inputs": self.inputs if inputs is None else inputs,
            "needs": self.needs,
            "matrix": self.matrix,
            "runner": {"os": "Linux", "arch": "X64", "temp": str(self.temp), "tool_cache": str(self.tools)},
            "steps": {name: step.context() for name, step in steps.items()},
            "job": {"status": self.status},
        }

    def functions(self):
        return {
            "success": lambda: self.status == "success",
            "failure": lambda: self.status == "failure",
            "always": lambda: True,
            "cancelled": lambda: False,
            "hashFiles": lambda *globs: "0" * 64,
        }

    def wanted(self, condition, context):
        if condition is None:
            return self.status == "success"
        source = text(condition).strip()
        source = source[3:-2] if source.startswith("${{") and source.endswith("}}") else source
        value = truthy(evaluate(source, context, self.functions()))
        if not re.search(r"\b(success|failure|always|cancelled)\s*\(", source):
            value = value and self.status == "success"
        return value

    def steps(self, steps, env, inputs=None, action_path=None, workdir=None):
        """Runs steps; gives what came of them, by id."""
        done = {}
        for index, step in enumerate(steps):
            known = {"id", "name", "if", "run", "uses", "with", "env", "shell", "working-directory", "continue-on-error", "timeout-minutes"}
            if set(step) - known:
                raise Unsupported(f"step keys {set(step) - known}")
            result = Step(text(step.get("name") or step.get("id") or step.get("uses") or f"step {index}"))
            done[step.get("id") or f"__{index}"] = result
            context = self.context(done, env, inputs, action_path)
            sub = lambda value: substitute(value, context, self.functions())
            self.log.append(result)
            if not self.wanted(step.get("if"), context):
                continue
            step_env = {**env, **{k: text(sub(v)) for k, v in (step.get("env") or {}).items()}}
            context["env"] = step_env
            if "uses" in step:
                result.code, result.outputs = self.use(step["uses"], {k: text(sub(v)) for k, v in (step.get("with") or {}).items()}, step_env, result)
            else:
                if step.get("shell", "bash") != "bash":
                    raise Unsupported(f"shell {step['shell']}")
                folder = self.workspace / text(sub(step.get("working-directory") or workdir or "."))
                result.code, result.outputs = self.run(text(sub(step["run"])), step_env, folder, result, explicit="shell" in step)
                env.update({k: v for k, v in result.exported.items()})
            result.outcome = "success" if result.code == 0 else "failure"
            forgiven = truthy(sub(step.get("continue-on-error")))
            result.conclusion = "success" if forgiven else result.outcome
            if result.conclusion == "failure":
                self.status = "failure"
        return done

    def run(self, script, env, folder, result, explicit):
        self.counter += 1
        files = {name: self.temp / f"{name.lower()}_{self.counter}" for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE")}
        for path in files.values():
            path.write_text("")
        body = self.temp / f"script_{self.counter}.sh"
        body.write_text(script)
        # `bash -e {0}` without `shell: bash`, else the stricter form: the reference of `jobs.<job_id>.steps[*].shell`
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(body)] if explicit else ["bash", "-e", str(body)]
        full = {
            "CI": "true", "GITHUB_ACTIONS": "true", "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_TEMP": str(self.temp), "RUNNER_TOOL_CACHE": str(self.tools),
            **{f"GITHUB_{k.upper()}": text(v) for k, v in self.github.items() if not isinstance(v, (dict, list)) and k != "token"},
            **env, **{name: str(path) for name, path in files.items()}, "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        if not folder.is_dir():
            result.log, result.exported = f"##[error]no such folder: {folder}", {}
            return 1, {}
        done = subprocess.run(shell, cwd=folder, env=full, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        result.log += done.stdout
        self.masks += re.findall(r"^::add-mask::(.*)$", done.stdout, re.M)
        result.exported = read_outputs(files["GITHUB_ENV"])
        added = [line for line in files["GITHUB_PATH"].read_text().splitlines() if line]
        if added:
            result.exported["PATH"] = os.pathsep.join([*reversed(added), env.get("PATH", "")])
        return done.returncode, read_outputs(files["GITHUB_OUTPUT"])

    def use(self, uses, given, env, result):
        name = uses.split("@")[0]
        if name in self.actions:
            return self.actions[name](self, given, env, result)
        if name == "actions/checkout":
            if self.source:
                shutil.copytree(self.source, self.workspace / given.get("path", "."), dirs_exist_ok=True, symlinks=True)
            return 0, {}
        if name == "actions/cache":
            return 0, {"cache-hit": ""}
        if name == "actions/upload-artifact":
            return self.upload(given)
        if name == "actions/download-artifact":
            return self.download(given)
        if name.startswith("./"):
            return self.composite(self.workspace / name / "action.yml", given, env, result)
        raise Unsupported(f"uses {uses}")

    def upload(self, given):
        kept = {}
        for line in given["path"].splitlines():
            path = self.workspace / line.strip()
            files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path] if path.is_file() else []
            for file in files:
                # Hidden files stay behind unless they are asked for: the action's own default.
                relative = file.relative_to(path if path.is_dir() else path.parent)
                if given.get("include-hidden-files") == "true" or not any(p.startswith(".") for p in relative.parts):
                    kept[str(relative)] = file.read_bytes()
        if not kept and given.get("if-no-files-found") == "error":
            return 1, {}
        self.artifacts[given.get("name", "artifact")] = kept
        return 0, {"artifact-id": "1"}

    def download(self, given):
        kept = self.artifacts.get(given.get("name", "artifact"))
        if kept is None:
            return 1, {}
        for name, content in kept.items():
            path = self.workspace / given.get("path", ".") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return 0, {"download-path": given.get("path", ".")}

    def composite(self, file, given, env, result):
        """A composite action: its inputs with their defaults, its steps, its outputs."""
        action = load(file)
        unknown = set(given) - set(action["inputs"])
        if unknown:
            raise Unsupported(f"{file.parent.name}: inputs {sorted(unknown)} are not declared")
        path = str(file.parent)
        context = self.context({}, env, {}, path)
        inputs = {}
        for name, spec in action["inputs"].items():
            if spec.get("required") and name not in given:
                raise Unsupported(f"input {name} is required")
            inputs[name] = given.get(name, text(substitute(spec.get("default", ""), context, self.functions())))
        before = self.status
        # A composite's steps see the status of the composite, not of the job around it.
        self.status = "success"
        at = len(self.log)
        done = self.steps(action["runs"]["steps"], dict(env), inputs, path)
        failed, self.status = self.status == "failure", before
        result.log += "".join(step.log for step in self.log[at:])
        context = self.context(done, env, inputs, path)
        outputs = {name: text(substitute(spec["value"], context, self.functions())) for name, spec in action["outputs"].items()}
        return int(failed), outputs


def job_order(jobs):
    """The jobs in an order in which each comes after what it needs."""
    order, left = [], dict(jobs)
    while left:
        ready = [n for n, job in left.items() if all(need in order for need in needs_of(job))]
        if not ready:
            raise Unsupported("jobs that need each other")
        order += ready
        for name in ready:
            del left[name]
    return order


def needs_of(job):
    needs = job.get("needs") or []
    return [needs] if isinstance(needs, str) else needs


class Workflow:
    """Runs the jobs of a workflow one after the other. `approve(environment)` says whether a job that names an environment may start."""

    def __init__(self, file, folder, github, approve=lambda environment: True, inputs=None, **job):
        self.file, self.folder, self.github, self.approve, self.inputs, self.job = load(file), pathlib.Path(folder), github, approve, inputs or {}, job
        self.artifacts, self.results, self.jobs = {}, {}, {}

    def run(self):
        for name in job_order(self.file["jobs"]):
            spec = self.file["jobs"][name]
            for number, matrix in enumerate(self.matrices(spec)):
                self.one(name, spec, matrix, number)
        return {name: result["result"] for name, result in self.results.items()}

    def matrices(self, spec):
        matrix = (spec.get("strategy") or {}).get("matrix") or {}
        if not matrix:
            return [{}]
        if "include" in matrix and len(matrix) == 1:
            return matrix["include"]
        found = [{}]
        for key, values in matrix.items():
            if key in ("include", "exclude"):
                raise Unsupported("matrix with include or exclude beside others")
            found = [{**one, key: value} for one in found for value in values]
        return found

    def one(self, name, spec, matrix, number):
        needs = {need: self.results[need] for need in needs_of(spec)}
        env = {k: text(v) for k, v in {**(self.file.get("env") or {}), **(spec.get("env") or {})}.items()}
        job = Job(self.folder / f"{name}-{number}", {**self.github, "job": name}, artifacts=self.artifacts, needs=needs, matrix=matrix, inputs=self.inputs,
                  **{**self.job, "env": {**(self.job.get("env") or {}), **{}}})
        context = job.context({}, {**job.env, **env})
        env = {k: text(substitute(v, context, job.functions())) for k, v in env.items()}
        ok = all(n["result"] == "success" for n in needs.values())
        job.status = "success" if ok else "failure"
        wanted = job.wanted(spec.get("if"), job.context({}, {**job.env, **env}))
        job.status = "success"
        environment = spec.get("environment")
        environment = environment.get("name") if isinstance(environment, dict) else environment
        if wanted and environment and not self.approve(text(substitute(environment, context, job.functions()))):
            wanted = False
        if not wanted:
            self.merge(name, {"result": "skipped", "outputs": {}})
            return
        workdir = ((spec.get("defaults") or self.file.get("defaults") or {}).get("run") or {}).get("working-directory")
        done = job.steps(spec["steps"], {**job.env, **env}, workdir=workdir)
        context = job.context(done, {**job.env, **env})
        outputs = {k: text(substitute(v, context, job.functions())) for k, v in (spec.get("outputs") or {}).items()}
        self.jobs[f"{name}-{number}" if matrix else name] = job
        self.merge(name, {"result": job.status, "outputs": outputs})

    def merge(self, name, result):
        before = self.results.get(name)
        if before and before["result"] == "failure":
            result = {**result, "result": "failure"}
        self.results[name] = result
