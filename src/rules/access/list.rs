//! The lists of permissions and grants entries, as they are and as the deploy sends them.

use crate::bundle::{Bundle, State};
use crate::effect::{Effect, Kind, Principal, World, looks_like_person};
use crate::json::Value;
use crate::plan::{Action, FieldPath, ResourceKey, Segment};

/// What is known of a text in an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    Is(String),
    /// The reference that it waits for.
    Waits(String),
    Absent,
}

/// Whom an item names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    Is(Principal),
    /// A principal of this kind, where the field tells it, by a reference that is not resolved.
    Waits(Option<Kind>, String),
    Nobody,
}

/// One item of a permissions list (or of the access list of a secret scope).
#[derive(Debug, Clone)]
pub(crate) struct Permission {
    pub(crate) who: Who,
    pub(crate) level: Text,
}

/// One item of a grants list.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) who: Text,
    /// In upper case with underscores, as the CLI writes them.
    pub(super) privileges: Vec<String>,
    /// A privilege that is a reference.
    pub(super) waits: Option<String>,
}

/// A list as the deploy sends it; the error is the reference that the whole list waits for.
type After<T> = Result<Vec<T>, String>;

/// The permissions that the deploy sets; `None`: it sends none.
pub(in crate::rules) fn permissions_after(
    world: &World<'_>,
    e: &Effect<'_>,
) -> Option<After<Permission>> {
    after(world, e, permission)
}

/// The permissions as they are: in the workspace, else as the last deploy set them.
pub(in crate::rules) fn permissions_now(e: &Effect<'_>) -> Vec<Permission> {
    now(e, permission)
}

/// The grants that the deploy sets; `None`: it sends none.
pub(super) fn grants_after(world: &World<'_>, e: &Effect<'_>) -> Option<After<Grant>> {
    after(world, e, grant)
}

/// The grants as they are: in the workspace, else as the last deploy set them.
pub(super) fn grants_now(e: &Effect<'_>) -> Vec<Grant> {
    now(e, grant)
}

/// Who has which permission on a resource, by what the deploy sends, else the workspace, the bundle JSON, the state. `None`: nothing says it.
pub(crate) fn holders(
    world: Option<&World<'_>>,
    bundle: Option<&Bundle>,
    state: Option<&State>,
    resource: &ResourceKey,
) -> Option<Vec<Permission>> {
    let key = ResourceKey::parse(&format!("{}.permissions", resource.full())).ok()?;
    let read = |list: &[Value]| list.iter().map(|i| permission(i, &|_| None)).collect();
    if let Some(e) = world.and_then(|w| w.effect(key.full())) {
        match world.and_then(|w| permissions_after(w, e)) {
            Some(Ok(list)) => return Some(list),
            Some(Err(_)) => return None,
            None => {}
        }
        if let Some(list) = e.remote().and_then(Effect::list) {
            return Some(read(list));
        }
    }
    let block = bundle
        .and_then(|b| b.resource(&key))
        .and_then(Value::as_array);
    let deployed = || state.and_then(|s| s.deployed(key.full()));
    block
        .or_else(|| Effect::list(&deployed()?.config))
        .map(read)
}

/// Whether the resource that the list belongs to stays: what goes with its resource is told there.
pub(super) fn resource_stays(world: &World<'_>, e: &Effect<'_>) -> bool {
    world
        .effect(e.key().resource_full())
        .is_none_or(|r| !matches!(r.action(), Action::Delete | Action::Recreate))
}

/// How an item is read: its value, and what a field below it waits for.
type Read<T> = fn(&Value, &dyn Fn(&[Segment]) -> Option<Text>) -> T;

