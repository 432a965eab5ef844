//! What a server may take before it is asked for anything, and whether it does.

use super::AtRest;
use super::number::shown;
use crate::endurance::Verdict;
use crate::number::as_f64;

const MEGABYTE: f64 = 1e6;
/// Milliseconds.
const START: f64 = 1_000.0;
/// Megabytes.
const MEMORY: f64 = 64.0;
/// Percent of a core.
const CPU: f64 = 0.5;

/// What must hold of a server that was started for a run. What is not known is not judged; the size of the program has no bound.
pub(super) fn verdicts(at_rest: &AtRest) -> Vec<Verdict> {
    let judged = |claim: String, bound: f64, unit: &str, seen: Option<f64>| {
        let verdict =
            |seen: f64| Verdict { claim, holds: Some(seen < bound), seen: format!("{} {unit}", shown(seen)) };
        seen.map(verdict)
    };
    let resident = at_rest.idle_resident.map(|bytes| as_f64(bytes) / MEGABYTE);
    let started = format!("ready in less than {} ms, schema included", shown(START));
    [
        judged(started, START, "ms", at_rest.start_ms),
        judged(format!("less than {MEMORY} MB resident while idle"), MEMORY, "MB", resident),
        judged(format!("less than {CPU} % of a core while idle"), CPU, "%", at_rest.idle_cpu_percent),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_at_rest_is_judged_by_its_start_its_memory_and_its_cpu() {
        let good = AtRest {
            start_ms: Some(486.4),
            idle_cpu_percent: Some(0.29),
            idle_resident: Some(37_700_000),
            program_bytes: Some(14_000_000),
        };
        let told = |at_rest: &AtRest| -> Vec<_> {
            verdicts(at_rest).into_iter().map(|one| (one.claim, one.holds, one.seen)).collect()
        };
        let said = |claim: &str, holds, seen: &str| (claim.to_owned(), Some(holds), seen.to_owned());
        assert_eq!(
            told(&good),
            [
                said("ready in less than 1,000 ms, schema included", true, "486 ms"),
                said("less than 64 MB resident while idle", true, "37.7 MB"),
                said("less than 0.5 % of a core while idle", true, "0.29 %"),
            ]
        );
        let much = AtRest {
            start_ms: Some(1_000.0),
            idle_cpu_percent: Some(0.5),
            idle_resident: Some(64_000_000),
            ..good
        };
        assert!(told(&much).into_iter().all(|(_, holds, _)| holds == Some(false)), "less, not as much");
    }

    #[test]
    fn what_is_not_known_of_a_server_at_rest_is_not_judged() {
        let started = AtRest { start_ms: Some(500.0), ..AtRest::default() };
        assert_eq!(verdicts(&started).len(), 1);
        assert_eq!(verdicts(&AtRest::default()), []);
    }
}
