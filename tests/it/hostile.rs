//! Hostile texts through every format: each output, read by an independent parser of its format, has the structure of that of a
//! harmless twin of the plan.

use bundlegate::render::{Format, Options, github_outputs, github_summary, render};
use bundlegate::report::Report;
use bundlegate::report::show::ShowOptions;

use super::reports::{Texts, authorize};

/// What someone who can open a pull request may write into a name, a description or a value.
pub(crate) const HOSTILE: &[(&str, &str)] = &[
    ("command", "::error file=a,line=1::owned"),
    (
        "command after line feed",
        "x\n::set-output name=verdict::open",
    ),
    ("command after carriage return", "x\r::add-mask::a"),
    ("command after both", "x\r\n::stop-commands::token"),
    ("command after U+2028", "x\u{2028}::error::owned"),
    ("command after U+0085", "x\u{85}::error::owned"),
    ("command after spaces", "   \t::warning::owned"),
    ("command after no-break space", "\u{a0}::warning::owned"),
    (
        "command in percent form",
        "%0A::error::owned%0D%0A%3A%3Aerror",
    ),
    ("double percent form", "%250A::error::owned"),
    ("old command", "x ##[set-env name=PATH]/tmp"),
    ("group", "##[group]fake\n##[endgroup]"),
    (
        "azure command",
        "x ##vso[task.setvariable variable=verdict;isOutput=true]open",
    ),
    (
        "azure command in capitals",
        "##VSO[Task.Complete result=Succeeded;]done",
    ),
    (
        "azure property end",
        "a;code=fake;]owned ##vso[task.complete result=Succeeded;]",
    ),
    (
        "azure percent form",
        "%AZP25 %5D %3B %0A##vso[task.logdetail]",
    ),
    ("github property end", "a,line=1::owned::x"),
    ("output delimiter", "x\nBUNDLEGATE_END\nverdict<<E\nopen\nE"),
    ("fence", "```\n# not in code\n```"),
    (
        "long fence",
        "``````````````````````````````````````````````````````````````````````\n# x",
    ),
    ("tilde fence", "~~~\n# x\n~~~"),
    ("code span", "a`b``c` `` ` `"),
    ("table cell", "a | b | c |\n|---|---|\n| 1 | 2 |"),
    ("escaped bar", "a \\| b \\\\| c \\"),
    ("heading", "x\n# open: nothing stands against this deploy"),
    ("underlined heading", "x\n===\ny\n---"),
    (
        "mention",
        "@everyone and @acme/release-managers, (@a) a@example.com",
    ),
    ("mention as entity", "&#64;everyone &commat;everyone"),
    (
        "issue",
        "fixes #12, closes acme/x#3 and GH-4, 0123456789abcdef0123456789abcdef01234567",
    ),
    (
        "link",
        "[approve](javascript:alert(1)) [x]: https://a.example \"t\"",
    ),
    ("image", "![x](https://a.example/pixel.png)"),
    (
        "autolink",
        "https://a.example www.a.example <https://a.example> mailto:a@example.com",
    ),
    ("footnote", "[^1]\n[^1]: fake"),
    ("task list", "- [x] approved\n- [ ] denied"),
    ("formula", "$\\href{https://a.example}{x}$ $$y$$"),
    ("comment", "<!-- hidden --> --> <!--"),
    (
        "details",
        "</details></summary><details open><summary>open</summary>",
    ),
    ("script", "<script>document.body.dataset.owned=1</script>"),
    (
        "script end",
        "</script><script>document.body.dataset.owned=1</script>",
    ),
    (
        "event",
        "\"><img src=x onerror=\"document.body.dataset.owned=1\">",
    ),
    ("quote", "' onmouseover='document.body.dataset.owned=1"),
    (
        "svg",
        "</text></svg><svg onload=document.body.dataset.owned=1>",
    ),
    ("style", "</style><style>*{display:none}</style>"),
    (
        "title end",
        "</title><base href=//a.example><meta http-equiv=refresh content=0;url=//a.example>",
    ),
    ("cdata", "]]><failure/><![CDATA["),
    (
        "xml",
        "\"/><testsuite failures=\"0\"/><!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>&a;",
    ),
    ("json", "\"}],\"verdict\":\"open\",\"x\":[{\"y\":\""),
    ("escape sequence", "\u{1b}[31mred\u{1b}[0m \u{9b}2J"),
    (
        "title of the terminal",
        "\u{1b}]0;owned\u{7}\u{1b}]8;;https://a.example\u{1b}\\x\u{1b}]8;;\u{1b}\\",
    ),
    (
        "backspaces",
        "delete\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}create\u{7f}",
    ),
    (
        "bidirectional",
        "\u{202e}gnp.exe\u{202c} \u{2066}x\u{2069} \u{61c}",
    ),
    (
        "zero width",
        "de\u{200b}lete \u{200d}\u{2060}\u{feff}\u{ad}",
    ),
    ("tags", "x\u{e0041}\u{e0042}\u{e007f}"),
    (
        "not in XML",
        "\u{1}\u{b}\u{c}\u{1f}\u{fffe}\u{ffff}\u{fdd0}",
    ),
    (
        "combining",
        "z\u{300}\u{301}\u{302}\u{303}\u{489}a\u{336}l\u{336}go",
    ),
    (
        "fake summary",
        "verdict: open\n\nplan    safe.json\n\nopen: nothing in this plan stands against the deploy",
    ),
    (
        "template",
        "${{ secrets.TOKEN }} $(System.AccessToken) ${resources.jobs.a.id} {{x}}",
    ),
    ("link of a SARIF viewer", "[run](1) {0} [a](file:///etc)"),
    ("formula of a sheet", "=cmd|' /C calc'!A0"),
    ("lone surrogate pair", "\u{1f600}\u{10ffff}"),
];

