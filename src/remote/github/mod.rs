//! GitHub: the workflow run, its environment reviews, pull requests with their remarks, and team membership. Nothing here writes.
//!
//! Requests go through octocrab on our own client: one set of proxies, roots, time limits, retries and messages for all services.

mod access;
mod pulls;

use std::error::Error;
use std::sync::Arc;

use jiff::Timestamp;
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use access::{GithubAccess, Repository};
pub use pulls::{MOST_COMMITS, MOST_PULLS, MOST_REMARKS};

use super::address::Address;
use super::http::{
    Advice, Ask, Failure, Http, HttpError, HttpOptions, Said, failure_of, quote, root_cause,
};
use crate::approval::platform::{EnvironmentReview, GithubAccount, GithubRun};

const ADVICE: Advice = Advice {
    unauthorized: "the token is wrong or expired: pass GITHUB_TOKEN (or GH_TOKEN) again; a workflow's own token ends with its job",
    forbidden: "the token may not read it",
    not_found: "GitHub also answers so when the token may not see it: check GITHUB_REPOSITORY and what the token may read",
    rate_limited: "the token has used up what GitHub allows: try later",
    refused: "check GITHUB_REPOSITORY, GITHUB_API_URL and GITHUB_GRAPHQL_URL",
    redirected: "the repository was renamed or moved, or a login page stands before GitHub: check GITHUB_REPOSITORY and GITHUB_API_URL",
    not_json: "a proxy or a login page answered in its place: check GITHUB_API_URL and HTTPS_PROXY / NO_PROXY",
    malformed: "this version may be too old or too new for this GitHub",
};
static RUN: Advice = Advice {
    forbidden: "the token needs the permission to read workflow runs: add `actions: read` to the job's `permissions:`",
    not_found: "GitHub also answers so when the token may not see it: add `actions: read` to the job's `permissions:`, and check GITHUB_REPOSITORY and GITHUB_RUN_ID",
    ..ADVICE
};
static TEAM: Advice = Advice {
    forbidden: "no workflow token can read teams: pass a token of a GitHub App, or a fine-grained one, with the organisation permission `Members: read`",
    not_found: "check the names of the organisation and of the team; GitHub also answers so when the token may not see it (organisation permission `Members: read`, single sign-on)",
    refused: "check the names of the organisation and of the team",
    ..ADVICE
};

/// GitHub, for one repository. Clones share the connections and the pace.
#[derive(Debug, Clone)]
pub struct Github(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    access: GithubAccess,
    http: Http,
    rest: Octocrab,
    graphql: Octocrab,
}

#[derive(Deserialize)]
struct RunAnswer {
    id: u64,
    run_attempt: u64,
    head_sha: String,
    run_started_at: Timestamp,
    html_url: String,
    repository: NameAnswer,
    actor: Option<AccountAnswer>,
    triggering_actor: Option<AccountAnswer>,
}

#[derive(Deserialize)]
struct RunsAnswer {
    workflow_runs: Vec<RunOfCommit>,
}

#[derive(Deserialize)]
struct RunOfCommit {
    head_sha: String,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct NameAnswer {
    full_name: String,
}

#[derive(Deserialize)]
struct AccountAnswer {
    login: String,
    id: Option<u64>,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct ReviewAnswer {
    environments: Vec<EnvironmentAnswer>,
    state: String,
    user: Option<AccountAnswer>,
    comment: Option<String>,
}

#[derive(Deserialize)]
struct EnvironmentAnswer {
    name: String,
}

#[derive(Deserialize)]
struct MembershipAnswer {
    state: String,
}

impl Github {
    /// Makes the client. It belongs to the runtime that it is made in.
    ///
    /// `BUNDLEGATE_CA_BUNDLE` wins over `options`. Requests to this machine use no proxy.
    ///
    /// # Errors
    /// [`Failure::Setup`]: the CA bundle, the system's certificates.
    // octocrab starts a task for its queue, so that there has to be a runtime: hence `async`.
    #[expect(clippy::unused_async)]
    pub async fn connect(
        access: GithubAccess,
        mut options: HttpOptions,
    ) -> Result<Github, HttpError> {
        if access.ca_bundle.is_some() {
            options.ca_bundle.clone_from(&access.ca_bundle);
        }
        options.system_proxy &= !(access.api.is_loopback() || access.graphql.is_loopback());
        let http = Http::new(options)?;
        let octocrab = |address: &Address| {
            // octocrab sends the token to these two hosts only.
            Octocrab::builder()
                .base_uri(address.origin())
                .and_then(|builder| builder.upload_uri(address.origin()))
                .map(|builder| builder.personal_token(access.token.clone()))
                .and_then(|builder| builder.build_with_reqwest(http.client().clone()))
                .map_err(|cause| {
                    HttpError::new(
                        "",
                        "",
                        Failure::Setup(format!("no client for GitHub: {}", root_cause(&cause))),
                    )
                })
        };
        let (rest, graphql) = (octocrab(&access.api)?, octocrab(&access.graphql)?);
        Ok(Github(Arc::new(Inner {
            access,
            http,
            rest,
            graphql,
        })))
    }

