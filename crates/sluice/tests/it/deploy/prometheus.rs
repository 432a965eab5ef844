//! The alerts and the dashboard, held against the metrics of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sluice_net::self_signed;
use sluice_primitives::{Clock, SystemClock};
use sluice_testkit::Backend;
use tempfile::TempDir;

use super::{folder, read};
use crate::application::http_client;
use crate::process::{Process, Site, until};

/// The kinds of metrics that are Sluice's, and those of every program that Prometheus asks.
const OURS: [&str; 3] = ["sluice_", "http_", "process_"];

/// The metrics that a text names; of a histogram, its own name.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|character: char| !is_of_name(character));
    let ours = words.filter(|word| OURS.iter().any(|kind| word.starts_with(kind)));
    let parts = ["_bucket", "_sum", "_count"];
    ours.map(|word| parts.iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word)).collect()
}

/// What expressions ask of labels: the name of a metric, and one value of a label. Those that are only there once something happened, or that
/// Prometheus adds, are not among them.
fn asked_of_labels(text: &str) -> BTreeSet<(&str, String)> {
    let selectors = text.match_indices('{').filter_map(|(at, _)| {
        let name = text[..at].rsplit(|character: char| !is_of_name(character)).next()?;
        let inside = text[at + 1..].split('}').next()?;
        OURS.iter().any(|kind| name.starts_with(kind)).then_some((name, inside))
    });
    let pairs = selectors.flat_map(|(name, inside)| inside.split(',').map(move |pair| (name, pair.trim())));
    let known = pairs.filter(|(_, pair)| {
        ["step=", "state=", "outcome=", "priority=", "check="].iter().any(|label| pair.starts_with(label))
    });
    known
        .flat_map(|(name, pair)| {
            let (label, values) = pair.split_once('=').unwrap();
            let values = values.trim_start_matches('~').trim_matches('"');
            values.split('|').map(move |value| (name, format!("{label}=\"{value}\""))).collect::<Vec<_>>()
        })
        .collect()
}

const fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The expressions of the dashboard, by the title of their panel.
fn expressions() -> BTreeMap<String, Vec<String>> {
    let dashboard: Value = serde_json::from_str(&read(&folder("grafana").join("sluice.json"))).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row");
    let of = |panel: &Value| {
        let targets = panel["targets"].as_array().unwrap();
        targets.iter().map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
    };
    panels.map(|panel| (panel["title"].as_str().unwrap().to_owned(), of(panel))).collect()
}

/// What `promtool` says of files in a directory, if it likes them.
fn promtool(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    let checked = Command::new("promtool").args(arguments).current_dir(directory).output();
    let checked = checked.expect("promtool, which `tests/deps` installs with prometheus");
    let said = [checked.stdout, checked.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    if checked.status.success() { Ok(said) } else { Err(said) }
}

#[test]
fn each_alert_sounds_where_it_must_and_nowhere_else() {
    let directory = folder("prometheus");
    promtool(&directory, &["check", "config", "prometheus.yml"]).unwrap();
    promtool(&directory, &["test", "rules", "sluice.rules.test.yml"]).unwrap();
    let [rules, tests] =
        ["sluice.rules.yml", "sluice.rules.test.yml"].map(|name| read(&directory.join(name)));
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        for case in ["sounds", "is silent"] {
            assert!(tests.contains(&format!("- name: {alert} {case}\n")), "{alert} {case}");
        }
    }
}

/// The anchors are those that the pages' headings have where they are read.
#[test]
fn the_runbook_of_each_alert_is_a_heading_that_is_there() {
    let rules = read(&folder("prometheus").join("sluice.rules.yml"));
    let alerts = rules.lines().filter(|line| line.trim().starts_with("- alert: ")).count();
    let places: Vec<_> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("runbook: ")?.split_once('#')).collect();
    assert_eq!(places.len(), alerts);
    for (page, anchor) in places {
        let text = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page));
        let headings = text.lines().filter(|line| line.starts_with('#'));
        let mut anchors =
            headings.map(|line| line.trim_start_matches(['#', ' ']).to_lowercase().replace(' ', "-"));
        assert!(anchors.any(|known| known == anchor), "{page}#{anchor}");
    }
}