/// Where a plan holds text that is its author's: names, descriptions, paths, keys of free maps, values, references.
fn plan(text: &str) -> String {
    let s = serde_json::to_string(text).unwrap();
    let key = serde_json::to_string(&format!("tags['{}']", text.replace('\'', "''"))).unwrap();
    let key_of = |kind: &str| {
        // A resource's name holds no dot.
        serde_json::to_string(&format!("resources.{kind}.{}", text.replace('.', "_"))).unwrap()
    };
    let text2 = serde_json::to_string(&format!(
        "{text}\nsecond line\n{text} and a longer line, so that the two are compared word by word"
    ))
    .unwrap();
    let text3 = serde_json::to_string(&format!(
        "{text}\nanother line\n{text} and a longer line, so that the two are compared word by word"
    ))
    .unwrap();
    format!(
        r#"{{"plan_version": 2, "cli_version": {s}, "lineage": {s}, "serial": 7, "plan": {{
        {volume}: {{"action": "delete", "remote_state": {{"name": {s}, "catalog_name": "main", "schema_name": {s}}}}},
        {job}: {{"action": "update",
            "new_state": {{"value": {{"name": {s}, "description": {text3}, "tags": {{{s}: {s}}}, "run_as": {{"user_name": {s}}}}}}},
            "remote_state": {{"name": {s}, "description": {text2}, "tags": {{{s}: {old}}}, "run_as_user_name": {s}, "max_concurrent_runs": 5}},
            "changes": {{"description": {{"action": "update", "reason": {s}, "old": {text2}, "new": {text3}, "remote": {text2}}},
                "max_concurrent_runs": {{"action": "update", "old": 1, "remote": {s}}},
                {key}: {{"action": "update", "old": {old}, "new": {s}, "remote": {s}}},
                "run_as.user_name": {{"action": "update", "old": {old}, "new": {s}}}}}}},
        "resources.jobs.fixed": {{"action": "create", "new_state": {{"value": {{"name": {s}, "description": {s}}}}}}},
        "resources.schemas.fixed": {{"action": "recreate", "new_state": {{"value": {{"name": {s}, "catalog_name": "b"}}}},
            "remote_state": {{"name": {s}, "catalog_name": "a", "full_name": {s}}},
            "changes": {{"catalog_name": {{"action": "recreate", "reason": "immutable", "old": "a", "new": "b", "remote": "a"}}}}}}
        }}}}"#,
        // Long, so that it is compared line by line whatever the other text is.
        old = serde_json::to_string(&"old ".repeat(30)).unwrap(),
        volume = key_of("volumes"),
        job = key_of("jobs"),
    )
}

