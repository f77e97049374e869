//! The tampering table: each row a small change to a good set, the one check that must see it, and the exit code.
//!
//! `cargo test -- --nocapture tampering` prints it.

use std::fs;
use std::process::Command;
use std::sync::Mutex;

use bundlegate::approval::envelope::pae;
use bundlegate::approval::statement::{CiRun, Decision, SourceTree};
use bundlegate::approval::{IntentDigest, Sha256Hex};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::gate::{self, Set, envelope, refused, signature};

const RM1: &str = "rm1@example.com";
const RM2: &str = "rm2@example.com";
const BOUND: &str = "bundlegate-approval@v1";

struct Row {
    what: &'static str,
    /// The check that says no; for exit 2 without a report, words of the message.
    check: &'static str,
    exit: i32,
    change: fn(&mut Set),
}

const fn row(what: &'static str, check: &'static str, exit: i32, change: fn(&mut Set)) -> Row {
    Row {
        what,
        check,
        exit,
        change,
    }
}

fn digest() -> Sha256Hex {
    Sha256Hex::of(b"something else")
}

/// `policy`: `from` replaced by `to` on the trusted branch.
fn policy(set: &Set, from: &str, to: &str) {
    set.on_main(|set| set.replace("repo/bundlegate.yml", from, to));
}

fn signers(set: &Set, text: &str) {
    set.on_main(|set| set.write("repo/.bundlegate/allowed_signers", text));
}

fn signers_with(set: &Set, from: &str, to: &str) {
    set.on_main(|set| set.replace("repo/.bundlegate/allowed_signers", from, to));
}

fn revoke(set: &Set, text: &str) {
    set.on_main(|set| set.write("repo/.bundlegate/revoked", text));
}

fn change_json(set: &Set, name: &str, change: impl FnOnce(&mut Value)) {
    let mut value = set.json(name);
    change(&mut value);
    set.write(name, &value.to_string());
}

/// Changes the envelope of rm1 as JSON.
fn change_envelope(set: &Set, change: impl FnOnce(&mut Value)) {
    change_json(set, &set.approval(RM1), change);
}

/// Changes the text of rm1's payload and signs it as rm1.
fn change_payload(set: &Set, from: &str, to: &str) {
    let payload = String::from_utf8(set.said(RM1).to_payload().unwrap()).unwrap();
    assert!(payload.contains(from), "{from}");
    let payload = payload.replacen(from, to, 1).into_bytes();
    let signature = signature(1, BOUND, &pae(&payload));
    set.write(&set.approval(RM1), &envelope(&payload, &signature));
}

fn replace_arg(set: &mut Set, from: &str, to: &str) {
    for arg in &mut set.args {
        if arg == from {
            *arg = to.to_owned();
        }
    }
}

fn drop_option(set: &mut Set, name: &str) {
    let at = set.args.iter().position(|a| a == name).unwrap();
    set.args.drain(at..at + 2);
}

fn option(set: &mut Set, name: &str, value: &str) {
    set.args.extend([name.to_owned(), value.to_owned()]);
}

fn run(repository: &str, run_id: &str, attempt: u32) -> CiRun {
    CiRun {
        provider: "github".to_owned(),
        repository: repository.to_owned(),
        run_id: run_id.to_owned(),
        attempt,
        url: "https://example.test".to_owned(),
    }
}

fn hours(n: i64) -> SignedDuration {
    SignedDuration::from_hours(n)
}

