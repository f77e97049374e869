//! The JSON Schema of the policy file, for editors.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::file::File;
use super::load::Embedded;
use super::location::SourceFile;
use super::yaml;

/// The JSON Schema (draft 2020-12) of a policy file.
///
/// It is looser than the reader: what needs more than one file, such as the id of a rule of your own, is not in it.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(File).to_value();
    if let Some(top) = schema.as_object_mut() {
        top.insert("title".to_owned(), json!("bundlegate policy"));
    }
    if let Some(rules) = schema
        .pointer_mut("/properties/rules")
        .and_then(Value::as_object_mut)
    {
        let entry = rules
            .get("additionalProperties")
            .cloned()
            .unwrap_or(Value::Bool(true));
        let named: Map<String, Value> = built_in_rules()
            .into_iter()
            .map(|id| (id, entry.clone()))
            .collect();
        rules.insert("properties".to_owned(), Value::Object(named));
    }
    schema
}

/// The rules that the embedded policies name: so that an editor can complete them.
fn built_in_rules() -> Vec<String> {
    let source = Arc::new(SourceFile::new(
        String::new(),
        Embedded::Production.text().to_owned(),
    ));
    let Ok(yaml::Value::Map(sections)) = yaml::parse(&source).map(|node| node.value) else {
        return Vec::new();
    };
    let rules = sections
        .into_iter()
        .find(|(key, _)| key.value == "rules")
        .map(|(_, node)| node.value);
    match rules {
        Some(yaml::Value::Map(rules)) => rules.into_iter().map(|(id, _)| id.value).collect(),
        _ => Vec::new(),
    }
}
