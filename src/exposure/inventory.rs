//! What there is in the target, by all that was given.

use std::collections::BTreeSet;

use crate::bundle::{Bundle, State};
use crate::effect::{Effect, World};
use crate::impact::is_data_bearing;
use crate::json::Value;
use crate::plan::{Action, ResourceKey};
use crate::policy::{Level, Policy};
use crate::rules::facts::{Fate, Text, Who, cascade_deployed, fate_by, holders, prevents_destroy};

/// What the table is made from.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// A plan, with what is beside it.
    pub world: Option<&'a World<'a>>,
    /// The bundle JSON.
    pub bundle: Option<&'a Bundle>,
    /// The deployed state.
    pub state: Option<&'a State>,
    /// The policy.
    pub policy: &'a Policy,
}

/// A resource, and what each source says about it.
pub(super) struct Thing<'a> {
    /// Short key.
    pub(super) key: String,
    pub(super) kind: String,
    config: Option<&'a Value>,
    deployed: Option<&'a Value>,
    pub(super) effect: Option<&'a Effect<'a>>,
    /// Who has which level, where a source says it.
    holders: Option<Vec<(String, String)>>,
    /// Whether one of them is a person, a group or not known.
    people: BTreeSet<String>,
}

/// All resources.
pub(super) struct Inventory<'a> {
    pub(super) sources: Sources<'a>,
    pub(super) things: Vec<Thing<'a>>,
}

impl<'a> Inventory<'a> {
    pub(super) fn of(sources: &Sources<'a>) -> Self {
        let mut keys: BTreeSet<String> = BTreeSet::new();
        let of_state = sources.state.and_then(|s| s.resources.as_ref());
        let in_state = of_state.into_iter().flatten().map(|(k, _)| k.to_string());
        let in_bundle = sources
            .bundle
            .into_iter()
            .flat_map(Bundle::resources)
            .map(|(kind, name, _)| format!("resources.{kind}.{name}"));
        let in_plan = sources
            .world
            .into_iter()
            .flat_map(World::resources)
            .filter(|e| !e.entry.is_gone())
            .map(|e| e.key().full().to_owned());
        keys.extend(in_state.chain(in_bundle).chain(in_plan));
        let things = keys
            .iter()
            .filter_map(|key| ResourceKey::parse(key).ok())
            .filter(|key| key.sub().is_none() && key.kind() != "job_runs")
            .map(|key| thing(sources, &key))
            .collect();
        Self {
            sources: *sources,
            things,
        }
    }

    pub(super) fn of_kind(
        &self,
        kinds: &'static [&'static str],
    ) -> impl Iterator<Item = &Thing<'a>> {
        self.things
            .iter()
            .filter(move |t| kinds.contains(&t.kind.as_str()))
    }

    pub(super) fn policy(&self) -> &'a Policy {
        self.sources.policy
    }

    /// The rules that stop a deploy that does what they are about, for this resource.
    pub(super) fn gate(&self, thing: &Thing<'_>, rules: &[&str]) -> Option<String> {
        let stops: Vec<String> = rules
            .iter()
            .map(|rule| (rule, self.policy().level(rule, Some(&thing.key))))
            .filter(|(_, level)| *level >= Level::Review)
            .map(|(rule, level)| format!("{rule} is {level}"))
            .collect();
        (!stops.is_empty()).then(|| format!("the gate ({})", stops.join(", ")))
    }

    /// The entry of `protect` that stops the gate for this resource.
    pub(super) fn protected(&self, thing: &Thing<'_>) -> Option<String> {
        let name = match (self.sources.world, thing.effect) {
            (Some(world), Some(effect)) => world.remote_name(effect),
            _ => None,
        };
        let protect = self.policy().is_protected(&thing.key, name.as_deref())?;
        let level = self.policy().level("protected", Some(&thing.key));
        (level >= Level::Review).then(|| format!("the gate (protect: {})", protect.value.as_str()))
    }

    /// Where the deployment lives.
    pub(super) fn root_path(&self) -> Option<&'a str> {
        self.sources.bundle?.text(&["workspace", "root_path"])
    }

    /// What the inputs do not tell.
    pub(super) fn not_told(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut say = |missing: bool, text: &str| {
            if missing {
                out.push(text.to_owned());
            }
        };
        say(
            self.sources.bundle.is_none(),
            "prevent_destroy, permissions and the root path: give --bundle",
        );
        say(
            self.sources.state.is_none_or(|s| s.resources.is_none()),
            "what is deployed, and the cascade_on_destroy of the last deploy: give --state",
        );
        say(
            self.sources.world.is_none(),
            "what the workspace holds, publishing modes among it: give a plan",
        );
        for thing in self.of_kind(&["pipelines"]) {
            let registered = self.policy().state.contains_key(&thing.key);
            say(
                !registered,
                &format!(
                    "where the tables of {} come back from: add it to `state` of the policy",
                    thing.key
                ),
            );
        }
        out
    }
}

