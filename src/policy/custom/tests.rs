use proptest::prelude::*;
use serde_json::{Value, json};

use super::{CustomContext, CustomError, UNKNOWN, Work, compile};
use crate::policy::custom::{Compiled, CustomRule};
use crate::policy::location::{At, Location, SourceFile};
use crate::policy::value::RuleId;

fn rule(when: &str) -> CustomRule {
    let source = std::sync::Arc::new(SourceFile::new("p.yml".to_owned(), when.to_owned()));
    CustomRule {
        id: "a-rule".parse::<RuleId>().unwrap(),
        resources: None,
        when: At {
            value: when.to_owned(),
            at: Location::new(&source, 0, when.len()),
        },
        message: String::new(),
        compiled: std::sync::Arc::new(
            compile(when).unwrap_or_else(|refusal| panic!("{when}: {}", refusal.message)),
        ),
    }
}

fn context<'a>(new: &'a Value, old: &'a Value) -> CustomContext<'a> {
    CustomContext {
        key: "jobs.etl",
        resource_type: "jobs",
        name: "etl",
        action: "update",
        gone: false,
        old,
        new,
        remote: &Value::Null,
        changes: &Value::Null,
        vars: &Value::Null,
        target: Some("prod"),
        cli_version: None,
    }
}

fn job() -> Value {
    json!({
        "name": "nightly",
        "max_concurrent_runs": 1,
        "budget": 9_007_199_254_740_993_u64,
        "tags": {"cost.centre": "42", "team": "orders"},
        "queue": {"enabled": true},
        "libraries": ["a", "b"],
        "job_clusters": [
            {"job_cluster_key": "small", "new_cluster": {"node_type_id": "Standard_D4", "num_workers": 2}},
            {"job_cluster_key": "gpu", "new_cluster": {"node_type_id": "Standard_NC6", "num_workers": 1}},
        ],
        "owner": UNKNOWN,
    })
}

fn ask(when: &str) -> Result<bool, CustomError> {
    rule(when).evaluate(
        &context(
            &job(),
            &json!({"name": "nightly", "max_concurrent_runs": 2}),
        ),
        &Work::default(),
    )
}

#[test]
fn conditions_are_true_or_false() {
    for when in [
        r#"action in ["create", "update"] && new.job_clusters.exists(c, c.new_cluster.node_type_id.startsWith("Standard_NC"))"#,
        r#"new.max_concurrent_runs == 1 && old.max_concurrent_runs == 2"#,
        r#"new.max_concurrent_runs != old.max_concurrent_runs"#,
        r#"new.budget == 9007199254740993"#,
        r#"new.budget > 9007199254740992"#,
        r#"new.tags["cost.centre"].matches("^[0-9]+$")"#,
        r#"has(new.queue) && new.queue.enabled && !has(new.trigger)"#,
        r#"!("owner" in old) && "owner" in new"#,
        r#"new.libraries == ["a", "b"] && ["a", "b"] == new.libraries"#,
        r#"new.libraries.map(x, x) == new.libraries"#,
        r#"new.queue == new.queue && new.tags != new.queue"#,
        r#"size(new.job_clusters) == 2 && new.tags.size() == 2"#,
        r#"new.tags.all(k, new.tags[k] != "")"#,
        r#"new.job_clusters.filter(c, c.new_cluster.num_workers > 1).size() == 1"#,
        r#"new.job_clusters[0].new_cluster.num_workers == 2"#,
        r#"new.job_clusters.all(c, new.libraries.exists(l, l != c.job_cluster_key))"#,
        r#"type == "jobs" && name == "etl" && key == "jobs.etl" && !gone && target == "prod""#,
        r#"cli_version == null && remote == null"#,
        r#"string(new.max_concurrent_runs) + "x" == "1x""#,
    ] {
        assert_eq!(ask(when), Ok(true), "{when}");
        assert_eq!(ask(&format!("!({when})")), Ok(false), "{when}");
    }
}

