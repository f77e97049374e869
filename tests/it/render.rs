//! Recorded scenarios as people read them, and each machine format against its own definition.

use bundlegate::json::Limits;
use bundlegate::plan::Action;
use bundlegate::policy::{Level, Selector};
use bundlegate::render::{Format, Options, render};
use bundlegate::report::show::ShowOptions;
use bundlegate::report::{Body, DigestBody, Report};

use super::reports::{Texts, authorize, root};

/// Every recorded scenario that holds a plan.
fn scenarios() -> Vec<String> {
    let mut out: Vec<String> = std::fs::read_dir(root().join("tests/scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("plan.json").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| Texts::of(name).readable())
        .collect();
    out.sort();
    assert!(out.len() > 50, "{out:?}");
    out
}

impl Texts {
    fn readable(&self) -> bool {
        let limits = Limits::default();
        bundlegate::plan::read(self.plan.as_bytes(), &limits).is_ok()
            && self
                .bundle
                .as_ref()
                .is_none_or(|b| bundlegate::bundle::Bundle::read(b.as_bytes(), &limits).is_ok())
            && self
                .state
                .as_ref()
                .is_none_or(|s| bundlegate::bundle::State::read(s.as_bytes(), &limits).is_ok())
    }
}

fn text(scenario: &str) -> String {
    render(
        Format::Text,
        &Texts::of(scenario).report(None),
        &Options::default(),
    )
}

fn show(scenario: &str) -> String {
    let mut report = Texts::of(scenario).report(Some(&ShowOptions::default()));
    report.findings.clear();
    report.policy = None;
    render(Format::Text, &report, &Options::default())
}

#[test]
fn check_in_words() {
    insta::assert_snapshot!(text("schema-recreate"), @r#"
closed: 2 findings forbid this deploy, 1 more needs a review
  No approval lifts a deny: change what those findings name, and plan again.

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 recreate, 1 update, 5 skip

deny lost-with-parent  pipelines.orders  (databricks.yml:15:7)
  It publishes to "main.orders", which is recreated with everything in it (schemas.orders_db).
  why: The tables that the pipeline publishes there are dropped with the schema; the pipeline itself
    stays and fails.
  do:  Keep the container, or move what lives in it first; plan its loss in the open by taking it
    out of the bundle.

deny lost-with-parent  volumes.raw  (databricks.yml:57:7)
  It lives in "main.orders", which is recreated with everything in it (schemas.orders_db).
  why: The files of a managed volume are deleted within 30 days; of an external one only the
    metadata goes.
  do:  Keep the container, or move what lives in it first; plan its loss in the open by taking it
    out of the bundle.

review recreate  schemas.orders_db  (databricks.yml:48:7)
  The schema ("main.orders") is deleted and made again: catalog_name cannot be changed in place.
  why: It is deleted first and made again empty. Every table, view, volume, function and model in
    the schema goes with it, also those that this plan does not show.
  do:  Undo the change of the field that cannot be changed in place, or plan the move: copy first,
    approve, deploy.

warn prevent-destroy-missing  schemas.orders_db  (databricks.yml:48:7)
  It holds data and has no prevent_destroy.
  why: The CLI will not refuse a deploy that recreates it, or `bundle destroy`.
  do:  Set `lifecycle: {prevent_destroy: true}` on the resource; it protects only as long as its
    block is there, so list it under `protect` of the policy, too.

standing weaknesses: this plan leaves them as they are
  warn prevent-destroy-missing: pipelines.orders, volumes.raw

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(text("guards-weakened"), @r#"
closed: 4 findings forbid this deploy
  No approval lifts a deny: change what those findings name, and plan again.

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 update, 6 skip

deny cascade-armed  pipelines.orders  (databricks.yml:15:7)
  cascade_on_destroy is true: deleting the pipeline drops its tables.
  why: The next delete of the pipeline, also by a renamed or dropped block, drops all its tables.
  do:  Set cascade_on_destroy: false and deploy it; it is read from the last deploy's state.

deny drop-inactive-tables  pipelines.orders  (databricks.yml:15:7)
  Tables that leave its code are dropped by its next update.
  why: Every table that leaves the pipeline's code is dropped by its next update, without any plan
    showing it.
  do:  Take the setting out; drop inactive tables by hand after looking at them.

deny guard-removed  pipelines.orders  (databricks.yml:15:7)
  cascade_on_destroy was false and becomes true: deleting the pipeline will no longer keep its
    tables.
  why: Nothing is lost yet; from this deploy on a delete drops the tables, or a full refresh can
    reset them.
  do:  Keep the guard, or take it away in a change of its own that says why.

deny guard-removed  pipelines.orders  (databricks.yml:15:7)
  pipelines.reset.allowed: "false" is taken away: a full refresh can reset its tables.
  why: A full refresh truncates the streaming tables and removes their checkpoints; what the sources
    no longer keep is gone.
  do:  Keep the guard, or take it away in a change of its own that says why.

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(text("job-schedule-update"), @r#"
open: nothing in this plan stands against the deploy

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 update, 6 skip

did not run: ignored-field (give --warnings)
"#);
}

#[test]
fn show_in_words() {
    insta::assert_snapshot!(show("schema-recreate"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
does    1 recreate, 1 update, 5 skip

recreate schemas.orders_db  (main.orders)  (databricks.yml:48:7)
  It is deleted first and made again empty. Every table, view, volume, function and model in the
    schema goes with it, also those that this plan does not show.
  goes with it: pipelines.orders, volumes.raw
    catalog_name: main -> lake  (id_field)

update schemas.orders_db.grants  (databricks.yml:48:7)
    full_name: main.orders -> (known after ${resources.schemas.orders_db.id})

order: the CLI acts step by step
  1. schemas.orders_db
  2. schemas.orders_db.grants

not listed: 5 entries left alone (--all lists them)

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(show("guards-weakened"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
does    1 update, 6 skip

update pipelines.orders  (databricks.yml:15:7)
    cascade_on_destroy: false -> true
    configuration['pipelines.dropInactiveTables']: (not set) -> true
    configuration['pipelines.reset.allowed']: false -> (not set)

not listed: 6 entries left alone (--all lists them)

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(show("permission-broadened"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
does    1 update, 6 skip

update jobs.report.permissions  (databricks.yml:40:7)
    [group_name='users']: (not set) -> {"group_name":"users","level":"CAN_MANAGE"}

not listed: 6 entries left alone (--all lists them)

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(show("job-rename-key"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
does    2 delete, 2 create, 5 skip

jobs.report is deleted and created again as jobs.monthly_report: its key was renamed, the workspace
  calls both report.

delete jobs.report
  Its id and its run history go; what refers to the id (other jobs, alerts, dashboards, API callers)
    breaks.

delete jobs.report.permissions
  Who may do what on it is taken away.

create jobs.monthly_report  (report)  (databricks.yml:40:7)
    deployment:
      {"kind":"BUNDLE","metadata_file_path":"/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.
      bundle/orders/prod/state/metadata.json"}
    edit_mode: UI_LOCKED
    format: MULTI_TASK
    max_concurrent_runs: 1
    name: report
    queue: {"enabled":true}
    run_as: {"service_principal_name":"5f0c6c1e-0000-4000-8000-0000000000aa"}
    tasks:
      [{"notebook_task":{"notebook_path":"/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.bun
      dle/orders/prod/files/src/report"},"task_key":"main"}]

create jobs.monthly_report.permissions  (databricks.yml:40:7)
    [group_name='analysts']: {"group_name":"analysts","level":"CAN_VIEW"}
    [service_principal_name='0b7a0d1e-0000-4000-8000-00000000bb01']:
      {"level":"IS_OWNER","service_principal_name":"0b7a0d1e-0000-4000-8000-00000000bb01"}

order: the CLI acts step by step
  1. jobs.monthly_report, jobs.report.permissions
  2. jobs.monthly_report.permissions, jobs.report

not listed: 5 entries left alone (--all lists them)

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(show("dashboard-remote-edit"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
does    1 update, 7 skip

update dashboards.overview  (Orders)  (databricks.yml:69:7)
  changed in the workspace, put back by the deploy:
    etag: 80611981 (the last deploy set 80611980)
    published: false (the last deploy set true)
    warehouse_id: "" (the last deploy set 8ec9edc1-db0c-40df-af8d-7580020fe61e)

not listed: 7 entries left alone (--all lists them)

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(show("pipeline-recreate-storage"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
does    1 recreate, 1 update, 5 skip

recreate pipelines.orders  (databricks.yml:15:7)
  It is deleted first and made again empty. Its checkpoints and event log go; what becomes of its
    streaming tables and materialized views depends on cascade_on_destroy and the publishing mode.
    storage: dbfs:/pipelines/orders -> dbfs:/pipelines/orders2  (immutable)

update jobs.nightly  (databricks.yml:28:7)
    tasks[task_key='refresh'].pipeline_task.pipeline_id: 7a11d799-a7a1-81ec-7a11-d799a7a18250 ->
      (known after ${resources.pipelines.orders.id})

order: the CLI acts step by step
  1. pipelines.orders
  2. jobs.nightly

not listed: 5 entries left alone (--all lists them)

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(show("code-only-change"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
does    7 skip

0 to change: no resource changes, but the deploy uploads the files of the bundle, so code may
  differ.

not listed: 7 entries left alone (--all lists them)

did not run: ignored-field (give --warnings)
"#);
    insta::assert_snapshot!(show("secret-create"), @r#"
not judged: this only says what the plan does; `bundlegate check` judges it

plan    plan.json (CLI 1.13.0, first deploy, sha256 0123456789ab)
target  prod
does    10 create

create jobs.nightly  (databricks.yml:30:7)
    deployment:
      {"kind":"BUNDLE","metadata_file_path":"/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.
      bundle/orders/prod/state/metadata.json"}
    edit_mode: UI_LOCKED
    format: MULTI_TASK
    max_concurrent_runs: 1
    name: nightly
    queue: {"enabled":true}
    run_as: {"service_principal_name":"5f0c6c1e-0000-4000-8000-0000000000aa"}
    schedule: {"pause_status":"UNPAUSED","quartz_cron_expression":"0 0 3 * * ?","timezone_id":"UTC"}
    tasks:
      [{"pipeline_task":{"pipeline_id":"${resources.pipelines.orders.id}"},"task_key":"refresh"}]
    timeout_seconds: 7200

create jobs.report  (databricks.yml:40:7)
    deployment:
      {"kind":"BUNDLE","metadata_file_path":"/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.
      bundle/orders/prod/state/metadata.json"}
    edit_mode: UI_LOCKED
    format: MULTI_TASK
    max_concurrent_runs: 1
    name: report
    queue: {"enabled":true}
    run_as: {"service_principal_name":"5f0c6c1e-0000-4000-8000-0000000000aa"}
    tasks:
      [{"notebook_task":{"notebook_path":"/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.bun
      dle/orders/prod/files/src/report"},"task_key":"main"}]

create jobs.report.permissions  (databricks.yml:40:7)
    [group_name='analysts']: {"group_name":"analysts","level":"CAN_VIEW"}
    [service_principal_name='0b7a0d1e-0000-4000-8000-00000000bb01']:
      {"level":"IS_OWNER","service_principal_name":"0b7a0d1e-0000-4000-8000-00000000bb01"}

create pipelines.orders  (databricks.yml:15:7)
    catalog: main
    channel: CURRENT
    configuration: {"pipelines.reset.allowed":"false"}
    deployment:
      {"kind":"BUNDLE","metadata_file_path":"/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.
      bundle/orders/prod/state/metadata.json"}
    edition: ADVANCED
    libraries:
      [{"file":{"path":"/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.bundle/orders/prod/fi
      les/src/orders.sql"}}]
    name: orders
    run_as: {"service_principal_name":"5f0c6c1e-0000-4000-8000-0000000000aa"}
    schema: orders
    serverless: true

create schemas.orders_db  (main.orders)  (databricks.yml:50:7)
    catalog_name: main
    name: orders

create schemas.orders_db.grants  (databricks.yml:50:7)
    [principal='analysts']: {"principal":"analysts","privileges":["SELECT","USE_SCHEMA"]}

create secret_scopes.creds  (orders)  (databricks.yml:69:7)
    scope: orders

create secret_scopes.creds.permissions  (databricks.yml:69:7)
    [principal='0b7a0d1e-0000-4000-8000-00000000bb01']:
      {"permission":"MANAGE","principal":"0b7a0d1e-0000-4000-8000-00000000bb01"}

create secrets.token  (main.orders.token)  (databricks.yml:72:7)
    catalog_name: main
    name: token
    schema_name: orders
    value: (secret)

create volumes.raw  (main.orders.raw)  (databricks.yml:61:7)
    catalog_name: main
    name: raw
    schema_name: orders
    volume_type: MANAGED

order: the CLI acts step by step
  1. jobs.report, schemas.orders_db, secret_scopes.creds
  2. jobs.report.permissions, pipelines.orders, schemas.orders_db.grants,
    secret_scopes.creds.permissions, secrets.token, volumes.raw
  3. jobs.nightly

did not run: missing-remote, state-mismatch (give --state); ignored-field (give --warnings)
"#);
}

#[test]
fn markdown_in_words() {
    let report = Texts::of("schema-recreate").report(Some(&ShowOptions::default()));
    insta::assert_snapshot!(render(Format::Markdown, &report, &Options::default()), @r#"
### closed: 2 findings forbid this deploy, 1 more needs a review

No approval lifts a deny: change what those findings name, and plan again.

| recreate | update | skip |
|---:|---:|---:|
| 1 | 1 | 5 |

Plan `plan.json` (CLI 1.13.0, serial 1, sha256 `0123456789ab`) · target `prod` · policy `production`

- **deny** `lost-with-parent` `pipelines.orders` (`databricks.yml:15:7`): It publishes to "main.orders", which is recreated with everything in it (`schemas.orders_db`).
  - why: The tables that the pipeline publishes there are dropped with the schema; the pipeline itself stays and fails.
  - do: Keep the container, or move what lives in it first; plan its loss in the open by taking it out of the bundle.
- **deny** `lost-with-parent` `volumes.raw` (`databricks.yml:57:7`): It lives in "main.orders", which is recreated with everything in it (`schemas.orders_db`).
  - why: The files of a managed volume are deleted within 30 days; of an external one only the metadata goes.
  - do: Keep the container, or move what lives in it first; plan its loss in the open by taking it out of the bundle.
- **review** `recreate` `schemas.orders_db` (`databricks.yml:48:7`): The schema ("main.orders") is deleted and made again: `catalog_name` cannot be changed in place.
  - why: It is deleted first and made again empty. Every table, view, volume, function and model in the schema goes with it, also those that this plan does not show.
  - do: Undo the change of the field that cannot be changed in place, or plan the move: copy first, approve, deploy.

<details><summary>3 more findings</summary>

- **warn** `prevent-destroy-missing` `schemas.orders_db` (`databricks.yml:48:7`): It holds data and has no `prevent_destroy`.
  - why: The CLI will not refuse a deploy that recreates it, or `bundle destroy`.
  - do: Set `lifecycle: {prevent_destroy: true}` on the resource; it protects only as long as its block is there, so list it under `protect` of the policy, too.
- warn `prevent-destroy-missing` (standing, this plan leaves it as it is): `pipelines.orders`, `volumes.raw`

</details>


<details><summary><b>recreate</b> <code>schemas.orders_db</code> (<code>main.orders</code>), 1 field, loses data</summary>

What it can destroy: It is deleted first and made again empty. Every table, view, volume, function and model in the schema goes with it, also those that this plan does not show.

Goes with it: `pipelines.orders, volumes.raw`

| field | before | after | |
|---|---|---|---|
| `catalog_name` | `main` | `lake` | `id_field` |

</details>

<details><summary><b>update</b> <code>schemas.orders_db.grants</code>, 1 field</summary>

| field | before | after | |
|---|---|---|---|
| `full_name` | `main.orders` | `(known after ${resources.schemas.orders_db.id})` |  |

</details>

Not listed: 5 entries left alone (--all lists them).

<details><summary>The order in which the CLI acts</summary>

1. `schemas.orders_db`
1. `schemas.orders_db.grants`

</details>

Did not run: ignored-field (give --warnings).
"#);
}

#[test]
fn every_format_of_every_scenario_is_always_the_same() {
    for scenario in scenarios() {
        for show in [
            None,
            Some(ShowOptions {
                all: true,
                ..ShowOptions::default()
            }),
        ] {
            let report = Texts::of(&scenario).report(show.as_ref());
            for format in Format::ALL {
                let once = render(*format, &report, &Options::default());
                assert!(once.ends_with('\n'), "{scenario} {format}");
                assert_eq!(
                    once,
                    render(*format, &report, &Options::default()),
                    "{scenario} {format}"
                );
                assert!(!once.contains("hunter2"), "{scenario} {format}");
            }
        }
    }
}

#[test]
fn sarif_and_json_fit_their_schemas() {
    let sarif = std::fs::read_to_string(root().join("tests/schemas/sarif-2.1.0.json")).unwrap();
    // OASIS' own schema has a bracket too many in one pattern.
    let sarif = sarif.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let sarif = jsonschema::validator_for(&serde_json::from_str(&sarif).unwrap()).unwrap();
    let own = jsonschema::validator_for(&bundlegate::report::json_schema()).unwrap();
    assert!(!sarif.is_valid(&serde_json::json!({"version": "2.1.0", "runs": [{}]})));
    for scenario in scenarios() {
        let report = Texts::of(&scenario).report(Some(&ShowOptions::default()));
        let refused = authorize(report.clone(), false, "x");
        for (schema, format, report) in [
            (&sarif, Format::Sarif, &report),
            (&own, Format::Json, &report),
            (&sarif, Format::Sarif, &refused),
            (&own, Format::Json, &refused),
        ] {
            let out = serde_json::from_str(&render(format, report, &Options::default())).unwrap();
            let errors: Vec<String> = schema
                .iter_errors(&out)
                .map(|e| format!("{}: {e}", e.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{scenario} {format}: {errors:?}");
        }
    }
}

#[test]
fn sarif_keeps_the_identity_of_a_finding() {
    let report = Texts::of("schema-recreate").report(None);
    let log: serde_json::Value =
        serde_json::from_str(&render(Format::Sarif, &report, &Options::default())).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), report.findings.len());
    for (result, finding) in results.iter().zip(&report.findings) {
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(
            log["runs"][0]["tool"]["driver"]["rules"][rule]["id"],
            finding.rule.as_str()
        );
        assert_eq!(
            result["partialFingerprints"]["bundlegateFinding/v1"],
            finding.fingerprint.as_str()
        );
    }
}

#[test]
fn junit_counts_what_holds_up_the_deploy() {
    for scenario in scenarios() {
        let report = Texts::of(&scenario).report(None);
        let xml = render(Format::Junit, &report, &Options::default());
        let doc = roxmltree::Document::parse(&xml).unwrap();
        let suite = doc
            .descendants()
            .find(|n| n.has_tag_name("testsuite"))
            .unwrap();
        let loud = report
            .findings
            .iter()
            .filter(|f| f.level >= Level::Review)
            .count();
        assert_eq!(
            suite.attribute("failures"),
            Some(loud.to_string().as_str()),
            "{scenario}"
        );
        let cases = doc
            .descendants()
            .filter(|n| n.has_tag_name("testcase"))
            .count();
        assert_eq!(
            cases,
            report.findings.len() + report.not_run.len() + 1,
            "{scenario}"
        );
    }
}

/// What needed a review and was approved holds nothing up, and stays in sight.
#[test]
fn what_is_approved_is_no_error() {
    let mut report = Texts::of("schema-recreate").report(None);
    report.findings.retain(|f| f.level < Level::Deny);
    assert!(report.findings.iter().any(|f| f.level == Level::Review));
    for (yes, holds_up) in [(true, false), (false, true)] {
        let report = authorize(report.clone(), yes, "x");
        let of = |format| render(format, &report, &Options::default());
        for (format, error) in [
            (
                Format::Github,
                "::error file=databricks.yml,line=48,col=7,title=review recreate",
            ),
            (
                Format::Azure,
                "##vso[task.logissue type=error;sourcepath=databricks.yml;linenumber=48;columnnumber=7;code=recreate;]",
            ),
            (Format::Junit, "<failure message=\"review: The schema"),
        ] {
            let out = of(format);
            assert_eq!(out.contains(error), holds_up, "{format} {out}");
            assert!(out.contains("recreate"), "{format} {out}");
        }
        for format in [Format::Markdown, Format::Html] {
            assert_eq!(of(format).contains("(approved)"), yes, "{format}");
        }
    }
}

#[test]
fn digests_in_a_table() {
    let mut report = Texts::of("job-schedule-update").report(None);
    report.command = "digest";
    report.body = Body::Digest(DigestBody {
        plan: "0123456789abcdef".repeat(4),
        intent: None,
        policy: "fedcba9876543210".repeat(4),
        source: Some(serde_json::json!({"commit": "a|b"})),
        redacted: vec!["jobs.a: tags['<b>']".to_owned()],
        left_out: Vec::new(),
        canonical: None,
    });
    insta::assert_snapshot!(render(Format::Markdown, &report, &Options::default()), @r#"
### digests: what an approval of this plan binds

| update | skip |
|---:|---:|
| 1 | 6 |

Plan `plan.json` (CLI 1.13.0, serial 1, sha256 `0123456789ab`) · target `prod` · policy `production`

| | digest |
|---|---|
| plan | `0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef` |
| intent | `none: a plan of the Terraform engine says only which actions it takes` |
| policy | `fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210` |
| source | `{"commit":"a\u{7c}b"}` |
| redacted | `jobs.a: tags['<b>']: the plan holds [redacted], so no digest binds its value` |

Did not run: ignored-field (give --warnings).
"#);
    let html = render(Format::Html, &report, &Options::default());
    assert!(html.contains("<h1>digests: what an approval of this plan binds</h1>"));
    assert!(html.contains("<tr><th>redacted</th><td><code>jobs.a: tags[&#39;&lt;b&gt;&#39;]"));
}

fn entries(report: &Report) -> Vec<String> {
    match &report.body {
        Body::Show(body) => body
            .entries
            .iter()
            .map(|e| format!("{} {}", e.action, e.key))
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn show_lists_what_was_asked_for() {
    let texts = Texts::of("schema-recreate");
    let all = entries(&texts.report(Some(&ShowOptions {
        all: true,
        ..ShowOptions::default()
    })));
    let some = entries(&texts.report(Some(&ShowOptions::default())));
    assert!(
        all.len() > some.len() && all.starts_with(&some),
        "{all:?} {some:?}"
    );
    let only = entries(&texts.report(Some(&ShowOptions {
        only: vec![Action::Recreate],
        ..ShowOptions::default()
    })));
    assert!(
        !only.is_empty() && only.iter().all(|e| e.starts_with("recreate ")),
        "{only:?}"
    );
    let selector: Selector = "schemas.*".parse().unwrap();
    let one = entries(&texts.report(Some(&ShowOptions {
        resources: vec![selector],
        all: true,
        ..ShowOptions::default()
    })));
    assert!(
        !one.is_empty() && one.iter().all(|e| e.contains(" schemas.")),
        "{one:?}"
    );
    let report = texts.report(Some(&ShowOptions {
        no_diff: true,
        ..ShowOptions::default()
    }));
    let Body::Show(body) = &report.body else {
        panic!("{report:?}")
    };
    assert!(body.entries.iter().all(|e| e.changes.is_empty()));
}

/// What `changes` do not say, `show` says all the same.
#[test]
fn show_does_not_trust_changes() {
    let plan = r#"{"plan_version": 2, "cli_version": "1.13.0", "lineage": "x", "serial": 1, "plan": {"resources.jobs.a": {"action": "update",
        "new_state": {"value": {"name": "hidden", "timeout_seconds": 60, "password": "hunter2", "description": "one\ntwo\nthree"}},
        "remote_state": {"name": "report", "timeout_seconds": 0, "description": "one\n2\nthree"},
        "changes": {"timeout_seconds": {"action": "update", "old": 30, "new": 61, "remote": 0}, "description": {"action": "update", "old": "one\n2\nthree", "new": "x"}}}}}"#;
    let report = Texts {
        plan: plan.to_owned(),
        ..Texts::default()
    }
    .report(Some(&ShowOptions::default()));
    let mut report = report;
    report.findings.clear();
    insta::assert_snapshot!(render(Format::Text, &report, &Options::default()), @r#"
closed: 0 findings forbid this deploy
  No approval lifts a deny: change what those findings name, and plan again.

plan    plan.json (CLI 1.13.0, serial 1, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 update

update jobs.a  (report)
    description:
        one
      - 2
      + two
        three
    name: report -> hidden  (no change of the plan names it)
    password: (not set) -> (secret)  (no change of the plan names it)
    timeout_seconds: 30 -> 60  (the workspace holds 0)

did not run: bundle-mismatch, git-branch, prevent-destroy-blocks, prevent-destroy-missing,
  production-mode, unlocked (give --bundle); missing-remote, run-as-drift, state-mismatch (give
  --state); ignored-field (give --warnings)
"#);
}

/// 3,000 changes in one entry, and a field of 5 MB.
#[test]
fn large_entries_stay_readable() {
    let changes: Vec<String> = (0..3_000)
        .map(|i| format!(r#""tags['k{i}']": {{"action": "update", "old": "a", "new": "b"}}"#))
        .collect();
    let tags: Vec<String> = (0..3_000).map(|i| format!(r#""k{i}": "b""#)).collect();
    let long = "x".repeat(5_000_000);
    let plan = format!(
        r#"{{"plan_version": 2, "cli_version": "1.13.0", "lineage": "x", "serial": 1, "plan": {{
        "resources.jobs.a": {{"action": "update", "new_state": {{"value": {{"tags": {{{}}}}}}}, "remote_state": {{"tags": {{}}}}, "changes": {{{}}}}},
        "resources.jobs.b": {{"action": "update", "new_state": {{"value": {{"description": "{long}"}}}}, "remote_state": {{"description": ""}}, "changes": {{"description": {{"action": "update", "old": "y", "new": "{long}"}}}}}}}}}}"#,
        tags.join(", "),
        changes.join(", ")
    );
    let report = Texts {
        plan,
        ..Texts::default()
    }
    .report(Some(&ShowOptions::default()));
    for format in [
        Format::Text,
        Format::Markdown,
        Format::Html,
        Format::Github,
        Format::Azure,
    ] {
        let out = render(
            format,
            &report,
            &Options {
                width: Some(20),
                ..Options::default()
            },
        );
        assert!(out.len() < 300_000, "{format}: {} bytes", out.len());
    }
    let markdown = render(Format::Markdown, &report, &Options::default());
    assert!(markdown.contains("2960 fields more"), "{markdown}");
}