fn thing<'a>(sources: &Sources<'a>, key: &ResourceKey) -> Thing<'a> {
    let effect = sources.world.and_then(|w| w.effect(key.full()));
    let mut levels: BTreeSet<(String, String)> = BTreeSet::new();
    let mut people = BTreeSet::new();
    let list = holders(sources.world, sources.bundle, sources.state, key);
    for permission in list.iter().flatten() {
        let (name, is_people) = match &permission.who {
            Who::Is(p) => (
                p.words(),
                p.kind != crate::effect::Kind::ServicePrincipal || crate::effect::is_person(p),
            ),
            Who::Waits(_, text) => (crate::text::visible(text), true),
            Who::Nobody => continue,
        };
        let level = match &permission.level {
            Text::Is(level) => level.clone(),
            _ => "a level that is not known".to_owned(),
        };
        if is_people {
            people.insert(name.clone());
        }
        levels.insert((name, level));
    }
    Thing {
        key: key.resource().to_owned(),
        kind: key.kind().to_owned(),
        config: sources.bundle.and_then(|b| b.resource(key)),
        deployed: sources
            .state
            .and_then(|s| s.deployed(key.full()))
            .map(|d| &d.config),
        effect,
        holders: list.map(|_| levels.into_iter().collect()),
        people,
    }
}

impl Thing<'_> {
    pub(super) fn holds_data(&self) -> bool {
        is_data_bearing(&self.kind)
    }

    /// Whether the bundle JSON says `prevent_destroy: true`.
    pub(super) fn prevents_destroy(&self) -> bool {
        self.config.is_some_and(prevents_destroy)
    }

    /// Whether the pipeline's own configuration forbids a reset.
    pub(super) fn forbids_reset(&self) -> bool {
        const PATH: &[&str] = &["configuration", "pipelines.reset.allowed"];
        let all = [
            self.effect.and_then(|e| e.sent()),
            self.effect.and_then(|e| e.remote()),
            self.deployed,
            self.config,
        ];
        let now = all.into_iter().flatten().find_map(|v| v.at(PATH));
        now.is_some_and(|v| v.as_bool() == Some(false) || v.as_str() == Some("false"))
    }

    /// What becomes of a pipeline's tables when a deploy deletes it.
    pub(super) fn fate(&self, world: Option<&World<'_>>) -> Fate {
        let cascade = match (world, self.effect) {
            (Some(world), Some(e)) if e.action() != Action::Create => cascade_deployed(world, e),
            _ => self
                .deployed
                .map(|d| d.get("cascade_on_destroy").and_then(Value::as_bool)),
        };
        fate_by(self.now(), cascade)
    }

    /// What becomes of a pipeline's tables when the API deletes it, with `cascade` or as the server likes.
    pub(super) fn fate_by_hand(&self, cascade: Option<bool>) -> Fate {
        fate_by(self.now(), Some(cascade))
    }

    fn now(&self) -> Option<&Value> {
        self.effect
            .and_then(|e| e.remote())
            .or(self.deployed)
            .or(self.config)
    }

    /// Who may do what needs one of these levels, in words, and whether people are among them.
    pub(super) fn who(&self, enough: &dyn Fn(&str) -> bool) -> (String, bool) {
        let Some(holders) = &self.holders else {
            return (
                "who may do it cannot be told: no input has its permissions".to_owned(),
                true,
            );
        };
        let able: Vec<&(String, String)> =
            holders.iter().filter(|(_, level)| enough(level)).collect();
        let open = able.iter().any(|(name, _)| self.people.contains(name));
        let names: Vec<String> = able.iter().map(|(n, l)| format!("{n} ({l})")).collect();
        let text = if names.is_empty() {
            "only workspace admins may".to_owned()
        } else if open {
            format!("{} and workspace admins may", names.join(", "))
        } else {
            format!("only {} and workspace admins may", names.join(", "))
        };
        (text, open)
    }
}
