use super::*;
use crate::approval::testing::time as at;
use proptest::prelude::*;

const NOW: &str = "2026-11-30T12:00:00Z";

fn ssh(principal: &str, key: &str) -> Identity {
    Identity::Ssh {
        principal: principal.to_owned(),
        key: key.to_owned(),
    }
}

fn github(login: &str, id: u64) -> Identity {
    Identity::Github {
        login: login.to_owned(),
        id: Some(id),
    }
}

fn git(address: &str) -> Identity {
    Identity::Git {
        address: address.to_owned(),
    }
}

fn decided(label: &str, by: Identity) -> Decided {
    Decided {
        label: label.to_owned(),
        by,
        decision: Decision::Approve,
        time: at("2026-11-30T10:00:00Z"),
        expires: at("2026-12-01T10:00:00Z"),
    }
}

fn people() -> Vec<Person> {
    let person = |name: &str, n: u64| Person {
        name: name.to_owned(),
        ssh: vec![format!("{name}@x"), format!("{name}@laptop")],
        github: Some(GithubAccount {
            login: name.to_owned(),
            id: Some(n),
        }),
        azure: None,
        git: vec![format!("{name}@x")],
    };
    vec![person("ann", 1), person("bob", 2), person("cyd", 3)]
}

fn quorum(people: &[Person], required: u32) -> Quorum<'_> {
    Quorum {
        required,
        expires_after: Some(SignedDuration::from_hours(24)),
        people,
        author: Role::Any,
        actor: Role::Any,
    }
}

fn judge(quorum: &Quorum<'_>, decisions: &[Decided]) -> String {
    let outcome = quorum.judge(decisions, at(NOW));
    let mut text = format!("{:?} {:?}", outcome.state, outcome.persons);
    for judged in outcome.decisions {
        let standing = match judged.standing {
            Standing::Counts { person } => format!("counts for {person}"),
            Standing::CountedAlready { person, with } => {
                format!("{person} is counted with {with}")
            }
            Standing::Rejects { person } => format!("{person} rejects"),
            Standing::Refused(refusal) => refusal.to_string(),
        };
        text.push_str(&format!("\n{}: {standing}", judged.label));
    }
    text
}