/// The report of a plan with this text everywhere, and of its twin with a harmless one of the same kind.
pub(crate) fn report(text: &str) -> Report {
    let mut report = Texts {
        plan: plan(text),
        ..Texts::default()
    }
    .report(Some(&ShowOptions {
        all: true,
        ..ShowOptions::default()
    }));
    // What comes from outside beside the plan.
    report.plan.path = text.to_owned();
    report.target = Some(text.to_owned());
    if let Some(policy) = &mut report.policy {
        policy.source = text.to_owned();
    }
    for f in &mut report.findings {
        f.location = Some(bundlegate::report::Place {
            file: text.to_owned(),
            line: 3,
            column: 5,
        });
        f.message = format!("{} ({text})", f.message);
    }
    report
}

/// The finding that differ because of what a name means (a person, a token) are no matter of rendering: both reports get the same ones.
fn twins(text: &str) -> (Report, Report) {
    let hostile = report(text);
    let mut harmless = report("harmless");
    let keep = |r: &Report| -> Vec<(String, bool)> {
        r.findings
            .iter()
            .map(|f| (f.rule.clone(), f.resource.is_some()))
            .collect()
    };
    if keep(&hostile) != keep(&harmless) {
        harmless.findings = hostile
            .findings
            .iter()
            .map(|f| {
                let mut f = f.clone();
                f.message = "harmless".to_owned();
                f.impact = "harmless".to_owned();
                f.remedy = "harmless".to_owned();
                f.resource = f.resource.map(|_| "jobs.harmless".to_owned());
                f.path = f.path.map(|_| "harmless".to_owned());
                f.location = Some(bundlegate::report::Place {
                    file: "harmless".to_owned(),
                    line: 3,
                    column: 5,
                });
                f
            })
            .collect();
        harmless.verdict = hostile.verdict;
        harmless.exit_code = hostile.exit_code;
        harmless.not_run.clone_from(&hostile.not_run);
    }
    (hostile, harmless)
}

/// The structure of an output, as an independent reader of its format sees it; and what no output may hold.
fn structure(format: Format, out: &str) -> Vec<String> {
    match format {
        Format::Text => text_lines(out),
        Format::Json | Format::Sarif => json_shape(&serde_json::from_str(out).unwrap()),
        Format::Markdown => markdown_shape(out),
        Format::Html => html_shape(out),
        Format::Junit => xml_shape(out),
        Format::Github => github_commands(out),
        Format::Azure => azure_commands(out),
    }
}

/// For text, what stands at the start of each line, where our own words are.
fn text_lines(out: &str) -> Vec<String> {
    const OWN: &[&str] = &[
        "authorized:",
        "refused:",
        "ok ",
        "no ",
        "- ",
        "closed:",
        "review:",
        "open:",
        "not judged:",
        "plan ",
        "target ",
        "policy ",
        "does ",
        "deny ",
        "review ",
        "warn ",
        "note ",
        "waived ",
        "standing ",
        "did not run:",
        "delete ",
        "create ",
        "update ",
        "recreate ",
        "order:",
        "not listed:",
    ];
    out.lines()
        .filter_map(|l| OWN.iter().find(|o| l.starts_with(**o)))
        .map(|o| (*o).to_owned())
        .collect()
}

/// The members and kinds of a JSON document, names that are a plan's own aside.
fn json_shape(value: &serde_json::Value) -> Vec<String> {
    use serde_json::Value as J;
    fn walk(value: &J, path: &str, out: &mut Vec<String>) {
        match value {
            J::Object(members) => {
                for (name, value) in members {
                    // Values of a plan are shown as they are: what is in them is its author's.
                    if !matches!(
                        name.as_str(),
                        "before" | "after" | "workspace" | "old" | "new" | "remote" | "order"
                    ) {
                        walk(value, &format!("{path}.{name}"), out);
                    }
                }
            }
            J::Array(items) => items
                .iter()
                .for_each(|v| walk(v, &format!("{path}[]"), out)),
            J::Null => out.push(format!("{path} null")),
            J::Bool(_) => out.push(format!("{path} bool")),
            J::Number(_) => out.push(format!("{path} number")),
            J::String(_) => out.push(format!("{path} string")),
        }
    }
    let mut out = Vec::new();
    walk(value, "", &mut out);
    out
}

