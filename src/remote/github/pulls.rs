//! The pull requests of a commit, through GraphQL: it alone says whether a remark was edited.
//!
//! GitHub GraphQL API, objects `Commit`, `PullRequest`, `IssueComment`, `PullRequestReview`, interfaces `Actor` and `Comment`.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{ADVICE, Github, known};
use crate::approval::Identity;
use crate::approval::platform::{GithubAccount, PullRequest, Remark, Review, ReviewState};
use crate::remote::http::{Advice, Ask, Failure, HttpError, Said};

/// The most pull requests of one commit that are read.
pub const MOST_PULLS: usize = 50;
/// The most comments, and the most reviews, of one pull request that are read.
pub const MOST_REMARKS: usize = 2000;
/// The most commits of one pull request that are read.
pub const MOST_COMMITS: usize = 2000;

static PULLS: Advice = Advice {
    forbidden: "the token needs the permission to read pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`",
    refused: "the token must see GITHUB_REPOSITORY and read its pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`; a token of a person has to be authorised for single sign-on",
    ..ADVICE
};

const OF_COMMIT: &str = "query($owner:String!,$name:String!,$oid:GitObjectID!,$after:String){repository(owner:$owner,name:$name){object(oid:$oid){\
...on Commit{associatedPullRequests(first:10,after:$after){pageInfo{hasNextPage endCursor}nodes{number headRefOid merged mergeCommit{oid}\
author{...Who}comments(first:100){...Comments}reviews(first:100){...Reviews}commits(first:100){...Commits}}}}}}}";
const MORE_COMMENTS: &str = "query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){\
pullRequest(number:$number){page:comments(first:100,after:$after){...Comments}}}}";
const MORE_REVIEWS: &str = "query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){\
pullRequest(number:$number){page:reviews(first:100,after:$after){...Reviews}}}}";
const MORE_COMMITS: &str = "query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){\
pullRequest(number:$number){page:commits(first:100,after:$after){...Commits}}}}";
const WHO: &str = " fragment Who on Actor{__typename login ...on User{databaseId}...on Bot{databaseId}...on Mannequin{databaseId}...on Organization{databaseId}}";
const COMMENTS: &str = " fragment Comments on IssueCommentConnection{pageInfo{hasNextPage endCursor}nodes{url body createdAt createdViaEmail lastEditedAt author{...Who}}}";
const REVIEWS: &str = " fragment Reviews on PullRequestReviewConnection{pageInfo{hasNextPage endCursor}\
nodes{url body createdAt createdViaEmail submittedAt lastEditedAt state commit{oid}author{...Who}}}";
/// Co-authors are among the authors of a commit, with their account where GitHub knows the address.
const COMMITS: &str = " fragment Commits on PullRequestCommitConnection{pageInfo{hasNextPage endCursor}\
nodes{commit{authors(first:100){pageInfo{hasNextPage endCursor}nodes{email user{login databaseId}}}}}}";

#[derive(Deserialize)]
struct OfCommit {
    repository: Option<CommitRepository>,
}

#[derive(Deserialize)]
struct CommitRepository {
    object: Option<Commit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    associated_pull_requests: Option<Page<Pull>>,
}

#[derive(Deserialize)]
struct MoreOf<T> {
    repository: Option<PullRepository<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRepository<T> {
    pull_request: Option<MorePull<T>>,
}

#[derive(Deserialize)]
struct MorePull<T> {
    page: Page<T>,
}

/// A part of a list. An entry that is `null` could not be read, and could be a rejection: it is an error.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<T> {
    page_info: PageInfo,
    nodes: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    number: u64,
    head_ref_oid: String,
    merged: bool,
    merge_commit: Option<Oid>,
    author: Option<Actor>,
    comments: Page<Written>,
    reviews: Page<Written>,
    commits: Page<InPull>,
}

#[derive(Deserialize)]
struct InPull {
    commit: Authored,
}

#[derive(Deserialize)]
struct Authored {
    authors: Page<Author>,
}

