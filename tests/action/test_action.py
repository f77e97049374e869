"""The action's own steps, run as a runner does, with a real binary on recorded plans.

Usage: BUNDLEGATE=target/debug/bundlegate python3 -m unittest tests/action/test_action.py
"""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/runner"))
from github import Job, Step, load  # noqa: E402

BINARY = pathlib.Path(os.environ.get("BUNDLEGATE", ROOT / "target/debug/bundlegate")).resolve()
SCENARIOS = ROOT / "tests/scenarios"
VERSION = next(l.split('"')[1] for l in (ROOT / "Cargo.toml").read_text().splitlines() if l.startswith("version = "))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bundlegate action "))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.job = Job(self.folder / "runner", {"token": "", "repository": "acme/orders", "run_id": "7", "run_attempt": "1", "sha": "0" * 40})

    def scenario(self, name, into="."):
        folder = self.job.workspace / into
        shutil.copytree(SCENARIOS / name, folder, dirs_exist_ok=True)
        return folder

    def act(self, env=None, action=ROOT / "action.yml", **given):
        """Runs the whole action; gives its exit (0 or 1), its outputs and its log."""
        result = Step("action")
        given = {"binary": str(BINARY), **{k.replace("_", "-"): v for k, v in given.items()}}
        code, outputs = self.job.composite(action, {k: v for k, v in given.items() if v is not None}, {**self.job.env, **(env or {})}, result)
        return code, outputs, result.log


PLAN = {"plan": "plan.json", "bundle": "bundle.json", "state": "state.json", "target": "prod", "policy": "production"}


class Check(Case):
    def test_each_verdict(self):
        for name, review_ok, code, verdict, exit_code in [
            ("no-change", "false", 0, "open", "0"),
            ("run-as-added", "false", 1, "review", "3"),
            ("run-as-added", "true", 0, "review", "0"),
            ("job-destroy", "false", 1, "closed", "1"),
            ("job-destroy", "true", 1, "closed", "1"),
        ]:
            with self.subTest(name, review_ok=review_ok):
                folder = f"a bundle/{name} {review_ok}"
                self.scenario(name, folder)
                got, outputs, log = self.act(command="check", review_ok=review_ok, working_directory=folder, **PLAN)
                self.assertEqual((got, outputs["verdict"], outputs["exit-code"]), (code, verdict, exit_code), log)
                plan = (self.job.workspace / folder / "plan.json").read_bytes()
                self.assertEqual(outputs["plan-sha256"], hashlib.sha256(plan).hexdigest())
                self.assertRegex(outputs["intent"], "^bgi1:[0-9a-f]{64}$")
                report = json.loads(pathlib.Path(outputs["report-json"]).read_text())
                self.assertEqual(report["verdict"], verdict)
                self.assertIn("<html", pathlib.Path(outputs["report-html"]).read_text())
                level = lambda l: sum(f["level"] == l and f["status"] != "waived" for f in report["findings"])
                self.assertEqual((outputs["findings-deny"], outputs["findings-review"]), (str(level("deny")), str(level("review"))))
                self.assertIn("::notice title=bundlegate::", log)
        self.assertIn("# ", self.job.summary.read_text())

    def test_what_cannot_be_judged(self):
        self.scenario("no-change")
        code, outputs, log = self.act(command="check", **{**PLAN, "plan": "nowhere.json"})
        self.assertEqual((code, outputs["exit-code"], outputs["verdict"], outputs["report-json"]), (1, "2", "", ""), log)

    def test_inputs_are_never_a_script(self):
        self.scenario("no-change")
        hostile = '$(touch pwned)`touch pwned`"; touch pwned; \'${IFS}'
        for name in load(ROOT / "action.yml")["inputs"]:
            if name in ("command", "binary", "github-token"):
                continue
            with self.subTest(name):
                self.act(command="check", **{**PLAN, name: hostile})
                self.assertEqual([str(p) for p in self.folder.rglob("pwned")], [])

    def test_a_value_that_looks_like_an_option_is_a_value(self):
        self.scenario("job-destroy")
        code, outputs, log = self.act(command="check", **{**PLAN, "target": "--exit-zero"})
        self.assertEqual((code, outputs["exit-code"]), (1, "1"), log)

    def test_further_arguments_and_outputs(self):
        self.scenario("job-destroy")
        code, outputs, log = self.act(command="check", args="--exit-zero\r\n", output="sarif=a report.sarif\n\nmarkdown=report.md", **PLAN)
        self.assertEqual((code, outputs["exit-code"], outputs["verdict"]), (0, "0", "closed"), log)
        self.assertTrue((self.job.workspace / "a report.sarif").is_file() and (self.job.workspace / "report.md").is_file())

    def test_masks(self):
        self.scenario("no-change")
        self.act(command="check", mask="one secret\ntwo", **PLAN)
        self.assertEqual(self.job.masks, ["one secret", "two"])

    def test_a_switch_takes_true_and_false(self):
        self.scenario("no-change")
        code, _, log = self.act(command="check", review_ok="yes", **PLAN)
        self.assertEqual(code, 1)
        self.assertIn("::error title=bundlegate::review-ok: expected true or false, found yes", log)