/// Markdown as events without their text; text and code inside a line count as one.
fn markdown_shape(out: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let mut shape: Vec<String> = Vec::new();
    let mut block = false;
    for event in Parser::new_ext(out, Options::all()) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => block = true,
            Event::End(TagEnd::CodeBlock) => block = false,
            _ => {}
        }
        let name = match event {
            Event::Text(t) => {
                // GitHub looks for these in the text of a page, outside code.
                assert!(
                    block || !t.contains('@') && !t.contains("://") && !t.contains("www."),
                    "{t:?}"
                );
                "text".to_owned()
            }
            Event::Code(_) => "text".to_owned(),
            Event::Html(html) | Event::InlineHtml(html) => {
                let names: Vec<String> = html_tags(&html);
                format!("html {}", names.join(" "))
            }
            Event::SoftBreak | Event::HardBreak => "break".to_owned(),
            Event::Start(tag) => format!("start {tag:?}"),
            Event::End(tag) => format!("end {tag:?}"),
            other => panic!("{other:?}"),
        };
        if shape.last() != Some(&name) || name != "text" {
            shape.push(name);
        }
    }
    shape
}

/// A page as its elements and attributes, in order, read as a browser does.
fn html_shape(out: &str) -> Vec<String> {
    use html5ever::tendril::TendrilSink as _;
    use markup5ever_rcdom::{Handle, NodeData, RcDom};
    fn walk(node: &Handle, out: &mut Vec<String>) {
        match &node.data {
            NodeData::Element { name, attrs, .. } => {
                let mut names: Vec<String> = attrs
                    .borrow()
                    .iter()
                    .map(|a| a.name.local.to_string())
                    .collect();
                names.sort();
                out.push(format!("{}[{}]", name.local, names.join(",")));
                if &*name.local == "script" {
                    let text: String = node
                        .children
                        .borrow()
                        .iter()
                        .filter_map(|c| match &c.data {
                            NodeData::Text { contents } => Some(contents.borrow().to_string()),
                            _ => None,
                        })
                        .collect();
                    out.push(text);
                }
            }
            NodeData::Comment { contents } => panic!("a comment: {contents}"),
            _ => {}
        }
        for child in node.children.borrow().iter() {
            walk(child, out);
        }
    }
    let dom = html5ever::parse_document(RcDom::default(), html5ever::ParseOpts::default()).one(out);
    let mut shape = Vec::new();
    walk(&dom.document, &mut shape);
    // A comparison of two texts may have other lines; what a text puts between backticks stands in code.
    shape.retain(|s| !matches!(s.as_str(), "del[]" | "ins[]" | "mark[]" | "code[]"));
    shape
}

/// The tags of a piece of HTML.
fn html_tags(piece: &str) -> Vec<String> {
    html_shape(piece)
        .into_iter()
        .filter(|t| !matches!(t.as_str(), "html[]" | "head[]" | "body[]"))
        .collect()
}

fn xml_shape(out: &str) -> Vec<String> {
    let doc = roxmltree::Document::parse(out).unwrap();
    doc.descendants()
        .filter(|n| n.is_element())
        .map(|n| {
            let attributes: Vec<&str> = n.attributes().map(|a| a.name()).collect();
            format!("{} {}", n.tag_name().name(), attributes.join(","))
        })
        .collect()
}

/// Workflow commands as the runner reads them: a line that starts with `::` after white space; `##[` anywhere.
fn github_commands(out: &str) -> Vec<String> {
    out.lines()
        .map(|line| {
            assert!(!line.contains("##["), "{line}");
            let rest = line
                .trim_start()
                .strip_prefix("::")
                .unwrap_or_else(|| panic!("no command: {line}"));
            let (head, _) = rest.split_once("::").unwrap();
            let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
            let names: Vec<&str> = properties
                .split(',')
                .map(|p| p.split_once('=').unwrap().0)
                .collect();
            format!("{name} {}", names.join(","))
        })
        .collect()
}

