//! From JSON to a [`Plan`], refusing what the CLI would misread. What the CLI does with such a file was reproduced with version 1.13.

use crate::json::{self, Error, Limits, Object, Step, Value};
use crate::text::{nearest, quoted};

use super::graph::{self, Fault};
use super::{
    Action, Change, Dependency, Engine, Entry, FieldPath, NewState, Plan, ResourceKey, Segment,
};

/// The only plan version of the direct engine that is understood (CLI 1.13 to 1.21).
pub const PLAN_VERSION: i64 = 2;

const PLAN_FIELDS: &[&str] = &[
    "plan_version",
    "cli_version",
    "lineage",
    "serial",
    "not_selected",
    "plan",
];
const ENTRY_FIELDS: &[&str] = &[
    "id",
    "depends_on",
    "action",
    "gone",
    "new_state",
    "remote_state",
    "changes",
];
const DEPENDENCY_FIELDS: &[&str] = &["node", "label"];
const NEW_STATE_FIELDS: &[&str] = &["value", "vars"];
const CHANGE_FIELDS: &[&str] = &["action", "reason", "old", "new", "remote"];
/// Fields of an entry that only the direct engine writes.
const DIRECT_ONLY: &[&str] = &[
    "id",
    "depends_on",
    "gone",
    "new_state",
    "remote_state",
    "changes",
];

/// Maps whose keys are the user's own, so any spelling is right in them (Databricks CLI 1.13 schema).
const FREE_MAPS: &[&str] = &[
    "base_parameters",
    "configuration",
    "custom_headers",
    "custom_tags",
    "environment_vars",
    "env_vars",
    "job_parameters",
    "labels",
    "named_parameters",
    "notebook_params",
    "options",
    "parameters",
    "properties",
    "python_named_params",
    "serialized_dashboard",
    "serialized_space",
    "spark_conf",
    "spark_env_vars",
    "sql_params",
    "table_properties",
    "tags",
];

/// A fault with the way to it; turned into a position once it is known that there is one.
struct Bad {
    message: String,
    path: Vec<Step>,
    help: Option<String>,
}

type Read<T> = Result<T, Bad>;

/// Reads a plan.
///
/// # Errors
/// Anything that is not exactly one plan of a known version: see [`json::parse`] and the module's documentation.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Plan, Error> {
    let value = json::parse(bytes, limits)?;
    plan(value).map_err(|bad| Error {
        message: bad.message,
        position: Some(json::locate(bytes, &bad.path)),
        help: bad.help,
    })
}

fn bad<T>(message: impl Into<String>) -> Read<T> {
    Err(Bad {
        message: message.into(),
        path: Vec::new(),
        help: None,
    })
}

/// Says that a fault lies below this step.
trait Under<T> {
    fn under(self, step: impl FnOnce() -> Step) -> Read<T>;
}

impl<T> Under<T> for Read<T> {
    fn under(self, step: impl FnOnce() -> Step) -> Read<T> {
        self.map_err(|mut b| {
            b.path.insert(0, step());
            b
        })
    }
}

fn value_step(name: &str) -> impl FnOnce() -> Step + '_ {
    || Step::Value(name.to_owned())
}

