//! What an operation may cost, and whether it does.
//!
//! Absolute rates swing with the machine, so a target is a cost in floors, at 256 connections in a closed loop: a run with
//! other settings is not judged by it, nor one whose server is not as it ships. A run at half of the knee is judged by how
//! late the slowest answers are, and a server that was started for the run by what it takes at rest.

use super::number;
use super::{RunReport, at_rest};
use crate::endurance::Verdict;

const CONNECTIONS: &str = "256";
/// What the server's own upkeep does meanwhile is less than this.
const NO_SQL: f64 = 0.002;
/// Rows of the upkeep beside the one of the operation, or its two.
const ONE_ROW: f64 = 1.05;
const TWO_ROWS: f64 = 2.05;
const WAL_OF_A_LOGIN: f64 = 1536.0;
/// At half of the knee, p99 is less than so many times the median.
const LATE: f64 = 10.0;

/// The setting of a run that is held against no target, whatever else it was told.
pub(crate) const NO_TARGET: &str = "target";

/// The setting of a run whose CPU is known too badly to be held against a target.
pub(crate) const COARSE_CPU: &str = "CPU";

/// What one operation may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Target {
    floors: f64,
    statements: Option<f64>,
    rows: Option<f64>,
    wal: Option<f64>,
}

impl Target {
    const fn floors(floors: f64) -> Self {
        Self { floors, statements: None, rows: None, wal: None }
    }

    const fn without_sql(self) -> Self {
        Self { statements: Some(NO_SQL), ..self }
    }

    /// On PostgreSQL.
    fn on_postgres(title: &str) -> Option<Self> {
        let one_row = Some(ONE_ROW);
        let login = |floors| Self {
            statements: Some(2.0),
            rows: Some(TWO_ROWS),
            wal: Some(WAL_OF_A_LOGIN),
            ..Self::floors(floors)
        };
        Some(match title {
            "introspect (opaque)" => Self::floors(1.5).without_sql(),
            "client-credentials (opaque)" => Self::floors(2.0).without_sql(),
            "client-credentials (jwt)" => Self::floors(4.0).without_sql(),
            "userinfo (opaque)" => Self::floors(1.6).without_sql(),
            "login (ES256)" => login(20.0),
            "login (RS256)" => login(50.0),
            "refresh (without openid)" => Self { rows: one_row, ..Self::floors(4.0) },
            "refresh (ES256)" => Self { rows: one_row, ..Self::floors(6.0) },
            "get-client" => Self::floors(1.6),
            "list-clients (page of 1)" => Self::floors(2.0),
            "create-client" => Self::floors(5.0),
            "register (hardening off)" => Self::floors(4.5),
            _ => return None,
        })
    }

    fn on_sqlite(title: &str) -> Option<Self> {
        (title == "login (ES256)").then(|| Self::floors(25.0))
    }

    /// Of this run, if its settings are those of the target.
    fn of(report: &RunReport) -> Option<Self> {
        let setting = |name| find(&report.settings, name);
        if setting(NO_TARGET).is_some() {
            return None;
        }
        if setting("connections") != Some(CONNECTIONS) || !setting("pace")?.starts_with("closed loop") {
            return None;
        }
        if find(&report.machine, "PostgreSQL").is_some() {
            Self::on_postgres(report.title())
        } else if setting("database")?.starts_with("SQLite") {
            Self::on_sqlite(report.title())
        } else {
            None
        }
    }
}

/// What must hold of a run, and whether it does. Empty, if nothing is known that there is a target for.
pub fn verdicts(report: &RunReport) -> Vec<Verdict> {
    let costs = Target::of(report).map(|target| costs(&target, report)).unwrap_or_default();
    let at_rest = report.at_rest.iter().flat_map(at_rest::verdicts);
    costs.into_iter().chain(at_half_knee(report)).chain(at_rest).collect()
}

