use super::testing::{facts, refused};
use super::*;
use crate::approval::testing;
use crate::approval::{AllowedSigners, RevokedKeys};
use crate::policy::Match;

struct Trust {
    signers: AllowedSigners,
    revoked: RevokedKeys,
}

fn trust() -> Trust {
    let lines: Vec<_> = [
        (1, "rm1@example.com"),
        (2, "rm2@example.com"),
        (3, "rm1@example.com"),
    ]
    .map(|(seed, who)| format!("{who} {}", testing::public_line(&testing::key(seed))))
    .into();
    Trust {
        signers: testing::signers(&lines.join("\n")),
        revoked: RevokedKeys::default(),
    }
}

fn signed(seed: u8, change: impl FnOnce(&mut Predicate)) -> Envelope {
    let mut approval = testing::approval();
    change(&mut approval);
    let statement = Statement::new("plan.json", &Sha256Hex::of(b"plan"), approval).unwrap();
    let payload = statement.to_payload().unwrap();
    let signature = testing::sign(
        &testing::key(seed),
        &crate::approval::envelope::pae(&payload),
    );
    Envelope::new(payload, signature).unwrap()
}

fn terms_of(required: u64) -> Approval {
    Approval {
        required,
        separation: Vec::new(),
        ..Approval::default()
    }
}

fn run(facts: &Facts, approval: Option<&Approval>, envelopes: &[&Envelope]) -> Decision {
    let trust = trust();
    let terms = Terms {
        approval,
        people: &[],
        trust: Some(SshTrust {
            signers: &trust.signers,
            revoked: &trust.revoked,
        }),
    };
    let names: Vec<_> = (0..envelopes.len()).map(|i| format!("{i}.json")).collect();
    let given: Vec<_> = envelopes
        .iter()
        .zip(&names)
        .map(|(envelope, name)| Given {
            name,
            content: Ok(*envelope),
        })
        .collect();
    decide(facts, &terms, &given)
}

#[test]
fn one_good_approval_is_enough() {
    let good = signed(1, |_| ());
    let decision = run(&facts(), Some(&terms_of(1)), &[&good]);
    assert!(decision.is_authorized(), "{:?}", decision.checks);
    assert_eq!(decision.persons, ["rm1@example.com"]);
    let asked: Vec<_> = decision.checks.iter().map(|c| c.check).collect();
    for name in BINDING_CHECKS.iter().filter(|n| **n != "ci-run") {
        assert!(asked.contains(name), "{name} was not asked");
    }
}

#[test]
fn without_an_approval_it_is_missing_not_invalid() {
    let decision = run(&facts(), Some(&terms_of(1)), &[]);
    assert_eq!(decision.exit, Exit::Review);
    assert_eq!(refused(&decision), [("quorum", 3)]);
    let decision = run(&facts(), None, &[]);
    assert_eq!(refused(&decision), [("approval-way", 3)]);
    // A plan that asks for no review still ships code.
    let open = Facts {
        verdict: Verdict::Open,
        to_accept: Vec::new(),
        ..facts()
    };
    assert_eq!(run(&open, Some(&terms_of(1)), &[]).exit, Exit::Review);
}

#[test]
fn what_is_denied_is_denied_whoever_approved() {
    let good = signed(1, |_| ());
    let closed = Facts {
        verdict: Verdict::Closed,
        denied: vec!["destroy jobs.a".to_owned()],
        ..facts()
    };
    let decision = run(&closed, Some(&terms_of(1)), &[&good]);
    assert_eq!(decision.exit, Exit::Closed);
    assert_eq!(refused(&decision), [("judgement", 1)]);
    assert!(decision.persons.is_empty());
}

