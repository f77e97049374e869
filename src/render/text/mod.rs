//! For a terminal or a log: one screen, the most dangerous first.

mod gate;
mod show;
mod verify;

use anstyle::{AnsiColor, Effects, Style};

use super::wrap::wrap;
use super::{DEFAULT_WIDTH, Options, escape, words};
use crate::policy::Level;
use crate::report::{Body, Exit, Finding, Report, Status, Verdict};

/// Narrower than this nothing can be read.
const MIN_WIDTH: usize = 20;

pub(super) fn render(report: &Report, options: &Options) -> String {
    let mut page = Page {
        out: String::new(),
        width: options.width.unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH),
        colour: options.colour,
    };
    match &report.body {
        Body::None => {
            head(&mut page, report);
            findings(&mut page, report, options.verbose);
            foot(&mut page, report, options.verbose);
        }
        Body::Show(body) => {
            head(&mut page, report);
            findings(&mut page, report, options.verbose);
            show::show(&mut page, body, options.verbose);
            foot(&mut page, report, options.verbose);
        }
        Body::Deploy(body) => {
            verify::deploy(&mut page, report, body, options.verbose);
            page.gap();
            facts(&mut page, report);
            denied(&mut page, report, options.verbose);
        }
        Body::Verify(body) => {
            verify::verify(&mut page, report.exit_code, body, options.verbose);
            page.gap();
            facts(&mut page, report);
        }
        Body::Digest(body) => gate::digest(&mut page, body),
        Body::Authorize(body) => {
            gate::authorize(&mut page, report, body, options.verbose);
            facts(&mut page, report);
            denied(&mut page, report, options.verbose);
        }
    }
    escape::log(&page.out)
}

/// The page as it grows. Everything foreign comes in through [`Page::line`], which escapes it.
pub(super) struct Page {
    out: String,
    width: usize,
    colour: bool,
}

impl Page {
    /// One logical line: `first` (our own text) in `style`, then foreign text made visible and wrapped.
    pub(super) fn line(&mut self, first: &str, style: Style, text: &str) {
        let text = escape::terminal(text);
        let indent = first.len() - first.trim_start().len();
        let rest = " ".repeat(indent + 2);
        if self.colour && !first.trim().is_empty() {
            let mut body = String::new();
            wrap(&mut body, &text, self.width, first, &rest);
            let painted = format!("{style}{}{style:#}", first.trim_end());
            let tail = body.get(first.trim_end().len()..).unwrap_or_default();
            self.out.push_str(&painted);
            self.out.push_str(tail);
        } else {
            wrap(&mut self.out, &text, self.width, first, &rest);
        }
    }

    /// One line of a diff, not wrapped: a break would look like a line of its own. Pieces that differ are underlined.
    pub(super) fn pieces(&mut self, first: &str, style: Style, parts: &[(bool, String)]) {
        if !self.colour {
            self.out.push_str(first);
            for (_, text) in parts {
                self.out.push_str(&escape::terminal(text));
            }
        } else {
            let changed = style.effects(style.get_effects() | Effects::UNDERLINE);
            self.out.push_str(&format!("{style}{first}{style:#}"));
            for (differs, text) in parts {
                let style = if *differs { changed } else { style };
                self.out
                    .push_str(&format!("{style}{}{style:#}", escape::terminal(text)));
            }
        }
        self.out.push('\n');
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.out.push('\n');
    }
}

/// The style of a level.
fn style_of(level: Level) -> Style {
    match level {
        Level::Deny => AnsiColor::Red.on_default().effects(Effects::BOLD),
        Level::Review => AnsiColor::Yellow.on_default().effects(Effects::BOLD),
        Level::Warn => AnsiColor::Cyan.on_default(),
        Level::Note | Level::Off => Style::new().effects(Effects::DIMMED),
    }
}

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().effects(Effects::DIMMED);

fn head(page: &mut Page, report: &Report) {
    let style = match (words::is_judged(report), report.verdict) {
        (false, _) => Style::new().effects(Effects::BOLD),
        (_, Verdict::Closed) => style_of(Level::Deny),
        (_, Verdict::Review) => style_of(Level::Review),
        (_, Verdict::Open) => AnsiColor::Green.on_default().effects(Effects::BOLD),
    };
    page.line(
        &format!("{}: ", words::verdict_word(report)),
        style,
        &words::verdict(report),
    );
    let next = words::next(report);
    if !next.is_empty() {
        page.line("  ", PLAIN, next);
    }
    page.gap();
    facts(page, report);
}

/// What was judged.
fn facts(page: &mut Page, report: &Report) {
    page.line(
        "plan    ",
        DIM,
        &format!("{} ({})", report.plan.path, words::plan_facts(report)),
    );
    page.line(
        "target  ",
        DIM,
        report.target.as_deref().unwrap_or("not known"),
    );
    if let Some(policy) = &report.policy {
        page.line(
            "policy  ",
            DIM,
            &format!(
                "{} (sha256 {})",
                policy.source,
                words::short(&policy.sha256)
            ),
        );
    }
    page.line("does    ", DIM, &words::counts(&report.summary));
}

/// What the policy forbids, where that is why the answer is no.
fn denied(page: &mut Page, report: &Report, verbose: bool) {
    if report.exit_code == Exit::Closed.code() {
        findings(page, report, verbose);
    }
}

