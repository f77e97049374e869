//! What a custom rule may say: checked once, when the policy is loaded, so that nothing surprising is left for the evaluation.

use cel::common::ast::operators;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use super::VARIABLES;
use super::values::Pattern;
use crate::policy::text::{did_you_mean, quoted};
use crate::text::nearest;

/// Longest expression, in bytes.
pub(super) const MAX_LENGTH: usize = 2_000;
/// Deepest nesting of brackets in the text; the parser is recursive.
const MAX_BRACKETS: usize = 24;
/// Longest run of `!` and `-` signs.
const MAX_UNARY: usize = 8;
/// Deepest nesting of the parsed expression.
const MAX_DEPTH: usize = 100;
/// Most comprehensions (`all`, `exists`, `map`, `filter`) inside one another.
const MAX_COMPREHENSIONS: usize = 2;
/// Most items of a list in the expression.
const MAX_LIST: usize = 64;
/// Most steps of one evaluation over lists of [`TYPICAL_LIST`] items. Measured, a step takes 0.2 µs: 200 ms for a plan of 10,000 entries.
const MAX_STEPS: u64 = 100;
/// Items of a list in a plan; the recorded plans have 1.3 on average. Longer ones are bounded when they are read.
const TYPICAL_LIST: u64 = 2;
/// Longest regular expression, in bytes.
const MAX_REGEX: usize = 256;
/// Largest compiled regular expression, in bytes.
const MAX_REGEX_SIZE: usize = 256 * 1024;

/// Functions that an expression may call.
const FUNCTIONS: &[&str] = &[
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "size",
    "string",
    "int",
    "double",
];
/// Operators that an expression may use.
const OPERATORS: &[&str] = &[
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::SUBSTRACT,
    operators::ADD,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::GREATER_EQUALS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::LESS,
    operators::NEGATE,
    operators::INDEX,
    operators::NOT_STRICTLY_FALSE,
    operators::IN,
];
/// Macros that the parser expands, for "did you mean".
const MACROS: &[&str] = &["has", "all", "exists", "exists_one", "map", "filter"];

/// Why an expression is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: String,
    /// Characters from the start of the expression.
    pub(super) at: Option<usize>,
}

fn refuse<T>(at: Option<u64>, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        message: message.into(),
        at: at.and_then(|at| usize::try_from(at).ok()),
    })
}

/// What can be told from the text alone, before the recursive parser sees it.
pub(super) fn text(source: &str) -> Result<(), Refusal> {
    if source.len() > MAX_LENGTH {
        return refuse(
            None,
            format!(
                "an expression has at most {MAX_LENGTH} bytes, this one has {}",
                source.len()
            ),
        );
    }
    let mut depth = 0_usize;
    let mut unary = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (index, c) in source.chars().enumerate() {
        let at = u64::try_from(index).ok();
        if let Some(open) = quote {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == open {
                quote = None;
            }
            continue;
        }
        match c {
            '"' | '\'' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '`' => return refuse(at, "an expression has no backticks"),
            c if c.is_control() && !c.is_whitespace() => {
                return refuse(at, "an expression has no control characters");
            }
            _ => {}
        }
        unary = match c {
            '!' | '-' => unary + 1,
            c if c.is_whitespace() => unary,
            _ => 0,
        };
        if depth > MAX_BRACKETS {
            return refuse(at, format!("brackets nest at most {MAX_BRACKETS} deep"));
        }
        if unary > MAX_UNARY {
            return refuse(at, format!("at most {MAX_UNARY} signs in a row"));
        }
    }
    if quote.is_some() {
        return refuse(None, "a text in quotes is not closed");
    }
    Ok(())
}

/// An expression that is accepted.
pub(super) struct Accepted {
    /// The patterns of `matches`, which `@pattern0`, `@pattern1`, ... stand for.
    pub(super) patterns: Vec<Pattern>,
    /// Steps that one item of data can cost.
    pub(super) weight: u64,
}

/// Checks an expression, and puts compiled patterns in the place of `matches`. `place` tells where a node stands.
pub(super) fn walk(
    expr: &mut IdedExpr,
    place: &dyn Fn(u64) -> Option<u64>,
) -> Result<Accepted, Refusal> {
    let mut walker = Walker {
        patterns: Vec::new(),
        place,
        bound: Vec::new(),
    };
    walker.expr(expr, 0, 0)?;
    if let Some(what) = not_a_condition(&expr.expr) {
        return refuse(
            None,
            format!("an expression is a condition, true or false; this one is {what}"),
        );
    }
    let steps = cost(expr, TYPICAL_LIST);
    if steps > MAX_STEPS {
        let message = format!(
            "an expression takes at most {MAX_STEPS} steps where lists have {TYPICAL_LIST} items, this one takes {steps}"
        );
        return refuse(None, message);
    }
    Ok(Accepted {
        patterns: walker.patterns,
        weight: cost(expr, 1),
    })
}

