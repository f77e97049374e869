//! Reports of recorded and of altered plans, made by the library as `check` and `show` make them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bundlegate::approval::Refusal;
use bundlegate::bundle::{Bundle, State};
use bundlegate::effect::{Inputs, World};
use bundlegate::json::Limits;
use bundlegate::plan::TYPES;
use bundlegate::policy::{Catalogue, Embedded, Policy, PolicyRef, load};
use bundlegate::report::show::{ShowOptions, build};
use bundlegate::report::{
    AuthorizeBody, Body, CheckResult, Counts, Exit, GateCheck, PlanHead, PolicyHead, Report,
    SCHEMA, Verdict, verdict,
};
use bundlegate::rules::{Context, RULES, judge};

/// The texts of a plan and of what is given beside it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    pub(crate) plan: String,
    pub(crate) bundle: Option<String>,
    pub(crate) state: Option<String>,
}

impl Texts {
    /// A recorded scenario.
    pub(crate) fn of(scenario: &str) -> Self {
        let folder = root().join("tests/scenarios").join(scenario);
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        Self {
            plan: read("plan.json").unwrap(),
            bundle: read("bundle.json"),
            state: read("state.json"),
        }
    }

    /// The report of `check`, or of `show` with the findings beside it.
    pub(crate) fn report(&self, show: Option<&ShowOptions>) -> Report {
        let limits = Limits::default();
        let plan = bundlegate::plan::read(self.plan.as_bytes(), &limits).unwrap();
        let bundle = self
            .bundle
            .as_ref()
            .map(|t| Bundle::read(t.as_bytes(), &limits).unwrap());
        let state = self
            .state
            .as_ref()
            .map(|t| State::read(t.as_bytes(), &limits).unwrap());
        let targets = [("--target", "prod".to_owned())];
        let world = World::new(Inputs {
            plan: &plan,
            bundle: bundle.as_ref(),
            base_bundle: None,
            state: state.as_ref(),
            warnings: None,
            targets: &targets,
        });
        let policy = production();
        let judged = judge(&Context {
            world: &world,
            policy: &policy,
            now: jiff::Timestamp::UNIX_EPOCH,
        });
        let verdict = verdict(&judged.findings);
        Report {
            schema: SCHEMA,
            command: if show.is_some() { "show" } else { "check" },
            verdict,
            exit_code: verdict.exit().code(),
            plan: PlanHead {
                path: "plan.json".to_owned(),
                sha256: "0123456789abcdef".repeat(4),
                intent: None,
                plan_version: Some(2),
                cli_version: plan.cli_version.as_deref().map(str::to_owned),
                lineage: plan.lineage.as_deref().map(str::to_owned),
                serial: plan.serial,
                not_selected: plan.not_selected,
                entries: plan.entries.len(),
            },
            target: world.target().map(str::to_owned),
            policy: Some(PolicyHead {
                source: "production".to_owned(),
                sha256: "fedcba9876543210".repeat(4),
            }),
            inputs: BTreeMap::from([("plan", "0123456789abcdef".repeat(4))]),
            not_run: judged.not_run,
            summary: Counts::of(&plan),
            findings: judged.findings,
            body: show.map_or(Body::None, |o| Body::Show(Box::new(build(&world, o)))),
        }
    }
}

/// The report as `authorize` ends in it, yes or no: checks that ended in every way, with this text wherever it comes from outside.
pub(crate) fn authorize(mut report: Report, yes: bool, text: &str) -> Report {
    let refused = |check, exit| GateCheck::refused(Refusal::new(check, text, text, text), exit);
    let mut checks = vec![
        GateCheck::passed("judgement", "review"),
        GateCheck::passed("signature", text).of(text),
        GateCheck {
            result: CheckResult::NotCounted,
            ..refused("expired", Exit::Invalid).of(text)
        },
    ];
    if !yes {
        checks.push(refused("serial", Exit::Invalid).of(text));
        checks.push(refused("serial", Exit::Invalid).of("another"));
        checks.push(refused("quorum", Exit::Review));
        checks.push(GateCheck::not_reached("separation", text));
    }
    let body = AuthorizeBody {
        authorized: yes,
        required: 2,
        persons: vec![text.to_owned()],
        checks,
        explain: true,
    };
    report.command = "authorize";
    (report.verdict, report.exit_code) = if yes {
        (Verdict::Open, Exit::Open.code())
    } else {
        (Verdict::Closed, Exit::Invalid.code())
    };
    report.findings = body.findings(report.findings);
    report.body = Body::Authorize(body);
    report
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The embedded policy for production. Rules that it names count as known.
pub(crate) fn production() -> Policy {
    let mut rules: Vec<&str> = RULES.iter().map(|r| r.doc().id).collect();
    let text = Embedded::Production.text();
    rules.extend(
        text.lines()
            .filter_map(|l| l.strip_prefix("  ")?.split_once(':'))
            .map(|(id, _)| id),
    );
    let types: Vec<&str> = TYPES.iter().map(|t| t.name).collect();
    let catalogue = Catalogue {
        rules: &rules,
        types: &types,
    };
    load(
        &PolicyRef::Embedded(Embedded::Production),
        &catalogue,
        &mut |_| unreachable!("it extends nothing"),
    )
    .unwrap()
}
