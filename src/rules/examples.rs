//! Runs the examples of every rule: what the documentation shows is what happens.

use serde_json::{Map, Value, json};

use super::{Context, Example, Judged, RULES, Shows, judge, known};
use crate::bundle::{Bundle, State, Warnings};
use crate::effect::{Inputs, World};
use crate::json::Limits;
use crate::plan::read;
use crate::policy::{Level, PolicyRef, load};
use crate::report::Status;

/// Rules without an example that shows them not knowing, and why there is none.
const NEVER_UNKNOWN: &[(&[&str], &str)] = &[
    (
        &[
            "terraform-engine",
            "missing-input",
            "unknown-type",
            "state-mismatch",
            "empty-plan",
            "partial-plan",
            "first-deploy",
            "lost-state",
        ],
        "reads the head of the plan and which inputs there are",
    ),
    (&["ignored-field"], "reads the CLI's warnings"),
    (
        &["bundle-mismatch"],
        "a reference that waits may be what the bundle JSON says",
    ),
    (
        &["inconsistent-plan"],
        "a field that waits for a reference is compared with `vars` and `depends_on`",
    ),
    (
        &["redacted-value"],
        "looks for a text; a reference is not it",
    ),
    (
        &[
            "destroy",
            "recreate",
            "rename",
            "protected",
            "missing-remote",
            "blast-radius",
            "pipeline-tables",
        ],
        "reads actions and what is deployed",
    ),
    (
        &["field-reset", "run-as-removed"],
        "a field that waits for a reference is set",
    ),
    (
        &[
            "unregistered-state",
            "expired-waiver",
            "unused-waiver",
            "dead-selector",
            "empty-policy",
        ],
        "reads the policy",
    ),
    (&["creator-person"], "reads what the workspace holds"),
    (
        &[
            "prevent-destroy-missing",
            "prevent-destroy-blocks",
            "production-mode",
            "unlocked",
        ],
        "reads the bundle JSON, which holds no reference there",
    ),
];

fn members(text: &str) -> Map<String, Value> {
    serde_json::from_str(&format!("{{{text}}}")).unwrap()
}

fn full_keys(text: &str) -> Map<String, Value> {
    members(text)
        .into_iter()
        .map(|(k, v)| (format!("resources.{k}"), v))
        .collect()
}

fn plan(example: &Example) -> Vec<u8> {
    let mut root = if example.head.is_empty() {
        members(r#""plan_version": 2, "cli_version": "1.21.0", "lineage": "l", "serial": 1"#)
    } else {
        members(example.head)
    };
    root.insert("plan".into(), full_keys(example.plan).into());
    Value::from(root).to_string().into_bytes()
}

fn bundle(text: &str) -> Option<Bundle> {
    if text.is_empty() {
        return None;
    }
    let mut root = members(text);
    let usual = [
        ("bundle", json!({"name": "orders", "target": "prod"})),
        (
            "workspace",
            json!({"current_user": {"userName": "deployer"}}),
        ),
    ];
    for (part, usual) in usual {
        let Value::Object(there) = root.entry(part).or_insert_with(|| json!({})) else {
            panic!("{part} of an example is an object")
        };
        for (k, v) in usual.as_object().unwrap() {
            there.entry(k).or_insert_with(|| v.clone());
        }
    }
    let bytes = Value::from(root).to_string();
    Some(Bundle::read(bytes.as_bytes(), &Limits::default()).unwrap())
}

/// The state that belongs to the plan: of its lineage and serial, else of another deployment.
fn state(example: &Example) -> Option<State> {
    if example.state.is_empty() {
        return None;
    }
    let head: Value = serde_json::from_slice(&plan(example)).unwrap();
    let or = |name: &str, other: Value| head.get(name).cloned().unwrap_or(other);
    let resources: Map<String, Value> = full_keys(example.state)
        .into_iter()
        .map(|(k, config)| (k, json!({"__id__": "1", "state": config})))
        .collect();
    let root = json!({
        "state_version": 2, "cli_version": "1.21.0",
        "lineage": or("lineage", json!("l")), "serial": or("serial", json!(1)),
        "state": resources,
    });
    Some(State::read(root.to_string().as_bytes(), &Limits::default()).unwrap())
}

/// What the whole catalogue says about an example.
pub(super) fn judged(example: &Example) -> Judged {
    let limits = Limits::default();
    let plan = read(&plan(example), &limits).unwrap();
    let bundle_json = bundle(example.bundle);
    let base_bundle = bundle(example.base_bundle);
    let state = state(example);
    let warnings = (!example.warnings.is_empty())
        .then(|| Warnings::read(example.warnings.as_bytes(), &limits).unwrap());
    let text = format!(
        "version: 1\nextends: production\nstanding: as-rule\n{}\n",
        example.policy
    );
    let policy = load(
        &PolicyRef::File("bundlegate.yml".into()),
        &known(),
        &mut |_| Ok(text.clone()),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let world = World::new(Inputs {
        plan: &plan,
        bundle: bundle_json.as_ref(),
        base_bundle: base_bundle.as_ref(),
        state: state.as_ref(),
        warnings: warnings.as_ref(),
        targets: &[],
    });
    judge(&Context {
        world: &world,
        policy: &policy,
        now: "2026-10-01T00:00:00Z".parse().unwrap(),
    })
}

#[test]
fn every_example_shows_what_it_says() {
    let mut wrong = Vec::new();
    for rule in RULES {
        let id = rule.doc().id;
        for (i, example) in rule.doc().examples.iter().enumerate() {
            let judged = judged(example);
            let own: Vec<_> = judged.findings.iter().filter(|f| f.rule == id).collect();
            let right = match example.shows {
                Shows::Fires => own.iter().any(|f| f.status == Status::Fired),
                Shows::Quiet => own.is_empty(),
                Shows::Unknown => own
                    .iter()
                    .any(|f| f.status == Status::Unknown && f.level <= Level::Review),
            };
            if !right {
                let said: Vec<String> = judged
                    .findings
                    .iter()
                    .map(|f| format!("{} {:?} {:?}: {}", f.rule, f.status, f.resource, f.message))
                    .collect();
                wrong.push(format!(
                    "{id}, example {i} should show {:?}; found:\n    {}",
                    example.shows,
                    said.join("\n    ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_its_examples() {
    let mut wrong = Vec::new();
    for rule in RULES {
        let doc = rule.doc();
        let shows = |what: Shows| doc.examples.iter().any(|e| e.shows == what);
        let exempt = NEVER_UNKNOWN.iter().any(|(ids, _)| ids.contains(&doc.id));
        if !shows(Shows::Fires) || !shows(Shows::Quiet) {
            wrong.push(format!(
                "{}: no example that fires, or none that is quiet",
                doc.id
            ));
        }
        if shows(Shows::Unknown) == exempt {
            wrong.push(format!(
                "{}: an example that shows it not knowing, or an entry in NEVER_UNKNOWN, not both",
                doc.id
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ids_are_unique_and_texts_whole() {
    let mut ids: Vec<&str> = RULES.iter().map(|r| r.doc().id).collect();
    ids.sort_unstable();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    for rule in RULES {
        let doc = rule.doc();
        for text in [doc.trigger, doc.impact, doc.remedy] {
            assert!(text.ends_with('.'), "{}: {text}", doc.id);
        }
        assert!(!doc.source.is_empty(), "{}", doc.id);
    }
}
