//! The routes that are answered.

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};

use super::answer::Answer;
use super::state::{Kind, State, normal, sent_permissions, standing_permissions};
use super::{IDENTITY, Inside};

/// A request, taken apart.
struct Ask<'a> {
    query: Vec<(String, String)>,
    body: &'a [u8],
}

impl Ask<'_> {
    fn get(&self, name: &str) -> &str {
        self.query
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(self.body).unwrap_or_default()
    }

    /// A text or number of the body, as text.
    fn field(&self, name: &str) -> String {
        match &self.json()[name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }
}

pub(super) fn answer(
    inside: &mut Inside,
    method: &str,
    path: &str,
    query: &str,
    body: &[u8],
) -> Answer {
    let parsed = |text: &[u8]| {
        url::form_urlencoded::parse(text)
            .into_owned()
            .collect::<Vec<_>>()
    };
    let ask = Ask {
        query: parsed(query.as_bytes()),
        body,
    };
    // A `+` is itself in a path.
    let decoded: Vec<String> = path
        .trim_matches('/')
        .split('/')
        .map(|segment| {
            parsed(
                segment
                    .replace('+', "%2B")
                    .replace('&', "%26")
                    .replace('=', "%3D")
                    .as_bytes(),
            )
            .pop()
            .map_or(String::new(), |(text, _)| text)
        })
        .collect();
    let segments: Vec<&str> = decoded.iter().map(String::as_str).collect();
    let found = match &segments[..] {
        ["fake", "deploy"] => Some(deploy(inside, &ask)),
        ["oidc", rest @ ..] => oidc(inside, rest),
        ["telemetry-ext"] => Some(Answer::json(&json!({"errors": [], "numProtoSuccess": 0}))),
        ["api", _, "preview", "scim", "v2", "Me"] => Some(me()),
        ["api", _, "workspace", what] => files(&mut inside.state, method, what, &ask),
        ["api", _, "workspace-files", "import-file", rest @ ..] => {
            inside
                .state
                .write_file(&format!("/{}", rest.join("/")), body.to_vec());
            Some(Answer::json(&json!({})))
        }
        ["api", _, "jobs", rest @ ..] => jobs(inside, method, rest, &ask),
        ["api", _, "pipelines", rest @ ..] => pipelines(&mut inside.state, method, rest, &ask),
        ["api", _, "permissions", word, id] => {
            permissions(&mut inside.state, method, word, id, &ask)
        }
        ["api", _, "unity-catalog", "permissions", word, name] => {
            grants(&mut inside.state, method, word, name, &ask)
        }
        ["api", _, "unity-catalog", "tables"] => Some(tables(inside, &ask)),
        ["api", _, "unity-catalog", rest @ ..] => {
            unity_catalog(&mut inside.state, method, rest, &ask)
        }
        ["api", _, "clusters", "get"] => {
            Some(object(&inside.state, Kind::Cluster, ask.get("cluster_id")))
        }
        ["api", _, "alerts", id] => {
            Some(read_or_delete(&mut inside.state, method, Kind::Alert, id))
        }
        ["api", _, "apps", id] => Some(read_or_delete(&mut inside.state, method, Kind::App, id)),
        ["api", _, "lakeview", "dashboards", id] => Some(read_or_delete(
            &mut inside.state,
            method,
            Kind::Dashboard,
            id,
        )),
        _ => None,
    };
    found.unwrap_or_else(|| {
        Answer::error(
            404,
            "ENDPOINT_NOT_FOUND",
            &format!("No API found for '{method} {path}'"),
        )
    })
}

fn absent(kind: Kind, id: &str) -> Answer {
    let code = kind.names().absent;
    match kind {
        Kind::Job => Answer::error(400, code, &format!("Job {id} does not exist.")),
        Kind::Cluster => Answer::error(400, code, &format!("Cluster {id} does not exist")),
        _ => Answer::error(404, code, &format!("{kind:?} '{id}' does not exist.")),
    }
}

fn forbidden() -> Answer {
    Answer::error(403, "PERMISSION_DENIED", "no")
}

fn object(state: &State, kind: Kind, id: &str) -> Answer {
    state
        .get(kind, id)
        .map_or_else(|| absent(kind, id), Answer::json)
}

