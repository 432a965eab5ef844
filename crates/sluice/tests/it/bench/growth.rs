//! `sluice bench growth`: its clones of rows fit the schema.

use super::report;

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
}