/// Steps of one evaluation, if each list of the plan has `items` items. The depth is bounded by the walk.
fn cost(node: &IdedExpr, items: u64) -> u64 {
    let sum = |nodes: &[IdedExpr]| {
        nodes
            .iter()
            .map(|node| cost(node, items))
            .fold(0, u64::saturating_add)
    };
    let below = match &node.expr {
        Expr::Select(select) => cost(&select.operand, items),
        Expr::List(list) => sum(&list.elements),
        Expr::Call(call) => sum(&call.args).saturating_add(
            call.target
                .as_deref()
                .map_or(0, |target| cost(target, items)),
        ),
        Expr::Comprehension(one) => {
            let body = [&one.loop_cond, &one.loop_step]
                .map(|part| cost(part, items))
                .into_iter()
                .fold(0, u64::saturating_add);
            let rounds = longest_list(&one.iter_range).max(items);
            let once = [&one.iter_range, &one.accu_init, &one.result]
                .map(|part| cost(part, items))
                .into_iter()
                .fold(0, u64::saturating_add);
            once.saturating_add(body.saturating_mul(rounds))
        }
        _ => 0,
    };
    below.saturating_add(1)
}

/// What the expression is, when it can be told that it is not a condition.
fn not_a_condition(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Literal(LiteralValue::Boolean(_)) => None,
        Expr::Literal(_) => Some("a constant"),
        Expr::List(_) => Some("a list"),
        Expr::Comprehension(one) => matches!(one.accu_init.expr, Expr::List(_)).then_some("a list"),
        Expr::Call(call) => match call.func_name.as_str() {
            operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
            | operators::NEGATE => Some("a calculation"),
            "size" | "int" | "double" => Some("a number"),
            "string" => Some("a text"),
            _ => None,
        },
        _ => None,
    }
}

struct Walker<'p> {
    patterns: Vec<Pattern>,
    place: &'p dyn Fn(u64) -> Option<u64>,
    /// Names that comprehensions around this node define.
    bound: Vec<String>,
}

