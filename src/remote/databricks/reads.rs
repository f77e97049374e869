//! The reads, one method each.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Workspace;
use super::types::{
    Alert, App, Cluster, Dashboard, Job, JobAnswer, Me, Permissions, PermissionsAnswer, Pipeline,
    PipelineUpdate, Presence, Run, Securable, SecurableKind, Table,
};
use crate::remote::http::{Failure, HttpError, Said};

/// The most pages of one list. At the smallest page of the APIs (20 items) these are 20,000 items.
const MOST_PAGES: usize = 1000;
/// Largest workspace file that is read, in bytes: a state file of the largest bundles has a few MB.
const LARGEST_FILE: usize = 64 * 1024 * 1024;

/// One page of a list.
trait Page: DeserializeOwned {
    type Item;
    /// The items, and the token of the next page. An empty token is none.
    fn take(self) -> (Vec<Self::Item>, Option<String>);
}

#[derive(Deserialize)]
struct Tables {
    #[serde(default)]
    tables: Vec<Table>,
    next_page_token: Option<String>,
}

impl Page for Tables {
    type Item = Table;
    fn take(self) -> (Vec<Table>, Option<String>) {
        (self.tables, self.next_page_token)
    }
}

#[derive(Deserialize)]
struct Runs {
    #[serde(default)]
    runs: Vec<Run>,
    next_page_token: Option<String>,
}

impl Page for Runs {
    type Item = Run;
    fn take(self) -> (Vec<Run>, Option<String>) {
        (self.runs, self.next_page_token)
    }
}

#[derive(Deserialize)]
struct Updates {
    #[serde(default)]
    updates: Vec<PipelineUpdate>,
    next_page_token: Option<String>,
}

impl Page for Updates {
    type Item = PipelineUpdate;
    fn take(self) -> (Vec<PipelineUpdate>, Option<String>) {
        (self.updates, self.next_page_token)
    }
}

