//! Rules of the policy's own: conditions in CEL, checked when the policy is loaded and bounded when they are evaluated.
//!
//! Nothing outside of this module knows CEL.

mod check;
#[cfg(test)]
mod tests;
mod values;

use std::sync::{Arc, OnceLock};

use cel::common::ast::IdedExpr;
use cel::common::types::{CelBool, CelNull, CelString};
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::{Context, Env, ExecutionError, ParseErrors, Program, Value as CelValue};
use serde::Serialize;
use serde_json::Value;

use super::decode::Cx;
use super::diagnostic::Diagnostic;
use super::file::CustomSource;
use super::location::{At, Location};
use super::selector::Selector;
use super::value::RuleId;
use check::Refusal;
use values::{Meter, Pattern, convert};

pub use values::Work;

/// The names that an expression may use.
const VARIABLES: &[&str] = &[
    "key",
    "type",
    "name",
    "action",
    "gone",
    "old",
    "new",
    "remote",
    "changes",
    "vars",
    "target",
    "cli_version",
];

/// The text that stands for a value that is not known before the deploy. A plan cannot contain it: its reader refuses NUL.
pub const UNKNOWN: &str = "\u{0}";

/// A rule of the policy's own.
#[derive(Debug, Clone, Serialize)]
pub struct CustomRule {
    /// Its id.
    pub id: RuleId,
    /// The resources it is asked about; `None`: all.
    pub resources: Option<Vec<At<Selector>>>,
    /// The condition under which it fires.
    pub when: At<String>,
    /// What the finding says.
    pub message: String,
    #[serde(skip)]
    compiled: Arc<Compiled>,
}

/// What an expression is asked about. `old`, `new`, `remote` and `vars` are `null` where there is nothing.
///
/// Where a value is not known before the deploy, `new` holds [`UNKNOWN`]: a condition that needs it is unknown, too.
#[derive(Debug, Clone, Copy)]
pub struct CustomContext<'a> {
    /// The short key, such as `jobs.etl`.
    pub key: &'a str,
    /// The type, such as `jobs`; `type` in an expression.
    pub resource_type: &'a str,
    /// The name in the key.
    pub name: &'a str,
    /// The action, such as `update`.
    pub action: &'a str,
    /// Whether the object is already gone.
    pub gone: bool,
    /// What was deployed last.
    pub old: &'a Value,
    /// What will be.
    pub new: &'a Value,
    /// What is in the workspace.
    pub remote: &'a Value,
    /// The changes, by path.
    pub changes: &'a Value,
    /// The references that are resolved at apply time, by path.
    pub vars: &'a Value,
    /// The target, where it is known.
    pub target: Option<&'a str>,
    /// The CLI's version, where it is known.
    pub cli_version: Option<&'a str>,
}

/// Why a condition has no answer. No message repeats a value of the plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CustomError {
    /// A field that is not there.
    #[error("the field `{0}` is not there; ask `has(...)` first")]
    Missing(String),
    /// A value that only the deploy resolves.
    #[error("it needs a value that is not known before the deploy")]
    Unknown,
    /// Too much data for the bound on work.
    #[error("it needs more work than custom rules may do")]
    TooMuch,
    /// Not a condition.
    #[error("the condition is neither true nor false")]
    NotACondition,
    /// Types that do not go together, and other failures.
    #[error("{0}")]
    Failed(String),
}

struct Compiled {
    expr: IdedExpr,
    patterns: Vec<Pattern>,
    weight: u64,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compiled")
    }
}

impl CustomRule {
    /// Compiles the condition; what is wrong with it is reported with its place.
    pub(super) fn compile(source: CustomSource, cx: &mut Cx) -> Option<Self> {
        match compile(&source.when.value) {
            Ok(compiled) => Some(Self {
                id: source.id.value,
                resources: source.resources,
                when: source.when,
                message: source.message,
                compiled: Arc::new(compiled),
            }),
            Err(refusal) => {
                let at = inside(&source.when, refusal.at);
                cx.report(Diagnostic::error(
                    &at,
                    format!("`when` of `{}`: {}", source.id.value, refusal.message),
                ));
                None
            }
        }
    }

    /// Whether the rule is asked about the resource with this short key.
    #[must_use]
    pub fn selects(&self, key: &str) -> bool {
        self.resources
            .as_ref()
            .is_none_or(|all| all.iter().any(|selector| selector.matches(key)))
    }

    /// Whether the rule fires.
    ///
    /// # Errors
    /// Whatever keeps the condition from being true or false; never taken for false.
    pub fn evaluate(&self, context: &CustomContext<'_>, work: &Work) -> Result<bool, CustomError> {
        let meter = Meter::new(work, self.compiled.weight);
        if !meter.pay(1) {
            return Err(CustomError::TooMuch);
        }
        let variables = Variables {
            context,
            meter: &meter,
            patterns: &self.compiled.patterns,
        };
        let mut scope = Context::with_env(Arc::clone(env()));
        scope.set_variable_resolver(&variables);
        let result = CelValue::resolve_val(&self.compiled.expr, &scope);
        if meter.is_exhausted() {
            return Err(CustomError::TooMuch);
        }
        match result {
            Ok(value) => match value.downcast_ref::<CelBool>().map(|value| *value.inner()) {
                Some(true) => Ok(true),
                // False although something unknown was asked: with its value it might be true.
                Some(false) if meter.met_unknown() => Err(CustomError::Unknown),
                Some(false) => Ok(false),
                None => Err(CustomError::NotACondition),
            },
            Err(_) if meter.met_unknown() => Err(CustomError::Unknown),
            Err(error) => Err(self.explain(&error)),
        }
    }

