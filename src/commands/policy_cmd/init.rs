//! `policy init`: a commented policy for one bundle.

use std::io::{self, BufRead, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::super::Failure;
use super::super::args::Globals;
use super::super::policy::{FILE_NAME, read_bounded};
use crate::bundle::{Bundle, State};
use crate::host::{files, out};
use crate::input::load_one;
use crate::json::Limits;
use crate::plan;
use crate::policy::{PolicyRef, load};
use crate::policy_init::{Facts, draft};
use crate::report::Exit;
use crate::rules::known;
use crate::text::visible;

/// Write a policy for a bundle: its target, workspace, identities, and what holds data
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  databricks bundle validate -o json -t prod > bundle.json
  bundlegate policy init --bundle bundle.json
  bundlegate policy init --bundle bundle.json --plan plan.json --state state.json --extends production --yes
  bundlegate policy init --bundle bundle.json --out -

On a terminal it asks for what is not given; with --yes, or without a terminal, it takes the defaults.
A file that is there is never overwritten.")]
pub(super) struct InitArgs {
    /// Bundle JSON of the target: `databricks bundle validate -o json`, or `databricks bundle summary -o json`
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// A plan for it: the CLI version, the identities that are deployed
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// The deployed state: resources.json
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Where to write it; `-`: standard output [default: bundlegate.yml]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What it starts from: production, staging, development, or a policy by its path from the new file [default: production]
    #[arg(long, value_name = "POLICY")]
    extends: Option<String>,
    /// Ask nothing
    #[arg(short, long)]
    yes: bool,
}

/// What is asked for, or given.
#[derive(Debug, PartialEq, Eq)]
struct Answers {
    bundle: PathBuf,
    plan: Option<PathBuf>,
    state: Option<PathBuf>,
    out: PathBuf,
    extends: String,
}

pub(super) fn run(args: &InitArgs, globals: Globals) -> Result<Exit, Failure> {
    let mut asker = Asker {
        from: (!args.yes && io::stdin().is_terminal() && out::stderr_is_terminal())
            .then(|| io::stdin().lock()),
        say: &mut |text| out::stderr(text),
    };
    let answers = asker.answers(args)?;
    let to_stdout = answers.out.as_os_str() == "-";
    if !to_stdout && answers.out.symlink_metadata().is_ok() {
        return Err(taken(&answers.out));
    }
    let limits = Limits::default();
    let bundle = load_one(&answers.bundle, &limits, Bundle::read)?;
    let plan = answers.plan.as_ref();
    let plan = plan
        .map(|path| load_one(path, &limits, plan::read))
        .transpose()?;
    let state = answers.state.as_ref();
    let state = state
        .map(|path| load_one(path, &limits, State::read))
        .transpose()?;
    let facts = Facts {
        bundle: &bundle,
        plan: plan.as_ref(),
        state: state.as_ref(),
    };
    let text = draft(&facts, &answers.extends);
    check(&answers, &text, globals)?;
    if to_stdout {
        super::print(&text, globals)?;
        return Ok(Exit::Open);
    }
    files::write_new(&answers.out, text.as_bytes()).map_err(|e| match e {
        files::Error::Taken => taken(&answers.out),
        e => Failure::input(format!("error: {}: {e}", shown(&answers.out))),
    })?;
    let done = format!(
        "{} is written. Read it, then:\n  bundlegate policy validate {0}\n  bundlegate check PLAN --bundle {} -p {0}\n",
        shown(&answers.out),
        shown(&answers.bundle)
    );
    super::print(&done, globals)?;
    Ok(Exit::Open)
}

fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}

fn taken(path: &Path) -> Failure {
    Failure::input(format!(
        "error: {}: expected no file at this path, found one; it is not overwritten\n  help: write elsewhere with --out FILE, or to standard output with --out -",
        shown(path)
    ))
}

/// The draft has to be a policy: what is wrong with it is wrong with what it extends.
fn check(answers: &Answers, text: &str, globals: Globals) -> Result<(), Failure> {
    let path = if answers.out.as_os_str() == "-" {
        Path::new(FILE_NAME)
    } else {
        &answers.out
    };
    let colour = globals.colour(out::stderr_is_terminal());
    let mut first = true;
    let mut read = |file: &Path| {
        if std::mem::take(&mut first) {
            Ok(text.to_owned())
        } else {
            read_bounded(file)
        }
    };
    // By its path, also where it is called like an embedded policy.
    match load(&PolicyRef::File(path.to_owned()), &known(), &mut read) {
        Ok(_) => Ok(()),
        Err(crate::policy::PolicyError::Invalid(diagnostics)) => Err(Failure::input(format!(
            "{}\n\nerror: nothing is written: the policy could not be used",
            diagnostics.render(colour)
        ))),
        Err(e) => Err(Failure::input(format!("error: {e}"))),
    }
}

