//! `sluice bench growth`: its clones of rows fit the schema.

use serde_json::Value;

use super::{bench, report, setting};

#[test]
fn rows_are_cloned_and_the_real_grants_among_them_are_refreshed() {
    let short = ["--duration", "500ms", "--warm-up", "100ms", "-c", "4", "--runs", "1"];
    let report = report(&[&["growth", "--grants", "0,400", "--sample", "80"], &short[..]].concat());
    let points = report["points"].as_array().expect("points");
    let at = |size: u64| points.iter().filter(|point| point["grants"] == size).collect::<Vec<_>>();
    for size in [0, 400] {
        let scenarios: Vec<_> = at(size).iter().map(|point| point["scenario"].clone()).collect();
        assert_eq!(scenarios, ["login", "refresh", "introspect", "register"], "{size}");
    }
    for point in points {
        assert_eq!(point["errors"], 0, "{point}");
        assert!(point["operations"].as_u64().is_some_and(|count| count > 0), "{point}");
        assert!(point["floors"].as_f64().is_some_and(|floors| floors > 0.0), "{point}");
    }
    // One row is updated by a refresh, whatever else is there.
    let refresh = at(400).into_iter().find(|point| point["scenario"] == "refresh").expect("a point");
    assert!(refresh["rows_written"].as_f64().is_some_and(|rows| (1.0..1.2).contains(&rows)), "{refresh}");
    assert!(setting(&report, "date").ends_with(" UTC"), "{report}");
    assert!(setting(&report, "command").contains("growth --grants 0,400"), "{report}");
}

#[test]
fn a_size_at_which_nothing_ended_well_is_the_last_and_no_success() {
    let short = ["--duration", "500ms", "--warm-up", "500ms", "-c", "4", "--runs", "1"];
    let only_two = ["--set", "identity.limits.registrations_per_network=2"];
    let here_too = ["--set", "identity.limits.exempt=192.0.2.0/24"];
    let sizes = ["growth", "--grants", "0,400", "--sample", "80", "--json"];
    let ended = bench(&[&sizes[..], &short[..], &only_two[..], &here_too[..]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("× registration: status 429"), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).expect("what was measured");
    let points = report["points"].as_array().expect("points");
    assert!(points.iter().all(|point| point["grants"] == 0), "{points:?}");
    let register = points.iter().find(|point| point["scenario"] == "register").expect("a point");
    assert_eq!(register["operations"], 0, "{register}");
    assert_eq!(register["errors_by_kind"]["registration: status 429"], register["errors"], "{register}");
}
