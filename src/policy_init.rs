//! `policy init`: a commented policy for one bundle and target, written from its bundle JSON.
//!
//! What only people know stands in it as a comment: a guess that the loader would read as a promise is worse than none.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::bundle::{Bundle, State};
use crate::effect::{
    IDENTITY_TYPES, Inputs, Kind, Principal, RunAs, World, looks_like_person, principal_of,
};
use crate::impact::is_data_bearing;
use crate::json::Value;
use crate::plan::{Plan, ResourceKey};
use crate::policy::{NameGlob, PathGlob, Selector, WorkspaceHost};
use crate::text::{is_invisible, quoted, visible};

/// A change limit below this would be in the way of ordinary work.
const SMALLEST_CHANGE_LIMIT: usize = 10;

/// What a policy is drafted from.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The bundle JSON of the target.
    pub bundle: &'a Bundle,
    /// A plan for it.
    pub plan: Option<&'a Plan>,
    /// The deployed state.
    pub state: Option<&'a State>,
}

/// A policy for this bundle that starts from `extends`. It is valid, and ends with a newline.
#[must_use]
pub fn draft(facts: &Facts<'_>, extends: &str) -> String {
    let stated = |path: &[&str]| facts.bundle.text(path).filter(|t| !t.trim().is_empty());
    let name = stated(&["bundle", "name"]);
    let mut out = format!(
        "# The policy of the bundle {}, target {}. `bundlegate policy init` wrote it; read it, change it, commit it.
#
# `bundlegate policy validate` checks it, `bundlegate policy show` says where each level comes from,
# `bundlegate policy test` tries it on cases. For completion in an editor:
# `bundlegate policy schema > policy.schema.json`, and in the first line of this file
# # yaml-language-server: $schema=policy.schema.json

version: 1

# What it starts from: production, staging, development, or another policy by its path.
extends: {}
",
        comment(name.unwrap_or("without a name")),
        comment(facts.bundle.target()),
        scalar(extends),
    );
    scope(facts, name, &mut out);
    identities(facts, &mut out);
    protected(facts.bundle, &mut out);
    limits(facts.bundle, &mut out);
    register(facts.bundle, &mut out);
    out.push_str("\n# Examples of the rest. Take the `#` away where one is of use.\n#\n");
    commented(EXAMPLES, &mut out);
    out
}

/// What a plan may be for.
fn scope(facts: &Facts<'_>, name: Option<&str>, out: &mut String) {
    let bundle = facts.bundle;
    out.push_str("\n# A plan for any other target, workspace, bundle or folder is not this policy's to judge.\n");
    let target = literal(bundle.target());
    if target.parse::<NameGlob>().is_ok() {
        let _ = writeln!(out, "targets: [{}]", scalar(&target));
    } else {
        out.push_str("# targets: [prod] # no pattern can name the bundle JSON's target\n");
    }
    match bundle.text(&["workspace", "host"]) {
        Some(host) if host.parse::<WorkspaceHost>().is_ok() => {
            let _ = writeln!(out, "workspaces: [{}]", scalar(host));
        }
        other => {
            let found = other.map_or_else(|| "none".to_owned(), comment);
            let _ = writeln!(
                out,
                "# workspaces: [\"https://adb-1234567890123456.7.azuredatabricks.net\"] # the bundle JSON names no host that can be used, found {found}"
            );
        }
    }
    let deployed = facts.state.is_some_and(|s| !s.is_empty())
        || facts.plan.is_some_and(|p| p.lineage.is_some());
    let mut lines = Vec::new();
    if let Some(name) = name {
        lines.push(format!("name: {}", scalar(name)));
    }
    let root = bundle.text(&["workspace", "root_path"]).map(literal);
    if let Some(root) = root.filter(|root| root.parse::<PathGlob>().is_ok()) {
        lines.push(format!("root_path: {}", scalar(&root)));
    }
    let established =
        "established: true # deployed before: a plan without lineage has lost its state";
    if deployed {
        lines.push(established.to_owned());
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "bundle:\n  {}", lines.join("\n  "));
    }
    if !deployed {
        let indent = if lines.is_empty() { "" } else { "  " };
        let _ = writeln!(out, "{indent}# {established}; true after the first deploy");
    }
    out.push_str("\n# An older CLI plans other things.\n");
    let version = facts.plan.and_then(|p| p.cli_version.as_deref());
    match version.filter(|v| semver::Version::parse(v).is_ok()) {
        Some(version) => {
            let _ = writeln!(out, "cli: {{minimum: {}}}", scalar(version));
        }
        None => out.push_str("# cli: {minimum: \"1.20.0\"}\n"),
    }
}

/// Who a resource runs as, and whether the bundle is about to change that.
struct RunsAs {
    key: String,
    kind: String,
    principal: Option<Principal>,
    planned: Option<Principal>,
}

