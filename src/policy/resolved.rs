//! The policy after `extends`: pure data, and the answers that rules ask of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::approval::{Approval, Verify};
use super::custom::CustomRule;
use super::diagnostic::Diagnostic;
use super::file::{BundleSection, CliSection, Input, Limits, Person, Section, StateEntry, Waiver};
use super::identity::Identity;
use super::layers::{Layer, RuleSetting};
use super::level::{Level, Standing};
use super::location::{At, Location, SourceFile};
use super::selector::{NameGlob, Protect, Selector};
use super::text;
use super::value::{TextValue, WorkspaceHost};

/// What is judged how: one file and everything it extends.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(super) sources: Vec<Arc<SourceFile>>,
    pub(super) sections: BTreeMap<Section, Location>,
    pub(super) rules: BTreeMap<String, RuleSetting>,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) locked: Option<Location>,
    /// The targets that may be judged; empty: all. See [`Policy::allows_target`].
    pub targets: Vec<At<NameGlob>>,
    /// The workspaces a plan may be for; empty: all. See [`Policy::allows_host`].
    pub workspaces: Vec<At<WorkspaceHost>>,
    /// Which bundle the policy is for.
    pub bundle: BundleSection,
    /// Which CLI may have made the plan.
    pub cli: CliSection,
    /// Inputs that a verdict needs.
    pub require: Vec<At<Input>>,
    /// The cap for findings about what the plan leaves alone.
    pub standing: Standing,
    /// Who is who.
    pub people: Vec<At<Person>>,
    /// Whom resources run as, and who deploys.
    pub identity: Identity,
    /// What is never deleted, recreated or renamed.
    pub protect: Vec<At<Protect>>,
    /// The most that one plan may do.
    pub limits: Limits,
    /// Rules of the policy's own.
    pub custom: Vec<CustomRule>,
    /// Findings accepted for a time.
    pub waivers: Vec<At<Waiver>>,
    /// Who has to approve; `None`: the policy names no way to approve.
    pub approval: Option<Approval>,
    /// What is checked after a deploy.
    pub verify: Verify,
    /// Where tables come back from, by short key of the pipeline.
    pub state: BTreeMap<String, At<StateEntry>>,
    /// Whether a policy with every rule off is meant.
    pub allow_empty: bool,
}

/// Why a rule has the level it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// A policy file says so.
    File(&'a Location),
    /// `--level` says so.
    Flag,
    /// Nothing names the rule, so it denies.
    Unnamed,
}

/// A selector of the policy and where it is used.
#[derive(Debug, Clone)]
pub struct SelectorUse<'a> {
    /// What it belongs to, such as `protect` or `rules.recreate`.
    pub place: String,
    /// The selector; `None` for a protected name that cannot be a key.
    pub selector: Option<Selector>,
    /// As it is written.
    pub text: &'a str,
    /// Where.
    pub at: &'a Location,
}

/// Why `--level` was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LevelOverrideError {
    /// There is no such rule.
    #[error("--level: no rule {}{}", text::quoted(.rule), text::did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// The name given.
        rule: String,
        /// The rule that looks most like it.
        nearest: Option<String>,
    },
    /// The policy does not let its level be changed.
    #[error("--level {rule}: the policy says `locked: true` at {at}")]
    Locked {
        /// The rule.
        rule: String,
        /// Where it is locked.
        at: Location,
    },
}

impl Policy {
    /// A policy that says nothing; every rule denies.
    pub(super) fn empty() -> Self {
        Self {
            sources: Vec::new(),
            sections: BTreeMap::new(),
            rules: BTreeMap::new(),
            warnings: Vec::new(),
            locked: None,
            targets: Vec::new(),
            workspaces: Vec::new(),
            bundle: BundleSection::default(),
            cli: CliSection::default(),
            require: Vec::new(),
            standing: Standing::AsRule,
            people: Vec::new(),
            identity: Identity::default(),
            protect: Vec::new(),
            limits: Limits::default(),
            custom: Vec::new(),
            waivers: Vec::new(),
            approval: None,
            verify: Verify::default(),
            state: BTreeMap::new(),
            allow_empty: false,
        }
    }

