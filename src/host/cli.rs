//! The Databricks CLI: run without a shell, its words masked and neutralised, killed when nobody waits for it any more.
//!
//! What it prints repeats names of the plan, which anyone may have written: nothing of it reaches a log as it is.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use semver::Version;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::render::escape;
use crate::secret::{SECRET, looks_like_token};
use crate::text::visible;

/// The oldest CLI whose `bundle plan -o json` and `bundle deploy --plan` are known to be as this program expects them.
pub const OLDEST: Version = Version::new(1, 13, 0);

/// Longest line of the CLI's output that is kept in one piece, in bytes.
const LONGEST_LINE: u64 = 64 * 1024;
/// Last words of a failed run that its error repeats, in lines.
const LAST_WORDS: usize = 20;
/// Shortest value of an environment variable that is taken for a secret: masking shorter ones would eat the text.
const SHORTEST_SECRET: usize = 6;

/// Environment variables whose values are secrets (unified authentication of the Databricks SDKs).
const SECRET_VARIABLES: &[&str] = &[
    "DATABRICKS_TOKEN",
    "DATABRICKS_CLIENT_SECRET",
    "DATABRICKS_PASSWORD",
    "ARM_CLIENT_SECRET",
    "GOOGLE_CREDENTIALS",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "SYSTEM_ACCESSTOKEN",
    "GITHUB_TOKEN",
];

/// Why the CLI gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// No such program.
    #[error(
        "expected the Databricks CLI, found no program {}; install it (https://docs.databricks.com/dev-tools/cli/install.html), or name it with --cli or DATABRICKS_CLI_PATH",
        visible(program)
    )]
    Missing {
        /// What was looked for.
        program: String,
    },
    /// It could not be started or read.
    #[error("{} could not be run: {source}", visible(program))]
    Io {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It is no Databricks CLI that is known.
    #[error(
        "expected the Databricks CLI {OLDEST} or later, found {found}; the CLI from PyPI (`databricks-cli`) is another program"
    )]
    Unknown {
        /// What it said of itself.
        found: String,
    },
    /// It is too old.
    #[error(
        "expected the Databricks CLI {OLDEST} or later, found {found}: it has no plans of the direct engine that can be deployed; update it"
    )]
    TooOld {
        /// Its version.
        found: Version,
    },
    /// It failed.
    #[error("`databricks {what}` failed ({status}):\n{words}")]
    Failed {
        /// What was run, without flags.
        what: String,
        /// How it ended.
        status: ExitStatus,
        /// The last words of its standard error, masked and neutralised.
        words: String,
    },
    /// It printed more than is read.
    #[error("`databricks {what}` printed more than {limit} bytes; raise the bound with --max-size")]
    TooMuch {
        /// What was run, without flags.
        what: String,
        /// The bound.
        limit: u64,
    },
}

/// What a run printed.
#[derive(Debug)]
pub struct Captured {
    /// Standard output, as it is.
    pub stdout: Vec<u8>,
    /// Standard error, as it is.
    pub stderr: Vec<u8>,
}

/// The CLI, and what every call of it has in common.
#[derive(Debug, Clone)]
pub struct Cli {
    program: OsString,
    folder: PathBuf,
    common: Vec<OsString>,
    secrets: Vec<String>,
}

impl Cli {
    /// The CLI that runs in `folder` with `common` behind every command.
    #[must_use]
    pub fn new(program: &OsStr, folder: &Path, common: Vec<OsString>) -> Self {
        let secrets = SECRET_VARIABLES
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .filter(|value| value.len() >= SHORTEST_SECRET)
            .collect();
        // A path counts from here, not from the folder that it runs in.
        let program = if Path::new(program).components().count() > 1 {
            std::path::absolute(program)
                .map_or_else(|_| program.to_owned(), PathBuf::into_os_string)
        } else {
            program.to_owned()
        };
        Self {
            program,
            folder: folder.to_owned(),
            common,
            secrets,
        }
    }

    /// Texts that are masked as well, such as secrets of the plan.
    #[must_use]
    pub fn masking(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.secrets
            .extend(secrets.into_iter().filter(|s| s.len() >= SHORTEST_SECRET));
        self
    }

