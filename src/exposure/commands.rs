//! The rows, command by command.

use super::inventory::{Inventory, Thing};
use crate::effect::IDENTITY_TYPES;
use crate::impact::{self, Loss};
use crate::plan::Action;
use crate::policy::Level;
use crate::report::exposure::ExposureRow;
use crate::rules::facts::{Fate, at_least, is_manage, register, writable_by_people};

const NOTHING: &str = "nothing";

fn row(command: &str, thing: &Thing<'_>) -> ExposureRow {
    ExposureRow {
        command: command.to_owned(),
        resource: Some(thing.key.clone()),
        lost: String::new(),
        kept: NOTHING.to_owned(),
        guard: String::new(),
        recovery: String::new(),
        unguarded: false,
    }
}

/// Puts the guards in; without any, a thing that holds data is unguarded.
fn guarded(mut row: ExposureRow, thing: &Thing<'_>, guards: Vec<Option<String>>) -> ExposureRow {
    let there: Vec<String> = guards.into_iter().flatten().collect();
    row.unguarded = there.is_empty() && thing.holds_data();
    row.guard = there.join("; ");
    row
}

/// What is lost, kept and comes back when a deploy deletes a resource.
fn deleted(inventory: &Inventory<'_>, command: &str, thing: &Thing<'_>) -> ExposureRow {
    let mut row = row(command, thing);
    row.lost = impact::of(&thing.kind).text.to_owned();
    row.recovery = recovery(inventory, thing);
    if thing.kind == "pipelines" {
        let fate = thing.fate(inventory.sources.world);
        tables(&mut row, fate);
    }
    row
}

/// What becomes of the tables, in the columns.
fn tables(row: &mut ExposureRow, fate: Fate) {
    row.lost = match fate {
        Fate::Orphaned => "Its checkpoints and its event log go.".to_owned(),
        _ => format!("{} Its checkpoints and its event log go.", fate.message()),
    };
    row.kept = match fate {
        Fate::Orphaned => format!("{} {}", fate.message(), fate.impact()),
        Fate::ServerDecides | Fate::CannotTell => fate.impact().to_owned(),
        Fate::DroppedHive | Fate::DroppedLegacy | Fate::Dropped => NOTHING.to_owned(),
    };
}

/// Where what is lost comes back from.
fn recovery(inventory: &Inventory<'_>, thing: &Thing<'_>) -> String {
    let text = match (thing.kind.as_str(), impact::of(&thing.kind).loss) {
        ("pipelines", _) => {
            return register(inventory.policy(), &thing.key).unwrap_or_else(|| {
                "The policy's register says nothing about its tables; UNDROP brings dropped tables of Unity Catalog back within 7 days.".to_owned()
            });
        }
        ("schemas" | "catalogs", _) => "UNDROP brings managed tables back within 7 days.",
        ("volumes", _) => {
            "The files of an external volume are still there; of a managed one nothing that bundlegate knows of."
        }
        (_, Loss::Visible) => "The next deploy makes it again, with another id.",
        (_, Loss::Data) => "Nothing that bundlegate knows of.",
    };
    text.to_owned()
}

pub(super) fn this_plan(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    const COMMAND: &str = "bundle deploy of this plan";
    let Some(world) = inventory.sources.world else {
        return;
    };
    for thing in &inventory.things {
        let Some(e) = thing.effect.filter(|e| e.loses()) else {
            continue;
        };
        let rules: &[&str] = match (e.action(), thing.kind.as_str()) {
            (Action::Recreate, "pipelines") => &["recreate", "pipeline-tables"],
            (Action::Recreate, _) => &["recreate"],
            (_, "pipelines") => &["destroy", "pipeline-tables"],
            _ => &["destroy"],
        };
        let mut guards = vec![inventory.gate(thing, rules), inventory.protected(thing)];
        if thing.prevents_destroy() {
            guards.push(Some("prevent_destroy: the CLI refuses".to_owned()));
        }
        out.push(guarded(deleted(inventory, COMMAND, thing), thing, guards));
    }
    for lost in world.lost_with_parent() {
        let Some(thing) = inventory.things.iter().find(|t| t.key == lost.resource) else {
            continue;
        };
        let mut found = deleted(inventory, COMMAND, thing);
        let container = lost
            .container
            .strip_prefix("resources.")
            .unwrap_or(lost.container);
        found.lost = format!("It goes with {container}. {}", impact::of(&lost.kind).text);
        let guards = vec![inventory.gate(thing, &["lost-with-parent"])];
        out.push(guarded(found, thing, guards));
    }
}