fn runs_as(facts: &Facts<'_>) -> Vec<RunsAs> {
    let world = facts.plan.map(|plan| {
        World::new(Inputs {
            plan,
            bundle: Some(facts.bundle),
            base_bundle: None,
            state: facts.state,
            warnings: None,
            targets: &[],
        })
    });
    let deployed = |key: &str| {
        let full = format!("resources.{key}");
        let by_plan = world.as_ref().and_then(|world| {
            let effect = world.effect(&full)?;
            match world.run_as_deployed(effect)? {
                RunAs::Is(principal) => Some(principal),
                _ => None,
            }
        });
        let by_state = || {
            let config = &facts.state?.deployed(&full)?.config;
            config.get("run_as").and_then(principal_of)
        };
        by_plan.or_else(by_state)
    };
    // A reference names nobody yet, and a policy takes no service principal by the name of a person.
    let named = |p: &Principal| {
        !p.name.contains("${")
            && !p.name.trim().is_empty()
            && (p.kind != Kind::ServicePrincipal || !looks_like_person(&p.name))
    };
    facts
        .bundle
        .resources()
        .filter(|(kind, ..)| IDENTITY_TYPES.contains(kind))
        .map(|(kind, name, config)| {
            let key = format!("{kind}.{name}");
            let planned = config.get("run_as").and_then(principal_of).filter(named);
            RunsAs {
                principal: deployed(&key).filter(named).or_else(|| planned.clone()),
                kind: kind.to_owned(),
                key,
                planned,
            }
        })
        .collect()
}

/// Whom resources run as: what is deployed, else what the bundle names, so that a change of identity stays one.
fn identities(facts: &Facts<'_>, out: &mut String) {
    let all = runs_as(facts);
    let mut by_kind: BTreeMap<&str, Vec<&RunsAs>> = BTreeMap::new();
    for one in &all {
        by_kind.entry(&one.kind).or_default().push(one);
    }
    // Types with one identity for all of their resources go by type, the others by key.
    let mut groups: BTreeMap<&Principal, Vec<String>> = BTreeMap::new();
    for (kind, members) in &by_kind {
        let first = members.first().and_then(|m| m.principal.as_ref());
        if let Some(principal) = first
            && members.iter().all(|m| m.principal.as_ref() == first)
        {
            groups
                .entry(principal)
                .or_default()
                .push(format!("{kind}.*"));
            continue;
        }
        for member in members {
            if let (Some(principal), Some(selector)) = (&member.principal, selector(&member.key)) {
                groups.entry(principal).or_default().push(selector);
            }
        }
    }
    out.push_str("\n# Whom resources run as, and who deploys. A planned change of identity begins here, in a change of its own.\n");
    let deployer = facts
        .bundle
        .text(&["workspace", "current_user", "userName"]);
    let known_deployer =
        deployer.filter(|name| !looks_like_person(name) && !name.trim().is_empty());
    let start = if groups.is_empty() && known_deployer.is_none() {
        "# identity:\n"
    } else {
        "identity:\n"
    };
    out.push_str(start);
    if groups.is_empty() {
        out.push_str("  # run_as:\n  #   - {resources: [\"jobs.*\", \"pipelines.*\"], service_principal: 00000000-0000-4000-8000-000000000000}\n");
    } else {
        out.push_str("  run_as:\n");
    }
    for (principal, selectors) in &groups {
        let selectors: Vec<String> = selectors.iter().map(|s| scalar(s)).collect();
        let person = if crate::effect::is_person(principal) {
            " # a person: name a service principal or a group"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "    - {{resources: [{}], {}: {}}}{person}",
            selectors.join(", "),
            field(principal.kind),
            scalar(&principal.name)
        );
    }
    for one in &all {
        let note = match (&one.principal, &one.planned) {
            (None, _) => "names nobody that a policy could name".to_owned(),
            (Some(is), Some(planned)) if is != planned => format!(
                "is to run as {} by the bundle JSON; what is deployed stands above",
                visible(&planned.words())
            ),
            _ => continue,
        };
        let _ = writeln!(out, "    # {} {note}", comment(&one.key));
    }
    match (known_deployer, deployer) {
        (Some(name), _) => {
            let _ = writeln!(out, "  deployer: {{service_principal: {}}}", scalar(name));
        }
        (None, person) => {
            let found = person.map_or_else(|| "nobody".to_owned(), comment);
            let _ = writeln!(
                out,
                "  # deployer: {{service_principal: 00000000-0000-4000-8000-000000000000}} # who deploys in CI; {found} wrote the bundle JSON"
            );
        }
    }
}

fn field(kind: Kind) -> &'static str {
    match kind {
        Kind::User => "user",
        Kind::Group => "group",
        Kind::ServicePrincipal => "service_principal",
    }
}

