//! Where code and state live: in a folder that everybody can write to, or in a person's home.

use std::collections::BTreeSet;

use crate::effect::{Effect, World, looks_like_person};
use crate::json::Value;
use crate::plan::{Action, FieldPath, Trail};
use crate::text::{quoted, visible};

use super::super::integrity::texts;
use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};

rule!(
    SharedRootPath,
    Doc {
        id: "shared-root-path",
        family: Family::Access,
        trigger: "Code or state lives under /Workspace/Shared/.",
        impact: "Everybody in the workspace can write there: anyone can replace what runs with the identity's rights, or the state that decides what is deleted.",
        remedy: "Set workspace.root_path to a folder that only the deployer can write to, such as /Workspace/Users/<service principal>/.bundle/<name>/<target>.",
        source: "Databricks CLI 1.13: \"the bundle root path ... is writable by all workspace users\"",
        needs: &[],
        examples: &[
            fires(r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}"#).bundle(
                r#""workspace": {"root_path": "/Workspace/Shared/.bundle/orders/prod"}, "resources": {"jobs": {"a": {"name": "a"}}}"#
            ),
            fires(
                r#""jobs.a": {"action": "create", "new_state": {"value": {"name": "a", "tasks": [{"task_key": "main", "notebook_task": {"notebook_path": "/Shared/etl/main"}}]}}}"#
            ),
            quiet(
                r#""jobs.a": {"action": "create", "new_state": {"value": {"name": "a", "tasks": [{"task_key": "main", "notebook_task": {"notebook_path": "/Workspace/Users/5f0c6c1e-0000-4000-8000-0000000000bb/.bundle/orders/prod/files/main", "base_parameters": {"out": "/Workspace/Shared/out"}}}]}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.a": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "a", "tasks": [{"task_key": "main", "notebook_task": {"notebook_path": ""}}]}, "vars": {"tasks[0].notebook_task.notebook_path": "${resources.apps.portal.default_source_code_path}/main"}}}"#
            ),
        ],
    },
    |cx, out| {
        check(
            cx,
            &is_shared,
            "under /Workspace/Shared, where everybody can write",
            out,
        );
    }
);

rule!(
    PersonalRootPath,
    Doc {
        id: "personal-root-path",
        family: Family::Access,
        trigger: "Code or state lives in a person's home, /Workspace/Users/<login>/.",
        impact: "The person can replace what runs with the identity's rights, and when the account is removed, code and state go with the home.",
        remedy: "Deploy as a service principal, with workspace.root_path in its own home or in a folder that only it can write to.",
        source: "Databricks documentation: workspace folders; the home of a removed user is deleted with it",
        needs: &[],
        examples: &[
            fires(r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}"#).bundle(
                r#""workspace": {"root_path": "/Workspace/Users/someone@example.com/.bundle/orders/prod"}, "resources": {"jobs": {"a": {"name": "a"}}}"#
            ),
            fires(
                r#""jobs.a": {"action": "skip", "remote_state": {"name": "a", "deployment": {"metadata_file_path": "/Workspace/Users/someone@example.com/.bundle/orders/prod/state/metadata.json"}}}"#
            ),
            quiet(r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}"#).bundle(
                r#""workspace": {"root_path": "/Workspace/Users/5f0c6c1e-0000-4000-8000-0000000000bb/.bundle/orders/prod"}, "resources": {"jobs": {"a": {"name": "a"}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.a": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "a", "tasks": [{"task_key": "main", "notebook_task": {"notebook_path": ""}}]}, "vars": {"tasks[0].notebook_task.notebook_path": "/Workspace/Users/${resources.apps.portal.creator}/main"}}}"#
            ),
        ],
    },
    |cx, out| {
        check(
            cx,
            &is_home,
            "in a person's home",
            out,
        );
    }
);

/// The first folders of a workspace path, `/Workspace` left out, `.` and `..` taken away.
fn top(path: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(out.pop()),
            part => out.push(part),
        }
    }
    if out
        .first()
        .is_some_and(|p| p.eq_ignore_ascii_case("Workspace"))
    {
        out.remove(0);
    }
    out
}

/// The first two of [`top`], which most paths show without a list of them.
fn first_two(path: &str) -> (Option<&str>, Option<&str>) {
    if path.contains("..") {
        let mut all = top(path).into_iter();
        return (all.next(), all.next());
    }
    let mut all = path.split('/').filter(|p| !matches!(*p, "" | "."));
    let mut first = all.next();
    if first.is_some_and(|p| p.eq_ignore_ascii_case("Workspace")) {
        first = all.next();
    }
    (first, all.next())
}

fn is_shared(path: &str) -> bool {
    matches!(first_two(path), (Some(first), _) if first.eq_ignore_ascii_case("Shared"))
}

/// A person's home; a service principal's is named by its application id.
fn is_home(path: &str) -> bool {
    matches!(first_two(path), (Some(first), Some(login)) if first.eq_ignore_ascii_case("Users") && looks_like_person(login))
}

/// Whether people can write to a folder: everybody, or the one whose home it is in.
pub(crate) fn writable_by_people(path: &str) -> bool {
    is_shared(path) || is_home(path)
}

/// Whether a path lies in a folder or is it.
fn is_under(path: &str, folder: &str) -> bool {
    top(path).starts_with(&top(folder))
}