/// Grafana fills in its variables; here it is done by hand.
#[test]
fn prometheus_understands_the_dashboard() {
    let mut rules = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    for (number, expression) in expressions().values().flatten().enumerate() {
        let filled_in = expression
            .replace("$__rate_interval", "1m")
            .replace("$job", "sluice.*")
            .replace("$instance", ".*");
        assert!(!filled_in.contains("[$") && !filled_in.contains("\"$"), "{filled_in}");
        write!(rules, "      - record: panel_{number}\n        expr: {}\n", Value::from(filled_in)).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("dashboard.yml"), &rules).unwrap();
    promtool(directory.path(), &["check", "rules", "dashboard.yml"]).unwrap();
}

/// A server that shows all there is: it has a gateway, sends mail and speaks TLS.
async fn site(directory: &TempDir, backend: Backend) -> Site {
    let certificate = self_signed(&["127.0.0.1".to_owned()], SystemClock.now()).unwrap();
    let file = |name: &str, text: &str| {
        fs::write(directory.path().join(name), text).unwrap();
        directory.path().join(name).display().to_string()
    };
    let routes = "upstreams: {gone: {servers: [\"http://127.0.0.1:9\"]}}\n\
                  routes: [{name: gone, match: {prefix: /}, upstream: gone, auth: none, max_body: 1}]\n";
    let mut site = Site::fresh(backend).await;
    site.set(&[
        ("gateway.routes", &file("routes.yaml", routes)),
        ("serve.gateway.host", "127.0.0.1"),
        ("serve.gateway.port", "0"),
        ("serve.decisions.port", "0"),
        ("serve.public.tls.enabled", "true"),
        ("serve.public.tls.cert.path", &file("cert.pem", &certificate.certificate)),
        ("serve.public.tls.key.path", &file("key.pem", certificate.private_key.expose())),
        ("serve.public.tls.folder", &directory.path().display().to_string()),
        ("identity.mail.smtp.url", "smtp://127.0.0.1:9"),
        ("identity.mail.smtp.from", "login@example.com"),
    ]);
    site
}

async fn text(process: &Process, path: &str) -> String {
    let url = process.admin.join(path).unwrap();
    http_client().get(url).send().await.unwrap().text().await.unwrap()
}

/// The metrics of a server on such a database.
async fn shown(directory: &TempDir, backend: Backend) -> String {
    let site = site(directory, backend).await;
    let server = site.start().await;
    let fault = http_client().get(server.listeners["gateway"].clone()).send().await.unwrap();
    assert_eq!(fault.status(), 502, "what shows the faults of upstreams");
    let too_large = http_client().post(server.listeners["gateway"].clone()).body("too large").send().await;
    assert_eq!(too_large.unwrap().status(), 413, "what shows the faults of clients");
    until("requests and faults are counted", async || {
        let metrics = text(&server, "/admin/metrics/prometheus").await;
        let faults = ["sluice_gateway_upstream_faults_total{", "sluice_gateway_client_faults_total{"];
        metrics.contains("http_requests_total{") && faults.iter().all(|fault| metrics.contains(fault))
    })
    .await;
    text(&server, "/admin/metrics/prometheus").await
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_and_dashboard_ask_for_metrics_that_the_program_has() {
    let directory = tempfile::tempdir().unwrap();
    let metrics =
        [shown(&directory, Backend::Sqlite).await, shown(&directory, Backend::Postgres).await].concat();
    let types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let all: BTreeSet<_> = types.collect();
    let rules = read(&folder("prometheus").join("sluice.rules.yml"));
    let panels = expressions().into_values().flatten().collect::<Vec<_>>().join("\n");
    let asked = &named(&rules) | &named(&panels);
    assert!(asked.len() > 30, "{asked:?}");
    let missing: Vec<_> = asked.difference(&all).collect();
    assert_eq!(missing, Vec::<&&str>::new());
    let labels = &asked_of_labels(&rules) | &asked_of_labels(&panels);
    assert!(labels.len() > 20, "{labels:?}");
    let is_shown = |(name, pair): &&(&str, String)| {
        let mut series = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{")));
        series.any(|line| line.contains(&format!("{{{pair}")) || line.contains(&format!(",{pair}")))
    };
    assert_eq!(
        labels.iter().filter(|label| !is_shown(label)).collect::<Vec<_>>(),
        Vec::<&(&str, String)>::new()
    );
}
