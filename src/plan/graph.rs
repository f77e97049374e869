//! The order in which the CLI acts: `depends_on` names entries of this plan and has no cycle.

use super::Entry;

/// What is wrong with the order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Entry `.0` depends, in its `depends_on[.1]`, on a node that is not in the plan.
    Missing(usize, usize),
    /// These entries depend on each other in a circle.
    Cycle(Vec<usize>),
}

/// Checks the order of entries that are sorted by key. No recursion: a hostile plan can be one long chain.
pub(super) fn check(entries: &[Entry]) -> Result<(), Fault> {
    let mut edges: Vec<Vec<usize>> = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let mut out = Vec::with_capacity(entry.depends_on.len());
        for (d, dependency) in entry.depends_on.iter().enumerate() {
            match entries.binary_search_by(|e| e.key.full().cmp(&dependency.node)) {
                Ok(to) => out.push(to),
                Err(_) => return Err(Fault::Missing(i, d)),
            }
        }
        edges.push(out);
    }
    // 0 = not seen, 1 = on the way, 2 = done
    let mut seen = vec![0_u8; entries.len()];
    let mut way: Vec<(usize, usize)> = Vec::new();
    for start in 0..entries.len() {
        if seen.get(start) != Some(&0) {
            continue;
        }
        mark(&mut seen, start, 1);
        way.push((start, 0));
        while let Some((node, next)) = way.last_mut() {
            let here = *node;
            let to = edges.get(here).and_then(|e| e.get(*next)).copied();
            *next += 1;
            match to {
                None => {
                    mark(&mut seen, here, 2);
                    way.pop();
                }
                Some(to) => match seen.get(to) {
                    Some(0) => {
                        mark(&mut seen, to, 1);
                        way.push((to, 0));
                    }
                    Some(1) => {
                        return Err(Fault::Cycle(
                            way.iter()
                                .map(|(n, _)| *n)
                                .skip_while(|n| *n != to)
                                .collect(),
                        ));
                    }
                    _ => {}
                },
            }
        }
    }
    Ok(())
}

fn mark(seen: &mut [u8], at: usize, value: u8) {
    if let Some(cell) = seen.get_mut(at) {
        *cell = value;
    }
}
