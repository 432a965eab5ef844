use std::time::Duration;

use ::http::Method;
use sluice_crypto::hash_pool::HashPoolConfig;

use super::*;

const BUILD: Build = Build { version: "1.2.3", hash: "abc", time: "2026-01-01" };

fn metrics_with_everything() -> Metrics {
    let metrics = Metrics::new(BUILD);
    metrics.register_commit("grant_insert", Arc::new(CommitMetrics::default()));
    metrics.register_refusals(&Arc::default());
    metrics.register_hash_pool(&Arc::new(HashPool::start(&HashPoolConfig::default()).unwrap()));
    let readers =
        CacheReaders { entries: Box::new(|| 3), hits_total: Box::new(|| 20), misses_total: Box::new(|| 1) };
    metrics.register_cache("client", readers);
    metrics.register_connections("public", 16_384, || 3);
    metrics.register_connections("admin", 7, || 0);
    for taker in ["gateway", "userinfo"] {
        let readers = ProofReaders { remembered: Box::new(|| 7), turned_away_total: Box::new(|| 2) };
        metrics.register_proofs(taker, readers);
    }
    metrics.register_flow_step("begun", || 2);
    metrics.register_flow_step("code_issued", || 1);
    metrics.register_counters("sluice_gateway_questions_total", "Questions", || {
        vec![(vec![("issuer", "one".to_owned())], 4), (vec![("issuer", "other".to_owned())], 0)]
    });
    metrics.register_gauge_fn("sluice_revocation_feed_age_seconds", "How old", || 0.25);
    metrics
}

fn a_request() -> Exchange<'static> {
    Exchange {
        method: &Method::GET,
        endpoint: Some("/admin/clients/{id}"),
        status: Some(StatusCode::OK),
        duration: Duration::from_millis(3),
        request_bytes: 100,
        response_bytes: Some(500),
    }
}

/// Names and types, in order.
fn families(encoded: &str) -> Vec<&str> {
    encoded.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect()
}

#[test]
fn every_family_is_there_once_under_its_name() {
    let metrics = metrics_with_everything();
    metrics.http().record(&a_request());
    let encoded = metrics.encode();
    let expected = [
        "sluice_commit_batch_rows histogram",
        "sluice_commit_wait_seconds histogram",
        "sluice_commit_turned_away counter",
        "sluice_commit_poisoned counter",
        "sluice_commit_refused counter",
        "sluice_commit_lost counter",
        "sluice_commit_busy counter",
        "sluice_build_info gauge",
        "sluice_cache_entries gauge",
        "sluice_cache_hits counter",
        "sluice_cache_misses counter",
        "sluice_connections gauge",
        "sluice_connections_limit gauge",
        "sluice_dpop_proofs_remembered gauge",
        "sluice_dpop_proofs_turned_away counter",
        "sluice_flows counter",
        "sluice_gateway_questions counter",
        "sluice_hash_pool_busy_threads gauge",
        "sluice_hash_pool_held_bytes gauge",
        "sluice_hash_pool_jobs counter",
        "sluice_hash_pool_queue_depth gauge",
        "sluice_hash_pool_rejections counter",
        "sluice_log_lines_dropped counter",
        "sluice_revocation_feed_age_seconds gauge",
        "sluice_store_refused counter",
        "sluice_store_turned_away counter",
        "sluice_store_unanswered counter",
        "sluice_traces_lost counter",
        "process_cpu_seconds counter",
        "process_start_time_seconds gauge",
        "process_resident_memory_bytes gauge",
        "process_virtual_memory_bytes gauge",
        "process_threads gauge",
        "process_open_fds gauge",
        "process_max_fds gauge",
        "http_requests counter",
        "http_requests_duration_seconds histogram",
        "http_response_time_seconds histogram",
        "http_requests_size_bytes histogram",
        "http_response_size_bytes histogram",
        "http_requests_statuses counter",
    ];
    assert_eq!(families(&encoded), expected, "{encoded}");
    let files = |name: &str| {
        let line = encoded.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<f64>().unwrap()
    };
    assert!(files("process_open_fds ") < files("process_max_fds "), "{encoded}");
    assert!(encoded.ends_with("# EOF\n"));
}