/// Folds a name as Go's `encoding/json` does when it looks for a field.
fn fold(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// The members of an object, taken out by name; what is left over is unknown.
struct Members {
    object: Object,
    what: &'static str,
}

impl Members {
    fn of(value: Value, what: &'static str) -> Read<Self> {
        match value {
            Value::Object(object) => Ok(Self { object, what }),
            other => bad(format!(
                "expected {what} to be an object, found {}",
                other.kind()
            )),
        }
    }

    /// Refuses every member whose name is not known.
    fn only(&self, known: &[&'static str]) -> Read<()> {
        for (name, _) in self.object.iter() {
            if known.contains(&name) {
                continue;
            }
            let folded = fold(name);
            let message = match known.iter().find(|k| **k == folded) {
                Some(k) => format!(
                    "expected the field {k} of {} in lower case, found {}; the Databricks CLI would take it for {k}",
                    self.what,
                    quoted(name)
                ),
                None => {
                    let hint = nearest(name, known.iter().copied()).map_or(String::new(), |n| {
                        format!(" (the nearest known one is {n})")
                    });
                    format!(
                        "expected only known fields in {}, found {}{hint}",
                        self.what,
                        quoted(name)
                    )
                }
            };
            return bad(message).under(|| Step::Key(name.to_owned()));
        }
        Ok(())
    }

    /// Takes a member; `null` counts as absent, as in the CLI.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.object.take(name).filter(|v| *v != Value::Null)
    }

    fn text(&mut self, name: &'static str) -> Read<Option<Box<str>>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(s)) => Ok(Some(s)),
            Some(other) => bad(format!(
                "expected {name} to be a string, found {}",
                other.kind()
            ))
            .under(value_step(name)),
        }
    }

    fn count(&mut self, name: &'static str) -> Read<Option<u64>> {
        let n = match self.take(name) {
            None => return Ok(None),
            Some(Value::Int(n)) => u64::try_from(n).map_err(|_| n.to_string()),
            Some(Value::UInt(n)) => Err(n.to_string()),
            Some(other) => Err(other.kind().to_owned()),
        };
        match n {
            Ok(n) => Ok(Some(n)),
            Err(found) => bad(format!("expected {name} to be an integer from 0 on, written without fraction or exponent, found {found}"))
                .under(value_step(name)),
        }
    }

    fn truth(&mut self, name: &'static str) -> Read<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(b)) => Ok(b),
            Some(other) => bad(format!(
                "expected {name} to be true or false, found {}",
                other.kind()
            ))
            .under(value_step(name)),
        }
    }

    fn action(&mut self) -> Read<Action> {
        let found = match self.object.take("action") {
            None => {
                return bad(format!(
                    "expected {} to have an action, found none",
                    self.what
                ));
            }
            Some(Value::String(s)) => match Action::parse(&s) {
                Some(action) => return Ok(action),
                None => quoted(&s),
            },
            Some(other) => other.kind().to_owned(),
        };
        let known = Action::ALL.map(Action::as_str).join(", ");
        bad(format!("expected an action ({known}), found {found}; the Databricks CLI would start and fail half-way")).under(value_step("action"))
    }
}

fn plan(value: Value) -> Read<Plan> {
    not_another_file(&value)?;
    let mut m = Members::of(value, "the plan")?;
    m.only(PLAN_FIELDS)?;
    let engine = engine(&mut m)?;
    let cli_version = m.text("cli_version")?;
    let lineage = m.text("lineage")?.filter(|l| !l.is_empty());
    let serial = m.count("serial")?.filter(|s| *s > 0);
    let not_selected = m.count("not_selected")?.unwrap_or(0);
    let members = match m.object.take("plan") {
        Some(Value::Object(o)) => o,
        Some(other) => {
            return bad(format!(
                "expected plan to be an object of entries, found {}",
                other.kind()
            ))
            .under(value_step("plan"));
        }
        None => {
            return bad(
                "expected the field plan with the entries, found none; the Databricks CLI would deploy nothing and exit 0",
            );
        }
    };
    let entries = entries(members, engine).under(value_step("plan"))?;
    Ok(Plan {
        engine,
        cli_version,
        lineage,
        serial,
        not_selected,
        entries,
    })
}

/// Recognises the other JSON files of a deployment.
fn not_another_file(value: &Value) -> Read<()> {
    let Some(o) = value.as_object() else {
        return bad(format!(
            "expected a plan (an object), found {}",
            value.kind()
        ));
    };
    let has = |name: &str| o.get(name).is_some();
    if has("plan") {
        return Ok(());
    }
    let (what, flag) = if has("bundle") && (has("resources") || has("workspace") || has("targets"))
    {
        (
            "the JSON of `databricks bundle validate` or `databricks bundle summary`",
            "give it with --bundle, and",
        )
    } else if has("state_version") {
        (
            "a deployment state (resources.json)",
            "give it with --state, and",
        )
    } else if o
        .get("schema")
        .and_then(Value::as_str)
        .is_some_and(|s| s.starts_with("bundlegate-"))
    {
        ("a report of bundlegate", "")
    } else {
        return Ok(());
    };
    Err(Bad {
        message: format!("expected a plan, found {what}"),
        path: Vec::new(),
        help: Some(
            format!(
                "{flag} write the plan with `databricks bundle plan -o json -t TARGET > plan.json`"
            )
            .trim_start()
            .to_owned(),
        ),
    })
}

