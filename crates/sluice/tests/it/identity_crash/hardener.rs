//! `sluice worker` as a process.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sluice_testkit::Backend;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use super::crowd::{Crowd, seed};
use super::door::{Door, Told};
use super::rows::Rows;
use super::{SMALL_HASH, patience, until};
use crate::application::http_client;
use crate::process::{DEADLINE, Process, Site};

/// How many register for the worker whose connections are counted.
const PEOPLE: usize = 40;

type Log = Lines<BufReader<ChildStderr>>;

/// A worker. It is killed when this is dropped.
pub(super) struct Hardener {
    child: Child,
    metrics: Url,
    http: reqwest::Client,
    /// At the end of its log: the first line that tells of a panic.
    panicked: JoinHandle<Option<String>>,
}

/// What a worker has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) hardened: usize,
    pub(super) superseded: usize,
    pub(super) given_up: usize,
}

impl Hardener {
    /// Starts a worker and waits until it works.
    pub(super) async fn start(site: &Site) -> Self {
        let mut child = site.spawn_with(&["worker", "--metrics-port", "0"]);
        let mut log = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let metrics = timeout(patience(), metrics(&mut log)).await.expect("it listens");
        let hardener = Self::of(child, log, metrics);
        until("the worker works", async || hardener.read().await.is_some()).await;
        hardener
    }

    fn of(child: Child, mut log: Log, metrics: Url) -> Self {
        let panicked = tokio::spawn(async move {
            let mut panicked = None;
            while let Ok(Some(line)) = log.next_line().await {
                panicked = panicked.or_else(|| line.contains("panicked at").then_some(line));
            }
            panicked
        });
        Self { child, metrics, http: http_client(), panicked }
    }

    /// Its metrics; nothing if it does not answer.
    pub(super) async fn read(&self) -> Option<String> {
        let answer = self.http.get(self.metrics.clone()).send().await.ok()?;
        answer.error_for_status().ok()?.text().await.ok()
    }

    /// What it has counted.
    pub(super) async fn counted(&self) -> Counted {
        Counted::read(&self.read().await.expect("metrics"))
    }

    /// Ends it at once, as by `kill -9`.
    pub(super) async fn kill(mut self) {
        self.child.kill().await.expect("it was running");
        self.has_not_panicked().await;
    }

    /// Tells it to stop, and waits until it has.
    pub(super) async fn stop(mut self) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), Signal::TERM).expect("it is running");
        let ended = timeout(DEADLINE, self.child.wait()).await.expect("it stops").expect("a status");
        self.has_not_panicked().await;
        assert_eq!(ended.code(), Some(0));
    }

    /// Once it has ended.
    async fn has_not_panicked(self) {
        let panicked = timeout(DEADLINE, self.panicked).await.expect("the log ends").expect("its reader");
        assert_eq!(panicked, None, "the worker panicked");
    }
}

/// Where a worker serves its metrics, as its log says.
async fn metrics(log: &mut Log) -> Url {
    loop {
        let line = log.next_line().await.expect("text").expect("the worker says where it listens");
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if event["message"] == "listening" && event["listener"] == "metrics" {
            let address = event["address"].as_str().expect("an address");
            return format!("http://{address}/admin/metrics/prometheus").parse().expect("a URL");
        }
    }
}

impl Counted {
    /// What a server has counted.
    pub(super) async fn of_server(server: &Process) -> Self {
        let url = server.admin.join("/admin/metrics/prometheus").expect("a URL");
        Self::read(&http_client().get(url).send().await.expect("metrics").text().await.expect("text"))
    }

    fn read(metrics: &str) -> Self {
        let count = |outcome: &str| {
            let name = format!("sluice_hardening_total{{outcome=\"{outcome}\"}} ");
            let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
            line.and_then(|count| count.trim_end_matches(".0").parse().ok())
                .unwrap_or_else(|| panic!("no {name}in {metrics}"))
        };
        Self { hardened: count("hardened"), superseded: count("superseded"), given_up: count("given_up") }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_shows_its_numbers_at_its_own_path_and_at_that_of_a_server() {
    shows_its_numbers(&Site::fresh(Backend::Sqlite).await).await;
}

/// Prometheus asks from within: no proxy stands before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_shows_its_numbers_over_plain_http_where_a_proxy_ends_tls() {
    let mut site = Site::fresh(Backend::Sqlite).await;
    site.set(&[("serve.admin.tls.allow_termination_from", "10.0.0.0/8")]);
    shows_its_numbers(&site).await;
}

async fn shows_its_numbers(site: &Site) {
    let server = site.start().await;
    let worker = Hardener::start(site).await;
    for path in ["/metrics", "/metrics/prometheus", "/admin/metrics", "/admin/metrics/prometheus"] {
        let answer = worker.http.get(worker.metrics.join(path).unwrap()).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        assert!(answer.text().await.unwrap().contains("sluice_hardening_backlog"), "{path}");
    }
    worker.stop().await;
    server.tell_to_stop();
    assert_eq!(server.ended().await.code(), Some(0));
}

/// Something that says what a worker says that panics, and ends well.
const PANICKED: &str = "trap 'exit 0' TERM; echo \"thread 'main' panicked at src/hardening.rs:1:1\" >&2; echo said; \
                        while :; do sleep 0.1; done";

#[tokio::test]
#[should_panic(expected = "the worker panicked")]
async fn a_worker_that_has_panicked_is_noticed_though_it_goes_on() {
    let mut command = Command::new("sh");
    command.args(["-c", PANICKED]).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("a shell");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(said.next_line().await.unwrap().as_deref(), Some("said"));
    let log = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    Hardener::of(child, log, "http://127.0.0.1:9/".parse().unwrap()).stop().await;
}

/// One to take and to store by, and one to count by: it reads no feed.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_opens_no_more_connections_than_it_may() {
    let mut site = Site::fresh(Backend::Postgres).await;
    site.set(SMALL_HASH);
    site.set(&[("identity.hardening.enabled", "false"), ("identity.hardening.max_connections", "2")]);
    let server = site.start().await;
    let (door, seed) = (Door::of(&server), seed());
    for number in 0..PEOPLE {
        let told = door.register(&Crowd::of(seed, number)).await;
        assert!(matches!(told, Some(Told::Created(_))), "{told:?}");
    }
    server.tell_to_stop();
    assert_eq!(server.ended().await.code(), Some(0));
    let rows = Rows::of(site.dsn()).await;
    until("the server's connections are gone", async || rows.connections().await == 0).await;
    let worker = Hardener::start(&site).await;
    let mut most = 0;
    until("all credentials are hardened", async || {
        most = rows.connections().await.max(most);
        rows.waiting().await == 0
    })
    .await;
    worker.stop().await;
    assert_eq!(most, 2);
}
