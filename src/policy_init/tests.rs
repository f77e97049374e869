use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::Limits;
use crate::policy::{Policy, PolicyRef, load};
use crate::rules::known;

fn loaded(text: &str) -> Policy {
    let source = PolicyRef::File("bundlegate.yml".into());
    load(&source, &known(), &mut |_: &Path| Ok(text.to_owned()))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn bundle(value: &serde_json::Value) -> Bundle {
    Bundle::read(value.to_string().as_bytes(), &Limits::default()).unwrap()
}

fn drafted(value: &serde_json::Value) -> (String, Policy) {
    let bundle = bundle(value);
    let facts = Facts {
        bundle: &bundle,
        plan: None,
        state: None,
    };
    let text = draft(&facts, "production");
    let policy = loaded(&text);
    assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
    (text, policy)
}

fn usual() -> serde_json::Value {
    json!({
        "bundle": {"name": "orders", "target": "prod"},
        "workspace": {
            "host": "https://adb-1.azuredatabricks.net",
            "root_path": "/Workspace/Users/x/.bundle/orders/[prod]",
            "current_user": {"userName": "0b7a0d1e-0000-4000-8000-00000000bb01"},
        },
        "resources": {
            "jobs": {
                "a": {"run_as": {"service_principal_name": "sp-1"}},
                "b": {"run_as": {"user_name": "alice@example.com"}},
                "c": {},
            },
            "pipelines": {"orders": {"run_as": {"group_name": "etl"}, "catalog": "main", "schema": "${resources.schemas.db.name}"}},
            "schemas": {"db": {"name": "orders"}},
        },
    })
}

#[test]
fn a_bundle_makes_a_policy_that_holds_for_it() {
    let (text, policy) = drafted(&usual());
    assert!(policy.allows_target("prod") && !policy.allows_target("staging"));
    assert!(policy.allows_host("https://adb-1.azuredatabricks.net"));
    let root = policy.bundle.root_path.as_ref().unwrap();
    assert!(root.matches("/Workspace/Users/x/.bundle/orders/[prod]"));
    assert!(!root.matches("/Workspace/Users/x/.bundle/orders/p"));
    let runs_as = |key: &str| {
        policy
            .identity
            .run_as_for(key)
            .map(|rule| rule.principal.name().to_owned())
    };
    assert_eq!(runs_as("jobs.a").as_deref(), Some("sp-1"));
    assert_eq!(runs_as("jobs.b").as_deref(), Some("alice@example.com"));
    assert_eq!(runs_as("jobs.c"), None);
    assert_eq!(runs_as("pipelines.new").as_deref(), Some("etl"));
    assert!(policy.is_protected("schemas.db", None).is_some());
    assert!(policy.is_protected("jobs.a", None).is_none());
    assert!(policy.state.is_empty(), "a skeleton is no answer");
    insta::assert_snapshot!(text, @r#"
    # The policy of the bundle "orders", target "prod". `bundlegate policy init` wrote it; read it, change it, commit it.
    #
    # `bundlegate policy validate` checks it, `bundlegate policy show` says where each level comes from,
    # `bundlegate policy test` tries it on cases. For completion in an editor:
    # `bundlegate policy schema > policy.schema.json`, and in the first line of this file
    # # yaml-language-server: $schema=policy.schema.json

    version: 1

    # What it starts from: production, staging, development, or another policy by its path.
    extends: production

    # A plan for any other target, workspace, bundle or folder is not this policy's to judge.
    targets: [prod]
    workspaces: ["https://adb-1.azuredatabricks.net"]
    bundle:
      name: orders
      root_path: "/Workspace/Users/x/.bundle/orders/\\[prod\\]"
      # established: true # deployed before: a plan without lineage has lost its state; true after the first deploy

    # An older CLI plans other things.
    # cli: {minimum: "1.20.0"}

    # Whom resources run as, and who deploys. A planned change of identity begins here, in a change of its own.
    identity:
      run_as:
        - {resources: [jobs.b], user: "alice@example.com"} # a person: name a service principal or a group
        - {resources: ["pipelines.*"], group: etl}
        - {resources: [jobs.a], service_principal: sp-1}
        # "jobs.c" names nobody that a policy could name
      deployer: {service_principal: "0b7a0d1e-0000-4000-8000-00000000bb01"}

    # Never to be deleted, recreated or renamed by a deploy: what holds data that a deploy does not bring back.
    protect:
      - pipelines.orders
      - schemas.db

    # More than this in one deploy is looked at by a person, even if every single change is harmless.
    limits: {delete: 0, recreate: 0, change: 10}

    # Where each pipeline's tables come back from. Fill it in and take the `#` away: until then `unregistered-state` says so.
    #
    # state:
    #   pipelines.orders:
    #     tables:
    #       - name: main.orders.TABLE
    #         source: "kafka://TOPIC" # where it is read from
    #         retention: 7d # how long the source keeps its records
    #         reset_allowed: false # whether a full refresh may empty it
    #         recovery: docs/runbooks/TABLE.md # what to do when it is lost

    # Examples of the rest. Take the `#` away where one is of use.
    #
    # rules:
    #   rename: warn
    #   recreate: {level: review, resources: ["*"], except: ["quality_monitors.*"]}
    # custom:
    #   - id: no-gpu-jobs
    #     level: deny
    #     resources: ["jobs.*"]
    #     when: 'action in ["create", "update"] && has(new.job_clusters) && new.job_clusters.exists(c, c.new_cluster.node_type_id.startsWith("Standard_NC"))'
    #     message: GPU clusters need a ticket
    # waivers:
    #   - {rule: creator-person, resource: pipelines.orders, until: 2027-01-31, reason: it moves to a service principal, owner: platform, ticket: DATA-7}
    # people:
    #   - {name: release manager one, ssh: rm1@example.com, github: {login: rm-one, id: 1001}, git: [rm1@example.com]}
    # approval:
    #   required: 1 # distinct people
    #   separation: [author, actor] # who may not approve
    #   expires_after: 24h
    #   accept:
    #     ssh: {allowed_signers: .bundlegate/allowed_signers}
    "#);
}

/// Whoever runs `policy init` on a laptop is not who deploys in CI.
#[test]
fn a_person_does_not_become_the_deployer() {
    let mut value = usual();
    value["workspace"]["current_user"]["userName"] = json!("alice@example.com");
    let (text, policy) = drafted(&value);
    assert!(policy.identity.deployer.is_none());
    assert!(text.contains("\"alice@example.com\" wrote the bundle JSON"));
}

#[test]
fn the_deployed_identity_counts_while_the_bundle_changes_it() {
    let bundle = bundle(&usual());
    let state = json!({"state_version": 2, "lineage": "l", "serial": 3, "state": {
        "resources.jobs.a": {"__id__": "1", "state": {"run_as": {"service_principal_name": "sp-0"}}}
    }});
    let state = State::read(state.to_string().as_bytes(), &Limits::default()).unwrap();
    let facts = Facts {
        bundle: &bundle,
        plan: None,
        state: Some(&state),
    };
    let text = draft(&facts, "staging");
    let policy = loaded(&text);
    let rule = policy.identity.run_as_for("jobs.a").unwrap();
    assert_eq!(rule.principal.name(), "sp-0");
    assert_eq!(
        policy.bundle.established.as_ref().map(|e| e.value),
        Some(true)
    );
    assert!(
        text.contains("is to run as the service principal sp-1"),
        "{text}"
    );
}

#[test]
fn the_comments_are_valid_without_their_marks() {
    loaded(&format!("version: 1\n{EXAMPLES}"));
    let (text, _) = drafted(&usual());
    let register: String = text
        .lines()
        .skip_while(|line| *line != "# state:")
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("# "))
        .flat_map(|line| [line, "\n"])
        .collect();
    let policy = loaded(&format!("version: 1\n{register}"));
    assert_eq!(
        policy.state["pipelines.orders"].tables[0].name,
        "main.orders.TABLE"
    );
}

#[test]
fn nothing_in_a_bundle_is_also_fine() {
    let (text, policy) = drafted(&json!({
        "bundle": {"target": "off"},
        "workspace": {"current_user": {"id": "1"}, "host": "http://x y"},
    }));
    assert!(policy.allows_target("off"));
    assert!(policy.protect.is_empty() && policy.workspaces.is_empty());
    assert!(text.contains("# identity:"), "{text}");
}

proptest! {
    // Each case loads the whole production policy.
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever a text is, the loader reads back exactly this text.
    #[test]
    fn a_text_comes_back_as_it_was(text in "\\PC{0,20}|[\u{0}-\u{ff}\u{2028}\u{feff}\u{1f600}\"'\\\\:#*&!% -]{1,20}") {
        prop_assume!(!text.trim().is_empty());
        let policy = loaded(&format!("version: 1\nbundle: {{name: {}}}\n", scalar(&text)));
        prop_assert_eq!(&policy.bundle.name.as_ref().unwrap().value, &text);
    }

    /// Whatever a bundle calls its things, the policy is valid and protects exactly them.
    #[test]
    fn any_names_make_a_valid_policy(
        target in "[ -~\u{202e}é\n]{1,12}",
        name in "[a-zA-Z0-9_*?{}\\[\\]\\\\ #:\u{202e}-]{1,12}",
        principal in "[ -~\u{202e}\n]{1,12}",
        root in "[ -~]{1,20}",
    ) {
        let mut value = usual();
        value["bundle"]["target"] = json!(target);
        value["bundle"]["name"] = json!(name);
        value["workspace"]["root_path"] = json!(root);
        value["resources"] = json!({
            "schemas": {&name: {}},
            "jobs": {&name: {"run_as": {"service_principal_name": principal}}},
            "pipelines": {&name: {"catalog": name, "schema": name}},
        });
        // A text like `${var.x}` is a bundle JSON that was not resolved.
        let read = Bundle::read(value.to_string().as_bytes(), &Limits::default());
        prop_assume!(read.is_ok());
        let (_, policy) = drafted(&value);
        if target.parse::<crate::policy::NameGlob>().is_ok() {
            prop_assert!(policy.allows_target(&target));
        }
        let key = format!("schemas.{name}");
        prop_assert!(policy.is_protected(&key, None).is_some());
    }
}