fn check(cx: &Context<'_, '_>, bad: &dyn Fn(&str) -> bool, place: &str, out: &mut Vec<Found>) {
    const FOLDERS: &[&str] = &[
        "root_path",
        "file_path",
        "artifact_path",
        "state_path",
        "resource_path",
    ];
    let world = cx.world;
    let mut told: Vec<String> = Vec::new();
    for field in FOLDERS {
        let folder = world
            .inputs
            .bundle
            .and_then(|b| b.text(&["workspace", field]));
        if let Some(folder) = folder.filter(|f| bad(f) && !told.iter().any(|t| is_under(f, t))) {
            told.push(folder.to_owned());
            let message = format!("workspace.{field} is {place}: {}.", quoted(folder));
            out.push(
                Found::deployment(message)
                    .field(&["workspace", field])
                    .from_to(None, Some(folder)),
            );
        }
    }
    let stays = |e: &&Effect<'_>| e.action() != Action::Delete;
    for e in world.resources().filter(stays) {
        let metadata = world
            .standing_value(e)
            .and_then(|v| v.at(&["deployment", "metadata_file_path"]))
            .and_then(Value::as_str);
        let Some(metadata) = metadata.filter(|m| bad(m) && !told.iter().any(|t| is_under(m, t)))
        else {
            continue;
        };
        // `<root>/state/metadata.json`: what lies below the same root is the same finding.
        let root = metadata
            .strip_suffix("/metadata.json")
            .map_or(metadata, |s| s.strip_suffix("/state").unwrap_or(s));
        told.push(root.to_owned());
        let message = format!("The deployment's state is {place}: {}.", quoted(metadata));
        out.push(
            Found::deployment(message)
                .field(&["deployment", "metadata_file_path"])
                .from_to(None, Some(metadata)),
        );
    }
    let run_code = |kind: &str| matches!(kind, "jobs" | "pipelines" | "apps" | "clusters");
    for e in world.where_kind(run_code).filter(stays) {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for code in code_of(world, e, bad) {
            match code {
                (path, Code::At(text)) => {
                    if bad(&text)
                        && !told.iter().any(|t| is_under(&text, t))
                        && seen.insert(text.clone())
                    {
                        let message = format!("It runs code {place}: {}.", quoted(&text));
                        out.push(Found::on(e, message).path(path).from_to(None, Some(&text)));
                    }
                }
                (path, Code::Waits(text)) => {
                    if seen.insert(text.clone()) {
                        let message = format!("Where its code lives waits for {}.", visible(&text));
                        out.push(Found::on(e, message).path(path).unknown());
                    }
                }
            }
        }
    }
}

/// Where code is taken from.
enum Code {
    At(String),
    /// The reference that decides.
    Waits(String),
}

/// The absolute workspace paths from which a resource takes the code that it runs.
fn code_of(
    world: &World<'_>,
    e: &Effect<'_>,
    bad: &dyn Fn(&str) -> bool,
) -> Vec<(FieldPath, Code)> {
    let Some(value) = world.standing_value(e) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let places = &e.signs.places;
    if places.iter().any(|text| bad(text) || text.contains("${")) {
        texts(value, &mut Trail::default(), &mut |trail, text| {
            if is_code(trail.fields()) {
                let path = trail.path();
                if e.waits_for(&path).is_none() {
                    out.extend(located(world, text).map(|code| (path, code)));
                }
            }
        });
    }
    for (path, text) in e.entry.new_state.iter().flat_map(|s| &s.vars) {
        if is_code(path.fields()) {
            out.extend(located(world, text).map(|code| (path.clone(), code)));
        }
    }
    out
}

fn located(world: &World<'_>, text: &str) -> Option<Code> {
    let Some((before, _)) = text.split_once("${") else {
        return text.starts_with('/').then(|| Code::At(text.to_owned()));
    };
    if let Some(Value::String(resolved)) = world.resolve(text) {
        return resolved.starts_with('/').then(|| Code::At(resolved.into()));
    }
    // The first folders decide; a volume is not in the workspace's folders.
    let decided = before.starts_with('/') && before.ends_with('/') && top(before).len() >= 2;
    if decided {
        Some(Code::At(before.to_owned()))
    } else if text.starts_with("${resources.volumes.")
        || (!before.is_empty() && !before.starts_with('/'))
    {
        None
    } else {
        Some(Code::Waits(text.to_owned()))
    }
}

/// Whether a field, by the names on the way to it, is code that is run. Maps of the user's own are not looked into.
fn is_code<'n>(names: impl DoubleEndedIterator<Item = &'n str> + Clone) -> bool {
    const NAMES: &[&str] = &[
        "notebook_path",
        "python_file",
        "whl",
        "jar",
        "egg",
        "requirements",
        "include",
        "dependencies",
        "project_directory",
        "source_code_path",
        "root_path",
    ];
    let named = match names.clone().next_back() {
        Some("path" | "destination") => true,
        Some(last) => NAMES.contains(&last),
        None => false,
    };
    if !named {
        return false;
    }
    let own = |n: &&str| {
        n.ends_with("parameters") || matches!(*n, "tags" | "configuration" | "spark_conf")
    };
    let names: Vec<&str> = names.collect();
    if names.iter().any(own) {
        return false;
    }
    match names.as_slice() {
        [.., "notebook" | "file", "path"] => true,
        [.., "init_scripts", "workspace", "destination"] => true,
        [.., last] => NAMES.contains(last),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_seen_through_detours() {
        assert_eq!(top("/Workspace/Shared/x"), ["Shared", "x"]);
        assert_eq!(top("/Workspace/Users/../Shared/./x"), ["Shared", "x"]);
        assert!(is_under("/Users/a/x/y", "/Workspace/Users/a/x"));
        assert!(!is_under("/Users/a/xy", "/Users/a/x"));
    }
}
