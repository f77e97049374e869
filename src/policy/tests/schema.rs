use serde_json::Value;

use crate::policy::{Embedded, json_schema};

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/policy.schema.json");

fn as_json(yaml: &str) -> Value {
    // YAML 1.2, as editors read it: `off` is a text.
    serde_saphyr::from_str_with_options(yaml, serde_saphyr::options! { strict_booleans: true })
        .unwrap()
}

/// Write it again with `BUNDLEGATE_BLESS=1 cargo test policy::tests::schema`.
#[test]
fn the_committed_schema_is_the_generated_one() {
    let generated = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if std::env::var_os("BUNDLEGATE_BLESS").is_some() {
        std::fs::write(COMMITTED, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED)
        .unwrap()
        .replace("\r\n", "\n");
    assert!(
        committed == generated,
        "docs/policy.schema.json is not up to date: run BUNDLEGATE_BLESS=1 cargo test policy::tests::schema"
    );
}

#[test]
fn the_schema_accepts_what_the_reader_accepts() {
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    for text in Embedded::ALL
        .map(Embedded::text)
        .into_iter()
        .chain([super::resolve::FULL])
    {
        let errors: Vec<String> = validator
            .iter_errors(&as_json(text))
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new());
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    for text in [
        "{}",
        "version: 1\nrule: {}",
        "version: 1\nlimits: {deletes: 1}",
        "version: 1\nlimits: {delete: -1}",
        "version: 1\nrules: {destroy: denied}",
        "version: 1\nrules: {destroy: {level: deny, resource: [a.b]}}",
        "version: 1\nwaivers: [{rule: a, resource: a.b, reason: x, owner: y}]",
        "version: 1\nwaivers: [{rule: a, resource: a.b, until: tomorrow, reason: x, owner: y}]",
        "version: 1\nidentity: {deployer: {user: a, group: b}}",
        "version: 1\nidentity: {run_as: [{resources: [a.b]}]}",
        "version: 1\ncli: {minimum: 1.20}",
        "version: 1\nprotect: a.b",
    ] {
        assert!(!validator.is_valid(&as_json(text)), "{text}");
        assert!(super::load_files(&[("p.yml", text)]).is_err(), "{text}");
    }
}

#[test]
fn an_editor_completes_the_rules() {
    let schema = json_schema();
    let rules = schema
        .pointer("/properties/rules/properties")
        .and_then(Value::as_object)
        .unwrap();
    assert_eq!(rules.len(), super::RULES.len());
}
