//! Asks GitHub and Azure DevOps what they know of approvals of this deploy, where the policy accepts them from there.

use super::Failure;
use super::subject::Subject;
use crate::authorize::Answer;
use crate::policy::Accept;

/// Why a build without network cannot tell.
#[cfg(not(feature = "remote"))]
const NO_NETWORK: &str = "this bundlegate was built without network access";

/// Whether the policy accepts approvals from a platform.
pub(super) fn are_accepted(subject: &Subject) -> bool {
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

    use super::{Answer, Roles, Subject, accepted};
    use crate::approval::platform::{AzureRun, GithubAccount, GithubAnswers, PullRequest};
    use crate::approval::statement::SourceTree;
    use crate::approval::{Identity, Person};
    use crate::authorize::{Facts, to_look_up};
    use crate::policy::AcceptGithub;
    use crate::remote::azure::{Azure, AzureAccess};
    use crate::remote::environment::Environment;
    use crate::remote::github::{Github, GithubAccess};
    use crate::remote::http::HttpOptions;

    /// Asks every platform that the policy accepts. What cannot be had is part of the answer.
    pub(in crate::commands) async fn ask(subject: &mut Subject, roles: Roles) {
        let environment = Environment::of_process();
        let Some(accept) = accepted(subject) else {
            return;
        };
        let (github, azure) = (accept.github.clone(), accept.azure.is_some());
        if let Some(accept) = github {
            let asked = ask_github(&accept, &subject.facts, &subject.people, &environment).await;
            let platforms = &mut subject.facts.platforms;
            (platforms.github, platforms.team_members) = match asked {
                Ok(Some((answers, members))) => (Answer::Given(answers), members),
                Ok(None) => (
                    Answer::NotAsked(
                        "this is no run of GitHub Actions, so nobody let it through to an environment",
                    ),
                    BTreeSet::new(),
                ),
                Err(why) => (Answer::Silent(why), BTreeSet::new()),
            };
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
        accept: &AcceptGithub,
        facts: &Facts,
        people: &[Person],
        environment: &Environment,
    ) -> Result<Option<(GithubAnswers, BTreeSet<u64>)>, String> {
        let in_actions = environment.get("GITHUB_ACTIONS").is_some();
        if accept.reviewers.is_none() && !in_actions {
            return Ok(None);
        }
        let access = GithubAccess::of(environment).map_err(|e| e.to_string())?;
        let run = access.run_id();
        let github = Github::connect(access, HttpOptions::default())
            .await
            .map_err(|e| e.to_string())?;
        let mut answers = GithubAnswers::default();
        if accept.environment.is_some() && in_actions {
            let id = run.ok_or("GITHUB_RUN_ID is not set; GitHub Actions sets it")?;
            answers.run = Some(github.run(id).await.map_err(|e| e.to_string())?);
        }
        if let (Some(_), SourceTree::Git { commit, .. }) = (&accept.reviewers, &facts.source.tree) {
            answers.pulls = github
                .pulls_of(commit.as_str())
                .await
                .map_err(|e| e.to_string())?;
        }
        let mut members = BTreeSet::new();
        let teams = accept.reviewers.iter().flat_map(|r| &r.teams);
        let teams: Vec<(&str, &str)> = teams.filter_map(|team| team.split_once('/')).collect();
        for (id, login) in to_look_up(&answers, accept, people) {
            for (organisation, team) in &teams {
                let is_member = github.is_member(organisation, team, &login).await;
                if is_member.map_err(|e| e.to_string())? {
                    members.insert(id);
                    break;
                }
            }
        }
        Ok(Some((answers, members)))
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
            let ends_here = |pull: &&PullRequest| match &facts.source.tree {
                SourceTree::Git { commit, .. } => {
                    let is = |other: &str| other.eq_ignore_ascii_case(commit.as_str());
                    is(&pull.head) || pull.merged_as.as_deref().is_some_and(is)
                }
                SourceTree::Manifest { .. } => false,
            };
            let pulls = answers.pulls.iter().filter(ends_here);
            authors.extend(pulls.filter_map(|pull| pull.author.as_ref().map(of)));
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
        if roles.author {
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
