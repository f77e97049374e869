//! The machine as a sign-in sees it: variables, files and programs. Given as a value, so that tests and dry runs are closed worlds.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::remote::http::quote;

/// Time for a program such as `az` to print a token.
pub const PROGRAM_WITHIN: Duration = Duration::from_secs(60);
/// Largest configuration or token file that is read, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;

/// Environment variables, and through them the home folder and the programs.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

/// Why a program gave no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProgramError {
    /// It is not on the path.
    Missing,
    /// It failed; why, in words.
    Failed(String),
}

impl Environment {
    /// The environment of this process. Variables that are not Unicode are left out.
    pub fn of_process() -> Environment {
        let text = |text: std::ffi::OsString| text.into_string().ok();
        Environment {
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
                .collect(),
        }
    }

    /// A closed environment with exactly these variables.
    pub fn of<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Environment {
        Environment {
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }

    /// A variable's value; an empty one counts as not set, as in the Databricks SDKs.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// `path` with a leading `~` replaced by the home folder (`HOME`, on Windows `USERPROFILE`).
    pub(super) fn expand(&self, path: &str) -> Option<PathBuf> {
        let Some(rest) = path.strip_prefix('~') else {
            return Some(PathBuf::from(path));
        };
        let home = self.get("HOME").or_else(|| self.get("USERPROFILE"))?;
        Some(Path::new(home).join(rest.trim_start_matches(['/', '\\'])))
    }

    /// The text of a small file; `None` when there is none.
    pub(super) fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        let size = match std::fs::metadata(path) {
            Ok(about) => about.len(),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(cause),
        };
        if size > LARGEST_FILE {
            return Err(std::io::Error::other(format!(
                "it has {size} bytes, more than {LARGEST_FILE}"
            )));
        }
        std::fs::read_to_string(path).map(Some)
    }

    /// Where `program` is: itself when it names a path, else the first file of that name on `PATH`.
    fn find(&self, program: &str) -> Option<PathBuf> {
        if program.contains(['/', '\\']) {
            return Some(PathBuf::from(program)).filter(|path| path.is_file());
        }
        let names: Vec<String> = if cfg!(windows) {
            ["exe", "cmd", "bat"]
                .iter()
                .map(|ending| format!("{program}.{ending}"))
                .collect()
        } else {
            vec![program.to_owned()]
        };
        std::env::split_paths(self.get("PATH")?)
            .flat_map(|folder| {
                names
                    .iter()
                    .map(move |name| folder.join(name))
                    .collect::<Vec<_>>()
            })
            .find(|path| path.is_file())
    }

    /// What `program` prints, run with exactly this environment and no input. It is killed when nobody waits for it any more.
    pub(super) async fn run(
        &self,
        program: &str,
        arguments: &[&str],
    ) -> Result<Vec<u8>, ProgramError> {
        let path = self.find(program).ok_or(ProgramError::Missing)?;
        let output = tokio::process::Command::new(&path)
            .args(arguments)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let failed = |why: String| {
            ProgramError::Failed(format!("`{program} {}` {why}", arguments.join(" ")))
        };
        match tokio::time::timeout(PROGRAM_WITHIN, output).await {
            Err(_) => Err(failed(format!(
                "gave no answer within {} s",
                PROGRAM_WITHIN.as_secs()
            ))),
            Ok(Err(cause)) => Err(failed(format!("could not be started: {cause}"))),
            Ok(Ok(output)) if output.status.success() => Ok(output.stdout),
            // Standard output is left out: half an answer may hold a token.
            Ok(Ok(output)) => Err(failed(format!(
                "failed: {}",
                quote(String::from_utf8_lossy(&output.stderr).trim(), &[])
            ))),
        }
    }
}

impl fmt::Debug for Environment {
    /// Names only: any value may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Environment")
            .field(&self.variables.keys().collect::<Vec<_>>())
            .finish()
    }
}
