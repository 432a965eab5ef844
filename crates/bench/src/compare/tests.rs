use super::*;
use crate::report::samples::report;

fn run(system: &str, label: &str, ops_per_second: f64, server: f64) -> (String, RunReport) {
    let (label, cpu) = (label.to_owned(), Some(server));
    let run = RunReport { label, ops_per_second, server_cpu_us: cpu, cpu_us: cpu, ..report() };
    (system.to_owned(), RunReport { postgres_cpu_us: None, ..run })
}

#[test]
fn systems_are_compared_by_the_medians_of_their_runs() {
    let turns = [run("a", "login", 100.0, 50.0), run("b", "login", 10.0, 90.0)];
    let again = [run("a", "login", 200.0, 30.0), run("b", "login", 20.0, 110.0), run("b", "mix", 1.0, 1.0)];
    let Comparison { rows, .. } = Comparison::of(&[turns.as_slice(), &again].concat());
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.label.as_str(), row.system.as_str(), row.runs, row.rate_ratio, row.cpu_ratio))
        .collect();
    assert_eq!(
        told,
        [
            ("login", "a", 2, Some(1.0), Some(1.0)),
            ("login", "b", 2, Some(0.1), Some(2.5)),
            ("mix", "b", 1, None, None),
        ]
    );
}

#[test]
fn what_a_database_took_that_was_not_seen_is_not_taken_for_nothing() {
    let unseen = |(system, run): (String, RunReport)| (system, RunReport { cpu_us: None, ..run });
    let ratios = |runs: &[(String, RunReport)]| -> Vec<_> {
        Comparison::of(runs).rows.iter().map(|row| row.cpu_ratio).collect()
    };
    let (ours, other) = (run("a", "login", 100.0, 50.0), run("b", "login", 10.0, 90.0));
    assert_eq!(ratios(&[ours.clone(), unseen(other.clone())]), [Some(1.0), None]);
    assert_eq!(ratios(&[unseen(ours), other]), [None, None]);
}

#[test]
fn a_run_that_was_written_without_the_sum_is_summed_up_if_both_are_known() {
    let mut old = serde_json::to_value(report()).unwrap();
    old.as_object_mut().unwrap().remove("cpu_us");
    let old: RunReport = serde_json::from_value(old).unwrap();
    assert_eq!((old.cpu_us, together(&old)), (None, Some(154.0)));
    assert_eq!(together(&RunReport { postgres_cpu_us: None, ..old }), None);
}

#[test]
fn variants_of_a_scenario_are_not_mixed_and_a_run_without_a_label_goes_by_its_scenario() {
    let mut old = run("b", "", 30.0, 1.0);
    old.1.scenario = "login (ES256)".to_owned();
    let runs = [run("a", "login (ES256)", 60.0, 1.0), run("a", "login (RS256)", 40.0, 1.0), old];
    let Comparison { rows, .. } = Comparison::of(&runs);
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.scenario.as_str(), row.label.as_str(), row.system.as_str(), row.rate_ratio))
        .collect();
    assert_eq!(
        told,
        [
            ("login", "login (ES256)", "a", Some(1.0)),
            ("login (ES256)", "login (ES256)", "b", Some(0.5)),
            ("login", "login (RS256)", "a", Some(1.0)),
        ]
    );
}

#[test]
fn a_table_has_a_line_for_each_system() {
    let text =
        Comparison::of(&[run("sluice", "login", 6_000.0, 160.0), run("other", "login", 60.0, 8_000.0)])
            .text();
    let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[2][..4], ["login", "other", "60", "0.010"], "{text}");
}

#[test]
fn a_file_is_named_after_itself_or_its_folder_or_as_is_said() {
    let name = |said: &str| said.parse::<Named>().unwrap().name;
    assert_eq!(
        ["hydra=x/run.json", "a/sluice/run.json", "b/login.json"].map(name),
        ["hydra", "sluice", "login"]
    );
    assert_eq!("./odd=name/a.json".parse::<Named>().unwrap().path, Path::new("./odd=name/a.json"));
}

#[test]
fn all_runs_of_a_file_count() {
    let json = serde_json::json!({ "runs": [report(), report()] });
    let mut one = serde_json::to_value(report()).unwrap();
    let alone: Run = serde_json::from_value(one.clone()).unwrap();
    assert_eq!(alone.all().len(), 1);
    one.as_object_mut().unwrap().insert("runs".to_owned(), json["runs"].clone());
    let both: Run = serde_json::from_value(one).unwrap();
    assert_eq!(both.all().len(), 2);
}

