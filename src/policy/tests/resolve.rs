use super::{load_files, policy};
use crate::policy::{Input, Level, LevelOverrideError, Origin, Principal, Section, Standing};

pub(super) const FULL: &str = r#"# yaml-language-server: $schema=policy.schema.json
version: 1
extends: production
targets: ["prod", "prod-*"]
workspaces: ["https://ADB-1234567890123456.7.azuredatabricks.net/"]
bundle: {name: orders, root_path: "/Workspace/Users/*/.bundle/orders/prod", established: true}
cli: {minimum: "1.20.0"}
inputs: {require: [bundle, state]}
standing: as-rule
people:
  - {name: release manager one, ssh: rm1@example.com, github: {login: rm-one, id: 1001}, azure: aad.QUJD, git: [rm1@example.com]}
identity:
  run_as:
    - {resources: ["pipelines.*"], group: orders-etl-prod}
    - {resources: ["jobs.*"], service_principal: 5f0c6c1e-0000-4000-8000-0000000000aa}
  deployer: {service_principal: 5f0c6c1e-0000-4000-8000-0000000000bb}
protect: ["schemas.*", "pipelines.orders", "prod.orders.bronze"]
limits: {delete: 0, recreate: 1, change: 50}
rules:
  destroy: deny
  recreate: {level: deny, resources: ["*"], except: ["quality_monitors.*"]}
  rename: {level: warn, resources: ["jobs.*"]}
custom:
  - id: no-gpu-jobs
    level: deny
    resources: ["jobs.*"]
    when: 'action in ["create", "update"] && new.job_clusters.exists(c, c.new_cluster.node_type_id.startsWith("Standard_NC"))'
    message: GPU clusters need a ticket
waivers:
  - {rule: recreate, resource: catalogs.main, until: 2027-01-31, reason: cli issue 4625, ticket: DATA-7, cli: "<1.20", owner: platform}
approval:
  required: 2
  separation: [author, actor]
  expires_after: 12h
  match: intent
  accept:
    ssh: {allowed_signers: .bundlegate/allowed_signers}
    github: {environment: production, reviewers: {teams: [acme/release-managers]}}
    azure: {environment: orders-prod}
verify: {run_as: true, owner: true, converged: true, deleted: true, reset_guards: true, orphans: false, settle: 2m}
state:
  pipelines.orders:
    tables:
      - {name: prod.orders.bronze, source: "kafka://orders", retention: 24h, reset_allowed: false, recovery: docs/runbooks/orders.md}
"#;

#[test]
fn the_whole_format_is_read() {
    let policy = policy(FULL);
    assert_eq!(policy.warnings(), []);
    assert!(policy.allows_target("prod-eu") && !policy.allows_target("staging"));
    assert!(policy.allows_host("https://adb-1234567890123456.7.azuredatabricks.net"));
    assert!(!policy.allows_host("https://adb-2.7.azuredatabricks.net") && !policy.allows_host(""));
    assert!(
        policy
            .bundle
            .root_path
            .as_ref()
            .unwrap()
            .matches("/Workspace/Users/x/.bundle/orders/prod")
    );
    assert_eq!(
        policy
            .require
            .iter()
            .map(|input| input.value)
            .collect::<Vec<_>>(),
        [Input::Bundle, Input::State]
    );
    assert_eq!(policy.standing, Standing::AsRule);
    assert_eq!(policy.people[0].github.as_ref().unwrap().id, 1001);
    assert_eq!(
        policy
            .identity
            .run_as_for("pipelines.orders")
            .unwrap()
            .principal,
        Principal::Group("orders-etl-prod".to_owned())
    );
    assert!(policy.identity.run_as_for("apps.x").is_none());
    assert!(policy.is_protected("schemas.any", None).is_some());
    assert!(
        policy
            .is_protected("volumes.b", Some("prod.orders.bronze"))
            .is_some()
    );
    assert!(
        policy
            .is_protected("volumes.b", Some("prod.orders.silver"))
            .is_none()
    );
    assert_eq!(
        policy.limits.delete.as_ref().map(|limit| limit.value),
        Some(0)
    );
    assert_eq!(
        policy.approval.as_ref().unwrap().expires_after.as_secs(),
        43_200
    );
    assert!(!policy.verify.orphans && policy.verify.run_as);
    assert_eq!(
        policy.state["pipelines.orders"].tables[0]
            .retention
            .unwrap()
            .as_secs(),
        86_400
    );
    assert_eq!(
        policy.uses(Section::Waivers).unwrap().to_string(),
        "bundlegate.yml:29:1"
    );
    assert!(policy.uses(Section::AllowEmpty).is_none());
}

