//! The recorded scenarios: what `check` must answer, and every deny and review finding of each, read by a person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::support::{finish, program, scenarios};

/// What `expected.json` says about one scenario.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    exit: i32,
    fires: Vec<String>,
    quiet: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    dir: Option<String>,
    policy: Option<String>,
    policy_text: Option<String>,
    target: Option<String>,
    bundle: Option<Value>,
    state: Option<Value>,
    warnings: Option<String>,
    /// Patterns that message, impact and remedy of the findings must hold, by `rule` or `rule key`.
    #[serde(default)]
    says: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    says_not: BTreeMap<String, Vec<String>>,
    #[serde(rename = "verify")]
    _verify: Option<i32>,
    #[serde(rename = "after")]
    _after: Option<String>,
}

fn arguments(folder: &Path, want: &Expected, policy: &str) -> Vec<String> {
    let mut args: Vec<String> = [
        "check",
        "plan.json",
        "-p",
        policy,
        "-t",
        want.target.as_deref().unwrap_or("prod"),
    ]
    .map(str::to_owned)
    .to_vec();
    let named = |given: &Option<Value>, usual: &str| match given {
        Some(Value::String(name)) => Some(name.clone()),
        Some(_) => None,
        None => Some(usual.to_owned()),
    };
    for (flag, name) in [
        ("--bundle", named(&want.bundle, "bundle.json")),
        ("--state", named(&want.state, "state.json")),
        ("--warnings", want.warnings.clone()),
    ] {
        if let Some(name) = name.filter(|n| folder.join(n).exists()) {
            args.extend([flag.to_owned(), name]);
        }
    }
    args
}

/// Scenarios whose answer is known to be wrong: each one that comes right leaves this list.
const PENDING: &[&str] = &[
    "app-scopes-and-resources",
    "app-stopped",
    "change-left-out",
    "checkpoint-of-production-in-dev",
    "dashboard-embeds-credentials",
    "database-instance-stopped",
    "email-in-another-case",
    "git-tag-to-branch",
    "history-kept-shorter",
    "ingestion-auto-full-refresh",
    "job-run-record",
    "lakebase-branch-unprotected",
    "library-removed",
    "maintenance-window-one-field",
    "move-and-drop-inactive",
    "permission-user-name-is-a-principal",
    "rate-limit-zero",
    "schedule-paused",
    "secret-scope-keyvault",
    "secret-scope-renamed",
    "task-resets-checkpoint",
    "team-group-in-production",
    "vector-endpoint-recreated",
    "warehouse-idle",
    "webhook-added-in-task",
    "webhook-destination-lost",
];

macro_rules! scenario_tests {
    ($($function:ident $name:literal,)*) => {
        $(
            #[test]
            fn $function() {
                scenario($name);
            }
        )*

        #[test]
        fn every_scenario_has_a_test() {
            let listed: BTreeSet<&str> = [$($name),*].into();
            let recorded = expected();
            let recorded: BTreeSet<&str> = recorded.keys().map(String::as_str).collect();
            assert_eq!(listed, recorded);
        }
    };
}