impl Walker<'_> {
    fn at(&self, id: u64) -> Option<u64> {
        (self.place)(id)
    }

    fn expr(
        &mut self,
        node: &mut IdedExpr,
        depth: usize,
        comprehensions: usize,
    ) -> Result<(), Refusal> {
        if depth > MAX_DEPTH {
            return refuse(
                self.at(node.id),
                format!("an expression nests at most {MAX_DEPTH} deep"),
            );
        }
        let at = self.at(node.id);
        let deeper = depth + 1;
        match &mut node.expr {
            Expr::Unspecified => refuse(at, "a part of the expression is missing"),
            Expr::Literal(LiteralValue::Bytes(_)) => refuse(at, "an expression has no bytes"),
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.name(name, at),
            Expr::Select(select) => self.expr(&mut select.operand, deeper, comprehensions),
            Expr::Struct(_) | Expr::Map(_) => refuse(at, "an expression builds no objects"),
            Expr::List(list) => {
                if list.elements.len() > MAX_LIST {
                    return refuse(
                        at,
                        format!(
                            "a list has at most {MAX_LIST} items, this one has {}",
                            list.elements.len()
                        ),
                    );
                }
                list.elements
                    .iter_mut()
                    .try_for_each(|item| self.expr(item, deeper, comprehensions))
            }
            Expr::Comprehension(one) => {
                let inner = comprehensions + 1;
                if inner > MAX_COMPREHENSIONS {
                    let message = format!(
                        "at most {MAX_COMPREHENSIONS} of `all`, `exists`, `map` and `filter` inside one another"
                    );
                    return refuse(at, message);
                }
                if adds(&one.iter_range) {
                    return refuse(
                        at,
                        "what `all`, `exists`, `map` or `filter` goes through is not the sum of lists",
                    );
                }
                // What it goes through is evaluated once, outside of the loop.
                self.expr(&mut one.iter_range, deeper, comprehensions)?;
                self.expr(&mut one.accu_init, deeper, comprehensions)?;
                self.bound
                    .extend([one.iter_var.clone(), one.accu_var.clone()]);
                self.bound.extend(one.iter_var2.clone());
                let added = 2 + usize::from(one.iter_var2.is_some());
                for part in [&mut one.loop_cond, &mut one.loop_step, &mut one.result] {
                    self.expr(part, deeper, inner)?;
                }
                self.bound.truncate(self.bound.len().saturating_sub(added));
                Ok(())
            }
            Expr::Call(call) => {
                if call.func_name == "matches" {
                    let (mut subject, pattern) = self.pattern(call, at)?;
                    self.expr(&mut subject, deeper, comprehensions)?;
                    let name = format!("@pattern{}", self.patterns.len());
                    self.patterns.push(pattern);
                    *call = CallExpr {
                        func_name: operators::IN.to_owned(),
                        target: None,
                        args: vec![
                            subject,
                            IdedExpr {
                                id: node.id,
                                expr: Expr::Ident(name),
                            },
                        ],
                    };
                    return Ok(());
                }
                self.function(&call.func_name, at)?;
                if let Some(target) = &mut call.target {
                    self.expr(target, deeper, comprehensions)?;
                }
                call.args
                    .iter_mut()
                    .try_for_each(|arg| self.expr(arg, deeper, comprehensions))
            }
        }
    }

    fn name(&self, name: &str, at: Option<u64>) -> Result<(), Refusal> {
        if VARIABLES.contains(&name) || self.bound.iter().any(|bound| bound == name) {
            return Ok(());
        }
        let near = nearest(
            name,
            VARIABLES
                .iter()
                .copied()
                .chain(self.bound.iter().map(String::as_str)),
        );
        let hint = near.map_or_else(
            || format!("; there are {}", VARIABLES.join(", ")),
            |near| did_you_mean(Some(near)),
        );
        refuse(at, format!("unknown name {}{hint}", quoted(name)))
    }

    fn function(&self, name: &str, at: Option<u64>) -> Result<(), Refusal> {
        if FUNCTIONS.contains(&name) || OPERATORS.contains(&name) {
            return Ok(());
        }
        let near = nearest(name, FUNCTIONS.iter().chain(MACROS).copied());
        let hint = near.map_or_else(
            || {
                format!(
                    "; there are {} and {}",
                    FUNCTIONS.join(", "),
                    MACROS.join(", ")
                )
            },
            |near| did_you_mean(Some(near)),
        );
        refuse(at, format!("unknown function {}{hint}", quoted(name)))
    }

    /// The text that is matched, and the compiled pattern.
    fn pattern(
        &self,
        call: &mut CallExpr,
        at: Option<u64>,
    ) -> Result<(IdedExpr, Pattern), Refusal> {
        let mut parts: Vec<IdedExpr> = call
            .target
            .take()
            .map(|target| *target)
            .into_iter()
            .chain(std::mem::take(&mut call.args))
            .collect();
        let (Some(regex), Some(subject), true) = (parts.pop(), parts.pop(), parts.is_empty())
        else {
            return refuse(at, "`matches` is written `text.matches(\"pattern\")`");
        };
        let Expr::Literal(LiteralValue::String(source)) = &regex.expr else {
            return refuse(
                self.at(regex.id).or(at),
                "the pattern of `matches` is a text in quotes",
            );
        };
        let source = source.inner();
        if source.len() > MAX_REGEX {
            return refuse(
                self.at(regex.id).or(at),
                format!(
                    "a pattern has at most {MAX_REGEX} bytes, this one has {}",
                    source.len()
                ),
            );
        }
        let built = regex::RegexBuilder::new(source)
            .size_limit(MAX_REGEX_SIZE)
            .dfa_size_limit(MAX_REGEX_SIZE)
            .nest_limit(16)
            .build();
        match built {
            Ok(built) => Ok((subject, Pattern(built))),
            Err(regex::Error::CompiledTooBig(_)) => refuse(
                self.at(regex.id).or(at),
                "this pattern is too big when it is compiled",
            ),
            Err(error) => {
                let text = error.to_string();
                let why = text
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ")
                    .to_owned();
                refuse(
                    self.at(regex.id).or(at),
                    format!("this is not a regular expression: {why}"),
                )
            }
        }
    }
}

/// The longest list written in an expression that a comprehension goes through.
fn longest_list(node: &IdedExpr) -> u64 {
    match &node.expr {
        Expr::List(list) => {
            let own = u64::try_from(list.elements.len()).unwrap_or(u64::MAX);
            list.elements.iter().map(longest_list).fold(own, u64::max)
        }
        Expr::Call(call) => call
            .target
            .iter()
            .map(|target| longest_list(target))
            .chain(call.args.iter().map(longest_list))
            .fold(0, u64::max),
        Expr::Select(select) => longest_list(&select.operand),
        Expr::Comprehension(one) => longest_list(&one.iter_range).max(longest_list(&one.loop_step)),
        _ => 0,
    }
}

/// Whether an expression adds anything up, also inside. Its depth is that of the parser, which is bounded by the text.
fn adds(node: &IdedExpr) -> bool {
    match &node.expr {
        Expr::Call(call) => {
            call.func_name == operators::ADD
                || call.target.iter().any(|target| adds(target))
                || call.args.iter().any(adds)
        }
        Expr::Select(select) => adds(&select.operand),
        Expr::List(list) => list.elements.iter().any(adds),
        Expr::Map(map) => map.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => adds(&entry.key) || adds(&entry.value),
            EntryExpr::StructField(field) => adds(&field.value),
        }),
        // The steps of a comprehension add its items up; only what it goes through counts.
        Expr::Comprehension(one) => adds(&one.iter_range),
        _ => false,
    }
}