fn engine(m: &mut Members) -> Read<Engine> {
    let version = m.object.take("plan_version");
    match version {
        Some(Value::Int(PLAN_VERSION)) => Ok(Engine::Direct),
        Some(other) => {
            let found = match &other {
                Value::Int(n) => n.to_string(),
                v => v.kind().to_owned(),
            };
            Err(Bad {
                message: format!("expected plan_version to be {PLAN_VERSION}, found {found}"),
                path: vec![Step::Value("plan_version".into())],
                help: Some("write the plan again with the Databricks CLI that will deploy it; if that CLI writes another version, a newer bundlegate is needed".into()),
            })
        }
        None => {
            for name in ["lineage", "serial", "not_selected"] {
                if m.object.get(name).is_some() {
                    return bad(format!(
                        "expected plan_version {PLAN_VERSION} beside {name}, found none"
                    ))
                    .under(|| Step::Key(name.to_owned()));
                }
            }
            Ok(Engine::Terraform)
        }
    }
}

fn entries(members: Object, engine: Engine) -> Read<Vec<Entry>> {
    let mut out = Vec::with_capacity(members.len());
    for (name, value) in members {
        let step = || Step::Value(name.to_string());
        let key = match (engine, &*name) {
            // The Terraform engine writes all resources that it cannot map under one empty key.
            (Engine::Terraform, "") => ResourceKey::parse("resources.unmapped.unmapped"),
            _ => ResourceKey::parse(&name),
        };
        let key = match key {
            Ok(key) => key,
            Err(message) => return bad(message).under(|| Step::Key(name.to_string())),
        };
        out.push(entry(key, value, engine).under(step)?);
    }
    out.sort_unstable_by(|a, b| a.key.full().cmp(b.key.full()));
    match graph::check(&out) {
        Ok(()) => Ok(out),
        Err(Fault::Missing(i, d)) => {
            let (key, node) = out
                .get(i)
                .map(|e| {
                    (
                        e.key.full().to_owned(),
                        e.depends_on
                            .get(d)
                            .map(|d| quoted(&d.node))
                            .unwrap_or_default(),
                    )
                })
                .unwrap_or_default();
            bad(format!(
                "expected depends_on to name an entry of this plan, found {node}"
            ))
            .under(|| Step::Index(d))
            .under(value_step("depends_on"))
            .under(value_step(&key))
        }
        Err(Fault::Cycle(cycle)) => {
            let keys: Vec<&str> = cycle
                .iter()
                .filter_map(|i| out.get(*i))
                .map(|e| e.key.full())
                .collect();
            let first = keys.first().copied().unwrap_or_default().to_owned();
            bad(format!("expected an order without a circle in depends_on, found {}; the Databricks CLI would hang for ever", quoted(&keys.join(" → "))))
                .under(value_step("depends_on"))
                .under(value_step(&first))
        }
    }
}

fn entry(key: ResourceKey, value: Value, engine: Engine) -> Read<Entry> {
    if value == Value::Null {
        return bad("expected an entry (an object), found null; the Databricks CLI would crash");
    }
    let mut m = Members::of(value, "an entry")?;
    m.only(ENTRY_FIELDS)?;
    if engine == Engine::Terraform {
        for name in DIRECT_ONLY {
            if m.object.get(name).is_some() {
                return bad(format!(
                    "expected plan_version {PLAN_VERSION} in a plan with {name}, found none"
                ))
                .under(|| Step::Key((*name).to_owned()));
            }
        }
    }
    let action = m.action()?;
    Ok(Entry {
        id: m.text("id")?,
        depends_on: dependencies(m.take("depends_on")).under(value_step("depends_on"))?,
        action,
        gone: m.truth("gone")?,
        new_state: m
            .take("new_state")
            .map(new_state)
            .transpose()
            .under(value_step("new_state"))?,
        remote_state: m.take("remote_state"),
        changes: changes(m.take("changes")).under(value_step("changes"))?,
        key,
    })
}

