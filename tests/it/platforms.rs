//! `authorize` and `deploy` under policies that accept what people say on GitHub and in Azure DevOps, against fakes of their APIs.

#![cfg(test)]
#![cfg(feature = "remote")]

use bundlegate::remote::run::block_on;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path, path_regex};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::gate::{self, Set, refused};
use crate::stage::Stage;
use crate::support::{self, Done};

const TOKEN: &str = "a-token-of-the-run";

/// A policy that accepts only what `accept` says, of one person who is known everywhere.
fn policy(accept: &str) -> String {
    let (start, _) = gate::POLICY.split_once("approval:").unwrap();
    let people = start.replace(
        "git: [rm1@example.com]",
        "git: [rm1@example.com], github: {login: rm-one, id: 1001}, azure: aad.QUJD",
    );
    format!(
        "{people}approval:\n  required: 1\n  separation: [author, actor]\n  accept:\n    {accept}\n"
    )
}

/// The good set under that policy, without the signed approvals, and a server that stands for the platform.
struct Scene {
    set: Set,
    server: MockServer,
}

impl Scene {
    fn new(accept: &str) -> Self {
        let set = Set::good();
        std::fs::remove_dir_all(set.path("repo/approvals")).unwrap();
        set.on_main(|set| set.write("repo/bundlegate.yml", &policy(accept)));
        Self {
            set,
            server: block_on(MockServer::start()).unwrap(),
        }
    }