fn after<T>(world: &World<'_>, e: &Effect<'_>, read: Read<T>) -> Option<After<T>> {
    let sent = e.sent()?;
    if let Some(text) = waits(e, &[]) {
        return Some(Err(text.to_owned()));
    }
    let items = Effect::list(sent).unwrap_or_default().iter().enumerate();
    let read_one = |(i, item): (usize, &Value)| {
        read(item, &|below: &[Segment]| {
            let path: Vec<Segment> = [Segment::Index(i)].iter().chain(below).cloned().collect();
            let text = waits(e, &path)?;
            Some(match world.resolve(text) {
                Some(Value::String(s)) => Text::Is(s.into()),
                Some(other) => Text::Is(other.to_json()),
                None => Text::Waits(text.to_owned()),
            })
        })
    };
    Some(Ok(items.map(read_one).collect()))
}

fn now<T>(e: &Effect<'_>, read: Read<T>) -> Vec<T> {
    let root = FieldPath::default();
    let list = e
        .remote()
        .and_then(Effect::list)
        .or_else(|| Effect::list(e.in_changes(&root, |c| c.old.as_ref())?))
        .or_else(|| Effect::list(&e.deployed?.config));
    let no_reference = |_: &[Segment]| None;
    list.unwrap_or_default()
        .iter()
        .map(|item| read(item, &no_reference))
        .collect()
}

/// The reference that a field of the list waits for. The list stands under `__embed__` or `acls`; paths of the CLI leave the former out.
fn waits<'a>(e: &Effect<'a>, below: &[Segment]) -> Option<&'a str> {
    [Some("__embed__"), Some("acls"), None]
        .iter()
        .find_map(|start| {
            let start = start.map(|name| Segment::Field(name.into()));
            let path: Vec<Segment> = start.into_iter().chain(below.iter().cloned()).collect();
            e.waits_for(&FieldPath::from(path))
        })
}

fn text(item: &Value, name: &str, waits: &dyn Fn(&[Segment]) -> Option<Text>) -> Text {
    waits(&[Segment::Field(name.into())]).unwrap_or_else(|| {
        let known = item.get(name).and_then(Value::as_str);
        known
            .filter(|t| !t.is_empty())
            .map_or(Text::Absent, |t| Text::Is(t.to_owned()))
    })
}

fn permission(item: &Value, waits: &dyn Fn(&[Segment]) -> Option<Text>) -> Permission {
    let mut who = Who::Nobody;
    for kind in Kind::ALL.map(Some).into_iter().chain([None]) {
        match text(item, kind.map_or("principal", Kind::field), waits) {
            Text::Is(name) => {
                let kind = kind.unwrap_or_else(|| kind_of(&name));
                who = Who::Is(Principal { kind, name });
            }
            Text::Waits(text) => who = Who::Waits(kind, text),
            Text::Absent => continue,
        }
        break;
    }
    let level = match text(item, "level", waits) {
        Text::Absent => text(item, "permission", waits),
        level => level,
    };
    Permission { who, level }
}

/// What kind of principal a bare name is: a login has an `@`, an application id is a UUID.
fn kind_of(name: &str) -> Kind {
    let is_uuid = name.len() == 36
        && name.char_indices().all(|(i, c)| match i {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        });
    if looks_like_person(name) {
        Kind::User
    } else if is_uuid {
        Kind::ServicePrincipal
    } else {
        Kind::Group
    }
}

fn grant(item: &Value, waits: &dyn Fn(&[Segment]) -> Option<Text>) -> Grant {
    let mut out = Grant {
        who: text(item, "principal", waits),
        privileges: Vec::new(),
        waits: None,
    };
    let field = Segment::Field("privileges".into());
    let mut add = |known: Text| match known {
        Text::Is(name) => {
            out.privileges
                .push(name.trim().to_uppercase().replace(' ', "_"));
        }
        Text::Waits(text) => out.waits = Some(text),
        Text::Absent => {}
    };
    if let Some(whole @ Text::Waits(_)) = waits(std::slice::from_ref(&field)) {
        add(whole);
        return out;
    }
    let list = item.get("privileges").and_then(Value::as_array);
    for (i, privilege) in list.unwrap_or_default().iter().enumerate() {
        let known = waits(&[field.clone(), Segment::Index(i)]).unwrap_or_else(|| {
            privilege
                .as_str()
                .map_or(Text::Absent, |p| Text::Is(p.to_owned()))
        });
        add(known);
    }
    out
}