    /// The interpreter's own words can repeat values, and values can be secrets.
    fn explain(&self, error: &ExecutionError) -> CustomError {
        match error {
            ExecutionError::NoSuchKey(name) if self.when.contains(name.as_str()) => {
                CustomError::Missing(name.to_string())
            }
            ExecutionError::NoSuchKey(_) => {
                CustomError::Failed("a field is not there; ask `in` first".to_owned())
            }
            ExecutionError::NoSuchOverload(overload) => {
                let types = overload.argument_types().join(" and ");
                let function = overload.function().trim_matches(['_', '@']);
                CustomError::Failed(format!("`{function}` does not work on {types}"))
            }
            ExecutionError::IndexOutOfBounds(_) => {
                CustomError::Failed("a list has no item at this index".to_owned())
            }
            ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
                CustomError::Failed("it divides by zero".to_owned())
            }
            ExecutionError::Overflow(..) => CustomError::Failed("a number is too large".to_owned()),
            _ => CustomError::Failed("it uses a value of a type that does not fit".to_owned()),
        }
    }
}

fn env() -> &'static Arc<Env> {
    static ENV: OnceLock<Arc<Env>> = OnceLock::new();
    ENV.get_or_init(|| Arc::new(Env::stdlib()))
}

fn compile(source: &str) -> Result<Compiled, Refusal> {
    check::text(source)?;
    let program = match parse(source) {
        Some(Ok(program)) => program,
        Some(Err(errors)) => {
            let first = errors.errors.first();
            let at = first.and_then(|error| offset(source, error.pos));
            let near = at
                .map(|at| source.chars().skip(at).take(20).collect::<String>())
                .filter(|near| !near.trim().is_empty());
            let place = near.map_or_else(
                || " at its end".to_owned(),
                |near| format!(" near {}", super::text::quoted(near.trim())),
            );
            return Err(Refusal {
                message: format!("this is not a CEL expression{place}"),
                at,
            });
        }
        None => {
            return Err(Refusal {
                message: "this is not a CEL expression".to_owned(),
                at: None,
            });
        }
    };
    let mut expr = program.expression().clone();
    let place = |id: u64| {
        program
            .source_info()
            .offset_for(id)
            .map(|(start, _)| u64::from(start))
    };
    let accepted = check::walk(&mut expr, &place)?;
    Ok(Compiled {
        expr,
        patterns: accepted.patterns,
        weight: accepted.weight,
    })
}

/// Stack for the parser, which recurses about a dozen large frames for each bracket; measured: 8 MiB is enough without optimisation.
const PARSER_STACK: usize = 32 * 1024 * 1024;

/// Parses on a stack of its own; `None` when the parser panics, as it may on what it does not expect.
fn parse(source: &str) -> Option<Result<Program, ParseErrors>> {
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new()
            .stack_size(PARSER_STACK)
            .spawn_scoped(scope, || env().compile(source));
        parser.ok()?.join().ok()
    })
}

/// A line and a column of the parser as characters from the start.
fn offset(source: &str, (line, column): (isize, isize)) -> Option<usize> {
    let line = usize::try_from(line.checked_sub(1)?).ok()?;
    let column = usize::try_from(column.checked_sub(1)?).ok()?;
    let before: usize = source
        .split_inclusive('\n')
        .take(line)
        .map(|line| line.chars().count())
        .sum();
    Some(before.saturating_add(column))
}

/// The place in the file of a character of the expression; the whole expression where the file writes it otherwise (escapes, several lines).
fn inside(when: &At<String>, at: Option<usize>) -> Location {
    let covered = when.at.covered();
    let (Some(at), Some(start)) = (at, covered.find(when.value.as_str())) else {
        return when.at.clone();
    };
    let mut bytes: usize = when.value.chars().take(at).map(char::len_utf8).sum();
    if when
        .value
        .get(bytes..)
        .is_some_and(|rest| rest.starts_with('('))
    {
        // The parser places a call at its bracket; people look for its name.
        let before = when.value.get(..bytes).unwrap_or_default();
        bytes = before
            .trim_end_matches(|c: char| c.is_alphanumeric() || c == '_')
            .len();
    }
    let word = when.value.get(bytes..).map_or(1, |rest| {
        rest.find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len())
            .max(1)
    });
    let from = when
        .at
        .range()
        .start
        .saturating_add(start)
        .saturating_add(bytes.min(when.value.len().saturating_sub(1)));
    Location::new(when.at.source(), from, from.saturating_add(word))
}

struct Variables<'a> {
    context: &'a CustomContext<'a>,
    meter: &'a Meter<'a>,
    patterns: &'a [Pattern],
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        if let Some(index) = variable.strip_prefix("@pattern") {
            return self
                .patterns
                .get(index.parse::<usize>().ok()?)
                .map(|pattern| CowVal::Borrowed(pattern));
        }
        let context = self.context;
        let text = |text: &'b str| Some(CowVal::owned(CelString::from(text)));
        let maybe = |text: Option<&'b str>| match text {
            Some(text) => Some(CowVal::owned(CelString::from(text))),
            None => Some(CowVal::owned(CelNull)),
        };
        // An error leaves the name unresolved, which is an error, too; the meter knows why.
        let json = |value: &'b Value| convert(value, self.meter).ok().map(CowVal::Owned);
        match variable {
            "key" => text(context.key),
            "type" => text(context.resource_type),
            "name" => text(context.name),
            "action" => text(context.action),
            "gone" => Some(CowVal::owned(CelBool::from(context.gone))),
            "old" => json(context.old),
            "new" => json(context.new),
            "remote" => json(context.remote),
            "changes" => json(context.changes),
            "vars" => json(context.vars),
            "target" => maybe(context.target),
            "cli_version" => maybe(context.cli_version),
            _ => None,
        }
    }
}
