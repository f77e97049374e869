//! `rules [ID]`: list the rules, explain one.

use clap::Args;

use super::Failure;
use super::args::Globals;
use crate::report::Exit;
use crate::rules::{self, RULES};
use crate::text::{nearest, quoted};

/// List the rules, or explain one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate rules
  bundlegate rules run-as-drift
  bundlegate rules -o json")]
pub(super) struct RulesArgs {
    /// The rule to explain
    id: Option<String>,
    /// Output: text or json
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    output: String,
}

pub(super) fn run(args: &RulesArgs, globals: Globals) -> Result<Exit, Failure> {
    let json = args.output == "json";
    let text = match &args.id {
        Some(id) => {
            let rule = rules::find(id).ok_or_else(|| {
                let hint = nearest(id, RULES.iter().map(|r| r.doc().id)).map_or(String::new(), |n| format!("; did you mean {n}?"));
                Failure::input(format!("error: expected the id of a rule, found {}{hint}\n  help: `bundlegate rules` lists them", quoted(id)))
            })?;
            if json {
                rules::docs::json(&[rule])
            } else {
                rules::docs::page(rule)
            }
        }
        None if json => rules::docs::json(RULES),
        None => rules::docs::list(),
    };
    if !globals.quiet {
        super::print(&text)?;
    }
    Ok(Exit::Open)
}