fn dependencies(value: Option<Value>) -> Read<Vec<Dependency>> {
    let items = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => {
            return bad(format!(
                "expected depends_on to be an array, found {}",
                other.kind()
            ));
        }
    };
    let mut out = Vec::with_capacity(items.len());
    for (i, item) in items.into_iter().enumerate() {
        out.push(dependency(item).under(|| Step::Index(i))?);
    }
    Ok(out)
}

fn dependency(value: Value) -> Read<Dependency> {
    let mut m = Members::of(value, "an item of depends_on")?;
    m.only(DEPENDENCY_FIELDS)?;
    match m.text("node")? {
        Some(node) => Ok(Dependency {
            node,
            label: m.text("label")?,
        }),
        None => bad("expected an item of depends_on to have a node, found none"),
    }
}

fn new_state(value: Value) -> Read<NewState> {
    let mut m = Members::of(value, "new_state")?;
    m.only(NEW_STATE_FIELDS)?;
    let Some(value) = m.take("value") else {
        return bad("expected new_state to have a value, found none");
    };
    spelling(&value).under(value_step("value"))?;
    let vars = match m.take("vars") {
        None => Vec::new(),
        Some(Value::Object(o)) => vars(o, &value).under(value_step("vars"))?,
        Some(other) => {
            return bad(format!(
                "expected vars to be an object, found {}",
                other.kind()
            ))
            .under(value_step("vars"));
        }
    };
    Ok(NewState { value, vars })
}