/// A certificate for rm1's key by a new authority, and rm1's approval signed with it. Returns the authority's public key.
fn with_certificate(set: &Set, validity: &str) -> String {
    let keygen = |args: &[&str]| {
        let output = Command::new("ssh-keygen")
            .args(args)
            .current_dir(set.path("keys"))
            .env_remove("SSH_AUTH_SOCK")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    keygen(&["-q", "-t", "ed25519", "-N", "", "-f", "ca"]);
    fs::write(set.path("keys/1.pub"), gate::public(1)).unwrap();
    keygen(&[
        "-q", "-s", "ca", "-I", "rm1", "-n", RM1, "-V", validity, "1.pub",
    ]);
    let payload = set.said(RM1).to_payload().unwrap();
    fs::write(set.path("keys/message"), pae(&payload)).unwrap();
    keygen(&[
        "-q",
        "-Y",
        "sign",
        "-n",
        BOUND,
        "-f",
        "1-cert.pub",
        "message",
    ]);
    let pem = set.read("keys/message.sig");
    set.write(
        &set.approval(RM1),
        &envelope(&payload, &gate::from_pem(&pem)),
    );
    set.read("keys/ca.pub").trim().to_owned()
}

const ROWS: &[Row] = &[
    // The plan
    row("plan: one byte of what is there now", "plan", 4, |s| {
        s.replace(
            "repo/plan.json",
            "\"created_time\": 1",
            "\"created_time\": 2",
        );
    }),
    row("plan: a line break at its end", "plan", 4, |s| {
        s.write("repo/plan.json", &format!("{}\n", s.read("repo/plan.json")));
    }),
    row("plan: written again by another program", "plan", 4, |s| {
        change_json(s, "repo/plan.json", |_| ());
    }),
    row("plan: another CLI version", "plan", 4, |s| {
        s.replace("repo/plan.json", "\"1.13.0\"", "\"1.13.1\"");
    }),
    row(
        "plan: another effect, in the bundle JSON too",
        "plan",
        4,
        |s| {
            for name in ["repo/plan.json", "repo/bundle.json"] {
                let text = s.read(name);
                assert!(text.contains("CAN_MANAGE"), "{name}");
                s.write(name, &text.replace("CAN_MANAGE", "CAN_MANAGE_RUN"));
            }
        },
    ),
    row(
        "plan: another effect in new_state alone",
        "judgement",
        1,
        |s| {
            change_json(s, "repo/plan.json", |p| {
                p["plan"]["resources.jobs.report.permissions"]["new_state"]["value"]["__embed__"]
                    [0]["level"] = json!("CAN_MANAGE_RUN");
            });
        },
    ),
    row("plan: the lineage removed", "judgement", 1, |s| {
        change_json(s, "repo/plan.json", |p| {
            p.as_object_mut().unwrap().remove("lineage");
        });
    }),
    row("plan: another serial", "judgement", 1, |s| {
        change_json(s, "repo/plan.json", |p| p["serial"] = json!(7));
    }),
    row("plan: a skip made a delete", "judgement", 1, |s| {
        change_json(s, "repo/plan.json", |p| {
            p["plan"]["resources.volumes.raw"]["action"] = json!("delete");
        });
    }),
    row("plan: the same key twice", "a second time", 2, |s| {
        s.replace(
            "repo/plan.json",
            "\"serial\": 1,",
            "\"serial\": 1, \"serial\": 1,",
        );
    }),
    row("plan: not there", "plan.json", 2, |s| {
        fs::remove_file(s.path("repo/plan.json")).unwrap();
    }),
    // Where it goes
    row("another target on the command line", "judgement", 1, |s| {
        option(s, "-t", "staging")
    }),
    row("another target in the environment", "judgement", 1, |s| {
        s.env
            .push(("DATABRICKS_BUNDLE_TARGET".to_owned(), "staging".to_owned()));
    }),
    row("bundle JSON: another target", "target", 4, |s| {
        change_json(s, "repo/bundle.json", |b| {
            b["bundle"]["target"] = json!("staging")
        });
    }),
    row("bundle JSON: another host", "host", 4, |s| {
        change_json(s, "repo/bundle.json", |b| {
            b["workspace"]["host"] = json!("https://adb-2.2.azuredatabricks.net");
        });
    }),
    row("bundle JSON: another root path", "judgement", 1, |s| {
        change_json(s, "repo/bundle.json", |b| {
            b["workspace"]["root_path"] = json!("/Workspace/Shared/elsewhere");
        });
    }),
    row("bundle JSON: another bundle", "bundle", 4, |s| {
        change_json(s, "repo/bundle.json", |b| {
            b["bundle"]["name"] = json!("billing")
        });
    }),
    row("bundle JSON: white space", "input-bundle", 4, |s| {
        s.write(
            "repo/bundle.json",
            &format!("{} ", s.read("repo/bundle.json")),
        );
    }),
    row("bundle JSON: without a target", "bundle.target", 2, |s| {
        change_json(s, "repo/bundle.json", |b| {
            b["bundle"].as_object_mut().unwrap().remove("target");
        });
    }),
    row(
        "bundle JSON: not given",
        "expected the bundle JSON",
        2,
        |s| drop_option(s, "--bundle"),
    ),
    row("an approval of another target", "target", 4, |s| {
        s.resign(RM1, 1, |a| a.deployment.target = "staging".to_owned());
    }),
    row("an approval of another host", "host", 4, |s| {
        s.resign(RM1, 1, |a| {
            a.deployment.host = "https://other.test".to_owned()
        });
    }),
    row("an approval of another bundle", "bundle", 4, |s| {
        s.resign(RM1, 1, |a| a.deployment.bundle = "billing".to_owned());
    }),
    row("an approval of another root path", "root-path", 4, |s| {
        s.resign(RM1, 1, |a| {
            a.deployment.root_path = "/Workspace/x".to_owned()
        });
    }),
    row("an approval of another lineage", "lineage", 4, |s| {
        s.resign(RM1, 1, |a| {
            a.deployment.lineage = Some("another".to_owned())
        });
    }),
    row("an approval of an earlier serial", "serial", 4, |s| {
        s.resign(RM1, 1, |a| a.deployment.serial = Some(0));
    }),
    row("an approval of a first deploy", "lineage", 4, |s| {
        s.resign(RM1, 1, |a| {
            a.deployment.lineage = None;
            a.deployment.serial = None;
            a.deployment.first_deploy = true;
        });
    }),
    row("an approval with another CLI", "cli-version", 4, |s| {
        s.resign(RM1, 1, |a| a.cli_version = Some("1.12.0".to_owned()));
    }),
    row("an approval of another intent", "intent", 4, |s| {
        s.resign(RM1, 1, |a| {
            a.intent = IntentDigest::new(&format!("bgi1:{}", digest())).unwrap();
        });
    }),
    // Other inputs
    row(
        "state: after another deploy (a replay)",
        "judgement",
        1,
        |s| {
            change_json(s, "repo/state.json", |v| v["serial"] = json!(2));
        },
    ),
    row("state: white space", "input-state", 4, |s| {
        s.write(
            "repo/state.json",
            &format!("{} ", s.read("repo/state.json")),
        );
    }),
    row("state: left out", "input-state", 4, |s| {
        drop_option(s, "--state");
        fs::remove_file(s.path("repo/state.json")).unwrap();
    }),
    row(
        "warnings: given, and nobody saw them",
        "input-warnings",
        4,
        |s| {
            s.write("warnings.txt", "");
            option(s, "--warnings", "../warnings.txt");
        },
    ),
    row(
        "base bundle: given, and nobody saw it",
        "input-base-bundle",
        4,
        |s| {
            fs::copy(s.path("repo/bundle.json"), s.path("base.json")).unwrap();
            option(s, "--base-bundle", "../base.json");
        },
    ),
    // The policy
    row(
        "policy: tightened, so that it denies",
        "judgement",
        1,
        |s| {
            policy(
                s,
                "extends: production",
                "extends: production\nrules: {permission-broadened: deny}",
            );
        },
    ),
    row("policy: loosened on the trusted branch", "policy", 4, |s| {
        policy(s, "required: 2", "required: 1")
    }),
    row("policy: approvals live longer", "policy", 4, |s| {
        policy(s, "24h", "48h")
    }),
    row("policy: no separation", "policy", 4, |s| {
        policy(s, "[author, actor]", "[]")
    }),
    row("policy: by the branch under review", "source", 4, |s| {
        s.replace("repo/bundlegate.yml", "required: 2", "required: 1");
        s.commit("one is enough");
    }),
    row("policy: by the working tree", "source", 4, |s| {
        s.replace("repo/bundlegate.yml", "required: 2", "required: 1");
    }),
    row(
        "policy: by the branch, and one honest approval of it",
        "quorum",
        3,
        |s| {
            s.replace("repo/bundlegate.yml", "required: 2", "required: 1");
            s.commit("one is enough");
            fs::remove_file(s.path(&s.approval(RM2))).unwrap();
            assert_eq!(s.decide("approve", 1).code, 0);
        },
    ),
    row(
        "policy: a link on the trusted branch",
        "not a regular file",
        2,
        |s| {
            s.on_main(|s| {
                fs::remove_file(s.path("repo/bundlegate.yml")).unwrap();
                std::os::unix::fs::symlink("src/etl.py", s.path("repo/bundlegate.yml")).unwrap();
            });
        },
    ),
    row(
        "policy: unreadable on the trusted branch",
        "reqired",
        2,
        |s| policy(s, "required: 2", "reqired: 2"),
    ),
    row(
        "policy: taken away, no way to approve is left",
        "approval-way",
        3,
        |s| {
            s.on_main(|s| fs::remove_file(s.path("repo/bundlegate.yml")).unwrap());
        },
    ),
    row("policy: accepts one way more", "policy", 4, |s| {
        policy(
            s,
            "  accept:",
            "  accept:\n    github: {environment: production}",
        );
    }),
    row("policy: an approval under another one", "policy", 4, |s| {
        s.resign(RM1, 1, |a| a.policy.sha256 = digest());
    }),
    row("a tag of the trusted branch's name", "ambiguous", 2, |s| {
        s.git(&["tag", "main"]);
    }),
    row("the trusted ref left out, in CI", "--trusted-ref", 2, |s| {
        drop_option(s, "--trusted-ref");
        s.env.push(("CI".to_owned(), "true".to_owned()));
    }),
    row("--level", "--level", 2, |s| {
        option(s, "--level", "permission-broadened=off")
    }),
    row("--now", "--now", 2, |s| {
        option(s, "--now", "2026-01-01T00:00:00Z")
    }),
    // The source
    row("source: a new commit", "source", 4, |s| {
        s.write("repo/src/etl.py", "print(3)\n");
        s.commit("one more");
    }),
    row("source: an empty commit", "source", 4, |s| {
        s.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    }),
    row("source: a changed file", "source", 4, |s| {
        s.write("repo/src/etl.py", "print(3)\n")
    }),
    row(
        "source: a changed file that git was told not to look at",
        "source",
        4,
        |s| {
            s.git(&["update-index", "--assume-unchanged", "src/etl.py"]);
            s.write("repo/src/etl.py", "print(3)\n");
        },
    ),
    row("source: a new file", "source", 4, |s| {
        s.write("repo/src/new.py", "print(3)\n")
    }),
    row("source: a file less", "source", 4, |s| {
        fs::remove_file(s.path("repo/src/etl.py")).unwrap()
    }),
    row("source: an ignored file that ships", "source", 4, |s| {
        s.write("repo/conf/more.env", "x")
    }),
    row(
        "source: another content of an ignored file that ships",
        "source",
        4,
        |s| {
            s.write("repo/conf/prod.env", "x");
        },
    ),
    row(
        "source: a new file beside the approvals",
        "source",
        4,
        |s| s.write("repo/approvals/run.py", "x"),
    ),
    row("source: an approval of another commit", "source", 4, |s| {
        s.resign(RM1, 1, |a| {
            if let SourceTree::Git { commit, tree, .. } = &mut a.source.tree {
                std::mem::swap(commit, tree);
            }
        });
    }),
    row("wheel: another content", "artifacts", 4, |s| {
        s.write("repo/dist/orders-0.1.0-py3-none-any.whl", "another wheel");
    }),
    row("wheel: not there", "artifacts", 4, |s| {
        fs::remove_file(s.path("repo/dist/orders-0.1.0-py3-none-any.whl")).unwrap();
    }),
    row("wheel: one more", "artifacts", 4, |s| {
        s.write("repo/dist/more-0.1.0-py3-none-any.whl", "x")
    }),
    row("wheel: a link", "is a link", 2, |s| {
        let wheel = s.path("repo/dist/orders-0.1.0-py3-none-any.whl");
        fs::rename(&wheel, s.path("wheel")).unwrap();
        std::os::unix::fs::symlink(s.path("wheel"), wheel).unwrap();
    }),
    // The approval file
    row("approval: the reason edited", "signature", 4, |s| {
        let mut statement = s.said(RM1);
        statement.predicate.reason = Some("something else".to_owned());
        let payload = statement.to_payload().unwrap();
        change_envelope(s, |e| e["payload"] = json!(gate::base64(&payload)));
    }),
    row(
        "approval: a rejection made an approval",
        "signature",
        4,
        |s| {
            let mut statement = s.said(RM1);
            statement.predicate.decision = Decision::Reject;
            let no = statement.to_payload().unwrap();
            let signature = signature(3, BOUND, &pae(&no));
            statement.predicate.decision = Decision::Approve;
            let yes = statement.to_payload().unwrap();
            s.write("repo/approvals/x.json", &envelope(&yes, &signature));
        },
    ),
    row(
        "approval: the signature of another file",
        "signature",
        4,
        |s| {
            let payload = s.said(RM1).to_payload().unwrap();
            let other = signature(1, BOUND, b"another file");
            s.write(&s.approval(RM1), &envelope(&payload, &other));
        },
    ),
    row(
        "approval: signed for another purpose",
        "namespace",
        4,
        |s| {
            let payload = s.said(RM1).to_payload().unwrap();
            let other = signature(1, "git", &pae(&payload));
            s.write(&s.approval(RM1), &envelope(&payload, &other));
        },
    ),
    row(
        "approval: the payload signed without its type",
        "signature",
        4,
        |s| {
            let payload = s.said(RM1).to_payload().unwrap();
            let other = signature(1, BOUND, &payload);
            s.write(&s.approval(RM1), &envelope(&payload, &other));
        },
    ),
    row(
        "approval: another payload type",
        "approval-readable",
        2,
        |s| {
            change_envelope(s, |e| e["payloadType"] = json!("application/json"));
        },
    ),
    row("approval: two signatures", "approval-readable", 2, |s| {
        change_envelope(s, |e| {
            let one = e["signatures"][0].clone();
            e["signatures"].as_array_mut().unwrap().push(one);
        });
    }),
    row("approval: no signature", "approval-readable", 2, |s| {
        change_envelope(s, |e| e["signatures"] = json!([]));
    }),
    row("approval: another keyid", "approval-readable", 2, |s| {
        change_envelope(s, |e| e["signatures"][0]["keyid"] = json!("SHA256:x"));
    }),
    row(
        "approval: the same key twice in the envelope",
        "approval-readable",
        2,
        |s| {
            s.replace(&s.approval(RM1), "{", "{\"payload\":\"\",");
        },
    ),
    row(
        "approval: one more field in the envelope",
        "approval-readable",
        2,
        |s| {
            change_envelope(s, |e| e["note"] = json!("fine"));
        },
    ),
    row(
        "approval: the same key twice in the payload",
        "approval-readable",
        2,
        |s| {
            change_payload(
                s,
                "\"decision\":\"approve\"",
                "\"decision\":\"reject\",\"decision\":\"approve\"",
            );
        },
    ),
    row(
        "approval: one more field in the payload",
        "approval-readable",
        2,
        |s| {
            change_payload(s, "\"decision\"", "\"note\":1,\"decision\"");
        },
    ),
    row(
        "approval: an unknown version of the predicate",
        "approval-readable",
        2,
        |s| {
            change_payload(
                s,
                "urn:bundlegate:approval:v1",
                "urn:bundlegate:approval:v2",
            );
        },
    ),
    row("approval: two subjects", "approval-readable", 2, |s| {
        let payload = String::from_utf8(s.said(RM1).to_payload().unwrap()).unwrap();
        let start = payload.find("[{").unwrap();
        let end = payload.find("}}]").unwrap() + 2;
        let subject = payload[start + 1..end].to_owned();
        change_payload(s, &subject.clone(), &format!("{subject},{subject}"));
    }),
    row("approval: a link", "approval-readable", 2, |s| {
        let path = s.path(&s.approval(RM1));
        fs::rename(&path, s.path("elsewhere.json")).unwrap();
        std::os::unix::fs::symlink(s.path("elsewhere.json"), path).unwrap();
    }),
    row("approval: a folder", "approval-readable", 2, |s| {
        fs::create_dir(s.path("repo/approvals/x.json")).unwrap();
    }),
    row("approval: empty", "approval-readable", 2, |s| {
        s.write(&s.approval(RM1), "")
    }),
    row("approval: huge", "approval-readable", 2, |s| {
        s.write(&s.approval(RM1), &" ".repeat(3_000_000))
    }),
    row("approval: text after it", "approval-readable", 2, |s| {
        s.write(
            &s.approval(RM1),
            &format!("{}{{}}", s.read(&s.approval(RM1))),
        );
    }),
    row("approval: deleted", "quorum", 3, |s| {
        fs::remove_file(s.path(&s.approval(RM1))).unwrap()
    }),
    row("approval: the folder deleted", "quorum", 3, |s| {
        fs::remove_dir_all(s.path("repo/approvals")).unwrap();
    }),
    row("approval: of another plan", "plan", 4, |s| {
        let mut statement = s.said(RM1);
        statement.subject[0].digest.sha256 = digest();
        let payload = statement.to_payload().unwrap();
        s.write(
            &s.approval(RM1),
            &envelope(&payload, &signature(1, BOUND, &pae(&payload))),
        );
    }),
    row(
        "approval: without a finding that needs one (a waiver ended since)",
        "accepted",
        4,
        |s| {
            s.resign(RM1, 1, |a| a.accepted.clear());
        },
    ),
    row("approval: of another finding", "accepted", 4, |s| {
        s.resign(RM1, 1, |a| a.accepted = vec![digest()])
    }),
    // Time and run
    row(
        "approval: older than the policy lets it live",
        "expired",
        4,
        |s| {
            s.resign(RM1, 1, |a| {
                a.time = Timestamp::now() - hours(25);
                a.expires = Timestamp::now() + hours(25);
            });
        },
    ),
    row("approval: ended by its own word", "expired", 4, |s| {
        s.resign(RM1, 1, |a| {
            a.time = Timestamp::now() - hours(2);
            a.expires = Timestamp::now() - hours(1);
        });
    }),
    row("approval: from the future", "from-the-future", 4, |s| {
        s.resign(RM1, 1, |a| {
            a.time = Timestamp::now() + hours(1);
            a.expires = Timestamp::now() + hours(2);
        });
    }),
    row(
        "approval: for a CI run, and this is none",
        "ci-run",
        4,
        |s| {
            s.resign(RM1, 1, |a| a.ci = Some(run("acme/orders", "1", 1)));
        },
    ),
    row("approval: for another run", "ci-run", 4, |s| {
        s.resign(RM1, 1, |a| a.ci = Some(run("acme/orders", "1", 1)));
        option(s, "--ci-run", "github:acme/orders:2:1");
    }),
    row(
        "approval: for another attempt of the run",
        "ci-run",
        4,
        |s| {
            s.resign(RM1, 1, |a| a.ci = Some(run("acme/orders", "1", 1)));
            option(s, "--ci-run", "github:acme/orders:1:2");
        },
    ),
    row("approval: for another repository", "ci-run", 4, |s| {
        s.resign(RM1, 1, |a| a.ci = Some(run("acme/billing", "1", 1)));
        option(s, "--ci-run", "github:acme/orders:1:1");
    }),
    // Keys
    row("key: not listed", "signer", 4, |s| s.resign(RM1, 9, |_| ())),
    row("key: of somebody else", "signer", 4, |s| {
        s.resign(RM1, 3, |_| ())
    }),
    row("key: listed by the branch under review", "signer", 4, |s| {
        let more = format!("{}{RM2} {}\n", gate::allowed_signers(), gate::public(9));
        s.write("repo/.bundlegate/allowed_signers", &more);
        s.commit("one more key");
        assert_eq!(s.decide("approve", 1).code, 0);
        let source = s.said(RM1).predicate.source;
        s.resign(RM2, 9, |a| a.source = source);
    }),
    row("key: taken out of allowed_signers", "signer", 4, |s| {
        signers(
            s,
            &gate::allowed_signers()
                .lines()
                .skip(1)
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }),
    row(
        "key: listed for another purpose",
        "signer-namespace",
        4,
        |s| {
            signers_with(s, BOUND, "git");
        },
    ),
    row("key: no longer valid", "signer-validity", 4, |s| {
        signers_with(s, "namespaces", "valid-before=\"20200101Z\",namespaces");
    }),
    row("key: not yet valid", "signer-validity", 4, |s| {
        signers_with(s, "namespaces", "valid-after=\"20990101Z\",namespaces");
    }),
    row("key: revoked", "revoked", 4, |s| {
        revoke(s, &gate::public(1))
    }),
    row("key: revoked by its fingerprint", "revoked", 4, |s| {
        let print = gate::key(1)
            .fingerprint(ssh_key::HashAlg::Sha256)
            .to_string();
        revoke(s, &print);
    }),
    row(
        "key: a certificate of an authority that nobody lists",
        "signer",
        4,
        |s| {
            with_certificate(s, "-1h:+1h");
        },
    ),
    row("key: a certificate that ended", "certificate", 4, |s| {
        let authority = with_certificate(s, "-2h:-1h");
        signers(
            s,
            &format!(
                "{}{RM1} cert-authority {authority}\n",
                gate::allowed_signers()
            ),
        );
    }),
    row(
        "key: a certificate of an authority that is revoked",
        "revoked",
        4,
        |s| {
            let authority = with_certificate(s, "-1h:+1h");
            signers(
                s,
                &format!(
                    "{}{RM1} cert-authority {authority}\n",
                    gate::allowed_signers()
                ),
            );
            revoke(s, &authority);
        },
    ),
    row("allowed_signers: unreadable", "allowed_signers", 2, |s| {
        signers(s, "rm1@example.com nonsense\n")
    }),
    row("allowed_signers: not there", "allowed_signers", 2, |s| {
        s.on_main(|s| fs::remove_file(s.path("repo/.bundlegate/allowed_signers")).unwrap());
    }),
    row("revoked keys: not there", "revoked", 2, |s| {
        s.on_main(|s| fs::remove_file(s.path("repo/.bundlegate/revoked")).unwrap());
    }),
    // People
    row(
        "two approvals by one person with two keys",
        "distinct-people",
        4,
        |s| {
            fs::remove_file(s.path(&s.approval(RM2))).unwrap();
            let payload = s.said(RM1).to_payload().unwrap();
            s.write(
                "repo/approvals/x.json",
                &envelope(&payload, &signature(11, BOUND, &pae(&payload))),
            );
        },
    ),
    row("two copies of one approval", "distinct-people", 4, |s| {
        fs::copy(s.path(&s.approval(RM1)), s.path(&s.approval(RM2))).unwrap();
    }),
    row("the author approves", "separation", 4, |s| {
        option(s, "--author", "git:rm1@example.com")
    }),
    row(
        "the author approves, in another spelling",
        "separation",
        4,
        |s| {
            option(s, "--author", "RM1@Example.com");
        },
    ),
    row("the actor approves", "separation", 4, |s| {
        replace_arg(s, "git:ci@example.com", "git:rm2@example.com");
    }),
    row("who started the run is not known", "separation", 4, |s| {
        drop_option(s, "--actor")
    }),
    row("somebody rejects", "rejection", 4, |s| {
        assert_eq!(s.decide("reject", 3).code, 0)
    }),
    row("somebody rejects and approves later", "rejection", 4, |s| {
        assert_eq!(s.decide("reject", 1).code, 0);
        assert_eq!(s.decide("approve", 1).code, 0);
    }),
];

#[test]
fn tampering() {
    let good = Set::good();
    let table = Mutex::new(vec![(String::new(), true); ROWS.len()]);
    let next = Mutex::new(0..ROWS.len());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(at) = next.lock().unwrap().next() else {
                        return;
                    };
                    let (found, is_right) = try_row(&good, &ROWS[at]);
                    let row = &ROWS[at];
                    let line = format!(
                        "{:>3}  exit {}  {:<22}  {}{found}",
                        at + 1,
                        row.exit,
                        row.check,
                        row.what
                    );
                    table.lock().unwrap()[at] = (line, is_right);
                }
            });
        }
    });
    let after = good.authorize();
    assert_eq!(after.code, 0, "{after:?}");
    let table = table.into_inner().unwrap();
    let text: Vec<&str> = table.iter().map(|(line, _)| line.as_str()).collect();
    println!("{}", text.join("\n"));
    let wrong: Vec<&str> = table
        .iter()
        .filter(|(_, is_right)| !is_right)
        .map(|(line, _)| line.as_str())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ROWS.len() >= 60);
    assert!(ROWS.iter().all(|row| row.exit != 0));
}