    /// The path as it was given, or `production (embedded)`.
    #[must_use]
    pub fn source(&self) -> &str {
        self.sources.first().map_or("", |source| source.name())
    }

    /// Every file that was read: the policy itself first, then what it extends.
    #[must_use]
    pub fn sources(&self) -> &[Arc<SourceFile>] {
        &self.sources
    }

    /// The level of a rule for the resource with this short key, or for what is about no resource.
    ///
    /// A rule that no file names denies: what is new is not off by accident.
    #[must_use]
    pub fn level(&self, rule: &str, key: Option<&str>) -> Level {
        self.decided_by(rule, key).0
    }

    /// The level of a rule and what says so.
    #[must_use]
    pub fn decided_by(&self, rule: &str, key: Option<&str>) -> (Level, Origin<'_>) {
        match self
            .rules
            .get(rule)
            .and_then(|setting| setting.decided_by(key))
        {
            Some(layer) => (
                layer.level,
                layer.at.as_ref().map_or(Origin::Flag, Origin::File),
            ),
            None => (Level::Deny, Origin::Unnamed),
        }
    }

    /// The highest level a rule can have for anything; `Off` means that it need not be judged.
    #[must_use]
    pub fn highest_level(&self, rule: &str) -> Level {
        let Some(setting) = self.rules.get(rule) else {
            return Level::Deny;
        };
        // Where no layer holds for everything, the rest denies.
        if !setting.layers.iter().any(Layer::is_unconditional) {
            return Level::Deny;
        }
        setting
            .layers
            .iter()
            .map(|layer| layer.level)
            .max()
            .unwrap_or(Level::Deny)
    }

    /// What all the files say about one rule.
    #[must_use]
    pub fn rule(&self, rule: &str) -> Option<&RuleSetting> {
        self.rules.get(rule)
    }

    /// Every rule that is named, by id.
    pub fn rules(&self) -> impl Iterator<Item = (&str, &RuleSetting)> {
        self.rules
            .iter()
            .map(|(id, setting)| (id.as_str(), setting))
    }

    /// Where the rule is locked, if it is.
    #[must_use]
    pub fn is_locked(&self, rule: &str) -> Option<&Location> {
        self.rules
            .get(rule)
            .and_then(|setting| setting.locked.as_ref())
            .or(self.locked.as_ref())
    }

    /// What protects the resource, if anything does.
    #[must_use]
    pub fn is_protected(&self, key: &str, remote_name: Option<&str>) -> Option<&At<Protect>> {
        self.protect
            .iter()
            .find(|protect| protect.matches(key, remote_name))
    }

    /// Whether no rule can ever fire.
    #[must_use]
    pub fn every_rule_off(&self) -> bool {
        !self.rules.is_empty()
            && self
                .rules
                .keys()
                .filter(|id| id.as_str() != "empty-policy")
                .all(|id| self.highest_level(id) == Level::Off)
    }

    /// The policy with `--level RULE=LEVEL` on top.
    ///
    /// # Errors
    /// A rule that does not exist, or that is locked.
    pub fn with_levels(mut self, levels: &[(String, Level)]) -> Result<Self, LevelOverrideError> {
        for (rule, level) in levels {
            if let Some(at) = self.is_locked(rule) {
                return Err(LevelOverrideError::Locked {
                    rule: rule.clone(),
                    at: at.clone(),
                });
            }
            let nearest = crate::text::nearest(rule, self.rules.keys().map(String::as_str))
                .map(str::to_owned);
            match self.rules.get_mut(rule) {
                Some(setting) => setting.push(Layer {
                    level: *level,
                    resources: None,
                    except: Vec::new(),
                    at: None,
                }),
                None => {
                    return Err(LevelOverrideError::Unknown {
                        rule: rule.clone(),
                        nearest,
                    });
                }
            }
        }
        Ok(self)
    }