/// Asks on a terminal; without one every answer is the usual one.
struct Asker<'s, R> {
    from: Option<R>,
    say: &'s mut dyn FnMut(&str),
}

impl<R: BufRead> Asker<'_, R> {
    fn answers(&mut self, args: &InitArgs) -> Result<Answers, Failure> {
        let bundle = self.path(
            args.bundle.as_ref(),
            "Bundle JSON of the target (databricks bundle validate -o json -t TARGET)",
        )?;
        let Some(bundle) = bundle else {
            return Err(Failure::input(
                "error: expected --bundle FILE, found none\n  help: write it with `databricks bundle validate -o json -t TARGET > bundle.json`",
            ));
        };
        let none = " (Enter: none)";
        let plan = self.path(args.plan.as_ref(), &format!("A plan for it{none}"))?;
        let state = self.path(
            args.state.as_ref(),
            &format!("The deployed state, resources.json{none}"),
        )?;
        let extends = match &args.extends {
            Some(given) => given.clone(),
            None => self
                .ask("Start from production, staging, development or a policy file (Enter: production)")?
                .unwrap_or_else(|| "production".to_owned()),
        };
        let out = self.path(
            args.out.as_ref(),
            &format!("Write it to (Enter: {FILE_NAME})"),
        )?;
        Ok(Answers {
            bundle,
            plan,
            state,
            out: out.unwrap_or_else(|| PathBuf::from(FILE_NAME)),
            extends,
        })
    }

    fn path(
        &mut self,
        given: Option<&PathBuf>,
        question: &str,
    ) -> Result<Option<PathBuf>, Failure> {
        match given {
            Some(path) => Ok(Some(path.clone())),
            None => Ok(self.ask(question)?.map(PathBuf::from)),
        }
    }

    /// The answer; `None`: nothing was said, or there is nobody to ask.
    fn ask(&mut self, question: &str) -> Result<Option<String>, Failure> {
        let Some(from) = &mut self.from else {
            return Ok(None);
        };
        (self.say)(&format!("{question}: "));
        let mut line = String::new();
        let read = from
            .read_line(&mut line)
            .map_err(|e| Failure::input(format!("error: standard input: {e}")))?;
        if read == 0 {
            return Err(Failure::input(
                "\nerror: expected an answer, found the end of the input; nothing is written",
            ));
        }
        Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> InitArgs {
        InitArgs {
            bundle: None,
            plan: None,
            state: None,
            out: None,
            extends: None,
            yes: false,
        }
    }

    fn answers(input: Option<&str>, args: &InitArgs) -> (Result<Answers, String>, String) {
        let mut said = String::new();
        let answers = Asker {
            from: input.map(str::as_bytes),
            say: &mut |text| said.push_str(text),
        }
        .answers(args);
        (answers.map_err(|f| f.message), said)
    }

    #[test]
    fn it_asks_for_what_is_missing_and_enter_is_the_default() {
        let (found, said) = answers(Some(" b.json \n\ns.json\nstaging\n\n"), &args());
        assert_eq!(
            found,
            Ok(Answers {
                bundle: "b.json".into(),
                plan: None,
                state: Some("s.json".into()),
                out: FILE_NAME.into(),
                extends: "staging".to_owned(),
            })
        );
        assert_eq!(
            said.matches("): ").count(),
            5,
            "a question for each of them: {said}"
        );
        assert!(said.ends_with("Write it to (Enter: bundlegate.yml): "));
    }

    #[test]
    fn what_is_given_is_not_asked() {
        let given = InitArgs {
            bundle: Some("b.json".into()),
            plan: Some("p.json".into()),
            state: Some("s.json".into()),
            out: Some("x.yml".into()),
            extends: Some("base.yml".to_owned()),
            yes: false,
        };
        let (found, said) = answers(Some(""), &given);
        assert_eq!(
            (found.map(|a| a.extends), said.as_str()),
            (Ok("base.yml".to_owned()), "")
        );
    }

    #[test]
    fn without_a_terminal_a_bundle_must_be_given() {
        let (found, said) = answers(None, &args());
        assert!(found.unwrap_err().contains("--bundle"));
        assert_eq!(said, "");
    }

    #[test]
    fn the_end_of_the_input_is_no_answer() {
        let (found, _) = answers(Some("b.json\n"), &args());
        assert!(found.unwrap_err().contains("nothing is written"));
    }
}