pub(super) fn any_deploy(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    for thing in &inventory.things {
        let mut found = deleted(inventory, "bundle deploy", thing);
        found.lost = format!(
            "A change of a field that cannot be changed in place recreates it. {}",
            found.lost
        );
        let mut guards = vec![
            inventory.gate(thing, &["recreate"]),
            inventory.protected(thing),
        ];
        if thing.prevents_destroy() {
            guards.push(Some("prevent_destroy: the CLI refuses".to_owned()));
        }
        out.push(guarded(found, thing, guards));
    }
}

pub(super) fn dropped_block(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    for thing in &inventory.things {
        let found = deleted(
            inventory,
            "bundle deploy after its block was dropped or renamed",
            thing,
        );
        let guards = vec![
            inventory.gate(thing, &["destroy"]),
            inventory.protected(thing),
        ];
        let mut found = guarded(found, thing, guards);
        if thing.prevents_destroy() {
            let note = "prevent_destroy goes with the block";
            found.guard = match found.guard.as_str() {
                "" => format!("none ({note})"),
                guard => format!("{guard} ({note})"),
            };
        }
        out.push(found);
    }
}

pub(super) fn destroy(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    const COMMAND: &str = "bundle destroy";
    for thing in &inventory.things {
        let guard = thing
            .prevents_destroy()
            .then(|| "prevent_destroy: the CLI refuses".to_owned());
        out.push(guarded(
            deleted(inventory, COMMAND, thing),
            thing,
            vec![guard],
        ));
    }
    let root = inventory
        .root_path()
        .map_or("the root path".to_owned(), crate::text::visible);
    out.push(ExposureRow {
        command: COMMAND.to_owned(),
        resource: None,
        lost: format!("Files, artifacts and the deployment's state under {root}."),
        kept: NOTHING.to_owned(),
        guard: String::new(),
        recovery: "The next deploy uploads the files again and starts a new state.".to_owned(),
        unguarded: false,
    });
}

pub(super) fn delete_pipeline(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    for (command, cascade) in [
        ("pipelines delete", None),
        ("pipelines delete with cascade", Some(true)),
    ] {
        for thing in inventory.of_kind(&["pipelines"]) {
            let mut found = row(command, thing);
            match thing.fate_by_hand(cascade) {
                Fate::Dropped => {
                    found.lost = "All its streaming tables and materialized views are dropped with their data. Its checkpoints and its event log go.".to_owned();
                }
                Fate::ServerDecides => {
                    found.lost = "Its checkpoints and its event log go.".to_owned();
                    found.kept = Fate::ServerDecides.impact().to_owned();
                }
                fate => tables(&mut found, fate),
            }
            found.recovery = recovery(inventory, thing);
            let (who, open) = thing.who(&is_manage);
            found.guard = who;
            found.unguarded = open;
            out.push(found);
        }
    }
}