    /// Where a key of the policy file is used, in the policy itself or in what it extends.
    #[must_use]
    pub fn uses(&self, section: Section) -> Option<&Location> {
        self.sections.get(&section)
    }

    /// What is odd about the policy and does not refuse it.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Whether the policy lets this target be judged.
    #[must_use]
    pub fn allows_target(&self, target: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|glob| glob.matches(target))
    }

    /// Whether the policy lets a plan for this workspace be judged. A host that cannot be read is allowed only when every host is.
    #[must_use]
    pub fn allows_host(&self, host: &str) -> bool {
        self.workspaces.is_empty()
            || WorkspaceHost::from_text(host)
                .is_ok_and(|host| self.workspaces.iter().any(|allowed| allowed.value == host))
    }

    /// Every selector and where it is used, to find those that match nothing.
    #[must_use]
    pub fn selectors(&self) -> Vec<SelectorUse<'_>> {
        let mut all = Vec::new();
        for protect in &self.protect {
            all.push(SelectorUse {
                place: "protect".to_owned(),
                selector: protect.as_selector().cloned(),
                text: protect.value.as_str(),
                at: &protect.at,
            });
        }
        for (id, setting) in &self.rules {
            for layer in &setting.layers {
                for selector in layer.resources.iter().flatten().chain(&layer.except) {
                    all.push(SelectorUse::of(format!("rules.{id}"), selector));
                }
            }
        }
        for rule in &self.identity.run_as {
            all.extend(
                rule.resources
                    .iter()
                    .map(|selector| SelectorUse::of("identity.run_as".to_owned(), selector)),
            );
        }
        for waiver in &self.waivers {
            all.push(SelectorUse::of("waivers".to_owned(), &waiver.resource));
        }
        for rule in &self.custom {
            all.extend(
                rule.resources
                    .iter()
                    .flatten()
                    .map(|selector| SelectorUse::of(format!("custom.{}", rule.id), selector)),
            );
        }
        for (key, entry) in &self.state {
            all.push(SelectorUse {
                place: "state".to_owned(),
                selector: Selector::from_text(key).ok(),
                text: key,
                at: &entry.at,
            });
        }
        all
    }

    /// The resolved policy as JSON with sorted keys: the same text for the same meaning, whatever the files look like.
    #[must_use]
    pub fn resolved_canonical(&self) -> String {
        #[derive(Serialize)]
        struct Rule<'a> {
            layers: &'a [Layer],
            locked: bool,
        }
        let rules: BTreeMap<&str, Rule<'_>> = self
            .rules
            .iter()
            .map(|(id, setting)| {
                (
                    id.as_str(),
                    Rule {
                        layers: &setting.layers,
                        locked: setting.locked.is_some() || self.locked.is_some(),
                    },
                )
            })
            .collect();
        serde_json::json!({
            "format": "bundlegate-policy-v1",
            "targets": self.targets,
            "workspaces": self.workspaces,
            "bundle": self.bundle,
            "cli": self.cli,
            "require": self.require,
            "standing": self.standing,
            "people": self.people,
            "identity": self.identity,
            "protect": self.protect,
            "limits": self.limits,
            "rules": rules,
            "custom": self.custom,
            "waivers": self.waivers,
            "approval": self.approval,
            "verify": self.verify,
            "state": self.state,
            "allow_empty": self.allow_empty,
        })
        .to_string()
    }
}

impl<'a> SelectorUse<'a> {
    fn of(place: String, selector: &'a At<Selector>) -> Self {
        Self {
            place,
            selector: Some(selector.value.clone()),
            text: selector.value.as_str(),
            at: &selector.at,
        }
    }
}
