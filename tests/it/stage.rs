//! A stage for `collect`, `deploy` and `verify`: a bundle in a git repository, a fake workspace that holds what a recorded scenario's
//! held, a fake CLI that replays its deploy, and a person who approves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::fake_workspace::{FakeWorkspace, read_json};
use crate::support::{self, Done};

/// Lets everything recorded through, and settles quickly.
pub(crate) const POLICY: &str = "\
version: 1
extends: development
people:
  - {name: rm one, ssh: rm1@example.com, git: [rm1@example.com]}
rules: {bundle-mismatch: note}
approval:
  required: 1
  separation: []
  expires_after: 24h
  accept:
    ssh: {allowed_signers: .bundlegate/allowed_signers}
verify: {settle: 1s}
";

/// The folder, the workspace.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    pub(crate) fake: FakeWorkspace,
}

/// The fake CLI. `cargo test` builds it; `cargo test --test it` alone does not, so it is built here when it is not there or is old.
fn fake_cli() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let test = std::env::current_exe().unwrap();
        let program = test
            .parent()
            .and_then(Path::parent)
            .unwrap()
            .join("examples")
            .join(format!("fake_databricks{}", std::env::consts::EXE_SUFFIX));
        let changed = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
        let source = changed(&package.join("tests/bin/fake_databricks.rs"));
        if changed(&program).is_some_and(|built| Some(built) >= source) {
            return program;
        }
        let mut cargo = Command::new(env!("CARGO"));
        // What the outer cargo tells of this package would have dependencies built anew.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_") && !matches!(&*text, "CARGO_HOME" | "CARGO_TARGET_DIR") {
                cargo.env_remove(name);
            }
        }
        let status = cargo
            .args(["build", "--quiet", "--example", "fake_databricks"])
            .current_dir(package)
            .status()
            .unwrap();
        assert!(status.success());
        program
    })
}

impl Stage {
    /// The stage of a recorded scenario.
    pub(crate) fn of(name: &str) -> Self {
        Self::with_policy(name, POLICY)
    }