#[test]
fn people_are_counted() {
    let one = signed(1, |_| ());
    let same = signed(3, |_| ());
    let other = signed(2, |a| a.approver = "rm2@example.com".to_owned());
    let two = terms_of(2);
    assert_eq!(
        refused(&run(&facts(), Some(&two), &[&one])),
        [("quorum", 3)]
    );
    assert_eq!(
        refused(&run(&facts(), Some(&two), &[&one, &same])),
        [("distinct-people", 4)]
    );
    assert!(run(&facts(), Some(&two), &[&one, &other]).is_authorized());
    assert!(run(&facts(), Some(&two), &[&one, &same, &other]).is_authorized());
}

#[test]
fn a_rejection_wins_even_if_the_policy_changed_since() {
    let good = signed(1, |_| ());
    let no = signed(2, |a| {
        a.approver = "rm2@example.com".to_owned();
        a.decision = Word::Reject;
        a.policy.sha256 = Sha256Hex::of(b"another policy");
        a.time = testing::time("2026-01-01T00:00:00Z");
        a.expires = testing::time("2026-01-02T00:00:00Z");
    });
    let decision = run(&facts(), Some(&terms_of(1)), &[&good, &no]);
    assert_eq!(refused(&decision), [("rejection", 4)]);
    let about_another_plan = Facts {
        plan: Sha256Hex::of(b"another plan"),
        ..facts()
    };
    let decision = run(&about_another_plan, Some(&terms_of(1)), &[&no]);
    assert_eq!(refused(&decision), [("plan", 4)]);
}

#[test]
fn enough_good_approvals_make_a_stale_one_a_note() {
    let good = signed(1, |_| ());
    let stale = signed(2, |a| {
        a.approver = "rm2@example.com".to_owned();
        a.deployment.serial = Some(6);
    });
    let decision = run(&facts(), Some(&terms_of(1)), &[&stale, &good]);
    assert!(decision.is_authorized());
    let note = decision
        .checks
        .iter()
        .find(|c| c.result == CheckResult::NotCounted)
        .unwrap();
    assert_eq!(
        (note.check, note.approval.as_deref()),
        ("serial", Some("0.json"))
    );
    // A file that cannot be read could be a rejection: it closes the gate all the same.
    let trust = trust();
    let terms = terms_of(1);
    let garbled = Refusal::new("approval-readable", "an approval", "{}", "Remove it.");
    let decision = decide(
        &facts(),
        &Terms {
            approval: Some(&terms),
            people: &[],
            trust: Some(SshTrust {
                signers: &trust.signers,
                revoked: &trust.revoked,
            }),
        },
        &[
            Given {
                name: "good.json",
                content: Ok(&good),
            },
            Given {
                name: "x.json",
                content: Err(&garbled),
            },
        ],
    );
    assert_eq!(decision.exit, Exit::Input);
}

#[test]
fn each_binding_is_compared_and_named() {
    let good = signed(1, |_| ());
    type Change = fn(&mut Facts);
    let changes: [(&str, Change); 16] = [
        ("plan", |f| f.plan = Sha256Hex::of(b"x")),
        ("intent", |f| {
            f.intent = IntentDigest::new(&format!("bgi1:{}", Sha256Hex::of(b"x"))).unwrap();
        }),
        ("bundle", |f| f.deployment.bundle = "x".to_owned()),
        ("target", |f| f.deployment.target = "x".to_owned()),
        ("host", |f| f.deployment.host = "x".to_owned()),
        ("root-path", |f| f.deployment.root_path = "x".to_owned()),
        ("lineage", |f| f.deployment.lineage = Some("x".to_owned())),
        ("serial", |f| f.deployment.serial = Some(8)),
        ("cli-version", |f| f.cli_version = None),
        ("policy", |f| f.policy.sha256 = Sha256Hex::of(b"x")),
        ("source", |f| {
            f.source.tree = crate::approval::statement::SourceTree::Manifest {
                sha256: Sha256Hex::of(b"x"),
                files: 1,
            };
        }),
        ("input-bundle", |f| f.inputs.bundle = None),
        ("input-base-bundle", |f| {
            f.inputs.base_bundle = Some(Sha256Hex::of(b"x"))
        }),
        ("input-state", |f| {
            f.inputs.state = Some(Sha256Hex::of(b"x"))
        }),
        ("input-warnings", |f| {
            f.inputs.warnings = Some(Sha256Hex::of(b"x"))
        }),
        ("accepted", |f| {
            f.to_accept = vec![Sha256Hex::of(b"new finding")]
        }),
    ];
    for (name, change) in changes {
        let mut changed = facts();
        change(&mut changed);
        let decision = run(&changed, Some(&terms_of(1)), &[&good]);
        assert_eq!(refused(&decision), [(name, 4)]);
        // A line in a pull request names the plan by itself, and everything else by this digest.
        let differs = changed.bound().unwrap() != facts().bound().unwrap();
        assert_eq!(differs, name != "plan", "{name}");
    }
}

