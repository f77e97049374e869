//! What a file makes of the policy it extends, and what a locked policy does not let it make.

use std::collections::BTreeMap;

use super::Catalogue;
use super::approval::{apply_approval, apply_verify};
use super::custom::CustomRule;
use super::decode::{Cx, Table};
use super::diagnostic::Diagnostic;
use super::file::{CustomSource, LongRule, Person, Read, RuleEntry, StateEntry};
use super::identity::IdentitySection;
use super::layers::{Layer, RuleSetting};
use super::level::{Level, Standing};
use super::location::{At, Location};
use super::lock::Lock;
use super::resolved::Policy;
use super::text::quoted;

/// The version of the policy format.
const VERSION: u64 = 1;

/// Nothing is stricter.
fn never<T>(_: &T, _: &T) -> bool {
    false
}

impl Policy {
    /// Puts a file on top of what it extends. `root`: an embedded policy, which is trusted to name only rules that exist.
    pub(super) fn apply(&mut self, read: Read, root: bool, catalogue: &Catalogue<'_>, cx: &mut Cx) {
        let Read { file, sections } = read;
        self.sections.extend(sections);
        if file.version.value != VERSION {
            let message = format!(
                "expected `version: {VERSION}`, found `version: {}`",
                file.version.value
            );
            cx.report(
                Diagnostic::error(&file.version.at, message)
                    .help("a newer bundlegate may read this policy"),
            );
        }
        self.apply_rules(file.rules, file.custom, root, catalogue, cx);

        let locked = self.locked.clone();
        let mut lock = Lock {
            at: locked.as_ref(),
            cx,
        };
        lock.list(&mut self.targets, file.targets, "`targets`");
        lock.list(&mut self.workspaces, file.workspaces, "`workspaces`");
        if let Some(bundle) = file.bundle {
            lock.fill(&mut self.bundle.name, bundle.name, "`bundle.name`", never);
            lock.fill(
                &mut self.bundle.root_path,
                bundle.root_path,
                "`bundle.root_path`",
                never,
            );
            lock.fill(
                &mut self.bundle.established,
                bundle.established,
                "`bundle.established`",
                |_, new| *new,
            );
        }
        if let Some(cli) = file.cli {
            lock.fill(
                &mut self.cli.minimum,
                cli.minimum,
                "`cli.minimum`",
                |old, new| new.version() >= old.version(),
            );
        }
        if let Some(require) = file.inputs.and_then(|inputs| inputs.require) {
            match self.require.iter().find(|old| !require.contains(old)) {
                Some(missing) if lock.at.is_some() => {
                    let at = require
                        .first()
                        .map_or(&missing.at, |first| &first.at)
                        .clone();
                    lock.refuse(&at, &format!("`inputs.require` with `{}`", missing.value));
                }
                _ => self.require = require,
            }
        }
        lock.replace(
            &mut self.standing,
            file.standing,
            "`standing`",
            |old: &Standing, new| new >= old,
        );
        lock.replace(
            &mut self.allow_empty,
            file.allow_empty,
            "`allow_empty`",
            |_, new| !new,
        );
        lock.list(&mut self.people, file.people, "`people`");
        if let Some(IdentitySection { run_as, deployer }) = file.identity {
            match run_as {
                Some(new)
                    if lock.at.is_some()
                        && !self.identity.run_as.is_empty()
                        && self.identity.run_as != new =>
                {
                    if let Some(at) = new
                        .first()
                        .or(self.identity.run_as.first())
                        .map(|rule| rule.at.clone())
                    {
                        lock.refuse(&at, "`identity.run_as`");
                    }
                }
                Some(new) => self.identity.run_as = new,
                None => {}
            }
            lock.fill(
                &mut self.identity.deployer,
                deployer,
                "`identity.deployer`",
                never,
            );
        }
        for protect in file.protect {
            if !self.protect.contains(&protect) {
                self.protect.push(protect);
            }
        }
        if let Some(limits) = file.limits {
            let fewer = |old: &u64, new: &u64| new <= old;
            lock.fill(
                &mut self.limits.create,
                limits.create,
                "`limits.create`",
                fewer,
            );
            lock.fill(
                &mut self.limits.change,
                limits.change,
                "`limits.change`",
                fewer,
            );
            lock.fill(
                &mut self.limits.recreate,
                limits.recreate,
                "`limits.recreate`",
                fewer,
            );
            lock.fill(
                &mut self.limits.delete,
                limits.delete,
                "`limits.delete`",
                fewer,
            );
        }
        self.waivers.extend(file.waivers);
        if let Some(approval) = file.approval {
            apply_approval(&mut self.approval, approval, &mut lock);
        }
        if let Some(verify) = file.verify {
            apply_verify(&mut self.verify, verify, &mut lock);
        }
        apply_state(&mut self.state, file.state, &mut lock);

        if let Some(new) = file.locked {
            match (&self.locked, new.value) {
                (None, true) => self.locked = Some(new.at),
                (Some(_), false) => lock.refuse(&new.at, "the policy"),
                _ => {}
            }
        }
    }