/// How late the slowest answers of a server are that is busy, and not at its limit. What failed, or never began, is in no percentile:
/// of a hundred operations it may be one.
fn at_half_knee(report: &RunReport) -> Option<Verdict> {
    let knee = report.half_of_knee?;
    let (p50, p99) = (report.latency_ms.p50, report.latency_ms.p99);
    let seen =
        format!("{} of {} ms at half of {}/s", number::shown(p99), number::shown(p50), number::shown(knee));
    Some(Verdict {
        claim: format!("p99 under {LATE} times the median"),
        holds: (p50 > 0.0).then_some(p99 < p50 * LATE && report.errors * 99 <= report.operations),
        seen,
    })
}

fn costs(target: &Target, report: &RunReport) -> Vec<Verdict> {
    let judged = |what: String, bound: f64, seen: Option<f64>| Verdict {
        claim: what,
        holds: seen.map(|seen| seen <= bound),
        seen: seen.map_or_else(|| "not measured".to_owned(), number::shown),
    };
    let errors = number::count(report.errors);
    let floors = target.floors;
    let cpu = judged(format!("CPU of server and database ≤ {floors} floors"), floors, report.floors);
    let is_coarse = find(&report.settings, COARSE_CPU).is_some();
    let mut verdicts = vec![Verdict { holds: cpu.holds.filter(|_| !is_coarse), ..cpu }];
    verdicts.extend(target.statements.map(|bound| {
        let claim = if bound < 1.0 { "no SQL".to_owned() } else { format!("statements ≤ {bound}") };
        judged(claim, bound, report.statements)
    }));
    verdicts.extend(target.rows.map(|bound| {
        let claim = if bound < TWO_ROWS { "one row written" } else { "at most two rows written" };
        judged(claim.to_owned(), bound, report.rows_written)
    }));
    verdicts.extend(target.wal.map(|bound| {
        judged(format!("bytes of write-ahead log ≤ {}", number::shown(bound)), bound, report.wal_bytes)
    }));
    verdicts.push(Verdict {
        claim: "every operation ended well".to_owned(),
        holds: Some(report.errors == 0),
        seen: if report.errors == 1 { "one error".to_owned() } else { format!("{errors} errors") },
    });
    verdicts
}