#[test]
fn by_intent_another_file_of_the_same_effects_will_do() {
    let good = signed(1, |_| ());
    let planned_again = Facts {
        plan: Sha256Hex::of(b"the same, planned again"),
        ..facts()
    };
    let by_intent = Approval {
        matching: Match::Intent,
        ..terms_of(1)
    };
    assert!(run(&planned_again, Some(&by_intent), &[&good]).is_authorized());
    assert_eq!(
        refused(&run(&planned_again, Some(&terms_of(1)), &[&good])),
        [("plan", 4)]
    );
}

#[test]
fn a_first_deploy_needs_proof() {
    let first = |proof| Facts {
        first_deploy_proof: proof,
        deployment: Deployment {
            lineage: None,
            serial: None,
            first_deploy: true,
            ..facts().deployment
        },
        ..facts()
    };
    let good = signed(1, |a| {
        a.deployment.lineage = None;
        a.deployment.serial = None;
        a.deployment.first_deploy = true;
    });
    let ask = |proof| run(&first(proof), Some(&terms_of(1)), &[&good]);
    assert_eq!(refused(&ask(None)), [("first-deploy-proof", 6)]);
    assert_eq!(
        refused(&ask(Some(FirstDeployProof::StateExists))),
        [("first-deploy-proof", 4)]
    );
    assert!(ask(Some(FirstDeployProof::NoState)).is_authorized());
}

#[test]
fn the_first_exit_code_of_the_order_wins() {
    let check = |code| Check::refused(Refusal::new("x", "", "", ""), code);
    let all = [
        Exit::Review,
        Exit::Invalid,
        Exit::Closed,
        Exit::Unreachable,
        Exit::Input,
    ]
    .map(check);
    assert_eq!(exit(&all), Exit::Input);
    assert_eq!(exit(&all[..4]), Exit::Unreachable);
    assert_eq!(exit(&all[..3]), Exit::Closed);
    assert_eq!(exit(&all[..2]), Exit::Invalid);
    assert_eq!(exit(&all[..1]), Exit::Review);
    assert_eq!(exit(&[]), Exit::Open);
}

#[test]
fn a_clock_that_is_wrong_opens_nothing() {
    let good = signed(1, |_| ());
    let by_the_clock = |now: &str| Facts {
        now: testing::time(now),
        ..facts()
    };
    for (now, check) in [
        ("1970-01-01T00:00:00Z", "from-the-future"),
        ("2026-11-30T09:57:59Z", "from-the-future"),
        ("2026-12-01T10:00:00Z", "expired"),
        ("9999-12-30T22:00:00Z", "expired"),
    ] {
        let decision = run(&by_the_clock(now), Some(&terms_of(1)), &[&good]);
        assert_eq!(refused(&decision), [(check, 4)], "{now}");
    }
    // An approval made by a clock at 1970 has ended long ago.
    let of_1970 = signed(1, |a| {
        a.time = testing::time("1970-01-01T00:00:00Z");
        a.expires = testing::time("1970-01-02T00:00:00Z");
    });
    assert_eq!(
        refused(&run(&facts(), Some(&terms_of(1)), &[&of_1970])),
        [("expired", 4)]
    );
}