    fn apply_rules(
        &mut self,
        rules: Option<Table<At<RuleEntry>>>,
        custom: Vec<At<CustomSource>>,
        root: bool,
        catalogue: &Catalogue<'_>,
        cx: &mut Cx,
    ) {
        for At { value: source, at } in custom {
            self.apply_custom(source, &at, catalogue, cx);
        }
        let mut locks = Vec::new();
        for (id, entry) in rules.map(|rules| rules.0).unwrap_or_default() {
            let known = root
                || catalogue.rules.contains(&id.value.as_str())
                || self.custom.iter().any(|rule| rule.id.as_str() == id.value);
            if !known {
                let custom = self.custom.iter().map(|rule| rule.id.as_str());
                let names: Vec<&str> = catalogue.rules.iter().copied().chain(custom).collect();
                let diagnostic =
                    Diagnostic::error(&id.at, format!("unknown rule {}", quoted(&id.value)));
                cx.report(
                    diagnostic
                        .or_nearest(&id.value, &names)
                        .help("`bundlegate rules` lists the rules"),
                );
                continue;
            }
            let long = match entry.value {
                RuleEntry::Short(level) => LongRule {
                    level: Some(At {
                        value: level,
                        at: entry.at.clone(),
                    }),
                    resources: None,
                    except: Vec::new(),
                    locked: None,
                },
                RuleEntry::Long(long) => long,
            };
            self.apply_rule(&id, long, &entry.at, &mut locks, cx);
        }
        for (id, at) in locks {
            self.rules.entry(id).or_default().locked.get_or_insert(at);
        }
    }

    fn apply_rule(
        &mut self,
        id: &At<String>,
        rule: LongRule,
        at: &Location,
        locks: &mut Vec<(String, Location)>,
        cx: &mut Cx,
    ) {
        let locked = self.is_locked(&id.value).cloned();
        match (&rule.locked, &locked) {
            (Some(new), Some(locked)) if !new.value => {
                let message = format!(
                    "the rule `{}` is locked by the policy that this one extends",
                    id.value
                );
                cx.report(Diagnostic::error(&new.at, message).related(locked, "locked here"));
            }
            (Some(new), _) if new.value => locks.push((id.value.clone(), new.at.clone())),
            _ => {}
        }
        let Some(level) = rule.level else {
            if rule.resources.is_some() || !rule.except.is_empty() || rule.locked.is_none() {
                cx.report(Diagnostic::error(
                    at,
                    format!("the rule `{}` has no `level`", id.value),
                ));
            }
            return;
        };
        if rule.resources.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("the rule `{}` is given a level for no resource", id.value);
            cx.report(
                Diagnostic::error(at, message).help("leave `resources` out, or write `[\"*\"]`"),
            );
            return;
        }
        let layer = Layer {
            level: level.value,
            resources: rule.resources,
            except: rule.except,
            at: Some(id.at.clone()),
        };
        let setting = self.rules.entry(id.value.clone()).or_default();
        if let (Some(locked), Some(softened)) = (&locked, setting.softened_by(&layer)) {
            let old = softened.map_or(Level::Deny, |layer| layer.level);
            let message = format!(
                "the rule `{}` is locked: it cannot go from `{old}` to `{}`",
                id.value, layer.level
            );
            cx.report(Diagnostic::error(&level.at, message).related(locked, "locked here"));
            return;
        }
        setting.push(layer);
    }

    fn apply_custom(
        &mut self,
        source: CustomSource,
        at: &Location,
        catalogue: &Catalogue<'_>,
        cx: &mut Cx,
    ) {
        let id = source.id.value.as_str();
        if catalogue.rules.contains(&id) || self.rules.contains_key(id) {
            let message = format!("there is already a rule `{id}`");
            cx.report(
                Diagnostic::error(&source.id.at, message)
                    .help("give the custom rule another id; its level can be set under `rules`"),
            );
            return;
        }
        if source.resources.as_ref().is_some_and(Vec::is_empty) {
            cx.report(
                Diagnostic::error(
                    at,
                    format!("the custom rule `{id}` is asked about no resource"),
                )
                .help("leave `resources` out to ask about all"),
            );
            return;
        }
        let mut setting = RuleSetting::default();
        setting.push(Layer {
            level: source.level,
            resources: None,
            except: Vec::new(),
            at: Some(source.id.at.clone()),
        });
        setting.locked = source
            .locked
            .clone()
            .filter(|locked| locked.value)
            .map(|locked| locked.at);
        self.rules.insert(id.to_owned(), setting);
        if let Some(rule) = CustomRule::compile(source, cx) {
            self.custom.push(rule);
        }
    }

    /// What can only be seen when all files are there.
    pub(super) fn finish(&mut self, catalogue: &Catalogue<'_>, cx: &mut Cx) {
        self.finish_waivers(catalogue, cx);
        unique_people(&self.people, cx);
        let mut warnings = Vec::new();
        if !catalogue.types.is_empty() {
            for used in self.selectors() {
                let Some(name) = used
                    .selector
                    .as_ref()
                    .and_then(|selector| selector.resource_type())
                else {
                    continue;
                };
                let nearest = crate::text::nearest(name, catalogue.types.iter().copied());
                // What is protected may be a name in the workspace, whose first part is a catalog.
                if catalogue.types.contains(&name) || (used.place == "protect" && nearest.is_none())
                {
                    continue;
                }
                let message = format!(
                    "{} selects nothing: there is no resource type {}",
                    quoted(used.text),
                    quoted(name)
                );
                warnings
                    .push(Diagnostic::warning(used.at, message).or_nearest(name, catalogue.types));
            }
        }
        self.warnings = warnings;
    }

    fn finish_waivers(&self, catalogue: &Catalogue<'_>, cx: &mut Cx) {
        for waiver in &self.waivers {
            let rule = &waiver.rule;
            let names: Vec<&str> = catalogue
                .rules
                .iter()
                .copied()
                .chain(self.custom.iter().map(|rule| rule.id.as_str()))
                .collect();
            if !names.contains(&rule.value.as_str()) && !self.rules.contains_key(&rule.value) {
                let diagnostic = Diagnostic::error(
                    &rule.at,
                    format!("a waiver for an unknown rule {}", quoted(&rule.value)),
                );
                cx.report(diagnostic.or_nearest(&rule.value, &names));
            } else if let Some(locked) = self.is_locked(&rule.value) {
                let message = format!("the rule `{}` is locked: it cannot be waived", rule.value);
                cx.report(Diagnostic::error(&rule.at, message).related(locked, "locked here"));
            }
        }
    }
}