fn read_or_delete(state: &mut State, method: &str, kind: Kind, id: &str) -> Answer {
    match method {
        "DELETE" if state.is_kept(kind, id) => forbidden(),
        "DELETE" if state.delete(kind, id) => Answer::json(&json!({})),
        "DELETE" => absent(kind, id),
        _ => object(state, kind, id),
    }
}

/// One page of a list, and the token of the next: the place where it begins.
fn page(inside: &Inside, name: &str, items: &[Value], ask: &Ask<'_>) -> Answer {
    let start: usize = ask.get("page_token").parse().unwrap_or(0);
    let end = (start + inside.page).min(items.len());
    let mut answer = json!({name: items[start.min(end)..end]});
    if end < items.len() {
        answer["next_page_token"] = json!(end.to_string());
    }
    Answer::json(&answer)
}

fn me() -> Answer {
    Answer::json(&json!({
        "id": "1000012345", "userName": IDENTITY, "displayName": "ci", "active": true,
        "emails": [{"value": IDENTITY, "primary": true}], "groups": [{"display": "deployers", "value": "1"}],
    }))
}

/// Tokens by OAuth: any client gets one, a new one each time.
fn oidc(inside: &mut Inside, rest: &[&str]) -> Option<Answer> {
    match rest {
        [".well-known", "oauth-authorization-server"] => None,
        ["v1", "token"] => {
            let token = format!("oauth-fake-token-{:04}", inside.tokens.len());
            inside.tokens.push(token.clone());
            Some(Answer::json(
                &json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600}),
            ))
        }
        _ => None,
    }
}

fn deploy(inside: &mut Inside, ask: &Ask<'_>) -> Answer {
    let body = ask.json();
    inside.state.deploy(&body["plan"], &body["after"]);
    if let (Some(path), Some(text)) = (body["file"]["path"].as_str(), body["file"]["text"].as_str())
    {
        inside.state.write_file(path, text.as_bytes().to_vec());
    }
    Answer::json(&json!({}))
}

fn files(state: &mut State, method: &str, what: &str, ask: &Ask<'_>) -> Option<Answer> {
    let asked = ask.get("path").to_owned();
    let path = if asked.is_empty() {
        ask.field("path")
    } else {
        asked
    };
    let missing = || {
        Answer::error(
            404,
            "RESOURCE_DOES_NOT_EXIST",
            &format!("Path ({path}) doesn't exist."),
        )
    };
    Some(match (method, what) {
        ("GET", "export") => match state.file(&path) {
            Some(bytes) if ask.get("direct_download") == "true" => Answer::bytes(bytes.clone()),
            Some(bytes) => Answer::json(&json!({"content": Base64::encode_string(bytes)})),
            None => missing(),
        },
        ("GET", "get-status") => match state.file(&path) {
            Some(bytes) => Answer::json(
                &json!({"object_type": "FILE", "path": path, "object_id": 1, "size": bytes.len()}),
            ),
            None if state.has_folder(&path) => {
                Answer::json(&json!({"object_type": "DIRECTORY", "path": path, "object_id": 2}))
            }
            None => missing(),
        },
        ("GET", "list") if state.has_folder(&path) => {
            let below = format!("{}/", normal(&path));
            let direct = state.files.keys().filter(|known| {
                known
                    .strip_prefix(&below)
                    .is_some_and(|rest| !rest.contains('/'))
            });
            let items: Vec<Value> = direct
                .map(|known| json!({"object_type": "FILE", "path": known, "object_id": 1}))
                .collect();
            Answer::json(&json!({"objects": items}))
        }
        ("GET", "list") => missing(),
        ("POST", "mkdirs") => {
            state.folders.insert(normal(&path).to_owned());
            Answer::json(&json!({}))
        }
        ("POST", "import") => {
            let Ok(bytes) = Base64::decode_vec(&ask.field("content")) else {
                return Some(Answer::error(
                    400,
                    "INVALID_PARAMETER_VALUE",
                    "content is not base64",
                ));
            };
            state.write_file(&path, bytes);
            Answer::json(&json!({}))
        }
        ("POST", "delete") => {
            let below = format!("{}/", normal(&path));
            let before = (state.files.len(), state.folders.len());
            state
                .files
                .retain(|known, _| known != normal(&path) && !known.starts_with(&below));
            state
                .folders
                .retain(|known| known != normal(&path) && !known.starts_with(&below));
            if before == (state.files.len(), state.folders.len()) {
                missing()
            } else {
                Answer::json(&json!({}))
            }
        }
        _ => return None,
    })
}

