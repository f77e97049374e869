//! What the tests of this module share.

use super::*;
use crate::approval::testing;

/// Facts that the approvals of [`testing`] are about.
pub(crate) fn facts() -> Facts {
    let a = testing::approval();
    Facts {
        now: testing::time("2026-11-30T12:00:00Z"),
        plan: Sha256Hex::of(b"plan"),
        intent: a.intent,
        inputs: a.inputs,
        source: a.source,
        unbound: Vec::new(),
        policy: a.policy,
        deployment: a.deployment,
        cli_version: a.cli_version,
        verdict: Verdict::Review,
        denied: Vec::new(),
        to_accept: a.accepted,
        first_deploy_proof: None,
        ci: None,
        author: Vec::new(),
        actor: Vec::new(),
        witnessed: Vec::new(),
        platforms: Platforms::default(),
    }
}

/// The checks that say no, each with its exit code.
pub(crate) fn refused(decision: &Decision) -> Vec<(&'static str, u8)> {
    decision
        .refusals()
        .map(|c| (c.check, c.exit_code))
        .collect()
}