scenario_tests! {
    alert_and_app "alert-and-app",
    app_scopes_and_resources "app-scopes-and-resources",
    app_stopped "app-stopped",
    bundle_renamed "bundle-renamed",
    cascade_unset_update "cascade-unset-update",
    change_left_out "change-left-out",
    checkpoint_of_production_in_dev "checkpoint-of-production-in-dev",
    cli_warnings "cli-warnings",
    code_only_change "code-only-change",
    dashboard_embeds_credentials "dashboard-embeds-credentials",
    dashboard_remote_edit "dashboard-remote-edit",
    database_instance_stopped "database-instance-stopped",
    delete_forbidden "delete-forbidden",
    development_target "development-target",
    drift_right_after_deploy "drift-right-after-deploy",
    email_in_another_case "email-in-another-case",
    field_reset "field-reset",
    first_deploy "first-deploy",
    full_refresh_task "full-refresh-task",
    git_branch_mismatch "git-branch-mismatch",
    git_tag_to_branch "git-tag-to-branch",
    grant_broadened "grant-broadened",
    grant_removed "grant-removed",
    guards_weakened "guards-weakened",
    history_kept_shorter "history-kept-shorter",
    hostile_names "hostile-names",
    ingestion_auto_full_refresh "ingestion-auto-full-refresh",
    job_added "job-added",
    job_becomes_continuous "job-becomes-continuous",
    job_destroy "job-destroy",
    job_rename_key "job-rename-key",
    job_run_on_deploy "job-run-on-deploy",
    job_run_record "job-run-record",
    job_schedule_update "job-schedule-update",
    lakebase_branch_unprotected "lakebase-branch-unprotected",
    lakebase_purge_armed "lakebase-purge-armed",
    library_removed "library-removed",
    lock_disabled "lock-disabled",
    maintenance_window_one_field "maintenance-window-one-field",
    many_types_created "many-types-created",
    move_and_drop_inactive "move-and-drop-inactive",
    no_change "no-change",
    other_bundle "other-bundle",
    other_state "other-state",
    other_target "other-target",
    partial_failure "partial-failure",
    partial_plan "partial-plan",
    permission_broadened "permission-broadened",
    permission_user_name_is_a_principal "permission-user-name-is-a-principal",
    permissions_removed "permissions-removed",
    pipeline_becomes_continuous "pipeline-becomes-continuous",
    pipeline_dataset_move "pipeline-dataset-move",
    pipeline_destroy "pipeline-destroy",
    pipeline_destroy_cascade_true "pipeline-destroy-cascade-true",
    pipeline_destroy_cascade_unset "pipeline-destroy-cascade-unset",
    pipeline_destroy_gone "pipeline-destroy-gone",
    pipeline_missing_remote "pipeline-missing-remote",
    pipeline_recreate_storage "pipeline-recreate-storage",
    pipeline_root_owner "pipeline-root-owner",
    policy_established "policy-established",
    policy_group_old_cli "policy-group-old-cli",
    policy_group_planned "policy-group-planned",
    policy_limits "policy-limits",
    policy_minimum_cli "policy-minimum-cli",
    policy_other_identity "policy-other-identity",
    policy_planned_identity "policy-planned-identity",
    policy_protect "policy-protect",
    policy_softer "policy-softer",
    policy_typo "policy-typo",
    prevent_destroy_kept "prevent-destroy-kept",
    preview_and_development_flags "preview-and-development-flags",
    rate_limit_zero "rate-limit-zero",
    run_as_added "run-as-added",
    run_as_changed "run-as-changed",
    run_as_drift_job "run-as-drift-job",
    run_as_drift_pipeline "run-as-drift-pipeline",
    run_as_group_job "run-as-group-job",
    run_as_group_pipeline "run-as-group-pipeline",
    run_as_group_pipeline_1_20 "run-as-group-pipeline-1-20",
    run_as_group_pipeline_1_20_drifted "run-as-group-pipeline-1-20-drifted",
    run_as_reference_any_kind "run-as-reference-any-kind",
    run_as_removed "run-as-removed",
    run_as_unresolved "run-as-unresolved",
    schedule_paused "schedule-paused",
    schema_destroy "schema-destroy",
    schema_recreate "schema-recreate",
    secret_create "secret-create",
    secret_scope_keyvault "secret-scope-keyvault",
    secret_scope_renamed "secret-scope-renamed",
    serial_regression "serial-regression",
    serving_endpoint_secret "serving-endpoint-secret",
    shared_root_path "shared-root-path",
    stale_first_deploy "stale-first-deploy",
    stale_plan "stale-plan",
    summary_as_bundle "summary-as-bundle",
    summary_with_deleted "summary-with-deleted",
    tags_and_parameters "tags-and-parameters",
    task_resets_checkpoint "task-resets-checkpoint",
    team_group_in_production "team-group-in-production",
    under_development "under-development",
    under_staging "under-staging",
    unresolved_bundle "unresolved-bundle",
    vector_endpoint_recreated "vector-endpoint-recreated",
    volume_rename "volume-rename",
    warehouse_idle "warehouse-idle",
    webhook_added_in_task "webhook-added-in-task",
    webhook_destination_lost "webhook-destination-lost",
    wheel_artifact "wheel-artifact",
    without_bundle "without-bundle",
    without_bundle_development "without-bundle-development",
}

fn expected() -> BTreeMap<String, Expected> {
    let text = std::fs::read_to_string(scenarios().join("expected.json")).expect("expected.json");
    serde_json::from_str(&text).expect("JSON")
}

fn scenario(name: &str) {
    let want = expected().remove(name).expect("a scenario of this name");
    let (wrong, seen) = compare(name, &want);
    if PENDING.contains(&name) {
        assert!(
            !wrong.is_empty(),
            "{name} is right now: take it off PENDING"
        );
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    insta::with_settings!({snapshot_path => "snapshots/scenarios", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, seen);
    });
}

