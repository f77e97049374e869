//! The policy file as it is written: one record a mapping. What `extends` makes of several files is in `resolved.rs`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::approval::{ApprovalSection, VerifySection};
use super::choice::choice;
use super::decode::{Cx, Decode, Fields, Table, record};
use super::diagnostic::Diagnostic;
use super::identity::IdentitySection;
use super::level::{Level, Standing};
use super::location::{At, Location};
use super::selector::{NameGlob, PathGlob, Protect, Selector};
use super::value::{
    CliRange, CliVersion, Fingerprint, LastDay, PolicyDuration, RuleId, WorkspaceHost,
};
use super::yaml::{Node, Value};

record! {
    /// A bundlegate policy.
    pub(super) struct File ("a policy") {
        /// Version of the format; 1.
        pub(super) version: At<u64>,
        /// What this policy starts from: `production`, `staging`, `development`, or a file by a path relative to this one. Without it: `production`.
        pub(super) extends: Option<At<String>>,
        /// The targets that may be judged with this policy. Patterns; without it: all.
        #[schemars(default)]
        pub(super) targets: Vec<At<NameGlob>>,
        /// The workspaces that a plan may be for. Without it: all.
        #[schemars(default)]
        pub(super) workspaces: Vec<At<WorkspaceHost>>,
        /// Which bundle this policy is for.
        pub(super) bundle: Option<BundleSection>,
        /// Which Databricks CLI may have made the plan.
        pub(super) cli: Option<CliSection>,
        /// What a verdict needs beside the plan.
        pub(super) inputs: Option<InputsSection>,
        /// The highest level of a finding about a resource that the plan leaves alone. `as-rule`: no cap.
        pub(super) standing: Option<At<Standing>>,
        /// Who is who: one person's names in SSH, GitHub, Azure DevOps and git.
        #[schemars(default)]
        pub(super) people: Vec<At<Person>>,
        /// Whom resources run as, and who deploys them.
        pub(super) identity: Option<IdentitySection>,
        /// Resources that are never deleted, recreated or renamed, by key or by their name in the workspace.
        #[schemars(default)]
        pub(super) protect: Vec<At<Protect>>,
        /// The most that one plan may do.
        pub(super) limits: Option<Limits>,
        /// The level of each rule.
        pub(super) rules: Option<Table<At<RuleEntry>>>,
        /// Rules of your own.
        #[schemars(default)]
        pub(super) custom: Vec<At<CustomSource>>,
        /// Findings that are accepted for a time.
        #[schemars(default)]
        pub(super) waivers: Vec<At<Waiver>>,
        /// Who has to approve a plan, and how.
        pub(super) approval: Option<ApprovalSection>,
        /// What is checked after a deploy. Everything, unless it is switched off here.
        pub(super) verify: Option<VerifySection>,
        /// Where each pipeline's tables come back from, by pipeline key.
        pub(super) state: Option<Table<At<StateEntry>>>,
        /// `true`: no policy that extends this one, no waiver and no `--level` makes anything milder.
        pub(super) locked: Option<At<bool>>,
        /// `true`: a policy with every rule off is meant.
        pub(super) allow_empty: Option<At<bool>>,
    }
}

choice! {
    /// A key at the top of the policy file.
    pub enum Section ("a key of a policy") {
        /// `version`
        Version = "version",
        /// `extends`
        Extends = "extends",
        /// `targets`
        Targets = "targets",
        /// `workspaces`
        Workspaces = "workspaces",
        /// `bundle`
        Bundle = "bundle",
        /// `cli`
        Cli = "cli",
        /// `inputs`
        Inputs = "inputs",
        /// `standing`
        Standing = "standing",
        /// `people`
        People = "people",
        /// `identity`
        Identity = "identity",
        /// `protect`
        Protect = "protect",
        /// `limits`
        Limits = "limits",
        /// `rules`
        Rules = "rules",
        /// `custom`
        Custom = "custom",
        /// `waivers`
        Waivers = "waivers",
        /// `approval`
        Approval = "approval",
        /// `verify`
        Verify = "verify",
        /// `state`
        State = "state",
        /// `locked`
        Locked = "locked",
        /// `allow_empty`
        AllowEmpty = "allow_empty",
    }
}

/// A file and where each of its keys stands.
pub(super) struct Read {
    pub(super) file: File,
    pub(super) sections: BTreeMap<Section, Location>,
}

/// Reads the records of a file; `None` when it has no shape at all.
pub(super) fn read(node: Node, cx: &mut Cx) -> Option<Read> {
    if matches!(node.value, Value::Nothing) {
        cx.report(Diagnostic::error(
            &node.at,
            "an empty policy: expected at least `version: 1`",
        ));
        return None;
    }
    let mut fields = Fields::open(node, "a policy", File::KEYS, cx)?;
    let sections = fields
        .keys()
        .filter_map(|(key, at)| Some((key.parse().ok()?, at.clone())))
        .collect();
    let file = File::from_fields(&mut fields, cx)?;
    Some(Read { file, sections })
}

record! {
    /// Which bundle a policy is for.
    #[derive(Default)]
    pub struct BundleSection ("`bundle`") {
        /// The bundle's name.
        pub name: Option<At<String>>,
        /// Where the bundle is deployed; `*` does not cross `/`.
        pub root_path: Option<At<PathGlob>>,
        /// `true`: the target was deployed before, so a plan without lineage has lost its state.
        pub established: Option<At<bool>>,
    }
}