fn jobs(inside: &mut Inside, method: &str, rest: &[&str], ask: &Ask<'_>) -> Option<Answer> {
    let state = &mut inside.state;
    let id = if method == "GET" {
        ask.get("job_id").to_owned()
    } else {
        ask.field("job_id")
    };
    Some(match (method, rest) {
        ("GET", ["get"]) => object(state, Kind::Job, &id),
        ("GET", ["runs", "list"]) => {
            let runs = state.runs.get(&id).cloned().unwrap_or_default();
            page(inside, "runs", &runs, ask)
        }
        ("POST", ["create"]) => {
            let number = state.new_number();
            let settings = ask.json();
            let job = json!({"job_id": number, "creator_user_name": IDENTITY, "run_as_user_name": run_as(&settings, IDENTITY), "settings": settings});
            state.put(Kind::Job, &number.to_string(), job);
            Answer::json(&json!({"job_id": number}))
        }
        ("POST", ["reset" | "update"]) => match state.get(Kind::Job, &id).cloned() {
            None => absent(Kind::Job, &id),
            Some(mut job) => {
                let settings = ask.json()["new_settings"].clone();
                job["run_as_user_name"] = json!(run_as(
                    &settings,
                    job["run_as_user_name"].as_str().unwrap_or(IDENTITY)
                ));
                job["settings"] = settings;
                state.put(Kind::Job, &id, job);
                Answer::json(&json!({}))
            }
        },
        ("POST", ["delete"]) if state.is_kept(Kind::Job, &id) => forbidden(),
        ("POST", ["delete"]) if state.delete(Kind::Job, &id) => Answer::json(&json!({})),
        ("POST", ["delete"]) => absent(Kind::Job, &id),
        _ => return None,
    })
}

fn pipelines(state: &mut State, method: &str, rest: &[&str], ask: &Ask<'_>) -> Option<Answer> {
    let made = |id: &str, spec: Value, creator: &Value, run_as: &str| {
        json!({"pipeline_id": id, "name": spec["name"], "creator_user_name": creator, "run_as_user_name": run_as, "state": "IDLE",
            "effective_publishing_mode": "DEFAULT_PUBLISHING_MODE", "spec": spec})
    };
    Some(match (method, rest) {
        ("POST", []) => {
            let id = state.new_uuid();
            let spec = ask.json();
            let who = run_as(&spec, IDENTITY);
            state.put(Kind::Pipeline, &id, made(&id, spec, &json!(IDENTITY), &who));
            Answer::json(&json!({"pipeline_id": id}))
        }
        ("PUT", [id]) => match state.get(Kind::Pipeline, id).cloned() {
            None => absent(Kind::Pipeline, id),
            Some(old) => {
                // A PUT without run_as leaves it: the identity set by hand stays.
                let spec = ask.json();
                let who = run_as(&spec, old["run_as_user_name"].as_str().unwrap_or(IDENTITY));
                state.put(
                    Kind::Pipeline,
                    id,
                    made(id, spec, &old["creator_user_name"], &who),
                );
                Answer::json(&json!({}))
            }
        },
        ("GET", [id, "updates"]) if state.get(Kind::Pipeline, id).is_some() => {
            Answer::json(&json!({"updates": state.updates.get(*id).cloned().unwrap_or_default()}))
        }
        ("GET", [id, "updates"]) => absent(Kind::Pipeline, id),
        ("GET" | "DELETE", [id]) => read_or_delete(state, method, Kind::Pipeline, id),
        _ => return None,
    })
}

/// The identity that a definition names, else `otherwise`.
fn run_as(definition: &Value, otherwise: &str) -> String {
    let named = ["service_principal_name", "user_name", "group_name"]
        .into_iter()
        .find_map(|kind| definition["run_as"][kind].as_str());
    named.unwrap_or(otherwise).to_owned()
}