#[test]
fn people_count_not_keys_or_accounts() {
    let people = people();
    let quorum = quorum(&people, 2);
    insta::assert_snapshot!(judge(&quorum, &[
        decided("1", ssh("ann@x", "k1")),
        decided("2", ssh("ann@laptop", "k2")),
        decided("3", github("ann-renamed", 1)),
    ]), @r#"
    Missing ["ann"]
    1: counts for ann
    2: ann is counted with 1
    3: ann is counted with 1
    "#);
    insta::assert_snapshot!(judge(&quorum, &[
        decided("1", ssh("ann@x", "k1")),
        decided("2", github("bob", 2)),
    ]), @r#"
    Satisfied ["ann", "bob"]
    1: counts for ann
    2: counts for bob
    "#);
    // One key that claims to be two people is one person.
    insta::assert_snapshot!(judge(&quorum, &[
        decided("1", ssh("ann@x", "k1")),
        decided("2", ssh("bob@x", "k1")),
    ]), @r#"
    Missing ["ann"]
    1: counts for ann
    2: bob is counted with 1
    "#);
}

#[test]
fn nobody_counts_twice_across_platforms() {
    insta::assert_snapshot!(judge(&quorum(&[], 2), &[
        decided("1", ssh("ann@x", "k1")),
        decided("2", github("ann", 1)),
    ]), @"
    Missing []
    1: approver: expected an approver whom the policy knows, since approvals come from several platforms, found ann@x, who is not in `people:`. Add them to the policy's `people:`, so that nobody counts twice.
    2: approver: expected an approver whom the policy knows, since approvals come from several platforms, found ann, who is not in `people:`. Add them to the policy's `people:`, so that nobody counts twice.
    ");
    insta::assert_snapshot!(judge(&quorum(&[], 2), &[
        decided("1", ssh("ann@x", "k1")),
        decided("2", ssh("bob@x", "k2")),
    ]), @r#"
    Satisfied ["ann@x", "bob@x"]
    1: counts for ann@x
    2: counts for bob@x
    "#);
}

#[test]
fn a_rejection_wins_whenever_it_was_made() {
    let people = people();
    let quorum = quorum(&people, 1);
    for moment in [
        "2020-01-01T00:00:00Z",
        "2026-11-30T10:00:00Z",
        "2030-01-01T00:00:00Z",
    ] {
        let mut no = decided("9", ssh("ann@x", "k1"));
        no.decision = Decision::Reject;
        no.time = at(moment);
        let outcome = quorum.judge(&[decided("1", ssh("ann@x", "k1")), no], at(NOW));
        assert_eq!(outcome.state, State::Rejected, "{moment}");
    }
}

#[test]
fn times() {
    let people = people();
    let judge_at = |time: &str, expires: &str| {
        let mut yes = decided("1", ssh("ann@x", "k1"));
        yes.time = at(time);
        yes.expires = at(expires);
        judge(&quorum(&people, 1), &[yes])
    };
    insta::assert_snapshot!(judge_at("2026-11-30T12:02:00Z", "2026-12-01T00:00:00Z"), @r#"
    Satisfied ["ann"]
    1: counts for ann
    "#);
    insta::assert_snapshot!(judge_at("2026-11-30T12:02:01Z", "2026-12-01T00:00:00Z"), @"
    Missing []
    1: from-the-future: expected an approval made before now, 2026-11-30T12:00:00Z, found one made at 2026-11-30T12:02:01Z. Check the clocks of this machine and of the approver's, then approve again.
    ");
    insta::assert_snapshot!(judge_at("2026-11-30T11:00:00Z", "2026-11-30T12:00:00Z"), @"
    Missing []
    1: expired: expected an approval that is valid at 2026-11-30T12:00:00Z, found one that ended at 2026-11-30T12:00:00Z. Approve again; what was said to a run counts from the run's start, so start a new one.
    ");
    // The policy's cap holds, whatever the approval says.
    insta::assert_snapshot!(judge_at("2026-11-29T12:00:00Z", "2027-11-30T12:00:00Z"), @"
    Missing []
    1: expired: expected an approval that is valid at 2026-11-30T12:00:00Z, found one that ended at 2026-11-30T12:00:00Z. Approve again; what was said to a run counts from the run's start, so start a new one.
    ");
}

#[test]
fn separation() {
    let people = people();
    let with = |author: Role, actor: Role| Quorum {
        author,
        actor,
        ..quorum(&people, 1)
    };
    let author = |identities: Vec<Identity>| with(Role::SeparateFrom(identities), Role::Any);
    let ann = || [decided("1", ssh("ann@laptop", "k1"))];
    insta::assert_snapshot!(judge(&author(vec![git("ANN@x")]), &ann()), @r#"
    Missing []
    1: separation: expected an approver who is not the author of this change, found "ann" (ann@laptop), who is the author ANN@x. Let somebody else approve.
    "#);
    insta::assert_snapshot!(judge(&with(Role::Any, Role::SeparateFrom(vec![github("x", 1)])), &ann()), @r#"
    Missing []
    1: separation: expected an approver who is not the actor of this change, found "ann" (ann@laptop), who is the actor x. Let somebody else approve.
    "#);
    insta::assert_snapshot!(judge(&author(vec![git("dev@x"), github("dev", 77)]), &ann()), @r#"
    Satisfied ["ann"]
    1: counts for ann
    "#);
    insta::assert_snapshot!(judge(&author(vec![]), &ann()), @"
    Missing []
    1: separation: expected an approver who is not the author of this change, found an author who could not be determined. Say who the author is, or take `author` out of the policy's `separation`.
    ");
    insta::assert_snapshot!(judge(&author(vec![Identity::Azure { descriptor: "aad.x".to_owned() }]), &ann()), @r#"
    Missing []
    1: separation: expected an approver who is not the author of this change, found "ann", whose azure account the policy does not name; the author is aad.x. Add `azure:` to their entry in the policy's `people:`.
    "#);
    insta::assert_snapshot!(judge(&author(vec![git("dev@x")]), &[decided("1", ssh("unknown@x", "k"))]), @"
    Missing []
    1: separation: expected an approver who is not the author of this change, found unknown@x, whom the policy cannot tell from the author. Add them to the policy's `people:`.
    ");
}

#[test]
fn a_git_address_never_approves_and_two_persons_are_no_answer() {
    let mut people = people();
    people[1].ssh = people[0].ssh.clone();
    insta::assert_snapshot!(judge(&quorum(&people, 1), &[
        decided("1", git("ann@x")),
        decided("2", ssh("ann@x", "k1")),
    ]), @r#"
    Missing []
    1: approver: expected an approver who proved who they are, found a git address, which anyone can write. Approve with an SSH key or on the CI platform.
    2: approver: expected an approver who is one person of the policy, found ann@x, who is both "ann" and "bob". Give each account to one person in the policy's `people:`.
    "#);
}

#[test]
fn an_author_is_known_by_the_address_that_github_hides() {
    let person = Person {
        name: "rm one".to_owned(),
        github: Some(GithubAccount {
            login: "rm-one".to_owned(),
            id: Some(1001),
        }),
        git: vec!["rm1@example.com".to_owned()],
        ..Person::default()
    };
    for (address, is) in [
        ("1001+rm-one@users.noreply.github.com", true),
        ("1001+renamed@Users.noreply.GitHub.com", true),
        ("rm-one@users.noreply.github.com", true),
        ("1001+rm-one@users.noreply.ghe.example.com", true),
        ("1002+rm-one@users.noreply.github.com", false),
        ("dev@users.noreply.github.com", false),
        ("x+rm-one@users.noreply.github.com", false),
        ("rm1@example.com", true),
    ] {
        let address = Identity::Git {
            address: address.to_owned(),
        };
        assert_eq!(person.is(&address), Some(is), "{address:?}");
    }
}

proptest! {
    #[test]
    fn order_makes_no_difference_and_nobody_is_counted_twice(
        picks in proptest::collection::vec((0_usize..3, 0_u8..4, any::<bool>()), 0..8),
        required in 0_u32..4,
    ) {
        let people = people();
        let decisions: Vec<_> = picks
            .iter()
            .enumerate()
            .map(|(i, (person, key, laptop))| {
                let name = people[*person].ssh[usize::from(*laptop)].clone();
                decided(&i.to_string(), ssh(&name, &key.to_string()))
            })
            .collect();
        let mut reversed = decisions.clone();
        reversed.reverse();
        let quorum = quorum(&people, required);
        let outcome = quorum.judge(&decisions, at(NOW));
        prop_assert_eq!(&outcome, &quorum.judge(&reversed, at(NOW)));
        let distinct: BTreeSet<_> = picks.iter().map(|p| p.0).collect();
        let keys: BTreeSet<_> = picks.iter().map(|p| p.1).collect();
        prop_assert!(outcome.persons.len() <= distinct.len().min(keys.len()));
        prop_assert_eq!(outcome.persons.is_empty(), picks.is_empty());
        prop_assert_eq!(outcome.decisions.len(), decisions.len());
        prop_assert_eq!(
            outcome.state == State::Satisfied,
            outcome.persons.len() >= required as usize
        );
    }
}
