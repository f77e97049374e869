use proptest::prelude::*;

use crate::policy::{Given, load_cases};

fn wrong(text: &str) -> String {
    load_cases("tests.yml", text.to_owned())
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

#[test]
fn numbers_stay_what_they_are() {
    let file = load_cases(
        "tests.yml",
        "policy: production\ncases:\n  - name: x\n    entries: {jobs.a: {n: 9007199254740993, f: 1.5, big: 18446744073709551615, t: \"1\", no: yes, z: null, l: [true]}}\n    bundle: b.json\n    expect: {verdict: open}\n".to_owned(),
    )
    .unwrap();
    let case = &file.cases[0];
    let (key, value) = case.entries.as_ref().unwrap().iter().next().unwrap();
    assert_eq!(key.value, "jobs.a");
    assert_eq!(
        value.to_string(),
        r#"{"big":18446744073709551615,"f":1.5,"l":[true],"n":9007199254740993,"no":"yes","t":"1","z":null}"#
    );
    assert!(matches!(&case.bundle.as_ref().unwrap().value, Given::Path(p) if p == "b.json"));
}

#[test]
fn a_file_that_tests_nothing_is_refused() {
    for text in [
        "",
        "# nothing\n",
        "policy: production\n",
        "policy: production\ncases: []\n",
        "[]",
    ] {
        assert!(wrong(text).starts_with("error"), "{text}");
    }
    assert!(wrong("policy: production\ncases: []\n").contains("tests nothing"));
    let case = |expect: &str| {
        wrong(&format!(
            "policy: production\ncases:\n  - name: x\n    plan: p.json\n    expect: {expect}\n"
        ))
    };
    assert!(case("{}").contains("cannot fail"));
    assert!(case("{findings: [], not: []}").contains("cannot fail"));
    assert!(case("{verdict: open, findings: []}").contains("expects nothing"));
    assert!(case("{only: false}").contains("cannot fail"));
}

#[test]
fn mistakes_have_their_place() {
    insta::assert_snapshot!(wrong("polcy: production
cases:
  - name: x
    plan: p.json
    entries: {jobs.a: {f: .inf, a: 1, a: 2, n: 18446744073709551616}}
    now: 2027-02-30T00:00:00Z
    expect: {verdict: opne, findings: [destroy resources.jobs.a, a b c, destroy report], only: yes}
  - name: x
    head: {serial: 1}
    expect: {verdict: open}
"), @r#"
error: this is not the YAML of a policy: non-finite float `.inf` rejected by the configured policy
 --> tests.yml:5:27
  |
5 |     entries: {jobs.a: {f: .inf, a: 1, a: 2, n: 18446744073709551616}}
  |                           ^^^^
"#);
}

proptest! {
    #[test]
    fn never_panics(text in "[a-z:{}\\[\\]\n \\-\"'&*!|>#0-9.]{0,120}") {
        drop(load_cases("tests.yml", text));
    }

    #[test]
    fn near_misses_never_panic(at in 0_usize..400, with in "\\PC{0,3}|[\u{0}-\u{7f}]{0,3}") {
        let good = "policy: production\nnow: 2026-10-01T00:00:00Z\ncases:\n  - name: x\n    entries: {jobs.a: {action: delete, n: [1, 2.5, null]}}\n    expect: {verdict: closed, findings: [destroy jobs.a], not: [rename]}\n";
        let at = (0..=at.min(good.len())).rev().find(|i| good.is_char_boundary(*i)).unwrap();
        let text = format!("{}{with}{}", &good[..at], &good[at..]);
        drop(load_cases("tests.yml", text));
    }
}
