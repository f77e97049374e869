//! `policy ...`: what each subcommand prints, and the exit code, for good and for bad input.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Done, run, run_in, scenarios};

fn policy(folder: &Path, args: &[&str]) -> Done {
    run_in(folder, &[&["policy"], args].concat())
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {}", done.stderr))
}

fn shown(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

/// Exit 2, nothing on standard output, and a message with this part.
#[track_caller]
fn refused(done: &Done, part: &str) {
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (2, ""),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
}

/// Scenarios whose verdict the policy of `init` is meant to change, and why.
const STRICTER: &[(&str, &str)] = &[
    (
        "volume-rename",
        "the volume is protected by its key, and a rename makes another volume",
    ),
    (
        "vector-endpoint-recreated",
        "what is protected is the index, and production does not see yet that it goes with its endpoint",
    ),
];

#[test]
fn a_policy_made_by_init_keeps_the_verdict_of_every_scenario() {
    let temp = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for entry in std::fs::read_dir(scenarios()).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if !folder.join("bundle.json").exists()
            || !folder.join("plan.json").exists()
            || name == "unresolved-bundle"
        {
            continue;
        }
        tried += 1;
        let file = shown(temp.path().join(format!("{name}.yml")));
        let state = folder.join("state.json").exists();
        let with_state: &[&str] = if state {
            &["--state", "state.json"]
        } else {
            &[]
        };
        let made = policy(
            &folder,
            &[
                &[
                    "init",
                    "--bundle",
                    "bundle.json",
                    "--plan",
                    "plan.json",
                    "--out",
                    &file,
                ][..],
                with_state,
            ]
            .concat(),
        );
        assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{name}");
        let valid = policy(
            &folder,
            &["validate", &file, "--bundle", "bundle.json", "-o", "json"],
        );
        assert_eq!(valid.code, 0, "{name}: {}", valid.stdout);
        assert_eq!(
            json(&valid)["policies"][0]["diagnostics"],
            Value::Array(Vec::new()),
            "{name}"
        );
        let check = |policy: &str| {
            let args = [
                &[
                    "check",
                    "plan.json",
                    "--bundle",
                    "bundle.json",
                    "-p",
                    policy,
                    "-q",
                ][..],
                with_state,
            ];
            run_in(&folder, &args.concat()).code
        };
        let (production, own) = (check("production"), check(&file));
        let meant = STRICTER.iter().any(|(scenario, _)| *scenario == name);
        if (production != own) != meant {
            wrong.push(format!(
                "{name}: {production} under production, {own} under its own policy"
            ));
        }
    }
    assert!(tried > 50, "{tried}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn init_never_overwrites_and_never_leaves_half_a_file() {
    let temp = tempfile::tempdir().unwrap();
    let bundle = shown(scenarios().join("no-change/bundle.json"));
    let init = |args: &[&str]| {
        policy(
            temp.path(),
            &[&["init", "--bundle", &bundle], args].concat(),
        )
    };
    let done = init(&[]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("bundlegate.yml is written"));
    let file = temp.path().join("bundlegate.yml");
    let before = std::fs::read(&file).unwrap();
    refused(&init(&["--yes", "--extends", "staging"]), "not overwritten");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    refused(
        &init(&["--out", "other.yml", "--extends", "stagging"]),
        "did you mean `staging`",
    );
    refused(
        &init(&["--out", "no/such/folder.yml"]),
        "no/such/folder.yml",
    );
    refused(&init(&["--out", "other.yml", "--plan", &bundle]), "plan");
    refused(&policy(temp.path(), &["init"]), "--bundle");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    let printed = init(&["--out", "-", "--extends", "bundlegate.yml"]);
    assert_eq!(
        printed.code, 2,
        "it would extend itself: {}",
        printed.stdout
    );
    let printed = init(&["--out", "-"]);
    assert_eq!(printed.stdout.as_bytes(), before.as_slice());
}

#[test]
fn init_extends_a_policy_by_its_path_from_the_new_file() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("policies")).unwrap();
    std::fs::write(
        temp.path().join("policies/base.yml"),
        "version: 1\nextends: staging\n",
    )
    .unwrap();
    let bundle = shown(scenarios().join("no-change/bundle.json"));
    let done = policy(
        temp.path(),
        &[
            "init",
            "--bundle",
            &bundle,
            "--out",
            "policies/orders.yml",
            "--extends",
            "base.yml",
        ],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    let show = policy(temp.path(), &["show", "-p", "policies/orders.yml"]);
    assert!(
        show.stdout.starts_with("policies/orders.yml, which extends policies/base.yml, which extends staging (embedded)\n"),
        "{}",
        show.stdout
    );
}

