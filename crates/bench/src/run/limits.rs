//! What a run was limited by.

use std::time::Duration;

use crate::account::Costs;
use crate::driver::Pace;
use crate::number::as_f64;
use crate::target::Keeper;

/// Of the cores, in use: so much is all of them.
const ALL: f64 = 0.9;

/// What there is to say about it.
pub(super) struct Limits<'a> {
    pub(super) costs: &'a Costs,
    pub(super) elapsed: Duration,
    pub(super) pace: Pace,
    pub(super) keeper: Keeper,
    /// Why the CPU of the server is not known, if it is not.
    pub(super) why_unaccounted: &'static str,
}

impl Limits<'_> {
    /// In a sentence, on a machine of so many cores. What else runs there is not in it.
    pub(super) fn told(&self, cores: usize) -> String {
        let Self { costs, elapsed, pace, keeper, why_unaccounted } = *self;
        let share = |spent: Duration| spent.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let driver = share(costs.driver_cpu);
        let Some(server) = costs.server_cpu.map(share) else {
            return format!("unknown: {why_unaccounted}; driver {driver:.2} cores");
        };
        if costs.resolution().is_some_and(|resolution| resolution.is_short(elapsed)) {
            return "unknown: too short to count CPU".to_owned();
        }
        let postgres = costs.postgres_cpu.map(share);
        let used = server + postgres.unwrap_or_default() + driver;
        let told = postgres.map_or_else(String::new, |postgres| format!(", PostgreSQL {postgres:.2}"));
        let told = format!("{used:.2} of {cores} cores in use: server {server:.2}{told}, driver {driver:.2}");
        let what = match pace {
            _ if used >= ALL * as_f64(cores as u64) => "CPU",
            _ if costs.together(keeper).is_none() => "unknown: the CPU of the database is not known",
            Pace::Open { .. } => "the pace that was asked for",
            Pace::Closed => "waiting: for commits, for locks, for other programs, or for more users",
        };
        format!("{what}; {told}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn costs(server: u64, postgres: u64, driver: u64) -> Costs {
        let spent = Duration::from_millis;
        let (server_cpu, postgres_cpu) = (Some(spent(server)), Some(spent(postgres)));
        Costs { server_cpu, postgres_cpu, driver_cpu: spent(driver), ..Costs::default() }
    }

    /// Of a second on two cores.
    fn told(costs: &Costs, pace: Pace, keeper: Keeper) -> String {
        let why_unaccounted = "the server has ended";
        Limits { costs, elapsed: SECOND, pace, keeper, why_unaccounted }.told(2)
    }

    #[test]
    fn cores_that_are_all_in_use_are_the_limit() {
        let said = told(&costs(1100, 200, 600), Pace::Closed, Keeper::Others);
        assert_eq!(said, "CPU; 1.90 of 2 cores in use: server 1.10, PostgreSQL 0.20, driver 0.60");
    }

    #[test]
    fn idle_cores_wait_for_something_or_for_the_next_turn() {
        let idle = costs(300, 100, 100);
        let said = told(&idle, Pace::Closed, Keeper::Others);
        assert!(said.starts_with("waiting: for commits"), "{said}");
        let said = told(&idle, Pace::Open { rate: 100.0 }, Keeper::Others);
        assert!(said.starts_with("the pace that was asked for; 0.50 of 2 cores"), "{said}");
    }

    #[test]
    fn a_server_whose_cpu_is_not_known_leaves_it_unknown_and_why_is_told() {
        let costs = Costs { driver_cpu: SECOND, ..Costs::default() };
        let said = told(&costs, Pace::Closed, Keeper::Others);
        assert_eq!(said, "unknown: the server has ended; driver 1.00 cores");
    }

    #[test]
    fn a_run_that_is_over_before_any_cpu_is_counted_was_limited_by_who_knows_what() {
        let limits = |costs: &Costs, elapsed| {
            let (pace, keeper) = (Pace::Closed, Keeper::Others);
            Limits { costs, elapsed, pace, keeper, why_unaccounted: "" }.told(2)
        };
        let brief = Duration::from_millis(40);
        assert_eq!(limits(&costs(10, 0, 10), brief), "unknown: too short to count CPU");
        assert!(limits(&costs(70, 0, 10), brief).starts_with("CPU; "), "that is more than one core");
        assert!(limits(&costs(10, 0, 10), SECOND).starts_with("waiting: "), "it had the time for more");
    }

    #[test]
    fn cores_that_a_database_may_use_are_not_taken_for_idle() {
        let costs = Costs { postgres_cpu: None, ..costs(300, 0, 100) };
        let said = told(&costs, Pace::Closed, Keeper::Others);
        assert!(said.starts_with("unknown: the CPU of the database is not known; 0.40 of 2"), "{said}");
        let said = told(&costs, Pace::Closed, Keeper::Server);
        assert!(said.starts_with("waiting: for commits"), "it is SQLite: {said}");
    }
}