/// Refuses field names in another spelling than lower snake case: the CLI folds them (`Development: true` works).
fn spelling(value: &Value) -> Read<()> {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                spelling(item).under(|| Step::Index(i))?;
            }
        }
        Value::Object(members) => {
            for (name, inner) in members.iter() {
                let plain = name
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
                if !plain {
                    return bad(format!(
                        "expected field names of new_state in lower snake case, found {}; the Databricks CLI folds names and may take it for another field",
                        quoted(name)
                    ))
                    .under(|| Step::Key(name.to_owned()));
                }
                match inner {
                    Value::Object(free) if FREE_MAPS.contains(&name) => {
                        for (key, v) in free.iter() {
                            spelling(v).under(value_step(key)).under(value_step(name))?;
                        }
                    }
                    _ => spelling(inner).under(value_step(name))?,
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn vars(members: Object, value: &Value) -> Read<Vec<(FieldPath, Box<str>)>> {
    let mut out = Vec::with_capacity(members.len());
    for (name, text) in members {
        let Value::String(text) = text else {
            return bad(format!(
                "expected a reference as text, found {}",
                text.kind()
            ))
            .under(value_step(&name));
        };
        match FieldPath::parse(&name) {
            Ok(path) => out.push((as_in(value, &rooted(value, path)), text)),
            Err(message) => return bad(message).under(|| Step::Key(name.to_string())),
        }
    }
    out.sort_unstable();
    Ok(out)
}

/// A path of permissions or grants that starts in the list itself, with the name of the list before it.
fn rooted(value: &Value, path: FieldPath) -> FieldPath {
    let list = ["__embed__", "acls"]
        .into_iter()
        .find(|l| value.get(l).is_some());
    match (path.segments().first(), list) {
        (Some(Segment::Index(_) | Segment::Item(..)), Some(list)) => {
            let first = Segment::Field(list.into());
            FieldPath::from(
                std::iter::once(first)
                    .chain(path.segments().iter().cloned())
                    .collect::<Vec<_>>(),
            )
        }
        _ => path,
    }
}

/// `vars` writes `tags.cost.centre` for the key `cost.centre` of `tags`: the path with the keys as they stand in the value.
fn as_in(value: &Value, path: &FieldPath) -> FieldPath {
    let mut out = Vec::new();
    let mut here = Some(value);
    let mut rest = path.segments();
    while let Some((first, after)) = rest.split_first() {
        let (segment, next, used) = match (first, here) {
            (Segment::Field(name), Some(Value::Object(o))) => longest_key(o, name, after),
            (Segment::Index(n), Some(Value::Array(a))) => (first.clone(), a.get(*n), 1),
            _ => (first.clone(), None, 1),
        };
        out.push(segment);
        here = next;
        rest = rest.get(used..).unwrap_or_default();
    }
    FieldPath::from(out)
}

/// The member that this field, or this field joined with those behind it, names.
fn longest_key<'v>(
    object: &'v Object,
    name: &str,
    after: &[Segment],
) -> (Segment, Option<&'v Value>, usize) {
    let mut joined = name.to_owned();
    let mut used = 1;
    let mut fields = after.iter();
    loop {
        if let Some(v) = object.get(&joined) {
            return (Segment::Field(joined.into()), Some(v), used);
        }
        match fields.next() {
            Some(Segment::Field(more)) => {
                joined.push('.');
                joined.push_str(more);
                used += 1;
            }
            _ => return (Segment::Field(name.into()), None, 1),
        }
    }
}

fn changes(value: Option<Value>) -> Read<Vec<(FieldPath, Change)>> {
    let members = match value {
        None => return Ok(Vec::new()),
        Some(Value::Object(o)) => o,
        Some(other) => {
            return bad(format!(
                "expected changes to be an object, found {}",
                other.kind()
            ));
        }
    };
    let mut out = Vec::with_capacity(members.len());
    for (name, value) in members {
        let path = match FieldPath::parse(&name) {
            Ok(path) => path,
            Err(message) => return bad(message).under(|| Step::Key(name.to_string())),
        };
        out.push((path, change(value).under(value_step(&name))?));
    }
    out.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    if out.windows(2).any(|w| matches!(w, [a, b] if a.0 == b.0)) {
        return bad("expected each field once in changes, found one in two spellings");
    }
    Ok(out)
}

fn change(value: Value) -> Read<Change> {
    let mut m = Members::of(value, "a change")?;
    m.only(CHANGE_FIELDS)?;
    Ok(Change {
        action: m.action()?,
        reason: m.text("reason")?,
        old: m.object.take("old"),
        new: m.object.take("new"),
        remote: m.object.take("remote"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        match read(text.as_bytes(), &Limits::default()) {
            Ok(_) => "accepted".to_owned(),
            Err(e) => {
                let at = e
                    .position
                    .map(|p| format!("{}:{}: ", p.line, p.column))
                    .unwrap_or_default();
                format!("{at}{}", e.message)
            }
        }
    }

    fn entry(text: &str) -> String {
        message(&format!(
            "{{\"plan_version\":2,\"plan\":{{\"resources.jobs.a\":{text}}}}}"
        ))
    }

    #[test]
    fn messages_say_where_and_what() {
        insta::assert_snapshot!(message("{\"plan_version\":2,\n\"Plan\":{}}"), @r#"2:1: expected the field plan of the plan in lower case, found "Plan"; the Databricks CLI would take it for plan"#);
        insta::assert_snapshot!(message("{\"plan_version\":2, \"\u{17f}erial\":1, \"plan\":{}}"), @r#"1:20: expected the field serial of the plan in lower case, found "ſerial"; the Databricks CLI would take it for serial"#);
        insta::assert_snapshot!(message("{\"plan_version\":3,\"plan\":{}}"), @"1:17: expected plan_version to be 2, found 3");
        insta::assert_snapshot!(message("{\"plan_version\":2.0,\"plan\":{}}"), @"1:17: expected plan_version to be 2, found a number with a fraction or an exponent");
        insta::assert_snapshot!(message("{\"plan_version\":2,\"serial\":-1,\"plan\":{}}"), @"1:28: expected serial to be an integer from 0 on, written without fraction or exponent, found -1");
        insta::assert_snapshot!(message("{\"plan_version\":2}"), @"1:1: expected the field plan with the entries, found none; the Databricks CLI would deploy nothing and exit 0");
        insta::assert_snapshot!(message("{\"lineage\":\"x\",\"plan\":{}}"), @"1:2: expected plan_version 2 beside lineage, found none");
        insta::assert_snapshot!(message("{\"bundle\":{},\"resources\":{}}"), @"1:1: expected a plan, found the JSON of `databricks bundle validate` or `databricks bundle summary`");
        insta::assert_snapshot!(message("[]"), @"1:1: expected a plan (an object), found an array");
        insta::assert_snapshot!(entry("null"), @r#"1:46: expected an entry (an object), found null; the Databricks CLI would crash"#);
        insta::assert_snapshot!(entry("{\"action\":\"Delete\"}"), @r#"1:56: expected an action (skip, resize, update, update_id, create, recreate, delete), found "Delete"; the Databricks CLI would start and fail half-way"#);
        insta::assert_snapshot!(entry("{\"action\":\"skip\",\"note\":1}"), @r#"1:63: expected only known fields in an entry, found "note""#);
        insta::assert_snapshot!(entry("{\"action\":\"skip\",\"depends_on\":[{\"node\":\"resources.jobs.a\"}]}"), @r#"1:76: expected an order without a circle in depends_on, found "resources.jobs.a"; the Databricks CLI would hang for ever"#);
        insta::assert_snapshot!(entry("{\"action\":\"skip\",\"depends_on\":[{\"node\":\"resources.jobs.b\"}]}"), @r#"1:77: expected depends_on to name an entry of this plan, found "resources.jobs.b""#);
        insta::assert_snapshot!(entry("{\"action\":\"create\",\"new_state\":{\"value\":{\"Name\":\"x\"}}}"), @r#"1:87: expected field names of new_state in lower snake case, found "Name"; the Databricks CLI folds names and may take it for another field"#);
    }

    #[test]
    fn free_maps_keep_their_spelling() {
        for map in ["tags", "configuration", "spark_conf", "parameters"] {
            assert_eq!(
                entry(&format!(
                    "{{\"action\":\"create\",\"new_state\":{{\"value\":{{\"{map}\":{{\"Cost.Centre\":\"x\"}}}}}}}}"
                )),
                "accepted"
            );
        }
        assert_ne!(
            entry(
                "{\"action\":\"create\",\"new_state\":{\"value\":{\"parameters\":[{\"Name\":\"x\"}]}}}"
            ),
            "accepted"
        );
    }

    #[test]
    fn a_terraform_plan_has_actions_only() {
        let p = read(b"{\"cli_version\":\"0.270.0\",\"plan\":{\"resources.jobs.a\":{\"action\":\"delete\"},\"\":{\"action\":\"update\"}}}", &Limits::default()).unwrap();
        assert_eq!((p.engine, p.entries.len()), (Engine::Terraform, 2));
        assert_ne!(
            message(
                "{\"plan\":{\"resources.jobs.a\":{\"action\":\"delete\",\"remote_state\":{}}}}"
            ),
            "accepted"
        );
    }

    #[test]
    fn vars_name_keys_as_they_stand() {
        let p = read(
            b"{\"plan_version\":2,\"plan\":{\"resources.jobs.a\":{\"action\":\"create\",\"new_state\":{\"value\":{\"tags\":{\"cost.centre\":\"\"}},\"vars\":{\"tags.cost.centre\":\"${resources.jobs.b.id}\"}}}}}",
            &Limits::default(),
        )
        .unwrap();
        assert_eq!(
            p.entries[0].new_state.as_ref().unwrap().vars[0]
                .0
                .to_string(),
            "tags['cost.centre']"
        );
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let chain: Vec<String> = (0..20_000)
            .map(|i| format!("\"resources.jobs.j{i}\":{{\"action\":\"skip\",\"depends_on\":[{{\"node\":\"resources.jobs.j{}\"}}]}}", (i + 1) % 20_000))
            .collect();
        assert!(
            message(&format!(
                "{{\"plan_version\":2,\"plan\":{{{}}}}}",
                chain.join(",")
            ))
            .contains("circle")
        );
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "[\\{\\}\\[\\]\":,a-z0-9 ]{0,60}") {
            let _ = read(text.as_bytes(), &Limits::default());
        }
    }
}