    /// The settings.
    pub fn access(&self) -> &GithubAccess {
        &self.0.access
    }

    /// A workflow run and the reviews of its deployments to environments.
    ///
    /// GitHub REST API 2022-11-28, "Get a workflow run" and "Get the review history for a workflow run" (one list without pages, the
    /// reviews of all attempts together). Fine-grained permission: `Actions: read`.
    ///
    /// # Errors
    /// Any [`Failure`]; [`Failure::Mismatch`] for a run of another repository.
    pub async fn run(&self, id: u64) -> Result<GithubRun, HttpError> {
        let repository = &self.0.access.repository;
        let id_text = id.to_string();
        let path = [
            "repos",
            &repository.owner,
            &repository.name,
            "actions",
            "runs",
            &id_text,
            "approvals",
        ];
        let (whole, run_only) = (path.as_slice(), path.get(..6).unwrap_or_default());
        let ask = self.ask(format!("workflow run {id}"), run_only, &RUN)?;
        let run: RunAnswer = self.get(&ask).await?;
        if run.id != id {
            return Err(ask.mismatch(&format!("run {}; check GITHUB_API_URL", run.id)));
        }
        if !repository.is(&run.repository.full_name) {
            return Err(ask.mismatch(&format!(
                "a run of {}, not of {repository}; check GITHUB_REPOSITORY and GITHUB_RUN_ID",
                run.repository.full_name
            )));
        }
        let actor = account(&ask, run.actor)?;
        let triggering_actor = account(&ask, run.triggering_actor)?;
        let ask = self.ask(format!("the reviews of workflow run {id}"), whole, &RUN)?;
        let reviews = self
            .get::<Vec<ReviewAnswer>>(&ask)
            .await?
            .into_iter()
            .map(|review| {
                Ok(EnvironmentReview {
                    environments: review
                        .environments
                        .into_iter()
                        .map(|environment| environment.name)
                        .collect(),
                    state: review.state,
                    by: account(&ask, review.user)?,
                    comment: review.comment.unwrap_or_default(),
                })
            })
            .collect::<Result<_, HttpError>>()?;
        Ok(GithubRun {
            id,
            attempt: run.run_attempt,
            head: run.head_sha,
            started: run.run_started_at,
            actor,
            triggering_actor,
            url: run.html_url,
            reviews,
        })
    }

    /// When the first workflow run on a commit was made, of the newest 100; none: there is none.
    ///
    /// GitHub REST API 2022-11-28, "List workflow runs for a repository", `head_sha`. Fine-grained permission: `Actions: read`.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub async fn first_run_on(&self, commit: &str) -> Result<Option<Timestamp>, HttpError> {
        let repository = &self.0.access.repository;
        let path = [
            "repos",
            &repository.owner,
            &repository.name,
            "actions",
            "runs",
        ];
        let query = [("head_sha", commit), ("per_page", "100")];
        let what = format!("the workflow runs on commit {commit}");
        let ask = self.signed(self.0.access.api.ask(what, &path, &query)?, &RUN);
        let runs: RunsAnswer = self.get(&ask).await?;
        let of_commit = runs
            .workflow_runs
            .into_iter()
            .filter(|run| run.head_sha.eq_ignore_ascii_case(commit));
        Ok(of_commit.map(|run| run.created_at).min())
    }