#[test]
fn validate_says_everything_and_the_exit_code_says_whether_it_is_usable() {
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path();
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).unwrap();
    refused(
        &policy(at, &["validate"]),
        "expected bundlegate.yml here or above",
    );
    write(
        "bundlegate.yml",
        "version: 1\nprotect: [schema.orders, schemas.order_db, \"volumes.*\"]\n",
    );
    let bundle = shown(scenarios().join("no-change/bundle.json"));
    let alone = policy(at, &["validate"]);
    assert_eq!(alone.code, 0, "{}", alone.stderr);
    assert!(
        alone.stdout.contains("bundlegate.yml: valid, "),
        "{}",
        alone.stdout
    );
    let with = policy(at, &["validate", "--bundle", &bundle]);
    assert_eq!(with.code, 0);
    assert!(
        with.stdout.contains(
            "warning: protect selects nothing: \"schemas.order_db\" (no resource has this key or name)."
        ),
        "{}",
        with.stdout
    );
    assert!(
        with.stdout.contains("--> bundlegate.yml:2:26"),
        "{}",
        with.stdout
    );
    assert!(with.stdout.contains("valid, 2 warnings"), "{}", with.stdout);
    write(
        "bad.yml",
        "version: 1\nrules: {destory: deny}\nlimits: {delete: -1}\nstanding: yes\n",
    );
    let bad = policy(
        at,
        &[
            "validate",
            "bad.yml",
            "bundlegate.yml",
            "production",
            "none.yml",
        ],
    );
    assert_eq!(bad.code, 2);
    for part in [
        "destory",
        "bad.yml:3:18",
        "standing: yes",
        "bad.yml: not valid, 3 errors",
        "bundlegate.yml: valid",
        "production (embedded): valid",
        "none.yml: not valid, 1 error",
    ] {
        assert!(bad.stdout.contains(part), "{part}: {}", bad.stdout);
    }
    let all = json(&policy(
        at,
        &["validate", "bad.yml", "production", "-o", "json"],
    ));
    assert_eq!(all["policies"][0]["valid"], false);
    assert_eq!(
        all["policies"][0]["diagnostics"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(all["policies"][1]["valid"], true);
}

#[test]
fn bad_policies_are_refused_with_a_place_and_nothing_hangs() {
    let temp = tempfile::tempdir().unwrap();
    let rule = |when: &str| {
        format!("version: 1\ncustom:\n  - {{id: x, level: deny, when: '{when}', message: m}}\n")
    };
    let nested = format!("{}true{}", "(".repeat(500), ")".repeat(500));
    let lists = format!("[{}].all(a, true)", "1,".repeat(5_000));
    let files = [
        ("tab", "version: 1\nrules:\n\tdestroy: deny\n".to_owned()),
        ("anchor", "version: 1\ntargets: &a [prod]\n".to_owned()),
        ("merge", "version: 1\nlimits: {<<: {delete: 1}}\n".to_owned()),
        ("twice", "version: 1\nversion: 1\n".to_owned()),
        ("yes", "version: 1\nlocked: yes\n".to_owned()),
        ("date", "version: 1\nwaivers: [{rule: destroy, resource: \"*\", until: 2027-02-30, reason: r, owner: o}]\n".to_owned()),
        ("no-end", "version: 1\nwaivers: [{rule: destroy, resource: \"*\", reason: r, owner: o}]\n".to_owned()),
        ("deep", rule(&nested)),
        ("long-list", rule(&lists)),
        ("regex", rule("key.matches(\"(a{1000}){1000}\")")),
        ("huge", format!("version: 1\n# {}\n", "x".repeat(50 << 20))),
    ];
    for (name, text) in files {
        let file = format!("{name}.yml");
        std::fs::write(temp.path().join(&file), text).unwrap();
        let started = std::time::Instant::now();
        let done = policy(temp.path(), &["validate", &file]);
        assert_eq!(done.code, 2, "{name}: {}{}", done.stdout, done.stderr);
        assert!(done.stdout.contains("error"), "{name}: {}", done.stdout);
        let place = format!("{file}:");
        assert!(done.stdout.contains(&place), "{name}: {}", done.stdout);
        assert!(
            started.elapsed().as_secs() < 20,
            "{name}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn show_says_where_each_level_comes_from() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(
        temp.path().join("bundlegate.yml"),
        "version: 1\nlimits: {delete: 0}\nbundle: {name: \"a\\e[31mb\"}\nrules:\n  destroy: {level: review, resources: [jobs.*], except: [jobs.main]}\n  rename: {level: deny, locked: true}\n",
    )
    .unwrap();
    let done = policy(temp.path(), &["show", "--level", "recreate=warn"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let line = |rule: &str| {
        let mut lines = done
            .stdout
            .lines()
            .skip_while(|l| !l.trim_start().starts_with(rule));
        let words = |l: Option<&str>| {
            l.unwrap_or_default()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        (words(lines.next()), words(lines.next()))
    };
    assert_eq!(
        line("destroy ").0,
        "destroy review bundlegate.yml:5:3 jobs.* but not jobs.main"
    );
    assert!(
        line("destroy ")
            .1
            .starts_with("deny production (embedded):"),
        "{}",
        line("destroy ").1
    );
    assert!(line("destroy ").1.ends_with("everything else"));
    assert_eq!(line("rename ").0, "rename deny bundlegate.yml:6:3 locked");
    assert_eq!(line("recreate ").0, "recreate warn --level");
    assert!(
        done.stdout
            .contains("limits (bundlegate.yml:2:1)\n  delete: 0\n"),
        "{}",
        done.stdout
    );
    assert!(!done.stdout.contains('\u{1b}'));
    let all = json(&policy(temp.path(), &["show", "-o", "json"]));
    let rules = all["rules"].as_array().unwrap();
    let destroy = rules.iter().find(|r| r["rule"] == "destroy").unwrap();
    assert_eq!(destroy["levels"][0]["resources"][0], "jobs.*");
    assert_eq!(destroy["levels"][0]["from"], "bundlegate.yml:5:3");
    assert_eq!(all["sections"]["limits"]["value"]["delete"], 0);
    assert!(rules.len() > 60);
}

#[test]
fn schemas_are_what_the_documentation_keeps() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (of, file) in [
        ("policy", "docs/policy.schema.json"),
        ("tests", "docs/policy-tests.schema.json"),
    ] {
        let printed = run(&["policy", "schema", of]);
        assert_eq!(printed.code, 0);
        let path = root.join(file);
        if std::env::var_os("BUNDLEGATE_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &printed.stdout).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        assert_eq!(
            value(&kept),
            value(&printed.stdout),
            "{file} is old; BUNDLEGATE_UPDATE_DOCS=1 writes it anew"
        );
    }
}

#[test]
fn the_example_tests_pass_and_fit_their_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let done = policy(&root.join("examples"), &["test", "policy-tests.yml"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let schema = json(&run(&["policy", "schema", "tests"]));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = std::fs::read_to_string(root.join("examples/policy-tests.yml")).unwrap();
    let example: Value = serde_saphyr::from_str(&text).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(&example)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!validator.is_valid(&serde_json::json!({"policy": "production", "cases": [{"name": "x", "expect": {"verdct": "open"}}]})));
}

#[test]
fn test_says_what_differs_and_fails() {
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path();
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).unwrap();
    std::fs::create_dir(at.join("tests")).unwrap();
    write("mine.yml", "version: 1\nextends: development\n");
    let plan = shown(scenarios().join("job-destroy/plan.json"));
    let bundle = shown(scenarios().join("job-destroy/bundle.json"));
    let case = |expect: &str| {
        format!(
            "policy: ../mine.yml\ncases:\n  - {{name: a job goes, plan: {plan}, bundle: {bundle}, expect: {expect}}}\n"
        )
    };
    write(
        "tests/good.yml",
        &case("{verdict: open, findings: [destroy jobs.report]}"),
    );
    write("tests/bad.yml", &case("{verdict: closed, not: [destroy]}"));
    let good = policy(at, &["test", "tests/good.yml"]);
    assert_eq!(
        (good.code, good.stderr.as_str()),
        (0, ""),
        "{}",
        good.stdout
    );
    assert!(good.stdout.contains("1 case: 1 passed, 0 failed"));
    let other = policy(at, &["test", "tests/good.yml", "-p", "production"]);
    assert_eq!(other.code, 1, "another policy denies it: {}", other.stdout);
    let both = policy(
        at,
        &[
            "test",
            "tests/good.yml",
            "tests/bad.yml",
            "-o",
            "junit=out.xml",
        ],
    );
    assert_eq!(both.code, 1);
    for part in [
        "ok    a job goes",
        "FAIL  a job goes (tests/bad.yml:3:5)",
        "! verdict: expected closed, found open",
        "+ destroy jobs.report: not expected; note:",
        "2 cases: 1 passed, 1 failed",
    ] {
        assert!(both.stdout.contains(part), "{part}: {}", both.stdout);
    }
    let junit = std::fs::read_to_string(at.join("out.xml")).unwrap();
    assert!(
        junit.contains("failures=\"1\"") && junit.contains("<failure"),
        "{junit}"
    );
    assert_eq!(
        json(&policy(at, &["test", "tests/bad.yml", "-o", "json"]))["failed"],
        1
    );
    write("tests/empty.yml", "policy: production\ncases: []\n");
    refused(&policy(at, &["test", "tests/empty.yml"]), "tests nothing");
    refused(
        &policy(at, &["test", "tests/good.yml", "tests/none.yml"]),
        "none.yml",
    );
    refused(
        &policy(at, &["test", "tests/good.yml", "-o", "sarif"]),
        "junit",
    );
    write(
        "tests/lost.yml",
        &case("{verdict: open}").replace("mine.yml", "lost-policy.yml"),
    );
    refused(&policy(at, &["test", "tests/lost.yml"]), "lost-policy.yml");
    assert_eq!(policy(at, &["test"]).code, 2);
}

#[test]
fn replay_compares_two_policies_and_lists_what_it_cannot_judge() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let args = [
        "replay",
        "tests/scenarios",
        "-p",
        "production",
        "--against",
        "development",
    ];
    let done = policy(root, &args);
    assert_eq!(done.code, 2, "one scenario cannot be judged");
    let row = |name: &str| {
        let mut lines = done.stdout.lines();
        let found = lines.find(|l| l.starts_with(&format!("tests/scenarios/{name}/plan.json ")));
        found
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(row("no-change"), "open open");
    assert_eq!(row("job-destroy"), "open closed destroy (note to deny)");
    assert!(
        done.stdout
            .contains("Not judged:\n  tests/scenarios/unresolved-bundle/bundle.json: expected"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains(", 1 not judged\n"), "{}", done.stdout);
    let all = json(&policy(
        root,
        &[&args[..], &["-o", "json", "--changed"]].concat(),
    ));
    let plans = all["plans"].as_array().unwrap();
    let changed = all["summary"]["stricter"].as_u64().unwrap() + 1;
    assert_eq!(plans.len() as u64, changed);
    assert!(
        plans
            .iter()
            .all(|p| p["error"].is_string() || p["verdict"] != p["before"])
    );
    let again = policy(root, &args);
    assert_eq!(
        again.stdout, done.stdout,
        "the order does not depend on threads"
    );
}

#[test]
fn replay_of_nothing_is_no_success() {
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path();
    refused(
        &policy(at, &["replay", ".", "-p", "production"]),
        "found none in .",
    );
    std::fs::create_dir_all(at.join("a")).unwrap();
    std::fs::write(at.join("a/plan.json"), "{}").unwrap();
    let done = policy(at, &["replay", ".", "-p", "production"]);
    assert_eq!(done.code, 2);
    assert!(
        done.stdout.contains("Not judged:\n  ./a/plan.json"),
        "{}",
        done.stdout
    );
    let done = policy(at, &["replay", "nowhere", "-p", "production"]);
    assert_eq!(done.code, 2);
    assert!(
        done.stdout
            .contains("nowhere: expected a file, found nothing"),
        "{}",
        done.stdout
    );
    refused(
        &policy(at, &["replay", ".", "--against", "none.yml"]),
        "none.yml",
    );
}

#[test]
fn replay_judges_a_thousand_plans() {
    let temp = tempfile::tempdir().unwrap();
    let scenario = scenarios().join("job-schedule-update");
    for index in 0..1_000 {
        let folder = temp.path().join(format!("{index:04}"));
        std::fs::create_dir(&folder).unwrap();
        for name in ["plan.json", "bundle.json", "state.json"] {
            std::fs::copy(scenario.join(name), folder.join(name)).unwrap();
        }
    }
    let started = std::time::Instant::now();
    let done = policy(
        temp.path(),
        &[
            "replay",
            ".",
            "-p",
            "production",
            "--against",
            "staging",
            "-o",
            "json",
        ],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(json(&done)["summary"]["open"], 1_000);
    // Without optimisation, on a machine that does other things, too.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn help_has_examples() {
    for command in ["init", "validate", "show", "schema", "test", "replay"] {
        let help = run(&["policy", command, "--help"]);
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains("Examples:"), "{command}");
    }
    assert_eq!(run(&["policy"]).code, 2);
}
