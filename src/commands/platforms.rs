//! Asks GitHub and Azure DevOps what they know of approvals of this deploy, where the policy accepts them from there.

use super::Failure;
use super::subject::Subject;
use crate::authorize::Answer;
use crate::policy::Accept;

/// Why a build without network cannot tell.
#[cfg(not(feature = "remote"))]
const NO_NETWORK: &str = "this bundlegate was built without network access";

/// Whether the policy accepts approvals from a platform.
fn are_accepted(subject: &Subject) -> bool {
    accepted(subject).is_some_and(|a| a.github.is_some() || a.azure.is_some())
}

fn accepted(subject: &Subject) -> Option<&Accept> {
    subject.trusted.policy.approval.as_ref().map(|a| &a.accept)
}

/// Asks, where it is called from code that does not wait.
pub(super) fn ask_now(subject: &mut Subject, roles: Roles) -> Result<(), Failure> {
    if !are_accepted(subject) {
        return Ok(());
    }
    #[cfg(feature = "remote")]
    crate::remote::run::block_on(ask(subject, roles))?;
    #[cfg(not(feature = "remote"))]
    {
        let _ = roles;
        let (github, azure) =
            accepted(subject).map_or((false, false), |a| (a.github.is_some(), a.azure.is_some()));
        if github {
            subject.facts.platforms.github = Answer::Silent(NO_NETWORK.to_owned());
        }
        if azure {
            subject.facts.platforms.azure = Answer::Silent(NO_NETWORK.to_owned());
        }
    }
    Ok(())
}

/// For which roles the platform's word counts, since no flag says it.
#[cfg_attr(
    not(feature = "remote"),
    expect(dead_code, reason = "nobody is asked without network")
)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Roles {
    /// Who wrote the change.
    pub(super) author: bool,
    /// Who started the run.
    pub(super) actor: bool,
}

#[cfg(feature = "remote")]
pub(super) use asking::ask;

#[cfg(feature = "remote")]
mod asking {
    use std::collections::BTreeSet;

    use super::{Answer, Roles, Subject};
    use crate::approval::platform::{AzureRun, GithubAccount, GithubAnswers};
    use crate::approval::statement::SourceTree;
    use crate::approval::{Identity, Person};
    use crate::authorize::{Facts, ends_here, to_look_up};
    use crate::policy::{AcceptGithub, Approval, Separation};
    use crate::remote::azure::{Azure, AzureAccess};
    use crate::remote::environment::Environment;
    use crate::remote::github::{Github, GithubAccess};
    use crate::remote::http::HttpOptions;

    /// What GitHub said, and which accounts are in a team of the policy.
    struct GithubSays {
        answers: GithubAnswers,
        members: BTreeSet<u64>,
    }

    /// Why GitHub said nothing.
    enum GithubSilence {
        NotAsked(&'static str),
        Silent(String),
    }

    impl<E: std::error::Error> From<E> for GithubSilence {
        fn from(e: E) -> Self {
            Self::Silent(e.to_string())
        }
    }

    /// Asks every platform that the policy accepts. What cannot be had is part of the answer.
    pub(in crate::commands) async fn ask(subject: &mut Subject, roles: Roles) {
        let environment = Environment::of_process();
        let Some(approval) = subject.trusted.policy.approval.clone() else {
            return;
        };
        let azure = approval.accept.azure.is_some();
        if let Some(accept) = &approval.accept.github {
            let asked = ask_github(
                &approval,
                accept,
                &subject.facts,
                &subject.people,
                &environment,
            )
            .await;
            let platforms = &mut subject.facts.platforms;
            match asked {
                Ok(GithubSays { answers, members }) => {
                    platforms.github = Answer::Given(answers);
                    platforms.team_members = members;
                }
                Err(GithubSilence::NotAsked(why)) => platforms.github = Answer::NotAsked(why),
                Err(GithubSilence::Silent(why)) => platforms.github = Answer::Silent(why),
            }
        }
        if azure {
            subject.facts.platforms.azure = match ask_azure(&environment).await {
                Ok(Some(run)) => Answer::Given(run),
                Ok(None) => Answer::NotAsked(
                    "this is no run of Azure Pipelines, so nobody let it through to an environment",
                ),
                Err(why) => Answer::Silent(why),
            };
        }
        tell(&mut subject.facts, roles);
    }