#[test]
fn levels_hold_for_what_they_select() {
    let policy = policy(FULL);
    assert_eq!(
        policy.level("recreate", Some("pipelines.orders")),
        Level::Deny
    );
    assert_eq!(
        policy.level("recreate", Some("quality_monitors.x")),
        Level::Review
    );
    assert_eq!(policy.level("rename", Some("jobs.a")), Level::Warn);
    assert_eq!(
        policy.level("rename", Some("jobs.a.permissions")),
        Level::Warn
    );
    assert_eq!(policy.level("rename", Some("volumes.a")), Level::Review);
    assert_eq!(policy.level("rename", None), Level::Review);
    assert_eq!(policy.level("no-gpu-jobs", Some("jobs.a")), Level::Deny);
    assert_eq!(policy.level("a-rule-of-the-future", None), Level::Deny);
    assert_eq!(
        policy.highest_level("unpaused-outside-production"),
        Level::Off
    );
    assert_eq!(policy.highest_level("rename"), Level::Review);
    let (_, Origin::File(at)) = policy.decided_by("rename", Some("jobs.a")) else {
        panic!()
    };
    assert_eq!(at.to_string(), "bundlegate.yml:22:3");
    let (_, Origin::File(at)) = policy.decided_by("rename", None) else {
        panic!()
    };
    assert_eq!(at.file(), "production (embedded)");
}

#[test]
fn without_extends_a_policy_starts_from_production() {
    assert_eq!(policy("version: 1\n").level("destroy", None), Level::Deny);
}

#[test]
fn a_chain_of_files_is_read_from_the_outside_in() {
    let policy = load_files(&[
        ("teams/orders/bundlegate.yml", "version: 1\nextends: ../../org.yml\nprotect: [jobs.a]\nrules: {rename: deny}\n"),
        ("org.yml", "version: 1\nextends: ./base/base.yml\nprotect: [jobs.b]\nrules: {recreate: warn, rename: note}\n"),
        ("base/base.yml", "version: 1\nextends: staging\nrules: {destroy: deny}\nlimits: {delete: 3}\n"),
    ])
    .unwrap();
    assert_eq!(policy.level("rename", None), Level::Deny);
    assert_eq!(policy.level("recreate", None), Level::Warn);
    assert_eq!(policy.level("destroy", None), Level::Deny);
    assert_eq!(policy.level("purge-armed", None), Level::Review);
    assert_eq!(policy.protect.len(), 2);
    assert_eq!(policy.limits.delete.as_ref().unwrap().value, 3);
    let names: Vec<&str> = policy
        .sources()
        .iter()
        .map(|source| source.name())
        .collect();
    assert_eq!(
        names,
        [
            "teams/orders/bundlegate.yml",
            "org.yml",
            "base/base.yml",
            "staging (embedded)"
        ]
    );
    assert_eq!(policy.sources()[1].sha256().len(), 64);
}

#[test]
fn level_flags_lie_on_top_and_do_not_open_locks() {
    let locked = policy("version: 1\nrules: {destroy: {level: deny, locked: true}}\n");
    let eased = locked
        .clone()
        .with_levels(&[("recreate".to_owned(), Level::Note)])
        .unwrap();
    assert_eq!(
        eased.decided_by("recreate", Some("jobs.a")),
        (Level::Note, Origin::Flag)
    );
    let refused = locked
        .clone()
        .with_levels(&[("destroy".to_owned(), Level::Off)])
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "--level destroy: the policy says `locked: true` at bundlegate.yml:2:40"
    );
    let unknown = locked
        .with_levels(&[("recreat".to_owned(), Level::Off)])
        .unwrap_err();
    assert!(
        matches!(&unknown, LevelOverrideError::Unknown { nearest: Some(near), .. } if near == "recreate")
    );
    assert_eq!(
        unknown.to_string(),
        "--level: no rule `recreat`; did you mean `recreate`?"
    );
    let all =
        policy("version: 1\nlocked: true\n").with_levels(&[("unlocked".to_owned(), Level::Deny)]);
    assert!(matches!(all, Err(LevelOverrideError::Locked { .. })));
}

#[test]
fn waivers_end_at_midnight_utc_and_cover_what_they_name() {
    use crate::policy::WaiverStatus::{Active, Expired};
    let policy = policy(FULL);
    let waiver = &policy.waivers[0];
    assert_eq!(
        waiver.status("2027-01-31T23:59:59Z".parse().unwrap()),
        Active
    );
    assert_eq!(
        waiver.status("2027-02-01T00:00:00Z".parse().unwrap()),
        Expired
    );
    assert_eq!(
        waiver.status("2027-01-31T23:00:00-02:00".parse().unwrap()),
        Expired
    );
    let cli = semver::Version::new(1, 13, 0);
    assert!(waiver.covers("recreate", Some("catalogs.main"), "", Some(&cli)));
    assert!(!waiver.covers("destroy", Some("catalogs.main"), "", Some(&cli)));
    assert!(!waiver.covers("recreate", Some("catalogs.other"), "", Some(&cli)));
    assert!(!waiver.covers("recreate", None, "", Some(&cli)));
    assert!(!waiver.covers("recreate", Some("catalogs.main"), "", None));
    assert!(!waiver.covers(
        "recreate",
        Some("catalogs.main"),
        "",
        Some(&semver::Version::new(1, 20, 0))
    ));
}

