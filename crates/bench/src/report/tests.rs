use super::samples::report;
use super::*;
use crate::account::build::{Build, Step};
use crate::endurance::{Sample, Verdict};
use crate::growth::GrowthPoint;

fn several() -> Vec<RunReport> {
    vec![report(), RunReport { floors: Some(19.1), ..report() }, RunReport { floors: Some(17.0), ..report() }]
}

#[test]
fn a_run_on_the_terminal() {
    insta::assert_snapshot!(terminal(&report(), 3));
}

#[test]
fn a_run_as_json() {
    insta::assert_json_snapshot!(report());
    let json = serde_json::to_string(&report()).unwrap();
    let read: RunReport = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}

#[test]
fn how_long_the_program_took_to_build_is_in_every_report_where_it_is_known() {
    let step = Step { name: "optimised".to_owned(), seconds: 432, cold: true };
    let build = Build { commit: None, builds: vec![step] };
    let mut built = report();
    built.machine.push(("build of the program".to_owned(), build.took()));
    built.build = Some(build);
    let json = serde_json::to_value(&built).unwrap();
    assert_eq!(json["build"]["builds"][0]["seconds"], 432);
    assert_eq!(serde_json::to_value(report()).unwrap().get("build"), None, "elsewhere nothing is said");
    for told in [terminal(&built, 1), html(&built, std::slice::from_ref(&built)).unwrap()] {
        assert!(told.contains("optimised 7m 12s (cold)"), "{told}");
    }
}

#[test]
fn what_was_not_measured_is_a_dash() {
    let unknown = RunReport {
        postgres_cpu_us: None,
        floor_cpu_us: None,
        hyper_floor_cpu_us: None,
        nginx_floor_cpu_us: None,
        ..report()
    };
    let said = terminal(&unknown, 1);
    assert!(said.contains("PostgreSQL               –"), "{said}");
    assert!(said.contains("hyper –, nginx –"), "{said}");
    assert!(html(&unknown, &[]).unwrap().contains("The floor was not measured."));
}

#[test]
fn a_run_whose_database_was_not_seen_is_neither_summed_up_nor_judged() {
    let unseen = RunReport { postgres_cpu_us: None, cpu_us: None, floors: None, ..report() };
    let said = terminal(&unseen, 1);
    assert!(said.contains("Server and PostgreSQL    – floors"), "{said}");
    assert!(said.contains("–  CPU of server and database ≤ 20 floors: not measured"), "{said}");
    let cpu = |report: &RunReport| {
        let page = html(report, &[]).unwrap();
        let (_, tile) = page.split_once("<p class=\"name\">CPU</p><p class=\"value\">").unwrap();
        let value = tile.split_once('<').unwrap().0.to_owned();
        (value, page.contains("target of server and database"))
    };
    assert_eq!(cpu(&unseen), ("–".to_owned(), false));
    assert_eq!(cpu(&report()), ("154".to_owned(), true));
}

#[test]
fn a_server_that_was_started_for_the_run_is_judged_at_rest_too() {
    let at_rest = AtRest { start_ms: Some(512.0), ..AtRest::default() };
    let started = RunReport { at_rest: Some(at_rest), ..report() };
    let line = "  yes  ready in less than 1,000 ms, schema included: 512 ms\n";
    assert!(terminal(&started, 1).contains(line), "{}", terminal(&started, 1));
    let page = html(&started, &[]).unwrap();
    let dom = tl::parse(&page, tl::ParserOptions::default()).unwrap();
    assert_eq!(dom.query_selector("li").unwrap().count(), 6, "after those of the operation");
    let judged_by_that_alone = RunReport { label: "mix".to_owned(), ..started };
    assert!(!html(&judged_by_that_alone, &[]).unwrap().contains("tile holds"), "what it costs is not judged");
}

#[test]
fn a_run_at_half_of_the_knee_says_whether_its_slowest_answers_are_late() {
    let mut half = RunReport { half_of_knee: Some(14_360.0), ..report() };
    half.settings[1].1 = "open loop: 7180 operations a second".to_owned();
    let said = terminal(&half, 1);
    assert!(said.contains("yes  p99 under 10 times the median: 71 of 34 ms at half of 14,360/s"), "{said}");
    let page = html(&half, &[]).unwrap();
    assert!(page.contains("<span>p99 under 10 times the median</span>"), "{page}");
    assert!(!page.contains("tile holds"), "what it costs is not judged");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let svg = "<svg height=\"300\" xmlns=\"http://www.w3.org/2000/svg\"></svg>".to_owned();
    let page = html(&RunReport { profile: Some(svg), ..report() }, &several()).unwrap();
    let found = |what: &str| page.match_indices(what).count();
    assert_eq!(["http:", "https:", "@import", "url(", "<script", "href="].map(found), [0; 6]);
    assert_eq!(found("src="), 1, "the flame graph alone");
    assert!(page.contains("src=\"data:image/svg+xml;base64,"));
    assert!(page.contains("height:300px"));
    assert!(page.contains("time in the kernel"), "what is not in the flame graph is said");
}