#[test]
fn what_cannot_be_judged_is_an_error_and_never_false() {
    use CustomError::{Failed, Missing, NotACondition, Unknown};
    assert_eq!(
        ask("new.trigger.pause_status == \"PAUSED\""),
        Err(Missing("trigger".to_owned()))
    );
    assert_eq!(
        ask("!(new.trigger.pause_status == \"PAUSED\")"),
        Err(Missing("trigger".to_owned()))
    );
    assert_eq!(
        ask("new.job_clusters.exists(c, c.spark_version == \"x\")"),
        Err(Missing("spark_version".to_owned()))
    );
    assert_eq!(ask("new.owner == \"someone\""), Err(Unknown));
    assert_eq!(
        ask("new.owner == \"someone\" && new.name == \"nightly\""),
        Err(Unknown)
    );
    assert_eq!(ask("new == new"), Err(Unknown));
    assert_eq!(ask("new == old"), Ok(false));
    assert_eq!(ask("new.name"), Err(NotACondition));
    assert!(matches!(ask("remote.name == \"x\""), Err(Failed(_))));
    assert!(matches!(ask("new.name > 3"), Err(Failed(_))));
    assert!(matches!(
        ask("new.job_clusters[7].job_cluster_key == \"x\""),
        Err(Failed(_))
    ));
    assert!(matches!(
        ask("1 / (new.max_concurrent_runs - 1) == 1"),
        Err(Failed(_))
    ));
    assert!(matches!(
        ask("new.max_concurrent_runs.matches(\"1\")"),
        Err(Failed(_))
    ));
    // Known to be true whatever the unknown value is.
    assert_eq!(
        ask("new.name == \"nightly\" || new.owner == \"x\""),
        Ok(true)
    );
}

#[test]
fn errors_do_not_repeat_values() {
    let secret = json!({"password": "hunter2-secret", "list": [1]});
    for when in [
        "new.password > 3",
        "new[new.password] == 1",
        "new.password + 1 == 2",
        "new.list[new.password] == 1",
        "-new.password == 1",
        "new.password in new.password",
    ] {
        let error = rule(when)
            .evaluate(&context(&secret, &Value::Null), &Work::default())
            .unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("hunter2"),
            "{when}: {error}"
        );
    }
}

fn refusal(when: &str) -> String {
    compile(when).map(|_| ()).unwrap_err().message
}

#[test]
fn bombs_and_mistakes_are_refused_when_the_policy_is_loaded() {
    let cases = [
        (
            "new.x.all(a, new.y.all(b, new.z.all(c, a == b)))".to_owned(),
            "inside one another",
        ),
        (
            format!("{}true{}", "(".repeat(500), ")".repeat(500)),
            "brackets nest",
        ),
        (format!("{}true", "!".repeat(900)), "signs in a row"),
        (format!("{}1 == 1", "- ".repeat(900)), "signs in a row"),
        (
            format!("true{}", " && true".repeat(1000)),
            "at most 2000 bytes",
        ),
        (format!("new{} == 1", ".a".repeat(900)), "nests at most"),
        (format!("0{} == 1", "+1".repeat(900)), "nests at most"),
        (format!("1 in [{}1]", "1,".repeat(100)), "at most 64 items"),
        ("new.a.matches(\"(a{1000}){1000}\")".to_owned(), "too big"),
        (
            format!("new.a.matches(\"{}\")", "a?".repeat(200)),
            "a pattern has at most",
        ),
        (
            "new.a.matches(\"(\")".to_owned(),
            "not a regular expression",
        ),
        ("new.a.matches(new.b)".to_owned(), "a text in quotes"),
        ("nwe.a == 1".to_owned(), "did you mean `new`?"),
        (
            "new.a.startWith(\"x\")".to_owned(),
            "did you mean `startsWith`?",
        ),
        ("new.a.exist(x, true)".to_owned(), "did you mean `exists`?"),
        (
            "duration(\"1s\") == duration(\"1s\")".to_owned(),
            "unknown function",
        ),
        ("x == 1".to_owned(), "unknown name `x`"),
        (
            "new.a.exists(x, x == 1) && x == 1".to_owned(),
            "unknown name `x`",
        ),
        ("{\"a\": 1} == new.a".to_owned(), "builds no objects"),
        (
            "(new.a + new.a).exists(x, x == 1)".to_owned(),
            "sum of lists",
        ),
        ("new.a + 1".to_owned(), "a calculation"),
        ("new.a.map(x, x)".to_owned(), "a list"),
        ("\"text\"".to_owned(), "a constant"),
        ("new.a ==".to_owned(), "not a CEL expression at its end"),
        ("new.a = 1".to_owned(), "not a CEL expression"),
        ("new.a == \"x".to_owned(), "not closed"),
        (
            format!("[{0}1].all(a, [{0}1].all(b, a + b > 1))", "1,".repeat(30)),
            "at most 100 steps",
        ),
        (String::new(), "not a CEL expression"),
        ("new.`a` == 1".to_owned(), "no backticks"),
    ];
    for (when, expected) in cases {
        let message = refusal(&when);
        assert!(
            message.contains(expected),
            "{}: {message}",
            when.chars().take(60).collect::<String>()
        );
    }
}