#[derive(Deserialize)]
struct Author {
    email: Option<String>,
    user: Option<User>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct User {
    login: String,
    database_id: Option<u64>,
}

#[derive(Deserialize)]
struct Oid {
    oid: String,
}

/// A comment or a review; only a review has a state.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    url: String,
    body: String,
    created_at: Timestamp,
    created_via_email: bool,
    submitted_at: Option<Timestamp>,
    // Null says that it was not edited; a missing field says nothing.
    #[serde(deserialize_with = "Option::deserialize")]
    last_edited_at: Option<Timestamp>,
    state: Option<String>,
    commit: Option<Oid>,
    author: Option<Actor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Actor {
    #[serde(rename = "__typename")]
    kind: String,
    login: String,
    database_id: Option<u64>,
}

impl Github {
    /// The pull requests that a commit belongs to, with every comment and review, oldest first.
    ///
    /// GitHub GraphQL API, `Commit.associatedPullRequests`: the merged one that brought the commit to the default branch; for a commit that is
    /// not on it also open ones. Permissions: `Pull requests: read`, `Contents: read`.
    ///
    /// # Errors
    /// Any [`Failure`]; [`Failure::TooMany`] above [`MOST_PULLS`] or [`MOST_REMARKS`]; a commit that the repository does not have.
    pub async fn pulls_of(&self, commit: &str) -> Result<Vec<PullRequest>, HttpError> {
        let ask = self.graphql_ask(format!("the pull requests of commit {commit}"));
        if !matches!(commit.len(), 40 | 64) || !commit.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Err(ask.failed(Failure::Setup(
                "its name is not a full commit id; give all 40 characters".to_owned(),
            )));
        }
        let query = format!("{OF_COMMIT}{WHO}{COMMENTS}{REVIEWS}{COMMITS}");
        let mut pulls = Vec::new();
        let mut after = None;
        loop {
            let asked = self.variables(&query, json!({"oid": commit, "after": after}));
            let answer: OfCommit = self.query(&ask, &asked).await?;
            let mut page = answer
                .repository
                .and_then(|repository| repository.object?.associated_pull_requests)
                .ok_or_else(|| {
                    let repository = &self.0.access.repository;
                    let said = Said {
                        code: None,
                        message: Some(format!("{repository} shows no such commit: it was not pushed, or the token may not read it")),
                    };
                    ask.failed(Failure::Refused(reqwest::StatusCode::OK, said))
                })?;
            if pulls.len() + page.nodes.len() > MOST_PULLS {
                return Err(ask.failed(Failure::TooMany(MOST_PULLS, "pull requests")));
            }
            let cursor = next(&ask, &mut page)?;
            for pull in page.nodes {
                pulls.push(self.whole(pull).await?);
            }
            if cursor.is_none() {
                break;
            }
            after = cursor;
        }
        pulls.sort_by_key(|pull| pull.number);
        Ok(pulls)
    }

    /// The pull request with all its remarks.
    async fn whole(&self, pull: Pull) -> Result<PullRequest, HttpError> {
        let number = pull.number;
        let ask = self.graphql_ask(format!("pull request {number}"));
        let mut remarks = Vec::new();
        for (is_review, first, query) in [
            (
                false,
                pull.comments,
                format!("{MORE_COMMENTS}{WHO}{COMMENTS}"),
            ),
            (true, pull.reviews, format!("{MORE_REVIEWS}{WHO}{REVIEWS}")),
        ] {
            let most = (MOST_REMARKS, "comments or reviews");
            for written in self.rest_of(&ask, number, first, &query, most).await? {
                if is_review != written.state.is_some() {
                    return Err(ask.malformed("a review without a state, or a comment with one"));
                }
                remarks.push(remark(&ask, written)?);
            }
        }
        remarks.sort_by_key(|remark| remark.made);
        let query = format!("{MORE_COMMITS}{COMMITS}");
        let most = (MOST_COMMITS, "commits");
        let commits = self
            .rest_of(&ask, number, pull.commits, &query, most)
            .await?;
        Ok(PullRequest {
            number,
            head: pull.head_ref_oid,
            merged_as: pull
                .merge_commit
                .filter(|_| pull.merged)
                .map(|commit| commit.oid),
            author: actor(&ask, pull.author)?,
            authors: authors(&ask, commits)?,
            remarks,
        })
    }

    /// A list to its end.
    async fn rest_of<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        number: u64,
        mut page: Page<T>,
        query: &str,
        (most, what): (usize, &'static str),
    ) -> Result<Vec<T>, HttpError> {
        let mut all = Vec::new();
        while let Some(cursor) = next(ask, &mut page)? {
            all.append(&mut page.nodes);
            if all.len() >= most {
                return Err(ask.failed(Failure::TooMany(most, what)));
            }
            let asked = self.variables(query, json!({"number": number, "after": cursor}));
            let answer: MoreOf<T> = self.query(ask, &asked).await?;
            page = answer
                .repository
                .and_then(|repository| repository.pull_request)
                .ok_or_else(|| ask.malformed("the pull request is gone between two pages"))?
                .page;
        }
        all.append(&mut page.nodes);
        Ok(all)
    }

