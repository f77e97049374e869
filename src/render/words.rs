//! What every format says in the same words.

use crate::policy::Level;
use crate::report::{
    AuthorizeBody, Body, Counts, DigestBody, Finding, NotRun, Report, Status, Verdict,
};
pub(super) use crate::text::cut;

/// `1 finding`, `2 findings`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// How many findings of this level are not waived.
pub(super) fn of_level(report: &Report, level: Level) -> usize {
    report
        .findings
        .iter()
        .filter(|f| f.level == level && f.status != Status::Waived)
        .count()
}

/// Whether a policy judged: without one, the report only says what the plan does.
pub(super) fn is_judged(report: &Report) -> bool {
    report.policy.is_some()
}

/// Whether this plan may be deployed, where that is what the command answers and nothing was deployed yet.
fn authorization(report: &Report) -> Option<&AuthorizeBody> {
    match report.body.verification() {
        Some(_) => None,
        None => report.body.authorization(),
    }
}

/// The answer of `authorize` in one word.
pub(super) fn authorized_word(body: &AuthorizeBody) -> &'static str {
    if body.authorized {
        "authorized"
    } else {
        "refused"
    }
}

/// Who approved it, or which checks say no.
pub(super) fn authorized(report: &Report, body: &AuthorizeBody) -> String {
    if body.authorized {
        return format!("approved by {}", body.persons.join(", "));
    }
    let mut names: Vec<&str> = Vec::new();
    for check in body.refused() {
        if !names.contains(&check.check) {
            names.push(check.check);
        }
    }
    format!(
        "{}: {} (exit {})",
        count(body.refused().count(), "check says no", "checks say no"),
        names.join(", "),
        report.exit_code
    )
}

/// The verdict in one word, as far as anything was judged.
pub(super) fn verdict_word(report: &Report) -> &'static str {
    if let Body::Digest(_) = report.body {
        "digests"
    } else if let Some(body) = authorization(report) {
        authorized_word(body)
    } else if is_judged(report) {
        report.verdict.as_str()
    } else {
        "not judged"
    }
}

/// What the verdict means.
pub(super) fn verdict(report: &Report) -> String {
    if let Body::Digest(_) = report.body {
        return "what an approval of this plan binds".to_owned();
    }
    if let Some(body) = authorization(report) {
        return authorized(report, body);
    }
    if let Some(verification) = report.body.verification() {
        let cli = match &report.body {
            Body::Deploy(deploy) if deploy.cli_exit != Some(0) => {
                format!("the CLI: {}; ", deploy.cli_words())
            }
            _ => String::new(),
        };
        return format!(
            "{cli}{} ({})",
            verification.words(),
            verification.tally_words()
        );
    }
    let deny = of_level(report, Level::Deny);
    let review = of_level(report, Level::Review);
    let warn = of_level(report, Level::Warn);
    if !is_judged(report) {
        return "this only says what the plan does; `bundlegate check` judges it".to_owned();
    }
    match report.verdict {
        Verdict::Closed => {
            let forbid = count(deny, "finding forbids", "findings forbid");
            let more = match review {
                0 => String::new(),
                n => format!(", {} a review", count(n, "more needs", "more need")),
            };
            format!("{forbid} this deploy{more}")
        }
        Verdict::Review => format!(
            "{} a person's approval of exactly this plan",
            count(review, "finding needs", "findings need")
        ),
        Verdict::Open => match warn {
            0 => "nothing in this plan stands against the deploy".to_owned(),
            n => format!(
                "nothing in this plan stands against the deploy; {} worth reading",
                count(n, "warning is", "warnings are")
            ),
        },
    }
}

/// What to do next; empty where there is nothing to do.
pub(super) fn next(report: &Report) -> &'static str {
    let is_judgement = matches!(report.body, Body::None | Body::Show(_));
    if !is_judgement || !is_judged(report) {
        return "";
    }
    match report.verdict {
        Verdict::Closed => {
            "No approval lifts a deny: change what those findings name, and plan again."
        }
        Verdict::Review => {
            "Change what the findings name and plan again, or have exactly this plan approved."
        }
        Verdict::Open => "",
    }
}

/// The counts in the CLI's words, the most dangerous first: name and number of each that is not zero.
pub(super) fn actions(counts: &Counts) -> Vec<(&'static str, usize)> {
    [
        ("delete", counts.delete),
        ("recreate", counts.recreate),
        ("update_id", counts.update_id),
        ("update", counts.update),
        ("resize", counts.resize),
        ("create", counts.create),
        ("gone", counts.gone),
        ("skip", counts.skip),
    ]
    .into_iter()
    .filter(|(_, n)| *n > 0)
    .collect()
}

/// The counts as one line: `1 delete, 2 update, 6 skip`.
pub(super) fn counts(counts: &Counts) -> String {
    let parts: Vec<String> = actions(counts)
        .iter()
        .map(|(name, n)| format!("{n} {name}"))
        .collect();
    if parts.is_empty() {
        "nothing: the plan has no entry".to_owned()
    } else {
        parts.join(", ")
    }
}