/// What differs from what is expected, and what the findings are.
fn compare(name: &str, want: &Expected) -> (Vec<String>, String) {
    let temp = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    let folder = scenarios().join(want.dir.as_deref().unwrap_or(name));
    let policy = match &want.policy_text {
        Some(text) => {
            let file = temp.path().join("policy.yml");
            std::fs::write(&file, text).expect("a policy");
            file.to_string_lossy().into_owned()
        }
        None => want
            .policy
            .clone()
            .unwrap_or_else(|| "production".to_owned()),
    };
    let args = arguments(&folder, want, &policy);
    let run = |format: &str| {
        finish(
            program()
                .current_dir(&folder)
                .args(&args)
                .args(["-o", format]),
        )
    };
    let done = run("json");
    if done.code != want.exit {
        wrong.push(format!(
            "exits {}, expected {}: {}",
            done.code, want.exit, done.stderr
        ));
    }
    if !want.never.is_empty() {
        for format in [
            "json", "text", "markdown", "html", "sarif", "junit", "github", "azure",
        ] {
            let done = run(format);
            let prints = |n: &&String| done.stdout.contains(*n) || done.stderr.contains(*n);
            let secrets = want.never.iter().filter(prints);
            wrong.extend(secrets.map(|_| format!("-o {format} prints a secret")));
        }
    }
    if done.code == 2 {
        if !done.stdout.is_empty() || done.stderr.trim().is_empty() {
            wrong.push("exit 2 wants a message on stderr and nothing on stdout".to_owned());
        }
        return (wrong, "exit 2\n".to_owned());
    }
    let report: Value = serde_json::from_str(&done.stdout)
        .unwrap_or_else(|e| panic!("{name}: {e}: {}", done.stderr));
    let (have, unknown, lines) = findings(&report);
    for line in &want.fires {
        let exact = line.trim_end_matches('?');
        if !have.contains(exact) {
            wrong.push(format!("{exact} does not fire"));
        } else if line.ends_with('?') && !unknown.contains(exact) {
            wrong.push(format!("{exact} is not said to be unknown"));
        }
    }
    let quiet = want.quiet.iter().filter(|l| have.contains(l.as_str()));
    wrong.extend(quiet.map(|l| format!("{l} fires and must not")));
    for (patterns, must) in [(&want.says, true), (&want.says_not, false)] {
        for (line, patterns) in patterns {
            let text = texts(&report, line);
            for pattern in patterns {
                let regex = regex::RegexBuilder::new(pattern)
                    .case_insensitive(true)
                    .build()
                    .expect("a pattern");
                if regex.is_match(&text) != must {
                    wrong.push(format!("{line}: says /{pattern}/ should be {must}: {text}"));
                }
            }
        }
    }
    (wrong, format!("exit {}\n{lines}", done.code))
}

/// Message, impact and remedy of the live findings of `rule` or `rule key`.
fn texts(report: &Value, line: &str) -> String {
    let (rule, key) = line.split_once(' ').unwrap_or((line, ""));
    let all = report["findings"].as_array().expect("findings");
    all.iter()
        .filter(|f| f["status"] != "waived" && f["rule"] == rule)
        .filter(|f| key.is_empty() || f["resource"] == key)
        .flat_map(|f| ["message", "impact", "remedy"].map(|part| f[part].as_str().unwrap_or("")))
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a report's live findings are called in `expected.json`: `rule` and `rule key`; those of unknown status; and the
/// deny and review ones, a line each.
fn findings(report: &Value) -> (BTreeSet<String>, BTreeSet<String>, String) {
    let (mut have, mut unknown, mut lines) = (BTreeSet::new(), BTreeSet::new(), String::new());
    for f in report["findings"].as_array().expect("findings") {
        let text = |name: &str| f[name].as_str().unwrap_or_default();
        if text("status") == "waived" {
            continue;
        }
        let mut names = vec![text("rule").to_owned()];
        if let Some(key) = f["resource"].as_str() {
            names.push(format!("{} {key}", text("rule")));
        }
        if text("status") == "unknown" {
            unknown.extend(names.clone());
        }
        if matches!(text("level"), "deny" | "review") {
            let place = f["location"]["line"]
                .as_u64()
                .map_or(String::new(), |l| format!(" :{l}"));
            lines.push_str(&format!(
                "  {} {} {}{place}: {}\n",
                text("level"),
                names.last().map_or("", String::as_str),
                text("path"),
                text("message")
            ));
        }
        have.extend(names);
    }
    (have, unknown, lines)
}
