//! Who wrote a change, who started this run, and which run it is: from flags, else from the CI system and git.

use super::Failure;
use super::trust::failure;
use crate::approval::statement::CiRun;
use crate::approval::{GitObjectId, Identity};
use crate::host::files;
use crate::host::git::Git;
use crate::host::out;
use crate::json::{self, Limits};
use crate::text::quoted;

const FORMS: &str = "git:ADDRESS, github:LOGIN, github:LOGIN:ID, azure:DESCRIPTOR or ssh:PRINCIPAL; without a prefix an address or a GitHub login";

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// Reads `--author` and `--actor`.
pub(super) fn identities(flag: &str, given: &[String]) -> Result<Vec<Identity>, Failure> {
    given.iter().map(|text| identity(flag, text)).collect()
}

fn identity(flag: &str, text: &str) -> Result<Identity, Failure> {
    let wrong = || {
        Failure::input(format!(
            "error: {flag}: expected {FORMS}, found {}",
            quoted(text)
        ))
    };
    let (kind, rest) = match text.split_once(':') {
        Some(parts) => parts,
        None if text.contains('@') => ("git", text),
        None => ("github", text),
    };
    if rest.is_empty() {
        return Err(wrong());
    }
    Ok(match kind {
        "git" => Identity::Git {
            address: rest.to_owned(),
        },
        "github" => match rest.split_once(':') {
            None => github(rest, None),
            Some((login, id)) => github(login, Some(id.parse().map_err(|_| wrong())?)),
        },
        "azure" => Identity::Azure {
            descriptor: rest.to_owned(),
        },
        "ssh" => Identity::Ssh {
            principal: rest.to_owned(),
            key: String::new(),
        },
        _ => return Err(wrong()),
    })
}

fn github(login: &str, id: Option<u64>) -> Identity {
    Identity::Github {
        login: login.to_owned(),
        id,
    }
}

/// Who wrote the change: the pull request's author as the platform says, and the addresses in the commits that are not in
/// `base` yet. Empty: nobody could tell.
pub(super) fn authors(
    git: Option<&Git>,
    base: Option<&GitObjectId>,
) -> Result<Vec<Identity>, Failure> {
    let mut all: Vec<Identity> = pull_request_author().into_iter().collect();
    let Some(git) = git else { return Ok(all) };
    if git.is_shallow().map_err(|e| failure(&e))? {
        // The commits that were cut off may have other authors than who opened the pull request.
        out::stderr(
            "note: the history is shallow, so nobody can tell who wrote the change; check it out whole (fetch-depth: 0), or give --author\n",
        );
        return Ok(Vec::new());
    }
    let mut addresses = match base {
        Some(base) => git.authors(Some(base)).map_err(|e| failure(&e))?,
        None => Vec::new(),
    };
    if addresses.is_empty() {
        addresses = git.authors(None).map_err(|e| failure(&e))?;
    }
    all.extend(
        addresses
            .into_iter()
            .map(|address| Identity::Git { address }),
    );
    Ok(all)
}

/// `pull_request.user` of the event that started a GitHub workflow (GitHub, "Webhook events and payloads").
fn pull_request_author() -> Option<Identity> {
    let path = env("GITHUB_EVENT_PATH")?;
    let limits = Limits::default();
    let bytes = files::read(std::path::Path::new(&path), limits.bytes).ok()?;
    let event = json::parse(&bytes, &limits).ok()?;
    let user = event.at(&["pull_request", "user"])?;
    let id = match user.get("id") {
        Some(json::Value::Int(n)) => u64::try_from(*n).ok(),
        _ => None,
    };
    Some(github(user.get("login")?.as_str()?, id))
}