/// Logging commands as the agent reads them: the first `##vso[` of a line, up to the first `]`.
fn azure_commands(out: &str) -> Vec<String> {
    out.lines()
        .map(|line| {
            let lower = line.to_lowercase();
            assert_eq!(lower.matches("##vso[").count(), 1, "{line}");
            assert!(!lower.contains("##["), "{line}");
            let (head, _) = line
                .strip_prefix("##vso[")
                .unwrap()
                .split_once(']')
                .unwrap();
            let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
            let names: Vec<&str> = properties
                .split(';')
                .filter(|p| !p.is_empty())
                .map(|p| p.split_once('=').unwrap().0)
                .collect();
            format!("{name} {}", names.join(","))
        })
        .collect()
}

/// What no output may hold, whatever its format: a command of a log, something invisible.
fn assert_inert(format: Format, out: &str, name: &str) {
    for c in out.chars() {
        assert!(
            c == '\n' || !bundlegate::text::is_invisible(c),
            "{name} in {format}: {:?} is invisible",
            c
        );
    }
    let lower = out.to_lowercase();
    assert!(!lower.contains("##["), "{name} in {format}");
    if format != Format::Azure {
        assert!(!lower.contains("##vso["), "{name} in {format}");
    }
    if format != Format::Github {
        assert!(
            !out.lines().any(|l| l.trim_start().starts_with("::")),
            "{name} in {format}"
        );
    }
}

/// In every format the hostile report has the structure of its harmless twin.
fn assert_twins(name: &str, hostile: &Report, harmless: &Report) {
    for format in Format::ALL {
        let out = render(*format, hostile, &Options::default());
        assert_inert(*format, &out, name);
        let (is, should) = (
            structure(*format, &out),
            structure(*format, &render(*format, harmless, &Options::default())),
        );
        if is != should {
            let at = is
                .iter()
                .zip(&should)
                .position(|(a, b)| a != b)
                .unwrap_or(is.len().min(should.len()));
            panic!(
                "{name} in {format}: {:?} in place of {:?}\n{out}",
                is.get(at..(at + 4).min(is.len())),
                should.get(at..(at + 4).min(should.len()))
            );
        }
    }
}

#[test]
fn every_text_through_every_format() {
    assert!(HOSTILE.len() >= 40);
    for (name, text) in HOSTILE {
        let (hostile, harmless) = twins(text);
        assert_twins(name, &hostile, &harmless);
    }
}

#[test]
fn what_checks_say_through_every_format() {
    for (name, text) in HOSTILE {
        for yes in [true, false] {
            let (hostile, harmless) = twins(text);
            let hostile = authorize(hostile, yes, text);
            let harmless = authorize(harmless, yes, "harmless");
            assert_twins(name, &hostile, &harmless);
            assert_eq!(
                markdown_shape(&github_summary(&hostile)),
                markdown_shape(&github_summary(&harmless)),
                "{name}"
            );
        }
    }
}

#[test]
fn summaries_and_outputs_too() {
    for (name, text) in HOSTILE {
        let (hostile, harmless) = twins(text);
        assert_eq!(
            markdown_shape(&github_summary(&hostile)),
            markdown_shape(&github_summary(&harmless)),
            "{name}"
        );
        let outputs = github_outputs(&hostile);
        let names: Vec<&str> = outputs
            .lines()
            .filter_map(|l| l.strip_suffix("<<BUNDLEGATE_END"))
            .collect();
        assert_eq!(
            names,
            [
                "verdict",
                "exit-code",
                "deny",
                "review",
                "warn",
                "plan-sha256",
                "intent",
                "approval",
                "message"
            ],
            "{name}"
        );
    }
}

/// The recorded scenario whose names are hostile.
#[test]
fn recorded_hostile_names() {
    let report = Texts::of("hostile-names").report(Some(&ShowOptions {
        all: true,
        ..ShowOptions::default()
    }));
    for format in Format::ALL {
        let out = render(*format, &report, &Options::default());
        assert_inert(*format, &out, "hostile-names");
        structure(*format, &out);
    }
}