    pub(crate) fn with_policy(name: &str, policy: &str) -> Self {
        let scenario = support::scenarios().join(name);
        let fake = FakeWorkspace::of_scenario(&scenario);
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
            fake,
        };
        for folder in ["repo/.bundlegate", "cli", "keys"] {
            fs::create_dir_all(stage.path(folder)).unwrap();
        }
        for file in ["plan.json", "after.json", "state-after.json"] {
            if scenario.join(file).exists() {
                fs::copy(scenario.join(file), stage.path("cli").join(file)).unwrap();
            }
        }
        let here = stage.fake.url();
        for file in ["bundle.json", "summary.json"] {
            let mut value = read_json(&scenario.join(file));
            value["workspace"]["host"] = json!(here);
            stage.write(&format!("cli/{file}"), &value.to_string());
        }
        stage.write("cli/warnings.txt", "Warning: the fake warns\n");
        if scenario.join("state.json").exists() {
            fs::copy(scenario.join("state.json"), stage.path("cli/state.json")).unwrap();
        }
        stage.key();
        stage.write("repo/.gitignore", ".databricks/\n");
        stage.write("repo/bundlegate.yml", policy);
        fs::copy(
            scenario.join("databricks.yml"),
            stage.path("repo/databricks.yml"),
        )
        .unwrap();
        stage.git(&["init", "-q", "-b", "main"]);
        stage.commit("all");
        stage
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn key(&self) {
        let key = self.path("keys/rm1");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key)
            .status()
            .unwrap();
        assert!(made.success());
        let public = fs::read_to_string(key.with_extension("pub")).unwrap();
        self.write(
            "repo/.bundlegate/allowed_signers",
            &format!("rm1@example.com namespaces=\"bundlegate-approval@v1\" {public}"),
        );
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        read_json(&self.path(name))
    }

    /// How the fake CLI misbehaves from now on.
    pub(crate) fn faults(&self, faults: &Value) {
        self.write("cli/faults.json", &faults.to_string());
    }

    /// What the fake CLI was called with, call by call.
    pub(crate) fn calls(&self) -> Vec<Vec<String>> {
        fs::read_to_string(self.path("cli/calls.jsonl"))
            .unwrap_or_default()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The calls of one command.
    pub(crate) fn calls_of(&self, command: &str) -> Vec<Vec<String>> {
        self.calls()
            .into_iter()
            .filter(|call| call.iter().any(|word| word == command))
            .collect()
    }

    fn git(&self, args: &[&str]) {
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@example.com",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(args)
            .current_dir(self.path("repo"))
            .status()
            .unwrap();
        assert!(status.success(), "{args:?}");
    }

    /// The variables of a run.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = self.fake.environment().into();
        all.push((
            "FAKE_DATABRICKS".to_owned(),
            self.path("cli").display().to_string(),
        ));
        all.push((
            "DATABRICKS_CLI_PATH".to_owned(),
            fake_cli().display().to_string(),
        ));
        all.push(("DATABRICKS_RATE_LIMIT".to_owned(), "2000".to_owned()));
        all
    }

    /// The program in the bundle's folder.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.run_with(args, &[])
    }

    /// The same, with further variables.
    pub(crate) fn run_with(&self, args: &[&str], more: &[(&str, &str)]) -> Done {
        support::finish(
            support::program()
                .current_dir(self.path("repo"))
                .envs(self.environment())
                .envs(more.iter().copied())
                .args(args)
                .timeout(std::time::Duration::from_secs(60)),
        )
    }

    /// The program, started and not waited for.
    pub(crate) fn start(&self, args: &[&str]) -> std::process::Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bundlegate"));
        command.env_clear();
        for keep in ["PATH", "HOME"] {
            command.envs(std::env::var_os(keep).map(|v| (keep, v)));
        }
        command
            .current_dir(self.path("repo"))
            .envs(self.environment())
            .args(args)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Waits until the fake CLI hangs where it was told to.
    pub(crate) fn wait_until_hanging(&self) -> u32 {
        for _ in 0..400 {
            if let Ok(text) = fs::read_to_string(self.path("cli/hanging"))
                && let Ok(pid) = text.parse()
            {
                return pid;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("the fake CLI never hung");
    }

    /// Collects into `../gate` and has the plan approved.
    pub(crate) fn collected_and_approved(&self) {
        let done = self.run(&["collect", "-t", "prod", "--out", "../gate"]);
        assert_eq!(done.code, 0, "{done:?}");
        self.approve();
    }

    pub(crate) fn approve(&self) {
        let digest = self.json("gate/manifest.json")["files"]["plan.json"]
            .as_str()
            .unwrap()
            .to_owned();
        let key = self.path("keys/rm1").display().to_string();
        let done = self.run(&[
            "approve", "../gate", "-t", "prod", "--key", &key, "--yes", "--digest", &digest,
        ]);
        assert_eq!(done.code, 0, "{done:?}");
    }

    /// Deploys `../gate`.
    pub(crate) fn deploy(&self, more: &[&str]) -> Done {
        let mut args = vec!["deploy", "../gate", "-t", "prod", "-o", "json"];
        args.extend(more);
        self.run(&args)
    }
}

/// The body of a report.
pub(crate) fn report(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"))
}

/// The rows of a verification that ended so, as `resource check`.
pub(crate) fn rows(done: &Done, outcome: &str) -> Vec<String> {
    let report = report(done);
    let body = &report["body"];
    let verification = match body.get("verify") {
        Some(v) => v,
        None => &body["deploy"]["verification"],
    };
    verification["rows"]
        .as_array()
        .unwrap_or_else(|| panic!("{done:?}"))
        .iter()
        .filter(|row| row["outcome"] == outcome)
        .map(|row| {
            format!(
                "{} {} {}",
                row["resource"].as_str().unwrap_or("-"),
                row["check"].as_str().unwrap(),
                row["witness"].as_str().unwrap()
            )
        })
        .collect()
}