/// The bound in floors, if there is one for this run.
pub(super) fn floors(report: &RunReport) -> Option<f64> {
    Target::of(report).map(|target| target.floors)
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::Latency;
    use super::super::samples::report;
    use super::*;
    use crate::scenario::{Kind, LoginOptions, LoginSessions};

    fn told(report: &RunReport) -> Vec<(String, Option<bool>)> {
        verdicts(report).into_iter().map(|verdict| (verdict.claim, verdict.holds)).collect()
    }

    #[test]
    fn a_login_is_judged_by_cost_statements_rows_and_log() {
        let said = told(&report());
        let holds: Vec<_> = said.iter().map(|(_, holds)| *holds).collect();
        assert_eq!(said[0].0, "CPU of server and database ≤ 20 floors");
        assert_eq!(holds, [Some(true), Some(true), Some(true), Some(true), Some(false)]);
        assert_eq!(said[2].0, "at most two rows written");
        let three = told(&RunReport { rows_written: Some(3.0), ..report() });
        assert_eq!(three[2].1, Some(false));
    }

    #[test]
    fn what_needs_no_sql_has_next_to_none() {
        let introspect = |statements| {
            let label = "introspect (opaque)".to_owned();
            told(&RunReport { label, statements: Some(statements), ..report() })[1].clone()
        };
        assert_eq!(introspect(0.001), ("no SQL".to_owned(), Some(true)));
        assert_eq!(introspect(0.005), ("no SQL".to_owned(), Some(false)));
    }

    #[test]
    fn what_costs_more_or_was_not_measured_does_not_hold() {
        let dear = RunReport { floors: Some(20.5), statements: None, ..report() };
        let holds: Vec<_> = told(&dear).into_iter().map(|(_, holds)| holds).collect();
        assert_eq!(holds[..2], [Some(false), None]);
        let unseen = RunReport { postgres_cpu_us: None, cpu_us: None, floors: None, ..report() };
        assert_eq!(told(&unseen)[0].1, None, "what the database took is not known");
    }

    #[test]
    fn registrations_are_judged_by_what_they_cost_while_nobody_is_hardened() {
        let bound = |label: &str| floors(&RunReport { label: label.to_owned(), ..report() });
        assert_eq!(bound(&Kind::Register.label()), Some(4.5));
        assert_eq!([bound("register"), bound("register+harden")], [None, None]);
    }

    #[test]
    fn logins_that_are_remembered_write_something_else_and_have_no_target() {
        let with = |sessions| LoginOptions { sessions, ..LoginOptions::default() };
        let bound = |options| floors(&RunReport { label: Kind::Login(options).label(), ..report() });
        let all = [LoginSessions::None, LoginSessions::New, LoginSessions::Kept];
        assert_eq!(all.map(|sessions| bound(with(sessions))), [Some(20.0), None, None]);
    }

    #[test]
    fn cpu_that_is_hardly_known_is_told_and_not_judged() {
        let mut coarse = report();
        coarse.settings.push((COARSE_CPU.to_owned(), "counted in ticks of 10 ms, 4 of them".to_owned()));
        let said = verdicts(&coarse);
        assert_eq!((said[0].holds, said[0].seen.as_str()), (None, "18.3"));
        assert_eq!(said[1].holds, Some(true), "statements are counted one by one");
    }

    #[test]
    fn a_run_with_other_settings_is_not_judged() {
        let mut other = report();
        other.settings[0].1 = "16".to_owned();
        assert_eq!(told(&other), []);
        assert_eq!(told(&RunReport { label: "mix".to_owned(), ..report() }), []);
    }

    #[test]
    fn a_server_that_is_not_as_it_ships_is_held_against_no_target() {
        let mut other = report();
        other.settings.push((NO_TARGET.to_owned(), "none: something was set".to_owned()));
        assert_eq!(told(&other), []);
        assert_eq!(floors(&other), None);
    }

    #[test]
    fn a_run_at_half_of_the_knee_is_judged_by_its_slowest_answers() {
        let half = |p50, p99| {
            let latency_ms = Latency { p50, p99, ..Latency::default() };
            let mut half = RunReport { half_of_knee: Some(6_400.0), latency_ms, ..report() };
            half.settings[1].1 = "open loop: 3200 operations a second".to_owned();
            verdicts(&half)
        };
        let said = half(2.0, 19.9);
        let good = &said[0];
        assert_eq!(said.len(), 1, "there is no bound for what it costs");
        assert_eq!(
            (good.claim.as_str(), good.holds, good.seen.as_str()),
            ("p99 under 10 times the median", Some(true), "19.9 of 2 ms at half of 6,400/s")
        );
        let judged = |p50, p99| half(p50, p99)[0].holds;
        assert_eq!(
            [judged(2.0, 20.0), judged(0.0, 0.0)],
            [Some(false), None],
            "nothing ended well in the last"
        );
        let turned_away = RunReport { half_of_knee: Some(6_400.0), operations: 98, errors: 2, ..report() };
        assert_eq!(at_half_knee(&turned_away).unwrap().holds, Some(false));
    }

    #[test]
    fn a_run_that_was_written_without_a_label_is_judged_by_its_scenario() {
        let mut old = serde_json::to_value(report()).unwrap();
        old["scenario"] = "login (RS256)".into();
        old.as_object_mut().unwrap().remove("label");
        let old: RunReport = serde_json::from_value(old).unwrap();
        assert_eq!((old.title(), floors(&old)), ("login (RS256)", Some(50.0)));
    }

    #[test]
    fn sqlite_has_a_target_of_its_own() {
        let mut sqlite = RunReport { machine: Vec::new(), ..report() };
        sqlite.settings.push(("database".to_owned(), "SQLite, a file of this run".to_owned()));
        assert_eq!(floors(&sqlite), Some(25.0));
    }
}