record! {
    /// Which Databricks CLI may have made the plan.
    #[derive(Default)]
    pub struct CliSection ("`cli`") {
        /// The oldest version.
        pub minimum: Option<At<CliVersion>>,
    }
}

record! {
    /// What a verdict needs beside the plan.
    pub(super) struct InputsSection ("`inputs`") {
        /// Inputs that must be given; a missing one is the finding `missing-input`.
        pub(super) require: Option<Vec<At<Input>>>,
    }
}

choice! {
    /// An input beside the plan.
    pub enum Input ("an input") {
        /// The bundle JSON.
        Bundle = "bundle",
        /// The bundle JSON of the branch that is deployed now.
        BaseBundle = "base-bundle",
        /// The deployed state, resources.json.
        State = "state",
        /// What the CLI wrote to stderr while it planned.
        Warnings = "warnings",
    }
}

record! {
    /// One person, under each of the names the person has.
    pub struct Person ("a person") {
        /// How reports call the person.
        pub name: String,
        /// The principal in `allowed_signers`.
        pub ssh: Option<String>,
        /// The GitHub account.
        pub github: Option<GithubAccount>,
        /// The subject descriptor in Azure DevOps.
        pub azure: Option<String>,
        /// Addresses in git commits.
        #[schemars(default)]
        pub git: Vec<String>,
    }
}

record! {
    /// A GitHub account; the id decides, since a login can be given to someone else.
    pub struct GithubAccount ("`github`") {
        /// The login.
        pub login: String,
        /// The numeric user id.
        pub id: u64,
    }
}

record! {
    /// The most that one plan may do; more is the finding `blast-radius`.
    #[derive(Default)]
    pub struct Limits ("`limits`") {
        /// Resources created.
        pub create: Option<At<u64>>,
        /// Resources updated, resized or renamed.
        pub change: Option<At<u64>>,
        /// Resources recreated.
        pub recreate: Option<At<u64>>,
        /// Resources deleted.
        pub delete: Option<At<u64>>,
    }
}

/// What a policy says about one rule: a level, or a level for some resources.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum RuleEntry {
    /// For everything.
    Short(Level),
    /// For the selected resources.
    Long(LongRule),
}

impl Decode for RuleEntry {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        match node.value {
            Value::Text(_) => Level::decode(node, cx).map(Self::Short),
            Value::Map(_) => LongRule::decode(node, cx).map(Self::Long),
            Value::Bool(false) => {
                cx.report(
                    Diagnostic::error(&node.at, "expected a level, found `false`")
                        .label("did you mean `off`?"),
                );
                None
            }
            _ => cx.mismatch(&node, "a level, or a mapping with `level` and `resources`"),
        }
    }
}

record! {
    /// The level of a rule for some resources; the others keep the level that was inherited.
    pub(super) struct LongRule ("a rule") {
        /// The level. Without it: the level that was inherited (with `locked`).
        pub(super) level: Option<At<Level>>,
        /// The resources it holds for. Without it: all, and what is about no resource.
        pub(super) resources: Option<Vec<At<Selector>>>,
        /// Resources it does not hold for.
        #[schemars(default)]
        pub(super) except: Vec<At<Selector>>,
        /// `true`: no policy that extends this one, no waiver and no `--level` makes it milder.
        pub(super) locked: Option<At<bool>>,
    }
}

record! {
    /// A rule of your own: an expression in CEL.
    pub(super) struct CustomSource ("a custom rule") {
        /// Its id, used in `rules`, waivers and reports.
        pub(super) id: At<RuleId>,
        /// Its level.
        pub(super) level: Level,
        /// The resources it is asked about. Without it: all.
        pub(super) resources: Option<Vec<At<Selector>>>,
        /// The condition under which it fires.
        pub(super) when: At<String>,
        /// What the finding says.
        pub(super) message: String,
        /// `true`: no policy that extends this one, no waiver and no `--level` makes it milder.
        pub(super) locked: Option<At<bool>>,
    }
}

record! {
    /// Findings of one rule that are accepted until a day.
    pub struct Waiver ("a waiver") {
        /// The rule.
        pub rule: At<String>,
        /// The resources.
        pub resource: At<Selector>,
        /// The last day; the waiver ends at 24:00 UTC.
        pub until: At<LastDay>,
        /// Why.
        pub reason: String,
        /// Where it is tracked.
        pub ticket: Option<String>,
        /// Who answers for it.
        pub owner: String,
        /// It holds only for plans of these CLI versions.
        pub cli: Option<At<CliRange>>,
        /// It holds only for the finding with this fingerprint.
        pub fingerprint: Option<At<Fingerprint>>,
    }
}

record! {
    /// The tables of one pipeline.
    pub struct StateEntry ("an entry of `state`") {
        /// The tables.
        pub tables: Vec<At<StateTable>>,
    }
}

record! {
    /// Where a table comes back from.
    pub struct StateTable ("a table") {
        /// Its full name.
        pub name: String,
        /// What it is read from, such as `kafka://orders`.
        pub source: Option<String>,
        /// How long the source keeps its records.
        pub retention: Option<PolicyDuration>,
        /// Whether a full refresh may reset it.
        pub reset_allowed: Option<bool>,
        /// The runbook.
        pub recovery: Option<String>,
    }
}