fn permissions(
    state: &mut State,
    method: &str,
    word: &str,
    id: &str,
    ask: &Ask<'_>,
) -> Option<Answer> {
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| !kind.is_unity_catalog() && kind.names().permissions == word)?;
    if state.get(kind, id).is_none() {
        return Some(Answer::error(
            404,
            "RESOURCE_DOES_NOT_EXIST",
            &format!("{word} {id} does not exist."),
        ));
    }
    let place = (kind, id.to_owned());
    match method {
        "PUT" => {
            state
                .permissions
                .insert(place.clone(), sent_permissions(&ask.json()));
        }
        "PATCH" => state
            .permissions
            .entry(place.clone())
            .or_default()
            .extend(sent_permissions(&ask.json())),
        _ => {}
    }
    let list = state
        .permissions
        .get(&place)
        .cloned()
        .unwrap_or_else(standing_permissions);
    Some(Answer::json(
        &json!({"object_id": format!("/{word}/{id}"), "object_type": word.trim_end_matches('s'), "access_control_list": list}),
    ))
}

fn grants(
    state: &mut State,
    method: &str,
    word: &str,
    name: &str,
    ask: &Ask<'_>,
) -> Option<Answer> {
    let kind = Kind::ALL.into_iter().find(|kind| {
        kind.is_unity_catalog() && kind.names().permissions == word.to_ascii_lowercase()
    })?;
    if state.get(kind, name).is_none() {
        return Some(absent(kind, name));
    }
    let list = state.grants.entry((kind, name.to_owned())).or_default();
    if method == "PATCH" {
        for change in ask.json()["changes"].as_array().into_iter().flatten() {
            let texts = |field: &str| -> Vec<String> {
                change[field]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|text| text.as_str().map(str::to_owned))
                    .collect()
            };
            let (add, remove) = (texts("add"), texts("remove"));
            let old = list
                .iter()
                .position(|entry| entry["principal"] == change["principal"])
                .map(|at| list.remove(at));
            let old = old
                .and_then(|entry| entry["privileges"].as_array().cloned())
                .unwrap_or_default();
            let mut privileges: Vec<String> = old
                .iter()
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect();
            privileges.retain(|known| !remove.contains(known));
            privileges.extend(
                add.into_iter()
                    .filter(|new| !privileges.contains(new))
                    .collect::<Vec<_>>(),
            );
            if !privileges.is_empty() {
                list.push(json!({"principal": change["principal"], "privileges": privileges}));
            }
        }
    }
    Some(Answer::json(&json!({"privilege_assignments": list})))
}

fn tables(inside: &Inside, ask: &Ask<'_>) -> Answer {
    let schema = format!("{}.{}", ask.get("catalog_name"), ask.get("schema_name"));
    if inside.state.get(Kind::Schema, &schema).is_none() {
        return absent(Kind::Schema, &schema);
    }
    let below = format!("{schema}.");
    let of_schema = |((kind, name), table): (&(Kind, String), &Value)| {
        (*kind == Kind::Table && name.starts_with(&below)).then(|| table.clone())
    };
    let items: Vec<Value> = inside.state.objects.iter().filter_map(of_schema).collect();
    page(inside, "tables", &items, ask)
}

fn unity_catalog(state: &mut State, method: &str, rest: &[&str], ask: &Ask<'_>) -> Option<Answer> {
    let (kind, name) = match rest {
        [word] => (word, None),
        [word, name] => (word, Some(*name)),
        _ => return None,
    };
    let kind = match *kind {
        "catalogs" => Kind::Catalog,
        "schemas" => Kind::Schema,
        "volumes" => Kind::Volume,
        "models" => Kind::RegisteredModel,
        "tables" => Kind::Table,
        _ => return None,
    };
    Some(match (method, name) {
        ("GET" | "DELETE", Some(name)) => read_or_delete(state, method, kind, name),
        ("POST", None) => {
            let mut object = ask.json();
            let parts = ["catalog_name", "schema_name", "name"]
                .map(|part| object[part].as_str().map(str::to_owned));
            let full = parts.into_iter().flatten().collect::<Vec<_>>().join(".");
            object["full_name"] = json!(full);
            object["owner"] = json!(IDENTITY);
            state.put(kind, &full, object.clone());
            Answer::json(&object)
        }
        ("PATCH", Some(name)) => match state.get(kind, name).cloned() {
            None => absent(kind, name),
            Some(mut object) => {
                for (field, value) in ask.json().as_object().into_iter().flatten() {
                    object[field] = value.clone();
                }
                state.put(kind, name, object.clone());
                Answer::json(&object)
            }
        },
        _ => return None,
    })
}