class Commands(Case):
    def test_show(self):
        self.scenario("job-destroy")
        code, outputs, log = self.act(command="show", **{k: v for k, v in PLAN.items() if k != "policy"})
        self.assertEqual((code, outputs["exit-code"]), (0, "0"), log)
        self.assertTrue(pathlib.Path(outputs["report-json"]).is_file())

    def test_authorize_without_a_way_to_approve(self):
        self.scenario("no-change")
        self.job.env["GIT_CONFIG_GLOBAL"] = os.devnull
        git = lambda *args: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *args], cwd=self.job.workspace, check=True, capture_output=True)
        git("init", "-q", "-b", "main")
        git("add", ".")
        git("commit", "-q", "-m", "bundle")
        code, outputs, log = self.act(command="authorize", trusted_ref="HEAD", **PLAN)
        self.assertEqual((code, outputs["exit-code"], outputs["verdict"]), (1, "3", "review"), log)
        self.assertEqual(outputs["approval"], "")

    def test_verify_by_a_plan_made_after_the_deploy(self):
        for name, after, exit_code in [("job-schedule-update", "after.json", "0"), ("delete-forbidden", "after.json", None)]:
            with self.subTest(name):
                self.scenario(name, name)
                code, outputs, log = self.act(command="verify", after_plan=after, witness="plan", working_directory=name, **PLAN)
                if exit_code:
                    self.assertEqual((code, outputs["exit-code"]), (0, exit_code), log)
                self.assertTrue(outputs["exit-code"], log)

    def test_an_unknown_command(self):
        code, _, log = self.act(command="chekc", **PLAN)
        self.assertEqual(code, 1)
        self.assertIn("expected collect, check, show", log)


