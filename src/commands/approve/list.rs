//! `approve --list PLAN` and `approve --show FILE`.

use std::path::Path;

use jiff::Timestamp;

use super::{say, shown};
use crate::approval::statement::{Decision, SourceTree};
use crate::approval::{Envelope, Sha256Hex};
use crate::commands::Failure;
use crate::commands::args::Globals;
use crate::commands::subject::SubjectArgs;
use crate::commands::trust::{Strictness, failure};
use crate::host::{approval_files, out};
use crate::input;
use crate::report::Exit;
use crate::text::visible;

/// Every approval in the folder: whose it is, whether its signature counts, whether it is about this plan.
pub(super) fn list(args: &SubjectArgs, globals: Globals) -> Result<Exit, Failure> {
    let loaded = input::load(&args.inputs.paths(), &args.inputs.limits())?;
    let plan = Sha256Hex::of(&loaded.plan_bytes);
    let trusted = args.trust.load(
        &args.source,
        Strictness::Person,
        globals.colour(out::stderr_is_terminal()),
    )?;
    let folder = args.folder();
    let files = approval_files::read_folder(&folder).map_err(|e| failure(&e))?;
    let mut text = String::new();
    if files.is_empty() {
        text.push_str(&format!("no approvals in {}\n", shown(&folder)));
    }
    for file in &files {
        text.push_str(&format!("{}\n", visible(&file.name)));
        match &file.content {
            Err(refusal) => text.push_str(&format!(
                "  unreadable: {}\n",
                visible(&refusal.to_string())
            )),
            Ok(envelope) => {
                let about = match envelope.statement().plan() {
                    Ok(digest) if *digest == plan => "this plan".to_owned(),
                    Ok(digest) => format!("another plan, {}", digest.short()),
                    Err(error) => error.to_string(),
                };
                text.push_str(&format!("  {}\n  about: {about}\n", summary(envelope)));
                let signature = match &trusted.signers {
                    None => "not checked: the policy accepts no SSH signature".to_owned(),
                    Some(signers) => match envelope.verify(signers.trust(), Timestamp::now()) {
                        Ok(signer) => format!("{} of {} counts", signer.key, signer.principal),
                        Err(error) => error.to_string(),
                    },
                };
                text.push_str(&format!("  signature: {}\n", visible(&signature)));
            }
        }
    }
    say(globals, &text)?;
    Ok(Exit::Open)
}

fn summary(envelope: &Envelope) -> String {
    let said = &envelope.statement().predicate;
    let decision = match said.decision {
        Decision::Approve => format!("approved until {}", said.expires),
        Decision::Reject => "rejected".to_owned(),
    };
    format!("{decision} by {} at {}", visible(&said.approver), said.time)
}

/// One approval, whole.
pub(super) fn show(path: &Path, globals: Globals) -> Result<Exit, Failure> {
    let envelope = approval_files::read_file(path).map_err(|refusal| {
        Failure::input(format!(
            "error: {}: {}",
            shown(path),
            visible(&refusal.to_string())
        ))
    })?;
    let statement = envelope.statement();
    let said = &statement.predicate;
    let none = || "none".to_owned();
    let tree = match &said.source.tree {
        SourceTree::Git {
            commit,
            folder,
            clean,
            ..
        } => {
            format!(
                "commit {commit}{}{}",
                if folder.is_empty() { "" } else { ", folder " },
                visible(folder)
            ) + if *clean { ", clean" } else { ", with changes" }
        }
        SourceTree::Manifest { sha256, files } => format!("manifest {sha256} of {files} files"),
    };
    let plan = statement.plan().map_err(|e| failure(&e))?;
    let mut lines = vec![
        ("decision", summary(&envelope)),
        ("plan", plan.to_string()),
        ("intent", said.intent.to_string()),
        ("bundle", visible(&said.deployment.bundle)),
        ("target", visible(&said.deployment.target)),
        ("host", visible(&said.deployment.host)),
        ("root path", visible(&said.deployment.root_path)),
        (
            "lineage",
            said.deployment
                .lineage
                .as_deref()
                .map_or_else(|| "none: a first deploy".to_owned(), visible),
        ),
        (
            "serial",
            said.deployment.serial.map_or_else(none, |s| s.to_string()),
        ),
        (
            "CLI",
            said.cli_version.as_deref().map_or_else(none, visible),
        ),
        (
            "policy",
            format!("{} {}", visible(&said.policy.path), said.policy.sha256),
        ),
        ("source", tree),
    ];
    lines.extend(said.source.artifacts.iter().map(|artifact| {
        (
            "built",
            format!("{} {}", visible(&artifact.path), artifact.sha256),
        )
    }));
    for (name, digest) in [
        ("bundle JSON", &said.inputs.bundle),
        ("base bundle", &said.inputs.base_bundle),
        ("state", &said.inputs.state),
        ("warnings", &said.inputs.warnings),
    ] {
        lines.extend(digest.iter().map(|digest| (name, digest.to_string())));
    }
    lines.extend(
        said.accepted
            .iter()
            .map(|fingerprint| ("accepted", fingerprint.to_string())),
    );
    lines.extend(said.reason.iter().map(|text| ("reason", visible(text))));
    lines.extend(said.ticket.iter().map(|text| ("ticket", visible(text))));
    lines.extend(said.ci.iter().map(|run| {
        (
            "CI run",
            visible(&format!(
                "{} {} run {} attempt {} ({})",
                run.provider, run.repository, run.run_id, run.attempt, run.url
            )),
        )
    }));
    lines.push((
        "signature",
        format!(
            "by {}; whether it holds and counts is what `authorize` and `approve --list` say",
            envelope.key()
        ),
    ));
    let text: String = lines
        .iter()
        .map(|(name, value)| format!("{name:<12}{value}\n"))
        .collect();
    say(globals, &text)?;
    Ok(Exit::Open)
}
