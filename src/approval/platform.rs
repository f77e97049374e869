//! What GitHub and Azure DevOps say about who decided: their answers as plain data, read again each time.
//!
//! Nothing here is a decision yet: [`crate::authorize`] judges which of it counts. [`crate::remote`] fills it in.

use jiff::Timestamp;

use super::quorum::Identity;

/// An account on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubAccount {
    /// The login, which can change hands.
    pub login: String,
    /// The numeric id, which cannot. 0 where GitHub gives none, which happens only to what is no person.
    pub id: u64,
    /// GitHub calls it a `User`: no bot, no app, no placeholder of an import.
    pub human: bool,
}

/// What GitHub says about this run and this commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GithubAnswers {
    /// The run that this is; none: not asked, since this is no GitHub run.
    pub run: Option<GithubRun>,
    /// The pull requests that the commit belongs to: the merged one that brought it to the default branch; for a commit that is not on it
    /// also open ones, drafts included. (GitHub GraphQL, `Commit.associatedPullRequests`: closed without a merge is not among them.)
    pub pulls: Vec<PullRequest>,
    /// When the first workflow run on the commit that ships was made, as far as GitHub lists them; none: there is none. By then GitHub
    /// had the commit.
    pub first_seen: Option<Timestamp>,
}

/// A workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubRun {
    /// Its id.
    pub id: u64,
    /// Which attempt, from 1. GitHub lists the reviews of all attempts together.
    pub attempt: u64,
    /// The commit that it runs on (`head_sha`).
    pub head: String,
    /// When this attempt began (`run_started_at`).
    pub started: Timestamp,
    /// Who caused it.
    pub actor: Option<GithubAccount>,
    /// Who started this attempt.
    pub triggering_actor: Option<GithubAccount>,
    /// Where a person finds it.
    pub url: String,
    /// The decisions about its deployments to environments, in GitHub's order.
    pub reviews: Vec<EnvironmentReview>,
}

/// A person's decision about a run that waits for an environment. GitHub does not say when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentReview {
    /// The names of the environments.
    pub environments: Vec<String>,
    /// `approved`, `rejected`, or a word that is not known here.
    pub state: String,
    /// Who; none: the account is gone.
    pub by: Option<GithubAccount>,
    /// What they wrote.
    pub comment: String,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// The last commit of its branch.
    pub head: String,
    /// The commit on the base branch, once it is merged.
    pub merged_as: Option<String>,
    /// Who opened it; none: the account is gone.
    pub author: Option<GithubAccount>,
    /// Who wrote its commits: a squash keeps of them what the person who merges leaves in its message.
    pub authors: Vec<Identity>,
    /// Its comments and reviews, oldest first. Comments on single lines are not among them.
    pub remarks: Vec<Remark>,
}

/// A comment or a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where a person finds it.
    pub url: String,
    /// Who; none: the account is gone.
    pub by: Option<GithubAccount>,
    /// The text, in Markdown.
    pub body: String,
    /// When it was submitted.
    pub made: Timestamp,
    /// It was changed after that, by anyone.
    pub edited: bool,
    /// It came as an answer to an e-mail, which holds what it answers to.
    pub by_email: bool,
    /// Set for a review.
    pub review: Option<Review>,
}

/// What makes a remark a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// The verdict.
    pub state: ReviewState,
    /// The commit that it is about; none: that commit is gone.
    pub commit: Option<String>,
}

/// The verdict of a review (GitHub GraphQL, `PullRequestReviewState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// Approved.
    Approved,
    /// Changes requested.
    ChangesRequested,
    /// A comment without a verdict.
    Commented,
    /// Taken back by somebody who may.
    Dismissed,
    /// Not submitted yet: only its author can see it.
    Pending,
}

/// An identity in Azure DevOps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureAccount {
    /// The subject descriptor, such as `aad.QUJD`.
    pub descriptor: String,
    /// The name to show, mostly an address.
    pub name: String,
}

impl AzureAccount {
    /// Whether it is a person: an account of Entra ID (`aad.`) or of Microsoft (`msa.`), not a group, a service principal or a build
    /// service (`aadgp.`, `vssgp.`, `aadsp.`, `svc.`; Azure DevOps REST API, "Graph", subject descriptors). Windows accounts of an Azure DevOps
    /// Server (`win.`) are not told from groups, so they are no persons here.
    #[must_use]
    pub fn is_human(&self) -> bool {
        ["aad.", "msa."]
            .iter()
            .any(|kind| self.descriptor.starts_with(kind))
    }
}

/// What Azure DevOps says about the stage that this runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureRun {
    /// The id of the build.
    pub build: u64,
    /// The stage's name in the YAML.
    pub stage: String,
    /// Which attempt of the stage, from 1.
    pub attempt: u64,
    /// The commit that the pipeline runs on (`sourceVersion`).
    pub commit: String,
    /// Whom it was requested for.
    pub requested_for: Option<AzureAccount>,
    /// Who requested it.
    pub requested_by: Option<AzureAccount>,
    /// Where a person finds it.
    pub url: String,
    /// The approvals that this attempt of the stage waited for.
    pub approvals: Vec<AzureApproval>,
}

/// An approval check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureApproval {
    /// Its id.
    pub id: String,
    /// The environments whose check it is; empty: it belongs to another kind of resource.
    pub environments: Vec<String>,
    /// Who was asked and what they said.
    pub steps: Vec<AzureStep>,
}

/// One approver's step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureStep {
    /// `approved`, `rejected`, `pending`, `skipped`, ... as the service writes it, in lower case.
    pub status: String,
    /// Who decided (`actualApprover`); none: nobody yet.
    pub by: Option<AzureAccount>,
    /// When.
    pub when: Option<Timestamp>,
    /// What they wrote.
    pub comment: String,
}
