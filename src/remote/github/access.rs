//! Where GitHub is, and as whom one asks: the variables of GitHub Actions.

use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::remote::address::Address;
use crate::remote::environment::Environment;
use crate::remote::http::CA_BUNDLE;
use crate::remote::setting::{self, SettingError};

const API: &str = "https://api.github.com";

/// The settings for GitHub.
#[derive(Debug, Clone)]
pub struct GithubAccess {
    pub(super) token: SecretString,
    pub(super) api: Address,
    pub(super) graphql: Address,
    pub(super) repository: Repository,
    pub(super) ca_bundle: Option<PathBuf>,
    run: Option<u64>,
}

/// A repository's name, `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The person or organisation.
    pub owner: String,
    /// The name below it.
    pub name: String,
}

impl GithubAccess {
    /// Reads `GITHUB_TOKEN` (else `GH_TOKEN`), `GITHUB_REPOSITORY`, `GITHUB_API_URL`, `GITHUB_GRAPHQL_URL`, under `GITHUB_ACTIONS` also
    /// `GITHUB_RUN_ID`, and `BUNDLEGATE_CA_BUNDLE` (GitHub docs, "Default environment variables").
    ///
    /// # Errors
    /// The first variable that is missing or wrong.
    pub fn of(environment: &Environment) -> Result<GithubAccess, SettingError> {
        let token = setting::token(
            environment,
            &["GITHUB_TOKEN", "GH_TOKEN"],
            "pass it in the step's env, as in `GITHUB_TOKEN: ${{ github.token }}`",
        )?;
        let (name, value) = setting::needed(
            environment,
            &["GITHUB_REPOSITORY"],
            "outside GitHub Actions set it to owner/name",
        )?;
        let repository = Repository::parse(value)
            .ok_or_else(|| setting::wrong(name, value, "owner/name, as in acme/warehouse"))?;
        let api = setting::address(
            "GITHUB_API_URL",
            environment.get("GITHUB_API_URL").unwrap_or(API),
        )?;
        let graphql = match environment.get("GITHUB_GRAPHQL_URL") {
            Some(value) => setting::address("GITHUB_GRAPHQL_URL", value)?,
            None => graphql_of(&api),
        };
        let run = match environment.get("GITHUB_RUN_ID") {
            Some(value) if environment.get("GITHUB_ACTIONS").is_some() => {
                Some(setting::number("GITHUB_RUN_ID", value)?)
            }
            _ => None,
        };
        Ok(GithubAccess {
            token,
            api,
            graphql,
            repository,
            run,
            ca_bundle: environment.get(CA_BUNDLE).map(PathBuf::from),
        })
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The id of the workflow run that this is part of.
    pub fn run_id(&self) -> Option<u64> {
        self.run
    }
}

/// GitHub Enterprise Server has REST at `/api/v3` and GraphQL at `/api/graphql` (its docs, "Forming calls with GraphQL"); elsewhere it is
/// `/graphql` at the same host.
fn graphql_of(api: &Address) -> Address {
    match api.path().strip_suffix("/api/v3") {
        Some(before) => api.with_path(&format!("{before}/api/graphql")),
        None => api.with_path(&format!("{}/graphql", api.path())),
    }
}

impl Repository {
    fn parse(text: &str) -> Option<Repository> {
        let (owner, name) = text.split_once('/')?;
        let fine = |part: &str| {
            !matches!(part, "" | "." | "..")
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        (fine(owner) && fine(name)).then(|| Repository {
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Names on GitHub do not differ by case alone.
    pub(super) fn is(&self, full_name: &str) -> bool {
        self.to_string().eq_ignore_ascii_case(full_name)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}