#[test]
fn deep_but_balanced_expressions_end() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("size(", ")"),
        ("new[", "]"),
        ("has(", ")"),
        ("{1:", "}"),
        ("new.all(x, ", ")"),
    ] {
        let _ = compile(&format!("{}true{}", open.repeat(24), close.repeat(24)));
        let _ = compile(&open.repeat(24));
    }
    for unit in [
        "true?true:",
        "true?",
        "1+",
        "1<",
        "a.",
        "!true&&",
        "true||!",
        "-1-",
        "1 in ",
        "true:",
    ] {
        let _ = compile(&format!("{}true", unit.repeat(1_900 / unit.len())));
    }
}

#[test]
fn too_much_data_is_an_error_and_not_a_hang() {
    let items: Vec<Value> = (0..20_000).map(|n| json!({"n": n})).collect();
    let data = json!({"items": items});
    let rule = rule("new.items.exists(a, new.items.exists(b, a.n + b.n == -1))");
    let work = Work::new(5_000_000);
    let before = std::time::Instant::now();
    assert_eq!(
        rule.evaluate(&context(&data, &Value::Null), &work),
        Err(CustomError::TooMuch)
    );
    // The bound is shared: the next evaluation costs nothing.
    assert_eq!(
        rule.evaluate(&context(&data, &Value::Null), &work),
        Err(CustomError::TooMuch)
    );
    assert!(before.elapsed().as_secs() < 60, "{:?}", before.elapsed());
}

/// Run with `cargo test --release -- --ignored --nocapture` to see the numbers of this machine.
#[test]
#[ignore = "a measurement"]
fn a_plan_of_ten_thousand_entries() {
    let job = job();
    for when in [
        "action == \"delete\"",
        r#"action in ["create", "update"] && new.job_clusters.exists(c, c.new_cluster.node_type_id.startsWith("Standard_NC7"))"#,
        r#"new.job_clusters.exists(a, new.job_clusters.exists(b, a.job_cluster_key.matches("^[a-z]+[0-9]$") && b.job_cluster_key == ""))"#,
        r#"[1,2,3].all(a, [1,2].all(b, a + b > 0))"#,
        r#"new.job_clusters.all(a, ["a","b","c","d"].all(b, a.job_cluster_key != b))"#,
    ] {
        let rule = rule(when);
        let work = Work::default();
        let start = std::time::Instant::now();
        for _ in 0..10_000 {
            assert!(
                rule.evaluate(&context(&job, &Value::Null), &work).is_ok(),
                "{when}"
            );
        }
        println!("{:>10?}  {when}", start.elapsed());
    }
    let items: Vec<Value> = (0..20_000).map(|n| json!({"n": n})).collect();
    let data = json!({"items": items});
    let start = std::time::Instant::now();
    let worst = rule("new.items.exists(a, new.items.exists(b, a.n + b.n == -1))")
        .evaluate(&context(&data, &Value::Null), &Work::default());
    println!("{:>10?}  the bound: {worst:?}", start.elapsed());
}

proptest! {
    #[test]
    fn compiling_any_text_ends(source in "\\PC{0,200}") {
        let _ = compile(&source);
    }

    #[test]
    fn compiling_what_looks_like_cel_ends(parts in prop::collection::vec(prop::sample::select(vec![
        "new", ".a", "(", ")", "[", "]", "{", "}", "&&", "||", "==", "!", "-", "?", ":", ",", "\"a\"", "'", "1", "1.5", "0x", "e", "r\"",
        ".all(", ".exists(x, ", ".map(", "has(", "size(", "in", " ", "\n", "true", "null", "u", "b\"", "\\", ".matches(\"", "\")", "//", "é",
    ]), 0..60)) {
        let source: String = parts.concat();
        if let Ok(compiled) = compile(&source) {
            evaluate(compiled, &source);
        }
    }
}

fn evaluate(compiled: Compiled, source: &str) {
    let mut rule = rule("true");
    rule.compiled = std::sync::Arc::new(compiled);
    rule.when.value = source.to_owned();
    let data = json!({"a": [1, "x", {"a": true}]});
    let _ = rule.evaluate(&context(&data, &Value::Null), &Work::new(100_000));
}
