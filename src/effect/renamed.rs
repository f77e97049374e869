//! Keys that were renamed in the YAML: what is deleted under one key and created under another.

use std::collections::HashMap;

use super::{Effect, World};
use crate::plan::Action;

/// What becomes of something that is deleted.
#[derive(Debug)]
pub enum Successor<'w, 'a> {
    /// It is created again under this key.
    Is(&'w Effect<'a>),
    /// Whether this is its new key cannot be told: the name waits for a reference.
    Unknown(&'w Effect<'a>, String),
}

impl<'a> World<'a> {
    /// What is deleted and created again under another key of the same type: both have the same name in the workspace.
    #[must_use]
    pub fn renamed_keys(&self) -> Vec<(&Effect<'a>, String, Successor<'_, 'a>)> {
        let created: Vec<_> = self
            .resources()
            .filter(|e| e.action() == Action::Create)
            .map(|e| (e, self.name_after(e)))
            .collect();
        let by_name: HashMap<(&str, &str), &Effect<'a>> = created
            .iter()
            .filter_map(|(e, name)| Some(((e.kind(), name.as_ref().ok()?.as_deref()?), *e)))
            .collect();
        let mut waiting: HashMap<&str, (&Effect<'a>, &String)> = HashMap::new();
        for (e, name) in &created {
            if let Err(text) = name {
                waiting.entry(e.kind()).or_insert((e, text));
            }
        }
        self.resources()
            .filter(|e| e.deletes())
            .filter_map(|e| {
                let name = self.remote_name(e)?;
                let successor = match by_name.get(&(e.kind(), name.as_str())) {
                    Some(new) => Successor::Is(new),
                    None => {
                        let (new, text) = waiting.get(e.kind())?;
                        Successor::Unknown(new, (*text).clone())
                    }
                };
                Some((e, name, successor))
            })
            .collect()
    }
}