    /// Its version.
    ///
    /// # Errors
    /// A program that is missing, is another one, or is older than [`OLDEST`].
    pub async fn version(&self) -> Result<Version, CliError> {
        const MOST: u64 = 64 * 1024;
        let mut command = self.command(&[OsStr::new("--version")], false);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = self.start(&mut command)?;
        let mut text = Vec::new();
        if let Some(out) = child.stdout.take() {
            out.take(MOST)
                .read_to_end(&mut text)
                .await
                .map_err(|e| self.io(e))?;
        }
        let status = child.wait().await.map_err(|e| self.io(e))?;
        let text = String::from_utf8_lossy(&text);
        let text = text.trim();
        // "Databricks CLI v1.13.0"; the one from PyPI says "Version 0.18.0".
        let version = text
            .strip_prefix("Databricks CLI v")
            .and_then(|v| Version::parse(v.trim()).ok())
            .filter(|_| status.success());
        let Some(version) = version else {
            return Err(CliError::Unknown {
                found: if text.is_empty() {
                    format!("a program that says nothing of itself ({status})")
                } else {
                    crate::text::quoted(text)
                },
            });
        };
        if Version::new(version.major, version.minor, version.patch) < OLDEST {
            return Err(CliError::TooOld { found: version });
        }
        Ok(version)
    }

    /// Runs a command and keeps what it prints; at most `limit` bytes of each stream.
    ///
    /// # Errors
    /// See [`CliError`]; a run that fails is one.
    pub async fn capture(&self, command: &[&OsStr], limit: u64) -> Result<Captured, CliError> {
        let what = words_of(command);
        let mut run = self.command(command, true);
        run.stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.start(&mut run)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = tokio::join!(whole(out, limit), whole(err, limit));
        let (stdout, stderr) = (
            stdout.map_err(|e| self.io(e))?,
            stderr.map_err(|e| self.io(e))?,
        );
        if stdout.len() as u64 > limit || stderr.len() as u64 > limit {
            return Err(CliError::TooMuch { what, limit });
        }
        let status = child.wait().await.map_err(|e| self.io(e))?;
        if status.success() {
            return Ok(Captured { stdout, stderr });
        }
        Err(CliError::Failed {
            what,
            status,
            words: self.last_words(&stderr),
        })
    }

    /// Runs a command with this standard input and hands each line that it prints, masked and neutralised, to `line`.
    ///
    /// # Errors
    /// Only when it cannot be started or read; how it ended is the answer.
    pub async fn stream(
        &self,
        command: &[&OsStr],
        stdin: Stdio,
        mut line: impl FnMut(&str),
    ) -> Result<ExitStatus, CliError> {
        let mut run = self.command(command, true);
        run.stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.start(&mut run)?;
        let (sender, mut receiver) = tokio::sync::mpsc::channel::<Vec<u8>>(64);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let readers = async {
            tokio::join!(lines(out, sender.clone()), lines(err, sender.clone()));
            drop(sender);
        };
        let printer = async {
            while let Some(bytes) = receiver.recv().await {
                line(&self.shown(&String::from_utf8_lossy(&bytes)));
            }
        };
        tokio::join!(readers, printer);
        child.wait().await.map_err(|e| self.io(e))
    }

    /// Text of the CLI, fit for a log: one line, nothing hidden, no command of a CI system, no secret.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        let mut text = text.trim_end_matches(['\n', '\r']).to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), SECRET);
        }
        // By word: a whole line that holds a token still says the rest.
        let words: Vec<&str> = text
            .split(' ')
            .map(|word| if looks_like_token(word) { SECRET } else { word })
            .collect();
        escape::log(&visible(&words.join(" ")))
    }

    fn last_words(&self, stderr: &[u8]) -> String {
        let text = String::from_utf8_lossy(stderr);
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let from = lines.len().saturating_sub(LAST_WORDS);
        let words: Vec<String> = lines
            .iter()
            .skip(from)
            .map(|l| format!("  {}", self.shown(l)))
            .collect();
        if words.is_empty() {
            "  it said nothing".to_owned()
        } else {
            words.join("\n")
        }
    }

    fn command(&self, command: &[&OsStr], with_common: bool) -> Command {
        let mut run = Command::new(&self.program);
        run.args(command);
        if with_common {
            run.args(&self.common);
        }
        run.current_dir(&self.folder)
            .env("NO_COLOR", "1")
            .kill_on_drop(true);
        run
    }

    fn start(&self, command: &mut Command) -> Result<Child, CliError> {
        command.spawn().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => CliError::Missing {
                program: self.program.to_string_lossy().into_owned(),
            },
            _ => self.io(e),
        })
    }

    fn io(&self, source: io::Error) -> CliError {
        CliError::Io {
            program: self.program.to_string_lossy().into_owned(),
            source,
        }
    }
}

/// The words of a command up to its first flag.
fn words_of(command: &[&OsStr]) -> String {
    let words: Vec<String> = command
        .iter()
        .map(|w| w.to_string_lossy().into_owned())
        .take_while(|w| !w.starts_with('-'))
        .collect();
    words.join(" ")
}