fn apply_state(
    state: &mut BTreeMap<String, At<StateEntry>>,
    new: Option<Table<At<StateEntry>>>,
    lock: &mut Lock<'_>,
) {
    for (key, entry) in new.map(|table| table.0).unwrap_or_default() {
        let name = key
            .value
            .strip_prefix("pipelines.")
            .filter(|name| !name.is_empty() && !name.contains(['*', '?', '[', '{', '.']));
        if name.is_none() {
            let message = format!(
                "expected the key of one pipeline, such as `pipelines.orders`, found {}",
                quoted(&key.value)
            );
            lock.cx.report(Diagnostic::error(&key.at, message));
            continue;
        }
        let mut names: BTreeMap<&str, &Location> = BTreeMap::new();
        for table in &entry.value.tables {
            if let Some(first) = names.insert(&table.name, &table.at) {
                let message = format!("the table {} is registered twice", quoted(&table.name));
                lock.cx
                    .report(Diagnostic::error(&table.at, message).related(first, "first here"));
            }
        }
        let entry = At {
            value: entry.value,
            at: key.at,
        };
        match state.get(&key.value) {
            Some(old) if lock.at.is_some() && *old != entry => {
                lock.refuse(&entry.at, "an entry of `state`")
            }
            _ => {
                state.insert(key.value, entry);
            }
        }
    }
}

/// Two entries with one name would make one person count twice, or one name count for two.
fn unique_people(people: &[At<Person>], cx: &mut Cx) {
    let mut seen: BTreeMap<(&str, String), &Location> = BTreeMap::new();
    for person in people {
        let mut names = vec![("name", person.name.clone())];
        names.extend(
            person
                .ssh
                .iter()
                .map(|name| ("SSH principal", name.clone())),
        );
        names.extend(
            person
                .azure
                .iter()
                .map(|name| ("Azure DevOps descriptor", name.clone())),
        );
        names.extend(
            person
                .git
                .iter()
                .map(|name| ("git address", name.to_lowercase())),
        );
        if let Some(github) = &person.github {
            names.push(("GitHub login", github.login.to_lowercase()));
            names.push(("GitHub id", github.id.to_string()));
        }
        for (kind, name) in names {
            let message = format!("two people have the {kind} {}", quoted(&name));
            if let Some(first) = seen.insert((kind, name), &person.at)
                && first != &person.at
            {
                cx.report(Diagnostic::error(&person.at, message).related(first, "the other"));
            }
        }
    }
}