/// What is known of the plan beside its path: CLI, serial, digest.
pub(super) fn plan_facts(report: &Report) -> String {
    let mut parts = Vec::new();
    match &report.plan.cli_version {
        Some(v) => parts.push(format!("CLI {v}")),
        None => parts.push("no CLI version".to_owned()),
    }
    match (&report.plan.lineage, report.plan.serial) {
        (None, _) => parts.push("first deploy".to_owned()),
        (Some(_), Some(serial)) => parts.push(format!("serial {serial}")),
        (Some(_), None) => parts.push("no serial".to_owned()),
    }
    if report.plan.not_selected > 0 {
        parts.push(format!("{} not selected", report.plan.not_selected));
    }
    parts.push(format!("sha256 {}", short(&report.plan.sha256)));
    parts.join(", ")
}

/// The first twelve digits of a digest.
pub(super) fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// How much a finding weighs, and whether an approval lifts it.
pub(super) fn level(report: &Report, finding: &Finding) -> String {
    format!("{}{}", finding.level, approved(report, finding))
}

/// ` (approved)`, where an approval lifts the finding.
pub(super) fn approved(report: &Report, finding: &Finding) -> &'static str {
    if report.is_approved(finding) {
        " (approved)"
    } else {
        ""
    }
}

/// The digests by name, and the fields whose value none of them binds.
pub(super) fn digests(body: &DigestBody) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("plan", body.plan.clone()),
        (
            "intent",
            body.intent.clone().unwrap_or_else(|| {
                "none: a plan of the Terraform engine says only which actions it takes".to_owned()
            }),
        ),
        ("policy", body.policy.clone()),
        (
            "source",
            body.source.as_ref().map_or_else(
                || "not looked at: no databricks.yml here (give --source)".to_owned(),
                ToString::to_string,
            ),
        ),
    ];
    rows.extend(body.redacted.iter().map(|field| {
        (
            "redacted",
            format!("{field}: the plan holds [redacted], so no digest binds its value"),
        )
    }));
    rows
}

/// The resource that a finding is about, or the whole deployment.
pub(super) fn subject(finding: &Finding) -> &str {
    finding.resource.as_deref().unwrap_or("this deployment")
}

/// `(file:line:column)`.
pub(super) fn place(finding: &Finding) -> Option<String> {
    finding
        .location
        .as_ref()
        .map(|l| format!("{}:{}:{}", l.file, l.line, l.column))
}

/// A value as people read it: a string without quotes, everything else as compact JSON; cut where it is too long.
pub(super) fn value(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(s) => cut(s),
        other => cut(&other.to_string()),
    }
}

/// Who waived it, why and until when.
pub(super) fn waiver(finding: &Finding) -> Option<String> {
    finding.waiver.as_ref().map(|w| {
        let ticket = w
            .ticket
            .as_ref()
            .map_or_else(String::new, |t| format!(", {t}"));
        format!("{} until {} ({}{ticket})", w.owner, w.until, w.reason)
    })
}

/// Which finding has already said why, and what to do: that is said once.
#[derive(Default)]
pub(super) struct Told<'r>(std::collections::HashMap<(&'r str, &'r str, &'r str), &'r str>);

impl<'r> Told<'r> {
    /// The resource whose finding has said the same; `None`: this one says it.
    pub(super) fn by(&mut self, finding: &'r Finding) -> Option<&'r str> {
        let said = (
            finding.rule.as_str(),
            finding.impact.as_str(),
            finding.remedy.as_str(),
        );
        if let Some(other) = self.0.get(&said) {
            return Some(other);
        }
        self.0.insert(said, subject(finding));
        None
    }
}

/// Findings that are shown one by one, and standing ones that are grouped: by level and rule, with the resources of each.
pub(super) struct Parts<'r> {
    pub(super) single: Vec<&'r Finding>,
    pub(super) standing: Vec<Standing<'r>>,
}

/// Standing weaknesses of one rule.
pub(super) struct Standing<'r> {
    pub(super) level: Level,
    pub(super) rule: &'r str,
    pub(super) resources: Vec<&'r str>,
}

/// Splits the findings. A standing weakness that weighs enough to hold up the deploy is shown like any other.
pub(super) fn parts(report: &Report) -> Parts<'_> {
    let mut single = Vec::new();
    let mut standing: Vec<Standing<'_>> = Vec::new();
    let mut at: std::collections::BTreeMap<(Level, &str), usize> =
        std::collections::BTreeMap::new();
    for f in &report.findings {
        if !f.standing || f.level >= Level::Review || f.status == Status::Waived {
            single.push(f);
            continue;
        }
        let index = *at.entry((f.level, &f.rule)).or_insert_with(|| {
            standing.push(Standing {
                level: f.level,
                rule: &f.rule,
                resources: Vec::new(),
            });
            standing.len() - 1
        });
        if let Some(group) = standing.get_mut(index)
            && !group.resources.contains(&subject(f))
        {
            group.resources.push(subject(f));
        }
    }
    standing.sort_by(|a, b| b.level.cmp(&a.level).then_with(|| a.rule.cmp(b.rule)));
    Parts { single, standing }
}

/// The rules that could not run, by the option that would let them: `missing-remote, cascade-armed (give --state)`.
pub(super) fn not_run(not_run: &[NotRun]) -> Option<String> {
    let mut by_need: std::collections::BTreeMap<&str, Vec<&str>> =
        std::collections::BTreeMap::new();
    for n in not_run {
        by_need.entry(&n.needs).or_default().push(&n.rule);
    }
    let parts: Vec<String> = by_need
        .iter()
        .map(|(need, rules)| format!("{} (give {need})", rules.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
