//! Runs the program as a person would: a cleared environment, and what it printed.

use std::path::{Path, PathBuf};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Done {
    /// The exit code; -1: ended by a signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// The folder of the recorded scenarios.
pub(crate) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// The program with nothing of this process's environment but the path.
pub(crate) fn program() -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_bundlegate"));
    command.env_clear();
    for keep in ["PATH", "HOME", "SYSTEMROOT", "TMP", "TEMP"] {
        if let Some(value) = std::env::var_os(keep) {
            command.env(keep, value);
        }
    }
    command
}

/// Runs the program in the folder of the package.
pub(crate) fn run(args: &[&str]) -> Done {
    run_in(Path::new(env!("CARGO_MANIFEST_DIR")), args)
}

/// Runs the program in a folder.
pub(crate) fn run_in(folder: &Path, args: &[&str]) -> Done {
    finish(program().current_dir(folder).args(args))
}

/// Runs a prepared command.
pub(crate) fn finish(command: &mut assert_cmd::Command) -> Done {
    let output = command.output().expect("the program starts");
    Done {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
