//! The order in which the CLI acts. Source: databricks/cli, bundle/direct/graph.go: a node comes after those that it depends on;
//! a node that is deleted comes before them.

use crate::effect::World;
use crate::plan::Action;
use crate::secret::hide;

/// The steps, by short key; entries that are left alone are not among them, but what waits through them still waits.
pub(super) fn steps(world: &World<'_>) -> Vec<Vec<String>> {
    let effects = world.effects();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); effects.len()];
    let mut waits: Vec<usize> = vec![0; effects.len()];
    for (i, e) in effects.iter().enumerate() {
        for d in &e.entry.depends_on {
            let Ok(node) = effects.binary_search_by(|o| o.key().full().cmp(&d.node)) else {
                continue;
            };
            let (first, second) = if e.action() == Action::Delete {
                (i, node)
            } else {
                (node, i)
            };
            if let (Some(list), Some(n)) = (after.get_mut(first), waits.get_mut(second)) {
                list.push(second);
                *n += 1;
            }
        }
    }
    let mut steps = Vec::new();
    let mut ready: Vec<usize> = waits
        .iter()
        .enumerate()
        .filter(|(_, n)| **n == 0)
        .map(|(i, _)| i)
        .collect();
    while !ready.is_empty() {
        let mut next = Vec::new();
        let mut step = Vec::new();
        for i in ready {
            if let Some(e) = effects.get(i).filter(|e| e.action() != Action::Skip) {
                step.push(hide(e.key().short()));
            }
            for j in after.get(i).into_iter().flatten() {
                if let Some(n) = waits.get_mut(*j) {
                    *n -= 1;
                    if *n == 0 {
                        next.push(*j);
                    }
                }
            }
        }
        next.sort_unstable();
        if !step.is_empty() {
            steps.push(step);
        }
        ready = next;
    }
    steps
}