pub(super) fn refresh(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    let may_run = |level: &str| at_least(level, "CAN_RUN");
    for thing in inventory.of_kind(&["pipelines"]) {
        let registered = inventory.policy().state.get(&thing.key);
        let tables = registered.map(|e| e.tables.as_slice()).unwrap_or_default();
        let never =
            !tables.is_empty() && tables.iter().all(|t| t.value.reset_allowed == Some(false));
        let (who, open) = thing.who(&may_run);
        let mut guards = Vec::new();
        if never {
            guards.push("the register says reset_allowed: false for every table, and `verify` reads pipelines.reset.allowed from Unity Catalog".to_owned());
        }
        if thing.forbids_reset() {
            guards.push("its configuration says pipelines.reset.allowed: false".to_owned());
        }
        let held = !guards.is_empty();
        guards.push(who.clone());
        let mut found = row("full refresh of a pipeline", thing);
        found.lost = "The streaming tables are truncated and every checkpoint is removed; records that the sources no longer keep are gone.".to_owned();
        found.kept = "The definition, the tables' names and grants; time travel within the retention of the tables, but no Rewind across the refresh.".to_owned();
        found.guard = guards.join("; ");
        found.recovery = recovery(inventory, thing);
        found.unguarded = !held && open;
        out.push(found);
        let mut found = row("checkpoint reset of a pipeline", thing);
        found.lost = "The positions in its sources: what they still keep is read a second time, what they no longer keep is not.".to_owned();
        found.kept = "The rows of its tables.".to_owned();
        found.guard = who;
        found.recovery = recovery(inventory, thing);
        found.unguarded = open;
        out.push(found);
    }
}

pub(super) fn flags(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    let edited: Vec<&str> = inventory
        .of_kind(&["dashboards", "genie_spaces"])
        .map(|t| t.key.as_str())
        .collect();
    let edits = if edited.is_empty() {
        String::new()
    } else {
        format!(
            " Edits made in the workspace are overwritten: {}.",
            edited.join(", ")
        )
    };
    let stops: Vec<String> = ["git-branch", "remote-edit"]
        .into_iter()
        .map(|rule| (rule, inventory.policy().highest_level(rule)))
        .filter(|(_, level)| *level >= Level::Review)
        .map(|(rule, level)| format!("{rule} is {level}"))
        .collect();
    out.push(ExposureRow {
        command: "bundle deploy --force".to_owned(),
        resource: None,
        lost: format!("Code of another branch can be deployed.{edits}"),
        kept: "Everything that the plan does not change.".to_owned(),
        guard: match stops.as_slice() {
            [] => String::new(),
            stops => format!("the gate ({})", stops.join(", ")),
        },
        recovery:
            "Deploy the right branch again; an edit in the workspace that nobody took over is gone."
                .to_owned(),
        unguarded: stops.is_empty() && !edited.is_empty(),
    });
    let (guard, open) = match inventory.root_path() {
        None => (
            "who can write to the state's folder cannot be told: give --bundle".to_owned(),
            true,
        ),
        Some(root) if writable_by_people(root) => (
            format!("none: people can write to {}", crate::text::visible(root)),
            true,
        ),
        Some(root) => (
            format!("only who can write to {} may", crate::text::visible(root)),
            false,
        ),
    };
    out.push(ExposureRow {
        command: "bundle deploy --force-lock".to_owned(),
        resource: None,
        lost: "A deploy that is running loses its lock: both write the state, and resources are made twice or forgotten.".to_owned(),
        kept: "What is in the workspace, but the state no longer knows all of it.".to_owned(),
        guard,
        recovery: "Restore resources.json from a backup, or bind what it forgot (`databricks bundle deployment bind`).".to_owned(),
        unguarded: open,
    });
}

pub(super) fn run_as_by_hand(inventory: &Inventory<'_>, out: &mut Vec<ExposureRow>) {
    for thing in inventory.of_kind(IDENTITY_TYPES) {
        let mut found = row("run_as changed by hand", thing);
        found.lost = match thing.kind.as_str() {
            "pipelines" => "It runs with other rights, and the ownership of its tables moves at once. The change stays through every deploy until the definition changes.",
            _ => "It runs with other rights until a deploy changes its definition.",
        }
        .to_owned();
        found.kept = "Its data and its definition.".to_owned();
        found.recovery =
            "A PUT of the whole definition with run_as, or a deploy that changes the definition."
                .to_owned();
        let (who, open) = thing.who(&is_manage);
        let level = inventory.policy().level("run-as-drift", Some(&thing.key));
        found.guard = format!("{who}; the next plan shows it (run-as-drift is {level})");
        found.unguarded = open;
        out.push(found);
    }
}