    /// Proves that a team is there and that the token may see it: without that, [`Self::is_member`] says nothing.
    ///
    /// GitHub REST API 2022-11-28, "Get a team by name": 404 also when the token may not see it.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub async fn must_see_team(&self, org: &str, team: &str) -> Result<(), HttpError> {
        #[derive(Deserialize)]
        struct Team {
            slug: String,
        }
        let ask = self.ask(
            format!("the team {org}/{team}"),
            &["orgs", org, "teams", team],
            &TEAM,
        )?;
        let answer: Team = self.get(&ask).await?;
        if answer.slug.eq_ignore_ascii_case(team) {
            Ok(())
        } else {
            Err(ask.mismatch(&format!("the team {}", answer.slug)))
        }
    }

    /// Whether a login is an active member of a team, child teams included. An invitation that is not accepted is none.
    ///
    /// GitHub REST API 2022-11-28, "Get team membership for a user": 404 when there is no membership, and also when the token may not see
    /// the team. Needs the organisation permission `Members: read`, which no workflow token has.
    ///
    /// # Errors
    /// Any [`Failure`] but [`Failure::NotFound`], which is `false`.
    pub async fn is_member(&self, org: &str, team: &str, login: &str) -> Result<bool, HttpError> {
        let what = format!("the membership of {login} in {org}/{team}");
        let path = ["orgs", org, "teams", team, "memberships", login];
        let ask = self.ask(what, &path, &TEAM)?;
        match self.get::<MembershipAnswer>(&ask).await {
            Ok(membership) => Ok(membership.state == "active"),
            Err(error) if matches!(error.failure(), Failure::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn ask(&self, what: String, path: &[&str], advice: &'static Advice) -> Result<Ask, HttpError> {
        Ok(self.signed(self.0.access.api.ask(what, path, &[])?, advice))
    }

    /// octocrab signs; the token is here so that no message repeats it.
    fn signed(&self, ask: Ask, advice: &'static Advice) -> Ask {
        ask.bearer(&self.0.access.token).advised(advice)
    }

    async fn get<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, HttpError> {
        let send = || async {
            let answer = self.0.rest._get(ask.url().as_str()).await;
            answer
                .map(|answer| reqwest::Response::from(answer.map(reqwest::Body::wrap)))
                .map_err(|error| failure(&error))
        };
        ask.parse(&self.0.http.bytes_by(ask, send, |_| None).await?)
    }

    /// A GraphQL query. It changes nothing, so that it may be sent again.
    async fn query<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        query: &impl Serialize,
    ) -> Result<T, HttpError> {
        #[derive(Deserialize)]
        struct Answer<T> {
            data: T,
        }
        let send = || async {
            let answer = self.0.graphql._post(ask.url().as_str(), Some(query)).await;
            answer
                .map(|answer| reqwest::Response::from(answer.map(reqwest::Body::wrap)))
                .map_err(|error| failure(&error))
        };
        let told = |body: &[u8]| pulls::complaint(body, ask);
        let body = self.0.http.bytes_by(ask, send, told).await?;
        Ok(ask.parse::<Answer<T>>(&body)?.data)
    }
}

/// An account of the REST API. `ghost` stands for every account that was deleted (GitHub docs, "Deleting your personal account").
fn account(ask: &Ask, answer: Option<AccountAnswer>) -> Result<Option<GithubAccount>, HttpError> {
    let Some(answer) = answer.filter(|answer| !answer.login.eq_ignore_ascii_case("ghost")) else {
        return Ok(None);
    };
    known(ask, answer.login, answer.id, answer.kind == "User").map(Some)
}

/// An account; a person without an id is refused, since a login can change hands.
fn known(
    ask: &Ask,
    login: String,
    id: Option<u64>,
    human: bool,
) -> Result<GithubAccount, HttpError> {
    match id {
        None if human => Err(ask.malformed(&format!("the user {login} has no id"))),
        id => Ok(GithubAccount {
            login,
            id: id.unwrap_or(0),
            human,
        }),
    }
}

/// What a request of octocrab died of. Its own messages say only which kind of error it is.
fn failure(error: &octocrab::Error) -> Failure {
    if let octocrab::Error::GitHub { source, .. } = error {
        let said = Said {
            code: None,
            message: Some(quote(&source.message, &[])),
        };
        return Failure::Refused(source.status_code, said);
    }
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return failure_of(error);
        }
        cause = error.source();
    }
    Failure::Setup(format!(
        "the request could not be made: {}",
        quote(&root_cause(error), &[])
    ))
}

#[cfg(test)]
mod tests;