#[test]
fn requests_are_counted_under_hydras_names_and_labels() {
    let metrics = Metrics::new(BUILD);
    metrics.http().record(&a_request());
    metrics.http().record(&Exchange { endpoint: None, status: Some(StatusCode::NOT_FOUND), ..a_request() });
    metrics.http().record(&Exchange { status: None, response_bytes: None, ..a_request() });
    let encoded = metrics.encode();
    let build = r#"app="sluice",version="1.2.3",hash="abc",buildTime="2026-01-01""#;
    let lines = [
        format!(
            r#"http_requests_total{{{build},code="200",method="get",endpoint="/admin/clients/{{param}}"}} 1"#
        ),
        format!(r#"http_requests_total{{{build},code="404",method="get",endpoint="{{unmatched}}"}} 1"#),
        format!(
            r#"http_requests_total{{{build},code="0",method="get",endpoint="/admin/clients/{{param}}"}} 1"#
        ),
        format!(r#"http_requests_statuses_total{{{build},method="GET",status_bucket="2xx"}} 1"#),
        format!(r#"http_requests_statuses_total{{{build},method="GET",status_bucket="unknown"}} 1"#),
        format!(r#"http_response_time_seconds_count{{{build},endpoint="/admin/clients/{{param}}"}} 2"#),
        format!(r#"http_requests_size_bytes_sum{{{build},code="200",method="get"}} 100.0"#),
        format!(r#"http_response_size_bytes_sum{{{build},code="200",method="get"}} 500.0"#),
    ];
    for line in lines {
        assert!(encoded.lines().any(|encoded| encoded == line), "{line}\nis not in\n{encoded}");
    }
}

#[test]
fn what_could_not_be_read_is_counted_and_not_measured() {
    let metrics = Metrics::new(BUILD);
    metrics.http().count_unreadable(StatusCode::BAD_REQUEST);
    let encoded = metrics.encode();
    assert!(encoded.contains(r#"code="400",method="unknown",endpoint="{unmatched}"} 1"#), "{encoded}");
    assert!(encoded.contains(r#"method="UNKNOWN",status_bucket="4xx"} 1"#), "{encoded}");
    let is_measured = |line: &str| line.starts_with("http_") && line.contains("_count{");
    assert!(!encoded.lines().any(is_measured), "{encoded}");
}

#[test]
fn a_made_up_method_makes_no_series_of_its_own() {
    let metrics = Metrics::new(BUILD);
    for method in ["BREW", "WHEN"] {
        metrics.http().record(&Exchange { method: &method.parse().unwrap(), ..a_request() });
    }
    let encoded = metrics.encode();
    assert!(encoded.contains(r#"method="unknown",endpoint="/admin/clients/{param}"} 2"#), "{encoded}");
    assert!(!encoded.to_lowercase().contains("brew"));
}

#[test]
fn a_name_registered_twice_is_one_family_with_two_samples() {
    let encoded = metrics_with_everything().encode();
    assert!(encoded.contains(r#"sluice_flows_total{step="begun"} 2.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_flows_total{step="code_issued"} 1.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_log_lines_dropped_total{log="events"} 0.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_store_refused_total{kind="read"} 0.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_store_turned_away_total{kind="write"} 0.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_cache_hits_total{cache="client"} 20.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_connections{listener="public"} 3.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_connections_limit{listener="public"} 16384.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_connections_limit{listener="admin"} 7.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_gateway_questions_total{issuer="one"} 4.0"#), "{encoded}");
    assert!(encoded.contains(r#"sluice_gateway_questions_total{issuer="other"} 0.0"#), "{encoded}");
    assert!(
        encoded.contains(r#"sluice_commit_batch_rows_bucket{le="+Inf",kind="grant_insert"} 0"#),
        "{encoded}"
    );
}