    fn graphql_ask(&self, what: String) -> Ask {
        let access = &self.0.access;
        Ask::post_form(access.graphql.url().clone(), what, Vec::new())
            .repeatable()
            .bearer(&access.token)
            .advised(&PULLS)
    }

    fn variables(&self, query: &str, mut variables: Value) -> Value {
        let repository = &self.0.access.repository;
        if let Some(variables) = variables.as_object_mut() {
            variables.insert("owner".to_owned(), json!(repository.owner));
            variables.insert("name".to_owned(), json!(repository.name));
        }
        json!({"query": query, "variables": variables})
    }
}

/// Where the next page begins.
fn next<T>(ask: &Ask, page: &mut Page<T>) -> Result<Option<String>, HttpError> {
    match (
        page.page_info.has_next_page,
        page.page_info.end_cursor.take(),
    ) {
        (false, _) => Ok(None),
        // It would never end.
        (true, _) if page.nodes.is_empty() => {
            Err(ask.malformed("an empty page is followed by another"))
        }
        (true, Some(cursor)) => Ok(Some(cursor)),
        (true, None) => Err(ask.malformed("a page is followed by another that has no cursor")),
    }
}

fn remark(ask: &Ask, written: Written) -> Result<Remark, HttpError> {
    let commit = written.commit.map(|commit| commit.oid);
    let review = written
        .state
        .map(|state| {
            Ok(Review {
                state: state_of(ask, &state)?,
                commit,
            })
        })
        .transpose()?;
    Ok(Remark {
        url: written.url,
        by: actor(ask, written.author)?,
        body: written.body,
        made: written.submitted_at.unwrap_or(written.created_at),
        edited: written.last_edited_at.is_some(),
        by_email: written.created_via_email,
        review,
    })
}

/// An unknown verdict could be a rejection.
fn state_of(ask: &Ask, state: &str) -> Result<ReviewState, HttpError> {
    Ok(match state {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "COMMENTED" => ReviewState::Commented,
        "DISMISSED" => ReviewState::Dismissed,
        "PENDING" => ReviewState::Pending,
        other => return Err(ask.malformed(&format!("a review in the state {other}"))),
    })
}

/// Everybody who is an author of one of these commits, each once.
fn authors(ask: &Ask, commits: Vec<InPull>) -> Result<Vec<Identity>, HttpError> {
    let mut all: Vec<Identity> = Vec::new();
    for InPull { commit } in commits {
        if commit.authors.page_info.has_next_page {
            return Err(ask.failed(Failure::TooMany(100, "authors of one commit")));
        }
        for author in commit.authors.nodes {
            let identity = match (author.user, author.email) {
                (Some(user), _) => Identity::Github {
                    login: user.login,
                    id: user.database_id,
                },
                (None, Some(address)) if !address.is_empty() => Identity::Git { address },
                (None, _) => continue,
            };
            if !all.contains(&identity) {
                all.push(identity);
            }
        }
    }
    Ok(all)
}

fn actor(ask: &Ask, actor: Option<Actor>) -> Result<Option<GithubAccount>, HttpError> {
    actor
        .map(|actor| known(ask, actor.login, actor.database_id, actor.kind == "User"))
        .transpose()
}

/// The error in a GraphQL answer, which comes with status 200 and may stand beside a part of the data.
pub(super) fn complaint(body: &[u8], ask: &Ask) -> Option<Failure> {
    #[derive(Deserialize)]
    struct Answer {
        errors: Option<Value>,
    }
    let errors = serde_json::from_slice::<Answer>(body).ok()?.errors?;
    let first = errors.get(0).unwrap_or(&errors);
    let text = |name: &str| {
        let text = first.get(name)?.as_str()?;
        Some(ask.quoted(text))
    };
    let said = Said {
        code: text("type"),
        message: text("message").or_else(|| Some("an error without a message".to_owned())),
    };
    let limited = said.code.as_deref() == Some("RATE_LIMITED")
        || said
            .message
            .as_deref()
            .is_some_and(|message| message.contains("rate limit"));
    let status = reqwest::StatusCode::OK;
    Some(if limited {
        Failure::RateLimited {
            status,
            tried: std::time::Duration::ZERO,
            said,
        }
    } else {
        Failure::Refused(status, said)
    })
}