    fn env(&mut self, more: &[(&str, &str)]) {
        let url = self.server.uri();
        let common = [
            ("GITHUB_API_URL", url.as_str()),
            ("GITHUB_REPOSITORY", "acme/orders"),
            ("GITHUB_TOKEN", TOKEN),
            ("SYSTEM_COLLECTIONURI", &format!("{url}/acme/")),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let more = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.set.env = common.into_iter().chain(more).collect();
    }

    /// Answers from now on so, and with nothing else.
    fn answers(&self, all: Vec<Mock>) {
        block_on(async {
            self.server.reset().await;
            for mock in all {
                mock.mount(&self.server).await;
            }
        })
        .unwrap();
    }

    fn authorize(&self) -> Done {
        self.set.authorize_with(&["-o", "json"])
    }

    #[track_caller]
    fn is(&self, what: &str, check: &str, exit: i32) {
        let done = self.authorize();
        let expected = if check.is_empty() {
            Vec::new()
        } else {
            vec![check.to_owned()]
        };
        assert_eq!(refused(&done), (expected, exit), "{what}: {done:?}");
        assert!(!done.stdout.contains(TOKEN) && !done.stderr.contains(TOKEN));
    }

    fn head(&self) -> String {
        self.set.git(&["rev-parse", "HEAD"])
    }

    fn line(&self, command: &str) -> String {
        let args = [&[command], &gate::PLAN[..], &["--comment"]].concat();
        let done = support::run_in(&self.set.path("repo"), &args);
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.trim_end().to_owned()
    }
}

fn person(login: &str, id: u64) -> Value {
    json!({"__typename": "User", "login": login, "databaseId": id})
}

fn comment(by: &Value, body: &str) -> Value {
    let now = jiff::Timestamp::now().to_string();
    json!({"url": "https://github.example/acme/orders/pull/7#1", "body": body, "createdViaEmail": false, "createdAt": now, "lastEditedAt": null, "author": by})
}

fn pull(head: &str, comments: Vec<Value>) -> Value {
    let page = json!({"hasNextPage": false, "endCursor": null});
    json!({
        "number": 7, "headRefOid": head, "merged": false, "mergeCommit": null, "author": person("dev", 7),
        "comments": {"pageInfo": page, "nodes": comments},
        "reviews": {"pageInfo": page, "nodes": []},
        "commits": {"pageInfo": page, "nodes": [{"commit": {"authors": {"pageInfo": page, "nodes": [
            {"email": "dev@example.com", "user": {"login": "dev", "databaseId": 7}},
        ]}}}]},
    })
}

fn graphql(pulls: &[Value]) -> Mock {
    let body = json!({"data": {"repository": {"object": {"associatedPullRequests": {
        "pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": pulls,
    }}}}});
    Mock::given(method("POST"))
        .and(path("/graphql"))
        .and(header("authorization", format!("Bearer {TOKEN}")))
        .respond_with(ResponseTemplate::new(200).set_body_json(body))
}

fn get(at: &str, status: u16, body: &Value) -> Mock {
    Mock::given(method("GET"))
        .and(path_regex(format!("^{at}$")))
        .respond_with(ResponseTemplate::new(status).set_body_json(body))
}

/// The workflow runs on any commit that is asked for: one, long ago.
fn runs(head: &str) -> Mock {
    let runs = json!({"total_count": 1, "workflow_runs": [{"head_sha": head, "created_at": "2026-01-01T00:00:00Z"}]});
    get("/repos/acme/orders/actions/runs", 200, &runs)
}

#[test]
fn a_line_in_the_pull_request() {
    let mut scene = Scene::new("github: {reviewers: {users: [rm-one]}}");
    scene.env(&[]);
    let (head, line) = (scene.head(), scene.line("approve"));
    let sha256 = scene.set.plan_sha256();
    assert!(line.starts_with(&format!("bundlegate approve {sha256} ")));
    let rm_one = person("rm-one", 1001);
    let says = |scene: &Scene, body: &str| {
        scene.answers(vec![
            graphql(&[pull(&head, vec![comment(&rm_one, body)])]),
            runs(&head),
        ]);
    };

    says(&scene, &line);
    scene.is("good", "", 0);
    let report: Value = serde_json::from_str(&scene.authorize().stdout).unwrap();
    assert_eq!(
        report["body"]["authorize"]["persons"],
        json!(["rm one"]),
        "{report}"
    );

    let edited = |c: &mut Value| c["lastEditedAt"] = c["createdAt"].clone();
    type Change = fn(&mut Value);
    let of_comment: [(&str, Change, &str, i32); 4] = [
        ("edited", edited, "edited", 4),
        (
            "a bot",
            |c| c["author"]["__typename"] = json!("Bot"),
            "quorum",
            3,
        ),
        (
            "an account that is gone",
            |c| c["author"] = Value::Null,
            "quorum",
            3,
        ),
        (
            "the login of another account",
            |c| c["author"]["databaseId"] = json!(6),
            "quorum",
            3,
        ),
    ];
    for (what, change, check, exit) in of_comment {
        let mut said = comment(&rm_one, &line);
        change(&mut said);
        scene.answers(vec![graphql(&[pull(&head, vec![said])]), runs(&head)]);
        scene.is(what, check, exit);
    }

    let said = || vec![comment(&rm_one, &line)];
    scene.answers(vec![graphql(&[pull(&head, said())]), runs(&"b".repeat(40))]);
    scene.is("written before anybody saw the commit", "pull-request", 4);
    let mut own = pull(&head, said());
    own["author"] = rm_one.clone();
    scene.answers(vec![graphql(&[own]), runs(&head)]);
    scene.is("their own pull request", "separation", 4);
    let mut squashed = pull(&head, said());
    let author = &mut squashed["commits"]["nodes"][0]["commit"]["authors"]["nodes"][0];
    author["user"] = json!({"login": "rm-one", "databaseId": 1001});
    scene.answers(vec![graphql(&[squashed]), runs(&head)]);
    scene.is("a commit of theirs", "separation", 4);
    scene.answers(vec![graphql(&[]), runs(&head)]);
    scene.is("no pull request", "pull-request", 3);
    says(&scene, "");
    scene.is("nobody said anything", "quorum", 3);
    let text = scene.set.authorize();
    assert!(text.stdout.contains("--comment"), "{text:?}");
    says(&scene, &format!("{line}\n{}", scene.line("reject")));
    scene.is("yes and no", "rejection", 4);

    // What is bound beside the plan.
    says(&scene, &line);
    scene.set.write("repo/src/etl.py", "print(3)\n");
    scene.is("another file ships", "bound", 4);
    scene.set.git(&["checkout", "-q", "--", "src/etl.py"]);
    scene.is("and back", "", 0);
}

#[test]
fn teams_and_silence() {
    let mut scene = Scene::new("github: {reviewers: {teams: [acme/release-managers]}}");
    scene.env(&[]);
    let (head, line) = (scene.head(), scene.line("approve"));
    let membership = "/orgs/acme/teams/release-managers/memberships/rm-one";
    let with = |scene: &Scene, status: u16, body: Value| {
        scene.answers(vec![
            graphql(&[pull(&head, vec![comment(&person("rm-one", 1001), &line)])]),
            get(membership, status, &body),
            get(
                "/orgs/acme/teams/release-managers",
                200,
                &json!({"slug": "release-managers"}),
            ),
            runs(&head),
        ]);
    };
    with(&scene, 200, json!({"state": "active", "role": "member"}));
    scene.is("a member", "", 0);
    with(&scene, 200, json!({"state": "pending"}));
    scene.is("invited", "quorum", 3);
    with(&scene, 404, json!({"message": "Not Found"}));
    scene.is("not a member", "quorum", 3);
    scene.answers(vec![
        graphql(&[pull(&head, vec![comment(&person("rm-one", 1001), &line)])]),
        get(
            "/orgs/acme/teams/release-managers",
            404,
            &json!({"message": "Not Found"}),
        ),
        runs(&head),
    ]);
    scene.is("a team that cannot be seen", "github", 6);
    with(&scene, 403, json!({"message": "Resource not accessible"}));
    scene.is("nobody may ask", "github", 6);
    scene.answers(vec![Mock::given(method("POST")).respond_with(
        ResponseTemplate::new(401).set_body_json(json!({"message": "Bad credentials"})),
    )]);
    scene.is("a wrong token", "github", 6);
    let text = scene.set.authorize();
    assert!(text.stdout.contains("GITHUB_TOKEN"), "{text:?}");
    scene.set.env.retain(|(name, _)| name != "GITHUB_TOKEN");
    scene.is("no token", "github", 6);
}

#[test]
fn a_run_that_was_let_through() {
    let mut scene = Scene::new("github: {environment: production}");
    let head = scene.head();
    scene.set.args.truncate(scene.set.args.len() - 2);
    let run = || {
        json!({
            "id": 42, "run_attempt": 1, "head_sha": head, "run_started_at": jiff::Timestamp::now().to_string(),
            "html_url": "https://github.example/acme/orders/actions/runs/42", "repository": {"full_name": "acme/orders"},
            "actor": {"login": "dev", "id": 7, "type": "User"}, "triggering_actor": {"login": "dev", "id": 7, "type": "User"},
        })
    };
    let review = || {
        json!([{"environments": [{"name": "production"}], "state": "approved", "comment": "",
                "user": {"login": "rm-one", "id": 1001, "type": "User"}}])
    };
    let answers = |scene: &Scene, run: &Value, review: &Value| {
        scene.answers(vec![
            graphql(&[]),
            get("/repos/acme/orders/actions/runs/42", 200, run),
            get("/repos/acme/orders/actions/runs/42/approvals", 200, review),
        ]);
    };
    answers(&scene, &run(), &review());
    scene.env(&[]);
    let done = scene.authorize();
    // Outside GitHub Actions there is no run, and here nobody knows who started it either.
    assert_eq!(refused(&done), (vec!["quorum".to_owned()], 3));
    scene.env(&[
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_RUN_ID", "42"),
        ("GITHUB_RUN_ATTEMPT", "1"),
        ("GITHUB_ACTOR", "dev"),
    ]);
    // The files that no commit holds ship too.
    scene.is("changed files", "source", 4);
    std::fs::remove_file(scene.set.path("repo/conf/prod.env")).unwrap();
    scene.is("good", "", 0);

    type Change = fn(&mut Value, &mut Value);
    let rows: [(&str, Change, &str, i32); 8] = [
        (
            "another commit",
            |run, _| run["head_sha"] = json!("b".repeat(40)),
            "source",
            4,
        ),
        (
            "run again",
            |run, _| run["run_attempt"] = json!(2),
            "ci-run",
            4,
        ),
        (
            "started by the approver",
            |run, _| {
                run["triggering_actor"] = json!({"login": "rm-one", "id": 1001, "type": "User"})
            },
            "separation",
            4,
        ),
        (
            "started long ago",
            |run, _| run["run_started_at"] = json!("2026-01-01T00:00:00Z"),
            "expired",
            4,
        ),
        (
            "rejected",
            |_, review| review[0]["state"] = json!("rejected"),
            "rejection",
            4,
        ),
        (
            "by a bot",
            |_, review| review[0]["user"]["type"] = json!("Bot"),
            "approver",
            4,
        ),
        (
            "another environment",
            |_, review| review[0]["environments"][0]["name"] = json!("staging"),
            "quorum",
            3,
        ),
        (
            "another repository's run",
            |run, _| run["repository"]["full_name"] = json!("mallory/orders"),
            "github",
            6,
        ),
    ];
    for (what, change, check, exit) in rows {
        let (mut run, mut review) = (run(), review());
        change(&mut run, &mut review);
        answers(&scene, &run, &review);
        scene.is(what, check, exit);
    }
}

#[test]
fn a_stage_that_was_let_through() {
    let mut scene = Scene::new("azure: {environment: orders-prod}");
    let head = scene.head();
    scene.set.args.truncate(scene.set.args.len() - 2);
    std::fs::remove_file(scene.set.path("repo/conf/prod.env")).unwrap();
    let who = |descriptor: &str, name: &str| json!({"descriptor": descriptor, "uniqueName": name, "displayName": name});
    let dev = who("aad.REVW", "dev@example.com");
    let answers = |change: fn(&mut Value)| {
        let mut all = json!({
            "build": {"id": 77, "sourceVersion": head, "requestedFor": dev, "requestedBy": who("svc.UzE", "service"),
                "project": {"id": "p-1", "name": "orders"}, "_links": {"web": {"href": "https://dev.example/acme/orders/_build/results?buildId=77"}}},
            "timeline": {"records": [
                {"id": "s", "type": "Stage", "identifier": "deploy", "attempt": 1},
                {"id": "c", "type": "Checkpoint", "parentId": "s"},
                {"id": "a", "type": "Checkpoint.Approval", "parentId": "c"},
            ]},
            "suite": {"checkRuns": [{"id": "a", "checkConfigurationRef": {"resource": {"type": "environment", "id": "5"}}}]},
            "environment": {"id": 5, "name": "orders-prod"},
            "approval": {"id": "a", "pipeline": {"owner": {"id": 77}}, "steps": [{
                "actualApprover": who("aad.QUJD", "rm1@example.com"), "status": "approved",
                "lastModifiedOn": jiff::Timestamp::now().to_string(), "comment": ""}]},
        });
        change(&mut all);
        all
    };
    let mount = |scene: &Scene, all: &Value| {
        let at = |path: &str| format!("/acme/p-1/_apis/{path}");
        scene.answers(vec![
            get(&at("build/builds/77"), 200, &all["build"]),
            get(&at("build/builds/77/timeline"), 200, &all["timeline"]),
            get(&at("pipelines/checks/runs/c"), 200, &all["suite"]),
            get(
                &at("distributedtask/environments/5"),
                200,
                &all["environment"],
            ),
            get(&at("pipelines/approvals/a"), 200, &all["approval"]),
        ]);
    };
    let in_pipelines = [
        ("TF_BUILD", "True"),
        ("BUILD_BUILDID", "77"),
        ("BUILD_REPOSITORY_NAME", "orders"),
        ("SYSTEM_TEAMPROJECTID", "p-1"),
        ("SYSTEM_STAGENAME", "deploy"),
        ("SYSTEM_STAGEATTEMPT", "1"),
    ];
    scene.env(&in_pipelines);
    mount(&scene, &answers(|_| ()));
    scene.is("no token", "azure-devops", 6);
    scene.env(&[&in_pipelines[..], &[("SYSTEM_ACCESSTOKEN", TOKEN)]].concat());
    scene.is("good", "", 0);

    type Change = fn(&mut Value);
    let rows: [(&str, Change, &str, i32); 7] = [
        (
            "a service",
            |a| a["approval"]["steps"][0]["actualApprover"]["descriptor"] = json!("svc.QUJD"),
            "approver",
            4,
        ),
        (
            "whom the run was requested for",
            |a| a["build"]["requestedFor"]["descriptor"] = json!("aad.QUJD"),
            "separation",
            4,
        ),
        (
            "another commit",
            |a| a["build"]["sourceVersion"] = json!("b".repeat(40)),
            "source",
            4,
        ),
        (
            "rejected",
            |a| a["approval"]["steps"][0]["status"] = json!("rejected"),
            "rejection",
            4,
        ),
        (
            "of another environment",
            |a| a["environment"]["name"] = json!("orders-staging"),
            "quorum",
            3,
        ),
        (
            "of a service connection",
            |a| {
                a["suite"]["checkRuns"][0]["checkConfigurationRef"]["resource"]["type"] =
                    json!("endpoint");
            },
            "environment",
            4,
        ),
        (
            "of another build",
            |a| a["approval"]["pipeline"]["owner"]["id"] = json!(78),
            "azure-devops",
            6,
        ),
    ];
    for (what, change, check, exit) in rows {
        mount(&scene, &answers(change));
        scene.is(what, check, exit);
    }
}

#[test]
fn deploy_asks_too() {
    let policy = crate::stage::POLICY.replace(
        "ssh: {allowed_signers: .bundlegate/allowed_signers}",
        "github: {reviewers: {users: [rm-one]}}",
    );
    let stage = Stage::with_policy("job-schedule-update", &policy);
    let server = block_on(MockServer::start()).unwrap();
    let url = server.uri();
    let variables = [
        ("GITHUB_API_URL", url.as_str()),
        ("GITHUB_REPOSITORY", "acme/orders"),
        ("GITHUB_TOKEN", TOKEN),
    ];
    let collected = stage.run(&["collect", "-t", "prod", "--out", "../gate"]);
    assert_eq!(collected.code, 0, "{collected:?}");
    let line = stage.run(&["approve", "../gate", "-t", "prod", "--comment"]);
    assert_eq!(line.code, 0, "{line:?}");
    let head = std::fs::read_to_string(stage.path("repo/.git/refs/heads/main")).unwrap();
    let says = |body: &str| {
        let said = comment(&person("rm-one", 1001), body);
        block_on(async {
            server.reset().await;
            graphql(&[pull(head.trim(), vec![said])])
                .mount(&server)
                .await;
            runs(head.trim()).mount(&server).await;
        })
        .unwrap();
        stage.run_with(
            &["deploy", "../gate", "-t", "prod", "-o", "json"],
            &variables,
        )
    };
    let no = says("looks good to me");
    assert_eq!(no.code, 3, "{no:?}");
    assert!(stage.calls_of("deploy").is_empty());
    let yes = says(&line.stdout);
    assert_eq!(yes.code, 0, "{yes:?}");
    assert_eq!(stage.calls_of("deploy").len(), 1);
}

#[test]
fn a_comment_line_needs_a_policy_that_reads_it() {
    let set = Set::good();
    let args = [
        "approve",
        "plan.json",
        "--bundle",
        "bundle.json",
        "--comment",
    ];
    let done = support::run_in(&set.path("repo"), &args);
    assert_eq!((done.code, done.stdout.as_str()), (3, ""));
    assert!(done.stderr.contains("approval.accept.github.reviewers"));
}