fn findings(page: &mut Page, report: &Report, verbose: bool) {
    let parts = words::parts(report);
    let mut told = words::Told::default();
    // The checks that say no are told with the answer.
    for f in parts.single.iter().filter(|f| !f.is_refusal()) {
        page.gap();
        finding(page, f, &mut told, verbose);
    }
    if parts.standing.is_empty() {
        return;
    }
    page.gap();
    page.line(
        "standing weaknesses: ",
        Style::new().effects(Effects::BOLD),
        "this plan leaves them as they are",
    );
    if verbose {
        for f in report
            .findings
            .iter()
            .filter(|f| f.standing && f.level < Level::Review && f.status != Status::Waived)
        {
            page.gap();
            finding(page, f, &mut told, true);
        }
        return;
    }
    for group in &parts.standing {
        let first = format!("  {} ", group.level);
        page.line(
            &first,
            style_of(group.level),
            &format!("{}: {}", group.rule, group.resources.join(", ")),
        );
    }
}

fn finding<'r>(page: &mut Page, f: &'r Finding, told: &mut words::Told<'r>, verbose: bool) {
    let mut title = format!("{}  {}", f.rule, words::subject(f));
    match f.status {
        Status::Fired => {}
        Status::Unknown => title.push_str("  (cannot tell)"),
        Status::Waived => title.push_str(&format!("  ({})", f.level)),
    }
    if let Some(place) = words::place(f) {
        title.push_str(&format!("  ({place})"));
    }
    if f.status == Status::Waived {
        page.line("waived ", DIM, &title);
    } else {
        page.line(&format!("{} ", f.level), style_of(f.level), &title);
    }
    page.line("  ", PLAIN, &f.message);
    if let Some(waiver) = words::waiver(f) {
        page.line("  waived by: ", DIM, &waiver);
    }
    match told.by(f) {
        Some(other) if !verbose => {
            if other != words::subject(f) {
                page.line("  why, do: ", DIM, &format!("as for {other}"));
            }
        }
        _ => {
            page.line("  why: ", DIM, &f.impact);
            page.line("  do:  ", DIM, &f.remedy);
        }
    }
    if verbose {
        for (label, value) in [
            ("  last deploy: ", &f.old),
            ("  this deploy: ", &f.new),
            ("  workspace:   ", &f.remote),
        ] {
            if let Some(value) = value {
                page.line(label, DIM, &words::value(value));
            }
        }
        if let Some(path) = &f.path {
            page.line("  field: ", DIM, path);
        }
        page.line("  fingerprint: ", DIM, &f.fingerprint);
    }
}

fn foot(page: &mut Page, report: &Report, verbose: bool) {
    if let Some(text) = words::not_run(&report.not_run) {
        page.gap();
        page.line("did not run: ", DIM, &text);
    }
    if verbose {
        page.gap();
        for (name, digest) in &report.inputs {
            page.line("input ", DIM, &format!("{name} sha256 {digest}"));
        }
        if let Some(intent) = &report.plan.intent {
            page.line("intent ", DIM, intent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn one_screen() {
        insta::assert_snapshot!(render(&sample::report(), &Options::default()), @r#"
closed: 2 findings forbid this deploy, 1 more needs a review
  No approval lifts a deny: change what those findings name, and plan again.

plan    plan.json (CLI 1.13.0, serial 7, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 delete, 2 update, 1 skip

deny destroy  schemas.orders  (databricks.yml:12:5)
  The plan deletes it.
  why: All its data goes.
  do:  Keep it in the bundle.

deny destroy  volumes.raw
  The plan deletes it.
  why, do: as for schemas.orders

review run-as-change  jobs.nightly  (cannot tell)
  Whether the identity changes waits for ${resources.apps.a.id}.
  why: All its data goes.
  do:  Keep it in the bundle.

waived recreate  catalogs.main  (review)
  The plan deletes it and makes it again.
  waived by: platform until 2027-01-31 (cli issue 4625, DATA-7)
  why: All its data goes.
  do:  Keep it in the bundle.

standing weaknesses: this plan leaves them as they are
  warn cascade-unset: pipelines.clicks, pipelines.orders

did not run: missing-remote (give --state)
"#);
    }

    #[test]
    fn verbose_says_everything() {
        let options = Options {
            verbose: true,
            ..Options::default()
        };
        insta::assert_snapshot!(render(&sample::with(vec![sample::finding(Level::Review, "recreate", Some("jobs.a"), "It is made again.")]), &options), @r#"
review: 1 finding needs a person's approval of exactly this plan
  Change what the findings name and plan again, or have exactly this plan approved.

plan    plan.json (CLI 1.13.0, serial 7, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 delete, 2 update, 1 skip

review recreate  jobs.a
  It is made again.
  why: All its data goes.
  do:  Keep it in the bundle.
  fingerprint: 392a2d9265fd2e3f3081f66afaf8dc55bbebc4b0a740946847863f8e1a583801

did not run: missing-remote (give --state)

input plan sha256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"#);
    }

    #[test]
    fn colour_only_when_asked_and_only_around_our_own_words() {
        let plain = render(&sample::report(), &Options::default());
        assert!(!plain.contains('\u{1b}'));
        let coloured = render(
            &sample::report(),
            &Options {
                colour: true,
                ..Options::default()
            },
        );
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
        assert_ne!(coloured, plain);
    }

    #[test]
    fn twenty_columns() {
        for width in [0, 1, 20] {
            let text = render(
                &sample::report(),
                &Options {
                    width: Some(width),
                    ..Options::default()
                },
            );
            assert!(text.lines().all(|l| l.width() <= 24), "{text}");
        }
    }
}