fn protected(bundle: &Bundle, out: &mut String) {
    out.push_str("\n# Never to be deleted, recreated or renamed by a deploy: what holds data that a deploy does not bring back.\n");
    let selectors: Vec<(String, Option<String>)> = bundle
        .resources()
        .filter(|(kind, ..)| is_data_bearing(kind))
        .map(|(kind, name, _)| format!("{kind}.{name}"))
        .map(|key| (key.clone(), selector(&key)))
        .collect();
    if selectors.iter().all(|(_, selector)| selector.is_none()) {
        out.push_str("protect: []\n");
    } else {
        out.push_str("protect:\n");
    }
    for (key, selector) in &selectors {
        let _ = match selector {
            Some(selector) => writeln!(out, "  - {}", scalar(selector)),
            None => writeln!(out, "  # {}: no selector can name it", comment(key)),
        };
    }
}

fn limits(bundle: &Bundle, out: &mut String) {
    let change = bundle.resources().count().max(SMALLEST_CHANGE_LIMIT);
    let _ = write!(
        out,
        "\n# More than this in one deploy is looked at by a person, even if every single change is harmless.\nlimits: {{delete: 0, recreate: 0, change: {change}}}\n"
    );
}

/// The register of tables, as a comment: a placeholder that counts as an answer would silence the question.
fn register(bundle: &Bundle, out: &mut String) {
    let pipelines: Vec<(&str, &Value)> = bundle
        .resources()
        .filter(|(kind, ..)| *kind == "pipelines")
        .map(|(_, name, config)| (name, config))
        .collect();
    if pipelines.is_empty() {
        return;
    }
    out.push_str(
        "\n# Where each pipeline's tables come back from. Fill it in and take the `#` away: until then `unregistered-state` says so.\n#\n",
    );
    let mut skeleton = String::from("state:\n");
    for (name, config) in pipelines {
        let part = |field: &str| {
            let text = config.get(field).and_then(Value::as_str)?;
            resolved(bundle, text)
        };
        let catalog = part("catalog").unwrap_or_else(|| "CATALOG".to_owned());
        let schema = part("schema")
            .or_else(|| part("target"))
            .unwrap_or_else(|| "SCHEMA".to_owned());
        let _ = write!(
            skeleton,
            "  {}:
    tables:
      - name: {}
        source: \"kafka://TOPIC\" # where it is read from
        retention: 7d # how long the source keeps its records
        reset_allowed: false # whether a full refresh may empty it
        recovery: docs/runbooks/TABLE.md # what to do when it is lost
",
            scalar(&format!("pipelines.{name}")),
            scalar(&format!("{catalog}.{schema}.TABLE")),
        );
    }
    commented(&skeleton, out);
}

/// A text of the bundle JSON; a reference to a resource's field is looked up.
fn resolved(bundle: &Bundle, text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix("${").and_then(|t| t.strip_suffix('}')) else {
        return (!text.is_empty() && !text.contains("${")).then(|| text.to_owned());
    };
    let path: Vec<&str> = inner.split('.').collect();
    let found = bundle.text(&path)?;
    (!found.contains("${")).then(|| found.to_owned())
}

const EXAMPLES: &str = r#"rules:
  rename: warn
  recreate: {level: review, resources: ["*"], except: ["quality_monitors.*"]}
custom:
  - id: no-gpu-jobs
    level: deny
    resources: ["jobs.*"]
    when: 'action in ["create", "update"] && has(new.job_clusters) && new.job_clusters.exists(c, c.new_cluster.node_type_id.startsWith("Standard_NC"))'
    message: GPU clusters need a ticket
waivers:
  - {rule: creator-person, resource: pipelines.orders, until: 2027-01-31, reason: it moves to a service principal, owner: platform, ticket: DATA-7}
people:
  - {name: release manager one, ssh: rm1@example.com, github: {login: rm-one, id: 1001}, git: [rm1@example.com]}
approval:
  required: 1 # distinct people
  separation: [author, actor] # who may not approve
  expires_after: 24h
  accept:
    ssh: {allowed_signers: .bundlegate/allowed_signers}
"#;

fn commented(text: &str, out: &mut String) {
    for line in text.lines() {
        let _ = writeln!(out, "# {line}");
    }
}

/// Foreign text in a comment.
fn comment(text: &str) -> String {
    quoted(text)
}

/// A pattern that matches this text and nothing else.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A selector of exactly this resource, if there can be one.
fn selector(key: &str) -> Option<String> {
    let full = ResourceKey::parse(&format!("resources.{key}")).ok()?;
    let text = literal(key);
    let parsed: Selector = text.parse().ok()?;
    (full.resource() == key && parsed.matches(key)).then_some(text)
}

/// A text as YAML: plain where nothing else could be meant, else in double quotes.
#[must_use]
pub fn scalar(text: &str) -> String {
    // What YAML 1.1 or 1.2 reads as something else than a text.
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_ascii_graphic() || c == ' ' => out.push(c),
            c if c.is_alphanumeric() && !is_invisible(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xFF => write!(out, "\\x{code:02X}"),
                    0x100..=0xFFFF => write!(out, "\\u{code:04X}"),
                    _ => write!(out, "\\U{code:08X}"),
                };
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