#[test]
fn the_canonical_form_does_not_depend_on_layout() {
    let one = policy(
        "version: 1\nextends: staging\nrules:\n  # a comment\n  destroy: deny\nlimits: {delete: 1, create: 2}\n",
    );
    let two = policy(
        "version: 1\nlimits:\n  create: 2\n  delete: 1\nextends: staging\nrules: {\"destroy\": \"deny\"}\n",
    );
    let other = policy(
        "version: 1\nextends: staging\nrules: {destroy: review}\nlimits: {delete: 1, create: 2}\n",
    );
    assert_eq!(one.resolved_canonical(), two.resolved_canonical());
    assert_ne!(one.resolved_canonical(), other.resolved_canonical());
    let json = one.resolved_canonical();
    assert!(
        json.starts_with(r#"{"allow_empty":false,"approval":null,"bundle":{"#),
        "{json}"
    );
    assert!(
        policy(FULL)
            .resolved_canonical()
            .contains(r#""retention":"24h""#)
    );
}

#[test]
fn a_policy_with_every_rule_off_is_seen() {
    let off: String = super::RULES
        .iter()
        .map(|(id, _)| format!("  {id}: off\n"))
        .collect();
    assert!(policy(&format!("version: 1\nrules:\n{off}")).every_rule_off());
    assert!(!policy("version: 1\nrules: {destroy: off}\n").every_rule_off());
    assert!(
        !policy(&format!(
            "version: 1\nrules:\n{}",
            off.replace(
                "  owner: off",
                "  owner: {level: note, resources: [jobs.a]}"
            )
        ))
        .every_rule_off()
    );
}

#[test]
fn a_locked_policy_can_be_filled_in() {
    let org = "version: 1\nextends: production\nlocked: true\nlimits: {delete: 0}\napproval: {required: 2}\n";
    let team = "version: 1\nextends: org.yml\ntargets: [prod]\nprotect: [\"schemas.*\"]\nlimits: {change: 5}\nstanding: as-rule\n\
                rules: {rename: deny}\napproval: {required: 3, accept: {ssh: {allowed_signers: a}}}\n\
                custom: [{id: mine, level: warn, when: 'gone', message: x}]\n";
    let policy = load_files(&[("bundlegate.yml", team), ("org.yml", org)]).unwrap();
    assert_eq!(policy.approval.as_ref().unwrap().required, 3);
    assert_eq!(policy.level("rename", None), Level::Deny);
    assert_eq!(policy.level("mine", None), Level::Warn);
    for softer in [
        "rules: {rename: warn}",
        "approval: {required: 1}",
        "approval: {separation: []}",
        "approval: {separation: [actor]}",
        "approval: {expires_after: 7d}",
        "approval: {match: intent}",
        "limits: {delete: 1}",
        "inputs: {require: []}",
        "inputs: {require: [state]}",
        "allow_empty: true",
        "locked: false",
        "verify: {deleted: false}",
        "standing: note",
        "waivers: [{rule: rename, resource: jobs.a, until: 2030-01-01, reason: x, owner: y}]",
    ] {
        let text = format!("version: 1\nextends: org.yml\n{softer}\n");
        let error = load_files(&[("bundlegate.yml", &text), ("org.yml", org)])
            .unwrap_err()
            .to_string();
        assert!(error.contains("locked here"), "{softer}: {error}");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_difference() {
    let unix = policy("version: 1\nrules:\n  rename: note\n");
    let windows = policy("\u{feff}version: 1\r\nrules:\r\n  rename: note\r\n");
    assert_eq!(unix.resolved_canonical(), windows.resolved_canonical());
    let (_, Origin::File(at)) = windows.decided_by("rename", None) else {
        panic!()
    };
    assert_eq!((at.line(), at.column()), (3, 3));
}

#[test]
fn custom_rules_are_asked_about_what_they_select() {
    let policy = policy(
        "version: 1\ncustom:\n  - {id: one, level: note, resources: [\"jobs.*\"], when: 'gone', message: x}\nrules: {one: {level: deny, resources: [jobs.b]}}\n",
    );
    let rule = &policy.custom[0];
    assert!(rule.selects("jobs.a") && !rule.selects("pipelines.a"));
    assert_eq!(policy.level("one", Some("jobs.a")), Level::Note);
    assert_eq!(policy.level("one", Some("jobs.b")), Level::Deny);
}

#[test]
fn selectors_are_listed_with_their_place() {
    let policy = policy(FULL);
    let mut all: Vec<String> = policy
        .selectors()
        .iter()
        .map(|used| format!("{} {} {}", used.place, used.text, used.at.line()))
        .collect();
    all.sort();
    assert_eq!(all.len(), 11, "{all:#?}");
    assert!(
        all.contains(&"rules.recreate quality_monitors.* 21".to_owned()),
        "{all:#?}"
    );
    assert!(
        all.contains(&"state pipelines.orders 42".to_owned()),
        "{all:#?}"
    );
}