    async fn ask_github(
        approval: &Approval,
        accept: &AcceptGithub,
        facts: &Facts,
        people: &[Person],
        environment: &Environment,
    ) -> Result<GithubSays, GithubSilence> {
        let in_actions = environment.get("GITHUB_ACTIONS").is_some();
        let commit = match &facts.source.tree {
            SourceTree::Git { commit, .. } => Some(commit.as_str()),
            SourceTree::Manifest { .. } => None,
        };
        let with_pulls = accept.reviewers.is_some() && commit.is_some();
        if !with_pulls && !in_actions {
            return Err(GithubSilence::NotAsked(match commit {
                None => {
                    "the bundle's folder is outside git, so no pull request is about it, and this is no run of GitHub Actions"
                }
                Some(_) => {
                    "this is no run of GitHub Actions, so nobody let it through to an environment"
                }
            }));
        }
        let access = GithubAccess::of(environment)?;
        let run = access.run_id();
        let github = Github::connect(access, HttpOptions::default()).await?;
        let mut answers = GithubAnswers::default();
        if in_actions {
            let id = run.ok_or_else(|| {
                GithubSilence::Silent("GITHUB_RUN_ID is not set; GitHub Actions sets it".to_owned())
            })?;
            // Who started it counts, also where its environments do not.
            answers.run = Some(github.run(id).await?);
        }
        let of_author = approval.separation.contains(&Separation::Author);
        if let Some(commit) = commit.filter(|_| with_pulls || of_author) {
            answers.pulls = github.pulls_of(commit).await?;
            if with_pulls {
                answers.first_seen = github.first_run_on(commit).await?;
            }
        }
        let mut members = BTreeSet::new();
        let teams = accept.reviewers.iter().flat_map(|r| &r.teams);
        let teams: Vec<(&str, &str)> = teams.filter_map(|team| team.split_once('/')).collect();
        let wanted = to_look_up(&answers, accept, people, facts, approval.matching);
        if !wanted.is_empty() {
            for (organisation, team) in &teams {
                github.must_see_team(organisation, team).await?;
            }
        }
        for (id, login) in wanted {
            for (organisation, team) in &teams {
                if github.is_member(organisation, team, &login).await? {
                    members.insert(id);
                    break;
                }
            }
        }
        Ok(GithubSays { answers, members })
    }

    async fn ask_azure(environment: &Environment) -> Result<Option<AzureRun>, String> {
        if environment.get("TF_BUILD").is_none() {
            return Ok(None);
        }
        let access = AzureAccess::of(environment).map_err(|e| e.to_string())?;
        let azure = Azure::connect(access, HttpOptions::default()).map_err(|e| e.to_string())?;
        azure.run().await.map(Some).map_err(|e| e.to_string())
    }

    /// Adds what the platforms say about who wrote the change and who started the run.
    fn tell(facts: &mut Facts, roles: Roles) {
        let (mut authors, mut actors) = (Vec::new(), Vec::new());
        if let Answer::Given(answers) = &facts.platforms.github {
            let of = |account: &GithubAccount| Identity::Github {
                login: account.login.clone(),
                id: Some(account.id),
            };
            let run = answers.run.iter();
            actors.extend(
                run.flat_map(|run| [&run.actor, &run.triggering_actor])
                    .flatten()
                    .map(of),
            );
            // A pull request that only contains the commit among others was opened for something else.
            let pulls = answers.pulls.iter();
            let pulls = pulls.filter(|pull| ends_here(pull, &facts.source));
            for pull in pulls {
                authors.extend(pull.author.as_ref().map(of));
                authors.extend(pull.authors.iter().cloned());
            }
        }
        if let Answer::Given(run) = &facts.platforms.azure {
            // The service that starts a run for somebody is nobody who could approve.
            let by = run.requested_by.as_ref().filter(|by| by.is_human());
            actors.extend(
                run.requested_for
                    .iter()
                    .chain(by)
                    .map(|account| Identity::Azure {
                        descriptor: account.descriptor.clone(),
                    }),
            );
        }
        // Where nobody could tell who wrote the commits, the opener of a pull request is not all of the answer.
        if roles.author && !facts.author.is_empty() {
            merge(&mut facts.author, authors);
        }
        if roles.actor {
            merge(&mut facts.actor, actors);
        }
    }

    /// Adds those that are not there yet; an account that is known by its login alone gets its id.
    fn merge(known: &mut Vec<Identity>, more: Vec<Identity>) {
        for identity in more {
            let same = known.iter_mut().find(|k| match (&**k, &identity) {
                (Identity::Github { login: a, id: None }, Identity::Github { login: b, .. }) => {
                    a.eq_ignore_ascii_case(b)
                }
                (a, b) => a == b,
            });
            match same {
                Some(same) => *same = identity,
                None => known.push(identity),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn github(login: &str, id: Option<u64>) -> Identity {
            Identity::Github {
                login: login.to_owned(),
                id,
            }
        }

        #[test]
        fn an_account_stands_once_with_its_id() {
            let mut known = vec![github("Rm-One", None), github("dev", Some(2))];
            merge(
                &mut known,
                vec![
                    github("rm-one", Some(1)),
                    github("dev", Some(2)),
                    github("dev", Some(3)),
                ],
            );
            let expected = [
                github("rm-one", Some(1)),
                github("dev", Some(2)),
                github("dev", Some(3)),
            ];
            assert_eq!(known, expected);
        }
    }
}