#[test]
fn the_page_names_a_database_where_one_was_seen_and_its_table_is_scrolled_by_keyboard_too() {
    let page = |runs: &[(String, RunReport)]| report::comparison_html(&Comparison::of(runs)).unwrap();
    let unseen = run("a", "login", 100.0, 50.0);
    let seen = ("b".to_owned(), RunReport { postgres_cpu_us: Some(4.0), ..unseen.1.clone() });
    let legend = "<span class=\"postgres\">PostgreSQL</span>";
    assert!(!page(std::slice::from_ref(&unseen)).contains(legend));
    let page = page(&[unseen, seen]);
    assert!(page.contains(legend), "{page}");
    let table = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All systems\"><table";
    assert!(page.contains(table), "{page}");
    assert_eq!(page.matches("<td class=\"word\">").count(), 2 * 2, "scenario and system: {page}");
}

/// A run with other settings, and a length.
fn with((system, run): (String, RunReport), changed: &[(&str, &str)]) -> (String, RunReport) {
    let mut settings = vec![("length".to_owned(), "10s".to_owned())];
    settings.extend(run.settings.clone());
    for (name, value) in changed {
        settings.retain(|(known, _)| known != name);
        settings.push(((*name).to_owned(), (*value).to_owned()));
    }
    (system, RunReport { settings, ..run })
}

#[test]
fn runs_that_cannot_be_compared_are_told_from_those_that_can() {
    let (one, other) = (run("a", "login", 100.0, 50.0), run("b", "login", 10.0, 90.0));
    let elsewhere = with(run("b", "mix", 1.0, 1.0), &[("connections", "8")]);
    let alike = [with(one.clone(), &[]), with(other.clone(), &[]), with(other.clone(), &[]), elsewhere];
    assert_eq!(Comparison::of(&alike).cautions, [] as [String; 0], "each scenario by itself");
    let interrupted = [("connections", "64"), ("ended", "interrupted after 2.3 s")];
    let open = [("pace", "open loop: 5 operations a second, latency from the moment they are due")];
    let runs =
        [with(one.clone(), &[]), with(one, &[]), with(other.clone(), &interrupted), with(other, &open)];
    let compared = Comparison::of(&runs);
    let closed = "closed loop: a user begins when its last operation has ended";
    assert_eq!(
        compared.cautions,
        [
            "login: not the same connections: 256 (a, b); 64 (b)".to_owned(),
            format!("login: not the same pace: {closed} (a, b); open loop: 5 operations a second (b)"),
            "login: not the same ended: as it was meant to (a, b); interrupted after 2.3 s (b)".to_owned(),
        ]
    );
    assert!(compared.text().ends_with(&format!("\nCaution: {}\n", compared.cautions[2])));
    let page = report::comparison_html(&compared).unwrap();
    assert!(
        page.contains("<b>Caution</b> login: not the same connections: 256 (a, b); 64 (b)</p>"),
        "{page}"
    );
}

#[test]
fn rates_that_were_found_may_differ_and_are_not_compared_with_those_that_were_asked_for() {
    let open = |rate: &str| format!("open loop: {rate} operations a second, latency from when they are due");
    let found = |system: &str, rate: &str| {
        let pace = open(rate);
        let settings = [("pace", pace.as_str()), ("knee", "1000/s asked for, 1000/s reached")];
        with(run(system, "login", 100.0, 50.0), &settings)
    };
    let cautions = |runs: &[(String, RunReport)]| Comparison::of(runs).cautions;
    let (one, other) = (found("a", "5000"), found("b", "400"));
    assert_eq!(cautions(&[one.clone(), other.clone()]), [] as [String; 0]);
    let asked = with(run("b", "login", 10.0, 90.0), &[("pace", open("5000").as_str())]);
    assert_eq!(
        cautions(&[one.clone(), asked]),
        ["login: not the same pace: the rate that was found (a); open loop: 5000 operations a second (b)"]
    );
    let half = (other.0, RunReport { half_of_knee: Some(800.0), ..other.1 });
    assert_eq!(
        cautions(&[one, half]),
        ["login: not the same pace: the rate that was found (a); half of the rate that was found (b)"]
    );
}