class Server:
    """Serves a folder on loopback."""

    def __init__(self, folder):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Install(Case):
    """The first step alone, from a checkout of the action of its own, so that its list of digests can be another."""

    def setUp(self):
        super().setUp()
        self.checkout = self.folder / "action checkout"
        for name in ("action.yml", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "scripts", "release"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, self.checkout / name) if self.checkout.mkdir(exist_ok=True) is None else None
        # Only what a bare runner has: no bundlegate, no cargo, no gh.
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in ("bash", "sed", "grep", "curl", "tar", "gzip", "mkdir", "rm", "cut", "cat", "sha256sum", "dirname", "mktemp", "chmod", "cp", "git"):
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)
        self.job.env["PATH"] = str(self.bin)

    def install(self, **inputs):
        result = Step("install")
        env = {**self.job.env, **inputs}
        code, outputs = self.job.run(f'bash "{self.checkout}/scripts/action/install.sh"', env, self.job.workspace, result, explicit=True)
        return code, outputs, result.log

    def release(self, content=None):
        """A release archive for this runner; its digest goes into the list unless another content is served."""
        site = self.folder / "site"
        site.mkdir(exist_ok=True)
        name = f"bundlegate-{VERSION}-x86_64-unknown-linux-musl.tar.gz"
        with tarfile.open(site / name, "w:gz") as archive:
            archive.add(BINARY, "bundlegate")
        digest = hashlib.sha256((site / name).read_bytes()).hexdigest()
        (self.checkout / "release/SHA256SUMS").write_text(f"{digest}  {name}\n")
        if content is not None:
            (site / name).write_bytes(content)
        server = Server(site)
        self.addCleanup(server.close)
        return server.url

    def fake(self, name, script):
        path = self.bin / name
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(0o755)
        return path

    def test_a_binary_that_is_given(self):
        code, outputs, _ = self.install(INPUT_BINARY=str(BINARY))
        self.assertEqual((code, outputs), (0, {"binary": str(BINARY)}))

    def test_a_binary_that_is_not_one(self):
        for path, message in [("/nowhere", "can be started"), (str(self.fake("other", "echo other 1.0")), "does not say its version")]:
            code, outputs, log = self.install(INPUT_BINARY=path)
            self.assertEqual((code, outputs), (2, {}))
            self.assertIn(message, log)

    def test_the_right_version_on_the_path(self):
        path = self.fake("bundlegate", f"echo bundlegate {VERSION}")
        self.assertEqual(self.install()[:2], (0, {"binary": str(path)}))

    def test_another_version_on_the_path_is_not_taken(self):
        self.fake("bundlegate", "echo bundlegate 0.0.1")
        url = self.release()
        code, outputs, log = self.install(INPUT_DOWNLOAD_URL=url)
        self.assertEqual(code, 0, log)
        self.assertNotIn(str(self.bin), outputs["binary"])
        version = subprocess.run([outputs["binary"], "--version"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(version.startswith(f"bundlegate {VERSION}"), version)

    def test_a_download_is_kept(self):
        url = self.release()
        first = self.install(INPUT_DOWNLOAD_URL=url)
        second = self.install(INPUT_DOWNLOAD_URL="http://127.0.0.1:9")
        self.assertEqual((first[0], first[1]), (second[0], second[1]), second[2])

    def test_another_content_is_refused(self):
        url = self.release(content=b"something else")
        self.fake("cargo", "exit 0")
        code, outputs, log = self.install(INPUT_DOWNLOAD_URL=url)
        self.assertEqual((code, outputs), (2, {}))
        self.assertRegex(log, "expected SHA-256 [0-9a-f]{64} .*found [0-9a-f]{64}")

    def test_no_release_and_no_cargo(self):
        code, outputs, log = self.install()
        self.assertEqual((code, outputs), (2, {}))
        self.assertIn("no cargo to build it", log)

    def test_no_network_builds(self):
        self.release()
        self.fake("cargo", "exit 0")
        code, outputs, log = self.install(INPUT_DOWNLOAD_URL="http://127.0.0.1:9")
        self.assertEqual((code, outputs["build"]), (0, "true"), log)
        self.assertRegex(outputs["cache-key"], rf"^bundlegate-{VERSION}-Linux-X64-[0-9a-f]{{64}}-")

    def test_the_build(self):
        """cargo builds into a folder outside of the checkout, and the action goes on with what came of it."""
        self.fake("cargo", f'while [[ "$1" != --target-dir ]]; do shift; done; mkdir -p "$2/release"; cp "{BINARY}" "$2/release/bundlegate"')
        self.scenario("no-change")
        code, outputs, log = self.act(action=self.checkout / "action.yml", command="check", binary=None, **PLAN)
        self.assertEqual((code, outputs["verdict"]), (0, "open"), log)


class Description(unittest.TestCase):
    """What action.yml says of itself."""

    def test_each_input_reaches_a_script_by_the_environment(self):
        action = load(ROOT / "action.yml")
        steps = action["runs"]["steps"]
        env = " ".join(str(v) for step in steps for v in (step.get("env") or {}).values()) + " ".join(str(s.get("working-directory", "")) for s in steps)
        for name in action["inputs"]:
            self.assertIn(f"inputs.{name} ", env + " ", name)
        for step in steps:
            self.assertNotIn("${{", step.get("run", ""))

    def test_no_script_needs_a_newer_bash(self):
        """macOS has bash 3.2."""
        for script in (ROOT / "scripts/action").glob("*.sh"):
            text = script.read_text()
            for newer in ("mapfile", "readarray", "declare -A", "${!", ",,}", "^^}", "&>>", "|&"):
                self.assertNotIn(newer, text, script.name)


if __name__ == "__main__":
    unittest.main()
