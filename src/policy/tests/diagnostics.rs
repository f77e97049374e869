//! Each mistake as its author sees it.

use super::{policy, refused, refused_files};

#[test]
fn a_misspelt_rule() {
    insta::assert_snapshot!(refused("version: 1\nextends: production\nrules: {destory: deny}\n"), @"
    error: unknown rule `destory`
     --> bundlegate.yml:3:9
      |
    3 | rules: {destory: deny}
      |         ^^^^^^^ did you mean `destroy`?
      |
      = help: `bundlegate rules` lists the rules
    ");
}

#[test]
fn a_misspelt_key() {
    insta::assert_snapshot!(refused("version: 1\nrule: {destroy: deny}\nlimits: {deletes: 1}\nzzz: 1\n"), @"
    error: a policy has no key `rule`
     --> bundlegate.yml:2:1
      |
    2 | rule: {destroy: deny}
      | ^^^^ did you mean `rules`?

    error: `limits` has no key `deletes`
     --> bundlegate.yml:3:10
      |
    3 | limits: {deletes: 1}
      |          ^^^^^^^ did you mean `delete`?

    error: a policy has no key `zzz`
     --> bundlegate.yml:4:1
      |
    4 | zzz: 1
      | ^^^
      |
      = help: expected `version`, `extends`, `targets`, `workspaces`, `bundle`, `cli`, `inputs`, `standing`, `people`, `identity`, `protect`, `limits`, `rules`, `custom`, `waivers`, `approval`, `verify`, `state`, `locked` or `allow_empty`
    ");
}

#[test]
fn a_yes_is_not_true() {
    insta::assert_snapshot!(refused("version: 1\nverify:\n  run_as: yes\n"), @"
    error: expected `true` or `false`, found the text `yes`
     --> bundlegate.yml:3:11
      |
    3 |   run_as: yes
      |           ^^^
    ");
}

#[test]
fn a_tab() {
    insta::assert_snapshot!(refused("version: 1\nrules:\n\tdestroy: deny\n"), @"
    error: YAML is indented with spaces, found a tab
     --> bundlegate.yml:3:1
      |
    3 |     destroy: deny
      | ^^^^ a tab
    ");
}

#[test]
fn an_anchor() {
    insta::assert_snapshot!(refused("version: 1\nrules: {destroy: &x deny, recreate: *x}\n"), @"
    error: a policy has no anchors (`&name`) and no aliases (`*name`)
     --> bundlegate.yml:2:21
      |
    2 | rules: {destroy: &x deny, recreate: *x}
      |                     ^^^^
      |
      = help: write the value out; quote a text that starts with `*` or `&`
    ");
}

#[test]
fn a_star_without_quotes() {
    insta::assert_snapshot!(refused("version: 1\nprotect: [*]\n"), @"
    error: this is not the YAML of a policy: while scanning an anchor or alias, did not find expected alphabetic or numeric character
     --> bundlegate.yml:2:11
      |
    2 | protect: [*]
      |           ^
      |
      = help: quote a text that starts with `*` or `&`
    ");
}

#[test]
fn a_merge_key() {
    insta::assert_snapshot!(refused("version: 1\nlimits:\n  <<: {delete: 1}\n"), @"
    error: a policy has no merge keys (`<<`)
     --> bundlegate.yml:3:3
      |
    3 |   <<: {delete: 1}
      |   ^^
      |
      = help: write the fields out, or use `extends`
    ");
}

#[test]
fn a_duplicate_key() {
    insta::assert_snapshot!(refused("version: 1\nrules:\n  destroy: deny\n  recreate: warn\n  destroy: note\n"), @"
    error: the key `destroy` stands here twice
     --> bundlegate.yml:5:3
      |
    3 |   destroy: deny
      |   ------- first here
    4 |   recreate: warn
    5 |   destroy: note
      |   ^^^^^^^ again here
    ");
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(refused("version: 1\nlimits: {delete: -1, create: 1.5}\nprotect: jobs.*\ncli: {minimum: 1.20}\nrules: {destroy: 3, recreate: false}\n"), @r#"
    error: expected a whole number, 0 or more, found the number `-1`
     --> bundlegate.yml:2:18
      |
    2 | limits: {delete: -1, create: 1.5}
      |                  ^^

    error: expected a whole number, 0 or more, found the number `1.5`
     --> bundlegate.yml:2:30
      |
    2 | limits: {delete: -1, create: 1.5}
      |                              ^^^

    error: expected a list, such as `[...]`, found the text `jobs.*`
     --> bundlegate.yml:3:10
      |
    3 | protect: jobs.*
      |          ^^^^^^

    error: expected a text: a version of the Databricks CLI, such as "1.20.0", found the number `1.20`
     --> bundlegate.yml:4:16
      |
    4 | cli: {minimum: 1.20}
      |                ^^^^
      |
      = help: put it in quotes

    error: expected a level, or a mapping with `level` and `resources`, found the number `3`
     --> bundlegate.yml:5:18
      |
    5 | rules: {destroy: 3, recreate: false}
      |                  ^

    error: expected a level, found `false`
     --> bundlegate.yml:5:31
      |
    5 | rules: {destroy: 3, recreate: false}
      |                               ^^^^^ did you mean `off`?
    "#);
}

#[test]
fn a_custom_tag() {
    insta::assert_snapshot!(refused("version: !secret 1\n"), @"
    error: this is not the YAML of a policy: unsupported tag `!secret`
     --> bundlegate.yml:1:18
      |
    1 | version: !secret 1
      |                  ^
    ");
}

#[test]
fn two_documents() {
    insta::assert_snapshot!(refused("version: 1\n---\nversion: 1\n"), @"
    error: a policy is one YAML document, found a second one
     --> bundlegate.yml:2:1
      |
    2 | ---
      | ^^^
    ");
}

#[test]
fn nothing() {
    insta::assert_snapshot!(refused("# only a comment\n"), @"
    error: an empty policy: expected at least `version: 1`
     --> bundlegate.yml:2:1
      |
    2 |
      | ^
    ");
}

#[test]
fn a_later_version() {
    insta::assert_snapshot!(refused("version: 2\n"), @"
    error: expected `version: 1`, found `version: 2`
     --> bundlegate.yml:1:10
      |
    1 | version: 2
      |          ^
      |
      = help: a newer bundlegate may read this policy
    ");
}

#[test]
fn a_selector_of_no_type() {
    insta::assert_snapshot!(refused("version: 1\nrules: {destroy: {level: deny, resources: [jobs]}}\nprotect: [resources.jobs.a]\n"), @"
    error: expected a selector, such as `jobs.*`, `pipelines.orders` or `*`, found `jobs`
     --> bundlegate.yml:2:44
      |
    2 | rules: {destroy: {level: deny, resources: [jobs]}}
      |                                            ^^^^ a type and a name, with a dot between

    error: expected a resource to protect: a key such as `schemas.*`, or a name in the workspace such as `prod.orders.bronze`, found `resources.jobs.a`
     --> bundlegate.yml:3:11
      |
    3 | protect: [resources.jobs.a]
      |           ^^^^^^^^^^^^^^^^ without `resources.`: `jobs.a`
    ");
}

#[test]
fn a_selector_that_selects_nothing_is_a_warning() {
    let policy = policy(
        "version: 1\nrules: {destroy: {level: deny, resources: [job.*]}}\nprotect: [pipeline.a, prod.orders]\n",
    );
    let text: Vec<String> = policy
        .warnings()
        .iter()
        .map(|warning| warning.render(false))
        .collect();
    insta::assert_snapshot!(text.join("\n\n"), @"
    warning: `job.*` selects nothing: there is no resource type `job`
     --> bundlegate.yml:2:44
      |
    2 | rules: {destroy: {level: deny, resources: [job.*]}}
      |                                            ^^^^^ did you mean `jobs`?

    warning: `pipeline.a` selects nothing: there is no resource type `pipeline`
     --> bundlegate.yml:3:11
      |
    3 | protect: [pipeline.a, prod.orders]
      |           ^^^^^^^^^^ did you mean `pipelines`?
    ");
}

#[test]
fn a_waiver_without_an_end_and_one_that_ends_on_no_day() {
    insta::assert_snapshot!(refused("version: 1\nwaivers:\n  - {rule: recreate, resource: catalogs.main, reason: x, owner: y}\n  - {rule: recreat, resource: catalogs.main, until: 2027-02-30, reason: x, owner: y}\n"), @"
    error: a waiver has no `until`
     --> bundlegate.yml:3:5
      |
    3 |   - {rule: recreate, resource: catalogs.main, reason: x, owner: y}
      |     ^

    error: expected a date, such as `2027-01-31`, found `2027-02-30`
     --> bundlegate.yml:4:53
      |
    4 |   - {rule: recreat, resource: catalogs.main, until: 2027-02-30, reason: x, owner: y}
      |                                                     ^^^^^^^^^^ the calendar has no such day
    ");
}

#[test]
fn a_waiver_for_a_rule_that_does_not_exist() {
    insta::assert_snapshot!(refused("version: 1\nwaivers:\n  - {rule: recreat, resource: catalogs.main, until: 2027-02-28, reason: x, owner: y}\n"), @"
    error: a waiver for an unknown rule `recreat`
     --> bundlegate.yml:3:12
      |
    3 |   - {rule: recreat, resource: catalogs.main, until: 2027-02-28, reason: x, owner: y}
      |            ^^^^^^^ did you mean `recreate`?
    ");
}

#[test]
fn an_identity_of_two_kinds() {
    insta::assert_snapshot!(refused("version: 1\nidentity:\n  run_as:\n    - {resources: [\"jobs.*\"], user: a@example.com, group: b}\n    - {resources: [\"jobs.*\"]}\n  deployer: {service_principal: a@example.com}\n"), @r#"
    error: expected one of `user`, `group` and `service_principal`, found `user` and `group`
     --> bundlegate.yml:4:59
      |
    4 |     - {resources: ["jobs.*"], user: a@example.com, group: b}
      |                                     -------------         ^
      |                                     |
      |                                     the other

    error: expected one of `user`, `group` and `service_principal`, found none
     --> bundlegate.yml:5:7
      |
    5 |     - {resources: ["jobs.*"]}
      |       ^

    error: a service principal is named by its application id, found `a@example.com`
     --> bundlegate.yml:6:33
      |
    6 |   deployer: {service_principal: a@example.com}
      |                                 ^^^^^^^^^^^^^
      |
      = help: for a person: `user`
    "#);
}

#[test]
fn a_circle() {
    insta::assert_snapshot!(refused_files(&[
        ("a/bundlegate.yml", "version: 1\nextends: ../b.yml\n"),
        ("b.yml", "version: 1\nextends: ./a/bundlegate.yml\n"),
    ]), @"
    error: `a/bundlegate.yml` extends itself
     --> b.yml:2:10
      |
    2 | extends: ./a/bundlegate.yml
      |          ^^^^^^^^^^^^^^^^^^ this closes the circle
    ");
}

#[test]
fn a_parent_that_is_not_there() {
    insta::assert_snapshot!(refused("version: 1\nextends: prodution\n"), @"
    error: cannot read `prodution`: there is no such file
     --> bundlegate.yml:2:10
      |
    2 | extends: prodution
      |          ^^^^^^^^^ did you mean `production`?
    ");
    insta::assert_snapshot!(refused("version: 1\nextends: /etc/policy.yml\n"), @"
    error: expected `production`, `staging`, `development` or a path relative to this file, found `/etc/policy.yml`
     --> bundlegate.yml:2:10
      |
    2 | extends: /etc/policy.yml
      |          ^^^^^^^^^^^^^^^
    ");
}

#[test]
fn mistakes_in_two_files_are_all_reported() {
    insta::assert_snapshot!(refused_files(&[
        ("bundlegate.yml", "version: 1\nextends: org.yml\nrules: {destory: deny}\n"),
        ("org.yml", "version: 1\nlimits: {delete: many}\n"),
    ]), @"
    error: unknown rule `destory`
     --> bundlegate.yml:3:9
      |
    3 | rules: {destory: deny}
      |         ^^^^^^^ did you mean `destroy`?
      |
      = help: `bundlegate rules` lists the rules

    error: expected a whole number, 0 or more, found the text `many`
     --> org.yml:2:18
      |
    2 | limits: {delete: many}
      |                  ^^^^
    ");
}

#[test]
fn a_locked_rule_made_milder() {
    insta::assert_snapshot!(refused_files(&[
        ("bundlegate.yml", "version: 1\nextends: org.yml\nrules:\n  destroy: {level: review, resources: [jobs.scratch]}\n"),
        ("org.yml", "version: 1\nrules:\n  destroy: {level: deny, locked: true}\n"),
    ]), @"
    error: the rule `destroy` is locked: it cannot go from `deny` to `review`
     --> bundlegate.yml:4:20
      |
    4 |   destroy: {level: review, resources: [jobs.scratch]}
      |                    ^^^^^^
      |
     ::: org.yml:3:34
      |
    3 |   destroy: {level: deny, locked: true}
      |                                  ---- locked here
    ");
}

#[test]
fn a_locked_policy_made_milder() {
    insta::assert_snapshot!(refused_files(&[
        ("bundlegate.yml", "version: 1\nextends: org.yml\nlimits: {delete: 9}\nstanding: note\nverify: {owner: false}\nwaivers:\n  - {rule: rename, resource: jobs.a, until: 2027-01-01, reason: x, owner: y}\n"),
        ("org.yml", "version: 1\nlocked: true\nlimits: {delete: 1}\n"),
    ]), @"
    error: `limits.delete` is locked by the policy that this one extends
     --> bundlegate.yml:3:18
      |
    3 | limits: {delete: 9}
      |                  ^
      |
     ::: org.yml:2:9
      |
    2 | locked: true
      |         ---- locked here

    error: `standing` is locked by the policy that this one extends
     --> bundlegate.yml:4:11
      |
    4 | standing: note
      |           ^^^^
      |
     ::: org.yml:2:9
      |
    2 | locked: true
      |         ---- locked here

    error: `verify.owner` is locked by the policy that this one extends
     --> bundlegate.yml:5:17
      |
    5 | verify: {owner: false}
      |                 ^^^^^
      |
     ::: org.yml:2:9
      |
    2 | locked: true
      |         ---- locked here

    error: the rule `rename` is locked: it cannot be waived
     --> bundlegate.yml:7:12
      |
    7 |   - {rule: rename, resource: jobs.a, until: 2027-01-01, reason: x, owner: y}
      |            ^^^^^^
      |
     ::: org.yml:2:9
      |
    2 | locked: true
      |         ---- locked here
    ");
}

#[test]
fn a_custom_rule_that_cannot_work() {
    insta::assert_snapshot!(refused("version: 1\ncustom:\n  - id: no-gpu\n    level: deny\n    when: 'new.clusters.exist(c, c.x == 1)'\n    message: x\n  - id: destroy\n    level: deny\n    when: 'true'\n    message: x\n  - {id: No_GPU, level: deny, when: 'nwe.a == 1', message: x}\n  - {id: size, level: deny, when: \"nwe.a == 1\", message: x}\n"), @r#"
    error: `when` of `no-gpu`: unknown function `exist`; did you mean `exists`?
     --> bundlegate.yml:5:25
      |
    5 |     when: 'new.clusters.exist(c, c.x == 1)'
      |                         ^^^^^

    error: there is already a rule `destroy`
     --> bundlegate.yml:7:9
      |
    7 |   - id: destroy
      |         ^^^^^^^
      |
      = help: give the custom rule another id; its level can be set under `rules`

    error: expected the id of a rule, such as `no-gpu-jobs`, found `No_GPU`
      --> bundlegate.yml:11:10
       |
    11 |   - {id: No_GPU, level: deny, when: 'nwe.a == 1', message: x}
       |          ^^^^^^ lower case letters, digits and single hyphens, at most 64

    error: `when` of `size`: unknown name `nwe`; did you mean `new`?
      --> bundlegate.yml:12:36
       |
    12 |   - {id: size, level: deny, when: "nwe.a == 1", message: x}
       |                                    ^^^
    "#);
}

#[test]
fn a_state_register_of_something_else() {
    insta::assert_snapshot!(refused("version: 1\nstate:\n  jobs.a: {tables: []}\n  pipelines.a: {tables: [{name: t}, {name: t, retention: 1 day}]}\n"), @"
    error: expected the key of one pipeline, such as `pipelines.orders`, found `jobs.a`
     --> bundlegate.yml:3:3
      |
    3 |   jobs.a: {tables: []}
      |   ^^^^^^

    error: the table `t` is registered twice
     --> bundlegate.yml:4:37
      |
    4 |   pipelines.a: {tables: [{name: t}, {name: t, retention: 1 day}]}
      |                          -          ^
      |                          |
      |                          first here

    error: expected a duration, such as `60s`, `30m`, `24h` or `7d`, found `1 day`
     --> bundlegate.yml:4:58
      |
    4 |   pipelines.a: {tables: [{name: t}, {name: t, retention: 1 day}]}
      |                                                          ^^^^^ a whole number and one of s, m, h, d
    ");
}

#[test]
fn two_people_with_one_name() {
    insta::assert_snapshot!(refused("version: 1\npeople:\n  - {name: a, ssh: one@example.com, github: {login: One, id: 1}}\n  - {name: b, ssh: one@example.com, github: {login: one, id: 2}}\n"), @"
    error: two people have the SSH principal `one@example.com`
     --> bundlegate.yml:4:5
      |
    3 |   - {name: a, ssh: one@example.com, github: {login: One, id: 1}}
      |     - the other
    4 |   - {name: b, ssh: one@example.com, github: {login: one, id: 2}}
      |     ^

    error: two people have the GitHub login `one`
     --> bundlegate.yml:4:5
      |
    3 |   - {name: a, ssh: one@example.com, github: {login: One, id: 1}}
      |     - the other
    4 |   - {name: b, ssh: one@example.com, github: {login: one, id: 2}}
      |     ^
    ");
}

#[test]
fn an_approval_that_is_none() {
    insta::assert_snapshot!(refused("version: 1\napproval: {required: 0, expires_after: 1 day, match: plans}\n"), @"
    error: `approval.required` is at least 1, found 0
     --> bundlegate.yml:2:22
      |
    2 | approval: {required: 0, expires_after: 1 day, match: plans}
      |                      ^

    error: expected a duration, such as `60s`, `30m`, `24h` or `7d`, found `1 day`
     --> bundlegate.yml:2:40
      |
    2 | approval: {required: 0, expires_after: 1 day, match: plans}
      |                                        ^^^^^ a whole number and one of s, m, h, d

    error: expected what an approval is for, found `plans`
     --> bundlegate.yml:2:54
      |
    2 | approval: {required: 0, expires_after: 1 day, match: plans}
      |                                                      ^^^^^ did you mean `plan`?
    ");
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_not_obeyed() {
    let text = refused("version: 1\nrules: {\"\\e[31m\\u202Edestroy\": deny}\n");
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
    insta::assert_snapshot!(text, @r#"
    error: unknown rule `\u{1b}[31m\u{202e}destroy`
     --> bundlegate.yml:2:9
      |
    2 | rules: {"\e[31m\u202Edestroy": deny}
      |         ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: `bundlegate rules` lists the rules
    "#);
}

#[test]
fn characters_that_reorder_a_line_are_not_printed() {
    let text = refused("version: 1\nlimits: {\u{202e}delete: 1, create: \"\u{2066}x\"}\n");
    assert!(!text.contains(['\u{202e}', '\u{2066}']), "{text}");
}

#[test]
fn a_file_of_fifty_megabytes_is_refused_by_its_size() {
    let text = refused(&format!("version: 1\n# {}\n", "x".repeat(50_000_000)));
    insta::assert_snapshot!(text, @"error: `bundlegate.yml`: a policy has at most 4194304 bytes, this one has 50000014");
}

#[test]
fn bombs_are_refused_at_once() {
    let mut laughs = String::from("version: 1\na: &a [x, x]\n");
    for (name, of) in ('b'..='z').zip('a'..='y') {
        laughs.push_str(&format!("{name}: &{name} [*{of}, *{of}]\n"));
    }
    let bombs = [
        (laughs, "no anchors"),
        (
            format!("version: 1\nprotect: {}\n", "[".repeat(100_000)),
            "error",
        ),
        (
            format!(
                "version: 1\nprotect: {}{}\n",
                "[".repeat(40),
                "]".repeat(40)
            ),
            "levels deep",
        ),
        (
            format!("version: 1\nprotect: [{}\n", "a, ".repeat(100_000)),
            "error",
        ),
        (
            format!("version: 1\n{}", "zzz: 1\n".repeat(10_000)),
            "and 9950 more",
        ),
        (
            format!("version: 1\n\"{}\": 1\n", "z".repeat(1_000_000)),
            "error",
        ),
        (
            format!("version: 1\nprotect: [\"{}.x\"]\n", "{a,".repeat(10_000)),
            "at most 512 bytes",
        ),
    ];
    for (text, expected) in bombs {
        let start = std::time::Instant::now();
        let shown = refused(&text);
        assert!(
            shown.contains(expected),
            "{}",
            shown.chars().take(500).collect::<String>()
        );
        // Generous, for a busy machine and a build without optimisation.
        assert!(
            start.elapsed().as_secs() < 20,
            "{expected}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_way_on_github_that_nobody_can_go() {
    let with = |github: &str| {
        refused(&format!(
            "version: 1\nextends: production\napproval: {{accept: {{github: {github}}}}}\n"
        ))
    };
    insta::assert_snapshot!([
        with("{}"),
        with("{reviewers: {}}"),
        with("{reviewers: {teams: [release-managers]}}"),
        with("{reviewers: {teams: [acme/../x]}}"),
        with("{reviewers: {users: [\"rm one\"]}}"),
    ].join("\n"), @r#"
    error: `approval.accept.github` names an `environment`, `reviewers`, or both; found neither
     --> bundlegate.yml:3:29
      |
    3 | approval: {accept: {github: {}}}
      |                             ^
    error: `approval.accept.github`: `reviewers` names `teams` or `users`; found neither
     --> bundlegate.yml:3:29
      |
    3 | approval: {accept: {github: {reviewers: {}}}}
      |                             ^
    error: `approval.accept.github`: a team is written as `organisation/team`, with the team's short name as in its address; found "release-managers"
     --> bundlegate.yml:3:29
      |
    3 | approval: {accept: {github: {reviewers: {teams: [release-managers]}}}}
      |                             ^
    error: `approval.accept.github`: a team is written as `organisation/team`, with the team's short name as in its address; found "acme/../x"
     --> bundlegate.yml:3:29
      |
    3 | approval: {accept: {github: {reviewers: {teams: [acme/../x]}}}}
      |                             ^
    error: `approval.accept.github`: expected a login, found "rm one"
     --> bundlegate.yml:3:29
      |
    3 | approval: {accept: {github: {reviewers: {users: ["rm one"]}}}}
      |                             ^
    "#);
}