#[test]
fn the_page_shows_what_the_run_has_shown() {
    let page = html(&report(), &several()).unwrap();
    let dom = tl::parse(&page, tl::ParserOptions::default()).unwrap();
    let count = |what: &str| dom.query_selector(what).unwrap().count();
    assert_eq!(count("figure"), 4, "throughput, latency twice, response times");
    assert_eq!(count("table"), 2, "all runs, and errors");
    assert_eq!(count(".bar"), 3 + 4, "the CPU of each run, and what the database did");
    assert_eq!(count("li"), 5, "what must hold");
    for told in
        ["71,800 operations in 10 s", "18.3", "run 3", "All 3 runs", "token: status 500", "Limited by"]
    {
        assert!(page.contains(told), "{told}");
    }
}

#[test]
fn the_page_begins_with_all_that_is_known_in_short() {
    let names = |report: &RunReport| {
        let page = html(report, &[]).unwrap();
        let tiles = page.split("<p class=\"name\">").skip(1);
        tiles.map(|rest| rest.split_once('<').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    let known = ["Throughput", "Cost", "CPU", "Median latency", "99th percentile", "Errors", "Memory"];
    assert_eq!(names(&report()), known);
    assert_eq!(names(&RunReport { server_memory: None, ..report() }), known[..6]);
    let page = html(&report(), &[]).unwrap();
    assert!(page.contains("64<span> MiB</span>"), "{page}");
    assert!(page.contains("of the server, at most 70 MiB<"), "{page}");
}

#[test]
fn the_most_memory_that_a_server_ever_had_is_not_taken_for_that_of_the_run() {
    let memory = report().server_memory.map(|memory| Memory { of_run: false, ..memory });
    let found = RunReport { server_memory: memory, ..report() };
    let said = terminal(&found, 1);
    assert!(said.contains("64 MiB, at most 70 MiB since it was started\n"), "{said}");
    assert!(html(&found, &[]).unwrap().contains("of the server, at most 70 MiB since it was started"));
    let old: Memory = serde_json::from_str(r#"{"resident":1,"peak":2}"#).unwrap();
    assert!(!old.of_run, "nobody had said so");
}

#[test]
fn names_are_escaped() {
    let page = html(&RunReport { label: "<b>&\"".to_owned(), ..report() }, &[]).unwrap();
    assert!(!page.contains("<b>&\"") && !page.contains("<any>"));
    assert!(page.contains("2 × &#60;any&#62;"));
}

#[test]
fn a_run_without_a_second_has_a_page() {
    let empty = RunReport {
        seconds: Vec::new(),
        percentiles: Vec::new(),
        histogram: Vec::new(),
        server_cpu_us: None,
        statements: None,
        commits: None,
        rows_written: None,
        floors: None,
        ..report()
    };
    let page = html(&empty, &[]).unwrap();
    assert!(!page.contains("<figure") && !page.contains("NaN"));
}

#[test]
fn a_growing_database_has_a_curve_for_each_scenario() {
    let point = |scenario: &str, grants, cpu| GrowthPoint {
        scenario: scenario.to_owned(),
        grants,
        operations: 10,
        errors: 0,
        errors_by_kind: std::collections::BTreeMap::new(),
        ops_per_second: 5.0,
        p50_ms: 1.0,
        p99_ms: 2.0,
        server_cpu_us: Some(cpu),
        postgres_cpu_us: Some(cpu),
        floor_cpu_us: None,
        floors: None,
        statements: None,
        rows_written: Some(2.0),
        wal_bytes: Some(900.0),
    };
    let page = |points| {
        let report = GrowthReport { points, runs: Vec::new(), settings: Vec::new(), machine: Vec::new() };
        growth_html(&report).unwrap()
    };
    let points = vec![point("login", 0, 10.0), point("refresh", 0, 2.0), point("login", 1_000_000, 12.5)];
    let in_floors = points.iter().cloned().map(|point| GrowthPoint { floors: Some(4.0), ..point }).collect();
    let in_floors = page(in_floors);
    assert!(in_floors.contains("1<span> ×</span>") && in_floors.contains("login: 4 floors, then 4 floors"));
    let page = page(points);
    let dom = tl::parse(&page, tl::ParserOptions::default()).unwrap();
    assert_eq!(dom.query_selector("figure").unwrap().count(), 4);
    assert!(page.contains("1.25<span> ×</span>") && page.contains("login: 20 µs, then 25 µs"));
    assert!(page.contains("up to 1,000,000 grants"));
}

#[test]
fn a_long_run_has_its_verdicts_and_what_was_seen_over_time() {
    let sample = |at_s, rows| Sample { at_s, rows: Some(rows), p50_ms: Some(1.0), ..Sample::default() };
    let report = EnduranceReport {
        operations: 100,
        errors: 0,
        errors_by_kind: std::collections::BTreeMap::new(),
        rate: 772.0,
        samples: vec![sample(10.0, 500), sample(20.0, 20)],
        verdicts: vec![Verdict {
            claim: "rows are back".to_owned(),
            holds: Some(true),
            seen: "20 rows".to_owned(),
        }],
        too_short: false,
        settings: Vec::new(),
        machine: Vec::new(),
    };
    let page = endurance_html(&report).unwrap();
    let dom = tl::parse(&page, tl::ParserOptions::default()).unwrap();
    assert_eq!(dom.query_selector("figure").unwrap().count(), 2, "latency and rows: the rest is not known");
    assert!(page.contains("rows are back") && page.contains("20 s: rows 20"), "{page}");
}