/// Who started this run: on GitHub both who caused it and who started it again; on Azure DevOps whom it was requested for.
pub(super) fn actors() -> Vec<Identity> {
    let mut all = Vec::new();
    if env("GITHUB_ACTIONS").is_some() {
        let actor = env("GITHUB_ACTOR");
        if let Some(login) = &actor {
            let id = env("GITHUB_ACTOR_ID").and_then(|id| id.parse().ok());
            all.push(github(login, id));
        }
        all.extend(
            env("GITHUB_TRIGGERING_ACTOR")
                .filter(|again| Some(again) != actor.as_ref())
                .map(|login| github(&login, None)),
        );
    }
    if env("TF_BUILD").is_some() {
        all.extend(env("BUILD_REQUESTEDFOREMAIL").map(|address| Identity::Git { address }));
    }
    all
}

/// Reads `--ci-run PROVIDER:REPOSITORY:RUN:ATTEMPT`.
pub(super) fn ci_run(text: &str) -> Result<CiRun, Failure> {
    let wrong = || {
        Failure::input(format!(
            "error: --ci-run: expected PROVIDER:REPOSITORY:RUN:ATTEMPT, such as github:acme/orders:987654321:1, found {}",
            quoted(text)
        ))
    };
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        [provider @ ("github" | "azure"), repository, run, attempt]
            if !repository.is_empty() && !run.is_empty() =>
        {
            Ok(CiRun {
                provider: (*provider).to_owned(),
                repository: (*repository).to_owned(),
                run_id: (*run).to_owned(),
                attempt: attempt.parse().map_err(|_| wrong())?,
                url: text.to_owned(),
            })
        }
        _ => Err(wrong()),
    }
}

/// The run that this is (GitHub, "Default environment variables"; Azure Pipelines, "Predefined variables").
pub(super) fn this_run() -> Option<CiRun> {
    let number = |name: &str| env(name).and_then(|n| n.parse().ok()).unwrap_or(1);
    if env("GITHUB_ACTIONS").is_some() {
        let (repository, run_id) = (env("GITHUB_REPOSITORY")?, env("GITHUB_RUN_ID")?);
        let server = env("GITHUB_SERVER_URL").unwrap_or_else(|| "https://github.com".to_owned());
        return Some(CiRun {
            provider: "github".to_owned(),
            url: format!("{server}/{repository}/actions/runs/{run_id}"),
            attempt: number("GITHUB_RUN_ATTEMPT"),
            repository,
            run_id,
        });
    }
    if env("TF_BUILD").is_some() {
        let (repository, run_id) = (env("BUILD_REPOSITORY_NAME")?, env("BUILD_BUILDID")?);
        let server = env("SYSTEM_COLLECTIONURI").unwrap_or_default();
        let project = env("SYSTEM_TEAMPROJECT").unwrap_or_default();
        return Some(CiRun {
            provider: "azure".to_owned(),
            url: format!("{server}{project}/_build/results?buildId={run_id}"),
            attempt: number("SYSTEM_STAGEATTEMPT"),
            repository,
            run_id,
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_in_every_form() {
        let one = |text: &str| identity("--author", text).map(|i| format!("{i:?}"));
        for (text, expected) in [
            ("ann@x", r#"Git { address: "ann@x" }"#),
            ("git:ann@x", r#"Git { address: "ann@x" }"#),
            ("rm-one", r#"Github { login: "rm-one", id: None }"#),
            (
                "github:rm-one:1001",
                r#"Github { login: "rm-one", id: Some(1001) }"#,
            ),
            ("azure:aad.QUJD", r#"Azure { descriptor: "aad.QUJD" }"#),
            ("ssh:a@x", r#"Ssh { principal: "a@x", key: "" }"#),
        ] {
            assert_eq!(one(text).unwrap(), expected);
        }
        for wrong in ["git:", "gitlab:x", "github:x:y", ""] {
            assert!(one(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn runs() {
        let run = ci_run("github:acme/orders:12:3").unwrap();
        assert_eq!((run.repository.as_str(), run.attempt), ("acme/orders", 3));
        for wrong in [
            "",
            "github:acme/orders:12",
            "github:a:b:c",
            "gitlab:a:1:1",
            "github::1:1",
        ] {
            assert!(ci_run(wrong).is_err(), "{wrong}");
        }
    }
}