/// One row on a copy of its own: the good set is authorized, the changed one is refused by that check alone.
fn try_row(good: &Set, row: &Row) -> (String, bool) {
    let mut set = good.copy();
    let before = set.authorize();
    if before.code != 0 {
        return (format!("  BEFORE: {before:?}"), false);
    }
    (row.change)(&mut set);
    let done = set.authorize_with(&["-o", "json"]);
    let (names, code) = refused(&done);
    let by_check = names == [row.check];
    let by_message = names.is_empty() && code == 2 && done.stderr.contains(row.check);
    if code == row.exit && (by_check || by_message) {
        return (String::new(), true);
    }
    (
        format!("  FOUND: exit {code}, {names:?} {}", done.stderr.trim()),
        false,
    )
}

#[test]
fn what_changes_nothing_that_ships_stays_authorized() {
    let good = Set::good();
    type Change = fn(&mut Set);
    let quiet: [(&str, Change); 6] = [
        ("an ignored file that does not ship", |s| {
            s.write("repo/notes.tmp", "x")
        }),
        ("the CLI's own folder", |s| {
            s.write("repo/.databricks/bundle/prod/x.json", "{}")
        }),
        ("touched files", |s| {
            s.write("repo/src/etl.py", "print(2)\n")
        }),
        ("the trusted branch moved on, with the same policy", |s| {
            s.on_main(|s| s.write("repo/README", "x\n"));
        }),
        ("comments in the policy", |s| {
            policy(s, "version: 1\n", "# why\nversion: 1\n")
        }),
        ("a third approval", |s| {
            assert_eq!(s.decide("approve", 3).code, 0)
        }),
    ];
    for (what, change) in quiet {
        let mut set = good.copy();
        change(&mut set);
        let done = set.authorize();
        assert_eq!(done.code, 0, "{what}: {done:?}");
    }
}
