//! `--log`, `log verify` and `log show`.

use crate::gate::Set;
use crate::support::{self, Done};

fn log(set: &Set, args: &[&str]) -> Done {
    support::run_in(&set.path(""), &[&["log"], args].concat())
}

/// A log of three entries, by three commands.
fn logged() -> Set {
    let set = Set::good();
    let check = support::run_in(
        &set.path("repo"),
        &[
            "check",
            "plan.json",
            "--bundle",
            "bundle.json",
            "--state",
            "state.json",
            "--log",
            "../gate.log",
            "-q",
        ],
    );
    assert_eq!(check.code, 3, "{check:?}");
    assert!(check.stderr.contains("entry 0, head "), "{check:?}");
    assert_eq!(set.authorize_with(&["--log", "../gate.log"]).code, 0);
    let done = set.authorize_with(&["--log", "../gate.log", "--actor", "git:rm1@example.com"]);
    assert_eq!(done.code, 4);
    set
}

#[test]
fn three_commands_one_chain() {
    let set = logged();
    let verify = log(&set, &["verify", "gate.log"]);
    assert_eq!(verify.code, 0, "{verify:?}");
    assert!(
        verify.stdout.contains("the chain holds: 3 entries"),
        "{verify:?}"
    );
    let show = log(&set, &["show", "gate.log"]);
    for text in [
        "check: review (exit 3)",
        "authorize: authorized (exit 0)",
        "approved_by: rm one, rm two",
        "authorize: refused (exit 4)",
        "refused_by: separation",
    ] {
        assert!(show.stdout.contains(text), "{text}: {show:?}");
    }
    // The log of the gate is its own file: it does not count as a change of the source.
    let inside = set.authorize_with(&["--log", "gate.log"]);
    assert_eq!(inside.code, 0, "{inside:?}");
    assert_eq!(set.authorize_with(&["--log", "gate.log"]).code, 0);
}

#[test]
fn tampering_with_it() {
    let set = logged();
    let text = set.read("gate.log");
    let lines: Vec<&str> = text.lines().collect();
    let head = support::run_in(&set.path(""), &["log", "verify", "gate.log"])
        .stdout
        .split("head ")
        .nth(1)
        .unwrap()
        .trim()
        .to_owned();
    for (what, changed, says) in [
        ("edited", text.replacen("refused", "authorized", 1), ""),
        (
            "removed",
            format!("{}\n{}\n", lines[0], lines[2]),
            "removed",
        ),
        (
            "swapped",
            format!("{}\n{}\n{}\n", lines[1], lines[0], lines[2]),
            "removed",
        ),
        ("doubled", format!("{text}{}\n", lines[2]), "duplicate"),
        ("text", format!("{text}hello\n"), "not a log entry"),
    ] {
        set.write("gate.log", &changed);
        let done = log(&set, &["verify", "gate.log", "--anchor", &head]);
        assert_eq!(done.code, 4, "{what}: {done:?}");
        assert!(done.stdout.contains(says), "{what}: {done:?}");
        assert_eq!(
            log(&set, &["show", "gate.log"]).code,
            if what == "edited" { 0 } else { 4 },
            "{what}"
        );
    }
    // Cut at its end it is consistent in itself: only the anchor tells.
    set.write("gate.log", &format!("{}\n{}\n", lines[0], lines[1]));
    assert_eq!(log(&set, &["verify", "gate.log"]).code, 0);
    let done = log(&set, &["verify", "gate.log", "--anchor", &head]);
    assert_eq!(done.code, 4);
    assert!(done.stdout.contains("cut or written anew"), "{done:?}");
}

#[test]
fn a_crash_in_the_middle_of_a_line() {
    let set = logged();
    let text = set.read("gate.log");
    set.write("gate.log", &format!("{text}{}", &text[..100]));
    let verify = log(&set, &["verify", "gate.log"]);
    assert_eq!(verify.code, 0, "{verify:?}");
    assert!(
        verify.stdout.contains("a write was cut off (100 bytes)"),
        "{verify:?}"
    );
    let done = set.authorize_with(&["--log", "../gate.log"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.stderr.contains("an earlier write was cut off"),
        "{done:?}"
    );
    let verify = log(&set, &["verify", "gate.log"]);
    assert_eq!(verify.code, 0, "{verify:?}");
    assert!(
        verify.stdout.contains("recorded by the entry after it"),
        "{verify:?}"
    );
}

#[test]
fn a_log_that_cannot_be_written_or_read_is_exit_2() {
    let set = Set::good();
    set.write("other.txt", "not a log\n");
    for path in ["../nowhere/gate.log", "..", "../other.txt"] {
        let done = set.authorize_with(&["--log", path]);
        assert_eq!(done.code, 2, "{path}: {done:?}");
        assert!(done.stderr.contains("--log"), "{done:?}");
    }
    for path in ["nowhere.log", "repo"] {
        assert_eq!(log(&set, &["verify", path]).code, 2);
        assert_eq!(log(&set, &["show", path]).code, 2);
    }
    assert_eq!(log(&set, &["verify", "other.txt"]).code, 4);
}