/// Every read can fail with any [`Failure`] that is not an answer to "is it there?".
impl Workspace {
    /// Who is signed in.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub async fn me(&self) -> Result<Me, HttpError> {
        let ask = self.ask(
            "who is signed in".to_owned(),
            &["api", "2.0", "preview", "scim", "v2", "Me"],
            &[],
        )?;
        ask.parse(&self.send(&ask).await?)
    }

    /// A pipeline.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn pipeline(&self, id: &str) -> Result<Presence<Pipeline>, HttpError> {
        self.get(
            format!("pipeline {id}"),
            &["api", "2.0", "pipelines", id],
            &[],
        )
        .await
    }

    /// The updates of a pipeline that are not over.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn active_updates(
        &self,
        pipeline: &str,
    ) -> Result<Presence<Vec<PipelineUpdate>>, HttpError> {
        let path = ["api", "2.0", "pipelines", pipeline, "updates"];
        let all = self
            .list::<Updates>(
                format!("the updates of pipeline {pipeline}"),
                &path,
                &[("max_results", "100")],
            )
            .await?;
        Ok(all.map(|updates| {
            updates
                .into_iter()
                .filter(PipelineUpdate::is_active)
                .collect()
        }))
    }

    /// A job.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn job(&self, id: i64) -> Result<Presence<Job>, HttpError> {
        let found = self
            .get::<JobAnswer>(
                format!("job {id}"),
                &["api", "2.2", "jobs", "get"],
                &[("job_id", &id.to_string())],
            )
            .await?;
        Ok(found.map(Job::from))
    }

    /// The runs of a job that are not over.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn active_runs(&self, job: i64) -> Result<Presence<Vec<Run>>, HttpError> {
        let query = [
            ("job_id", &*job.to_string()),
            ("active_only", "true"),
            ("limit", "25"),
        ];
        self.list::<Runs>(
            format!("the active runs of job {job}"),
            &["api", "2.2", "jobs", "runs", "list"],
            &query,
        )
        .await
    }

    /// The permissions of an object. `kind` is the API's word: `jobs`, `pipelines`, `apps`, `dashboards`, `alertsv2`, `clusters`, ...
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn permissions(
        &self,
        kind: &str,
        id: &str,
    ) -> Result<Presence<Permissions>, HttpError> {
        let what = format!("the permissions of {kind} {id}");
        let path = ["api", "2.0", "permissions", kind, id];
        let found = self
            .get::<PermissionsAnswer>(what.clone(), &path, &[])
            .await?
            .map(PermissionsAnswer::read);
        Ok(match found {
            Presence::There(Ok(permissions)) => Presence::There(permissions),
            Presence::There(Err(why)) => {
                return Err(self.ask(what, &path, &[])?.failed(Failure::Malformed(why)));
            }
            Presence::Gone => Presence::Gone,
            Presence::Forbidden(said) => Presence::Forbidden(said),
        })
    }

    /// A catalog, schema, volume or registered model, by its full name.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn securable(
        &self,
        kind: SecurableKind,
        full_name: &str,
    ) -> Result<Presence<Securable>, HttpError> {
        let (segment, word) = kind.names();
        self.get(
            format!("{word} {full_name}"),
            &["api", "2.1", "unity-catalog", segment, full_name],
            &[],
        )
        .await
    }

    /// A table, by its full name.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn table(&self, full_name: &str) -> Result<Presence<Table>, HttpError> {
        self.get(
            format!("table {full_name}"),
            &["api", "2.1", "unity-catalog", "tables", full_name],
            &[],
        )
        .await
    }

    /// The tables of a schema that the identity may see.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn tables(
        &self,
        catalog: &str,
        schema: &str,
    ) -> Result<Presence<Vec<Table>>, HttpError> {
        let query = [
            ("catalog_name", catalog),
            ("schema_name", schema),
            ("omit_columns", "true"),
        ];
        self.list::<Tables>(
            format!("the tables of schema {catalog}.{schema}"),
            &["api", "2.1", "unity-catalog", "tables"],
            &query,
        )
        .await
    }

    /// An app.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn app(&self, name: &str) -> Result<Presence<App>, HttpError> {
        self.get(format!("app {name}"), &["api", "2.0", "apps", name], &[])
            .await
    }

    /// An alert.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn alert(&self, id: &str) -> Result<Presence<Alert>, HttpError> {
        self.get(format!("alert {id}"), &["api", "2.0", "alerts", id], &[])
            .await
    }

    /// A cluster.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn cluster(&self, id: &str) -> Result<Presence<Cluster>, HttpError> {
        self.get(
            format!("cluster {id}"),
            &["api", "2.1", "clusters", "get"],
            &[("cluster_id", id)],
        )
        .await
    }

    /// A dashboard.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn dashboard(&self, id: &str) -> Result<Presence<Dashboard>, HttpError> {
        self.get(
            format!("dashboard {id}"),
            &["api", "2.0", "lakeview", "dashboards", id],
            &[],
        )
        .await
    }

    /// A workspace file, as it is: the state file is read so. [`Presence::Gone`] is the workspace's own word, the proof of a first deploy;
    /// a 403, or a 404 that the workspace did not explain, is none.
    ///
    /// # Errors
    /// Any [`Failure`] but absence and 403.
    pub async fn file(&self, path: &str) -> Result<Presence<Vec<u8>>, HttpError> {
        let query = [("path", path), ("direct_download", "true")];
        let ask = self
            .ask(
                format!("workspace file {path}"),
                &["api", "2.0", "workspace", "export"],
                &query,
            )?
            .at_most(LARGEST_FILE);
        presence(self.send(&ask).await)
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        what: String,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Presence<T>, HttpError> {
        let ask = self.ask(what, path, query)?;
        presence(self.send(&ask).await.and_then(|body| ask.parse(&body)))
    }

    /// All pages of a list. A token that comes twice would never end: it is an error.
    async fn list<P: Page>(
        &self,
        what: String,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Presence<Vec<P::Item>>, HttpError> {
        let mut items = Vec::new();
        let mut seen = BTreeSet::new();
        let mut token: Option<String> = None;
        loop {
            let mut query = query.to_vec();
            query.extend(token.as_deref().map(|token| ("page_token", token)));
            let ask = self.ask(what.clone(), path, &query)?;
            let page: P = match presence(self.send(&ask).await.and_then(|body| ask.parse(&body)))? {
                Presence::There(page) => page,
                Presence::Gone => return Ok(Presence::Gone),
                Presence::Forbidden(said) => return Ok(Presence::Forbidden(said)),
            };
            let (found, next) = page.take();
            items.extend(found);
            token = next.filter(|token| !token.is_empty());
            match &token {
                None => return Ok(Presence::There(items)),
                Some(_) if seen.len() >= MOST_PAGES => {
                    return Err(ask.failed(Failure::Malformed(format!(
                        "the list has more than {MOST_PAGES} pages"
                    ))));
                }
                Some(next) if !seen.insert(next.clone()) => {
                    return Err(ask.failed(Failure::Malformed(
                        "the list leads back to a page that was read already".to_owned(),
                    )));
                }
                Some(_) => {}
            }
        }
    }
}

/// Tells absence and 403 from failures.
fn presence<T>(read: Result<T, HttpError>) -> Result<Presence<T>, HttpError> {
    match read {
        Ok(thing) => Ok(Presence::There(thing)),
        Err(error) => match error.failure() {
            Failure::NotFound(said) if said.proves_absence() => Ok(Presence::Gone),
            Failure::Refused(status, said) if status.as_u16() == 400 && is_said_otherwise(said) => {
                Ok(Presence::Gone)
            }
            Failure::Forbidden(said) => Ok(Presence::Forbidden(said.clone())),
            _ => Err(error),
        },
    }
}

/// Jobs and clusters answer 400 for an id that does not exist (Go SDK: `apierr/error_overrides.go`): "Job 42 does not exist.", "Cluster x does not exist".
fn is_said_otherwise(said: &Said) -> bool {
    said.code.as_deref() == Some("INVALID_PARAMETER_VALUE")
        && said.message.as_deref().is_some_and(|message| {
            (message.starts_with("Job ") || message.starts_with("Cluster "))
                && message.trim_end_matches('.').ends_with("does not exist")
        })
}