/// One byte more than the limit says that there was more.
async fn whole(from: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .await?;
    }
    Ok(bytes)
}

async fn lines(from: Option<impl AsyncRead + Unpin>, to: tokio::sync::mpsc::Sender<Vec<u8>>) {
    let Some(from) = from else { return };
    let mut reader = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        // What is read so far is shown; a pipe that breaks ends it like its end.
        let read = (&mut reader)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .await;
        match read {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                if to.send(line).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::remote::run::block_on;

    /// A program of its own folder that runs this shell text.
    fn program(text: &str) -> (tempfile::TempDir, Cli) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("databricks");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let cli = Cli::new(
            path.as_os_str(),
            dir.path(),
            vec!["-t".into(), "prod".into()],
        );
        (dir, cli)
    }

    fn version(text: &str) -> Result<Version, CliError> {
        let (_dir, cli) = program(text);
        block_on(cli.version()).unwrap()
    }

    #[test]
    fn versions() {
        assert_eq!(version("echo 'Databricks CLI v1.13.0'").unwrap(), OLDEST);
        assert!(matches!(
            version("echo 'Databricks CLI v0.299.1'"),
            Err(CliError::TooOld { .. })
        ));
        for other in [
            "echo 'Version 0.18.0'",
            "true",
            "echo 'Databricks CLI v1.13.0'; exit 1",
        ] {
            assert!(
                matches!(version(other), Err(CliError::Unknown { .. })),
                "{other}"
            );
        }
        let none = Cli::new(
            OsStr::new("/no/such/databricks"),
            Path::new("."),
            Vec::new(),
        );
        assert!(matches!(
            block_on(none.version()).unwrap(),
            Err(CliError::Missing { .. })
        ));
    }

    #[test]
    fn arguments_reach_it_as_they_are() {
        let (_dir, cli) = program(r#"for a in "$@"; do echo "[$a]"; done"#);
        let out = block_on(cli.capture(
            &[OsStr::new("bundle"), OsStr::new("plan; rm -rf $HOME")],
            1000,
        ))
        .unwrap()
        .unwrap();
        assert_eq!(
            String::from_utf8(out.stdout).unwrap(),
            "[bundle]\n[plan; rm -rf $HOME]\n[-t]\n[prod]\n"
        );
    }

    #[test]
    fn a_failure_repeats_its_last_words_masked() {
        let (_dir, cli) =
            program("echo '::error::dapi0123456789abcdef0123456789abcdef hunter22' >&2; exit 3");
        let cli = cli.masking(["hunter22".to_owned(), "x".to_owned()]);
        let error = block_on(cli.capture(&[OsStr::new("bundle"), OsStr::new("plan")], 1000))
            .unwrap()
            .unwrap_err()
            .to_string();
        assert!(error.contains("`databricks bundle plan` failed"), "{error}");
        assert!(
            !error.contains("dapi01") && !error.contains("hunter22"),
            "{error}"
        );
        assert!(
            !error.lines().any(|l| l.trim_start().starts_with("::")),
            "{error}"
        );
        let much = block_on(cli.capture(&[OsStr::new("bundle")], 3)).unwrap();
        assert!(matches!(much, Err(CliError::TooMuch { limit: 3, .. })));
    }

    #[test]
    fn lines_are_neutralised_and_none_is_lost() {
        let (_dir, cli) = program(
            r"i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; printf '##vso[task.complete]\033[31mred\r\n' >&2; printf last",
        );
        let mut seen = Vec::new();
        let status = block_on(cli.stream(&[OsStr::new("x")], Stdio::null(), |l| {
            seen.push(l.to_owned())
        }))
        .unwrap()
        .unwrap();
        assert!(status.success());
        assert_eq!(seen.len(), 502);
        let all = seen.join("\n");
        assert!(
            !all.contains("##vso[") && !all.contains('\u{1b}') && all.contains("last"),
            "{all}"
        );
    }

    #[test]
    fn it_is_killed_when_nobody_waits() {
        let (dir, cli) = program("echo $$ > pid; exec sleep 60");
        block_on(async {
            let words = [OsStr::new("x")];
            let run = cli.stream(&words, Stdio::null(), |_| {});
            let _ = tokio::time::timeout(std::time::Duration::from_millis(500), run).await;
            let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
            for _ in 0..50 {
                let alive = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
                    .is_ok_and(|s| !s.contains(") Z"));
                if !alive {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            panic!("still alive");
        })
        .unwrap();
    }
}
