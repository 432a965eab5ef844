//! `sluice bench growth`: its clones of rows fit the schema.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_testkit::PrivateCluster;
use tokio::task::{block_in_place, spawn_blocking};
use tokio_postgres::NoTls;

use super::{bench, report, setting};

#[test]
fn rows_are_cloned_and_some_of_them_are_refreshed() {
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

/// All that is loaded is of the last thirty days: by the time in their ids, each of forty parts of them has two that are refreshed.
#[tokio::test(flavor = "multi_thread")]
async fn grants_that_are_refreshed_are_drawn_from_all_that_were_loaded_and_each_is_refreshed_once() {
    const REFRESHED: &str = "SELECT floor((now - made) / (30 * 86400000.0 / 40))::int, generation FROM \
        (SELECT ('x' || left(replace(grant_id::text, '-', ''), 12))::bit(48)::bigint AS made, generation, \
         extract(epoch FROM clock_timestamp()) * 1000 AS now FROM oauth_grant WHERE generation > 0) AS refreshed";
    // Of its own: it is waited for until the cluster rests.
    let cluster = spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    let dsn = cluster.database().await;
    let short = ["--duration", "500ms", "--warm-up", "100ms", "-c", "4", "--runs", "2"];
    let sizes = ["growth", "--grants", "400", "--sample", "80", "--dsn", &dsn];
    let report = block_in_place(|| report(&[&sizes[..], &short[..]].concat()));
    let runs = report["runs"].as_array().expect("runs");
    let refreshes: Vec<_> = runs.iter().filter(|run| run["scenario"] == "refresh").collect();
    // Of forty each one in twenty warms up.
    let told: Vec<_> = refreshes.iter().map(|run| (run["operations"].as_u64(), &run["errors"])).collect();
    assert_eq!(told, [(Some(38), &Value::from(0)), (Some(38), &Value::from(0))]);
    let (client, connection) = tokio_postgres::connect(&dsn, NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut parts = BTreeMap::new();
    for row in client.query(REFRESHED, &[]).await.unwrap() {
        assert_eq!(row.get::<_, i64>(1), 1, "once");
        *parts.entry(row.get::<_, i32>(0)).or_insert(0) += 1;
    }
    assert_eq!(parts.values().sum::<i32>(), 80, "all of the sample, and nothing else: {parts:?}");
    // What was loaded at the end of a part is older by the time that the measurement took.
    assert!(parts.len() >= 40 && parts.values().all(|count| *count <= 4), "{parts:?}");
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
