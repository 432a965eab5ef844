//! The program itself, as a process: started on a database, asked over HTTP, killed or told to stop.
//!
//! [`Site`]: what outlives a process: the database and the directory of the development secret. [`Process`]: one run.

use std::collections::{HashMap, VecDeque};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sluice_testkit::{Backend, Database, ISSUER};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, NoTls};
use url::Url;

use crate::application::http_client;

/// How long anything may take that must happen at all: generous, for a machine with other things to do.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);
/// The pause between two looks at something that will happen.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How many of the last lines of a log are kept for a failure's message.
const LOG_LINES: usize = 40;
/// What is logged beside warnings, always.
const WHERE_IT_LISTENS: &str = "sluice::app=info";
/// No request, no code and no retry of a refresh expires while a test runs on a busy machine.
const SETTINGS: &[(&str, &str)] = &[
    ("serve.public.host", "127.0.0.1"),
    ("serve.public.port", "0"),
    ("serve.admin.port", "0"),
    ("urls.self.issuer", ISSUER),
    ("urls.login", "http://login.test/login"),
    ("urls.consent", "http://login.test/consent"),
    ("log.format", "json"),
    ("ttl.auth_code", "10m"),
    ("oauth2.grant.refresh_token.rotation_grace_period", "5m"),
];

/// What production asks for beside those.
const PRODUCTION: &[(&str, &str)] =
    &[("secrets.system", "a-system-secret-for-this-test"), ("urls.self.issuer", "https://sluice.test/")];

/// Waits until `ready` says so.
pub(crate) async fn until(what: &str, mut ready: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !ready().await {
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        sleep(LOOK_EVERY).await;
    }
}

/// A database and what the processes on it share.
pub(crate) struct Site {
    database: Option<Database>,
    dsn: String,
    directory: TempDir,
    settings: Vec<(String, String)>,
    /// What else is logged.
    told: &'static str,
}

impl Site {
    /// On a fresh, empty database.
    pub(crate) async fn fresh(backend: Backend) -> Self {
        let database = Database::fresh(backend).await;
        Self { database: Some(database), ..Self::on(String::new()) }
    }

    /// On this database.
    pub(crate) fn on(dsn: String) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self { database: None, dsn, directory, settings: Vec::new(), told: WHERE_IT_LISTENS }
    }

    /// The same with these settings over those of tests, for the processes that are started from now on.
    pub(crate) fn set(&mut self, settings: &[(&str, &str)]) {
        self.settings.extend(settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    }

    /// Has the processes that are started from now on log all that this module says.
    pub(crate) const fn log(&mut self, module: &'static str) {
        self.told = module;
    }

    /// A connection to the database, which is in PostgreSQL.
    pub(crate) async fn connection(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(self.dsn(), NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client
    }

    /// The DSN of the database.
    pub(crate) fn dsn(&self) -> &str {
        self.database.as_ref().map_or(&self.dsn, |database| &database.dsn)
    }

    /// A process on this database, ready to serve.
    pub(crate) async fn start(&self) -> Process {
        let process = self.launch().await;
        until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
        process
    }

    /// Several processes, started at the same time.
    pub(crate) async fn start_at_once(&self, count: usize) -> Vec<Process> {
        let children: Vec<_> = (0..count).map(|_| self.spawn()).collect();
        let mut processes = Vec::new();
        for child in children {
            processes.push(Process::listening(child).await);
        }
        for process in &processes {
            until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
        }
        processes
    }

    /// A process on this database that listens.
    async fn launch(&self) -> Process {
        Process::listening(self.spawn()).await
    }

    /// A process of which nothing is known yet.
    pub(crate) fn spawn(&self) -> Child {
        self.spawn_with(&["serve", "all", "--auto-migrate"])
    }

    /// The program with these arguments, on this database.
    pub(crate) fn spawn_with(&self, arguments: &[&str]) -> Child {
        self.spawn_over(&[arguments, &["--dev"]].concat(), &[])
    }

    /// A process as in production: it takes the database as it is.
    pub(crate) async fn start_in_production(&self) -> Process {
        let process = Process::listening(self.spawn_in_production()).await;
        until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
        process
    }

    /// The same, of which nothing is known yet.
    pub(crate) fn spawn_in_production(&self) -> Child {
        self.spawn_over(&["serve", "all"], PRODUCTION)
    }

    /// The program with these arguments, and these settings over those of this site.
    fn spawn_over(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        command.args(arguments).arg("--data-dir").arg(self.directory.path());
        let own = self.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let all = SETTINGS.iter().copied().chain([("dsn", self.dsn())]).chain(own);
        for (key, value) in all.chain(settings.iter().copied()) {
            command.args(["--set", &format!("{key}={value}")]);
        }
        command.env_clear().env("SLUICE_LOG", format!("warn,{WHERE_IT_LISTENS},{}", self.told));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn().expect("the program starts")
    }
}

/// A running server. It is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    /// The public listener.
    pub(crate) public: Url,
    /// The admin listener; of a gateway by itself, that of its health.
    pub(crate) admin: Url,
    /// All that it said to listen on before it listened there.
    pub(crate) listeners: HashMap<String, Url>,
    log: Arc<Mutex<VecDeque<String>>>,
    http: reqwest::Client,
}

impl Process {
    /// Reads from the log where it listens.
    async fn listening(child: Child) -> Self {
        Self::listening_as(child, ["public", "admin"]).await
    }

    /// Reads from the log where it listens, under these two names.
    pub(crate) async fn listening_as(mut child: Child, [public, admin]: [&str; 2]) -> Self {
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let log = Arc::new(Mutex::new(VecDeque::new()));
        let listeners = match timeout(DEADLINE, addresses(&mut lines, &log, [public, admin])).await {
            Ok(Some(addresses)) => addresses,
            ended => panic!("the server does not listen ({:?}): {:#?}", ended.is_ok(), log.lock()),
        };
        let kept = Arc::clone(&log);
        tokio::spawn(async move { while next_line(&mut lines, &kept).await.is_some() {} });
        let (public, admin) = (listeners[public].clone(), listeners[admin].clone());
        Self { child, public, admin, listeners, log, http: http_client() }
    }

    /// What `/health/ready` says; nothing if nobody answers.
    pub(crate) async fn readiness(&self) -> Option<StatusCode> {
        let url = self.admin.join("/health/ready").expect("a URL");
        Some(self.http.get(url).send().await.ok()?.status())
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("a running process")
    }

    /// Ends it at once, as by `kill -9`.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("it was running");
        self.has_not_panicked();
    }

    /// Tells it to stop (SIGTERM).
    pub(crate) fn tell_to_stop(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Waits until it has ended by itself.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        let ended = timeout(DEADLINE, self.child.wait()).await;
        self.has_not_panicked();
        ended.unwrap_or_else(|_| panic!("it does not stop: {:#?}", self.log.lock())).expect("a status")
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_none()
    }

    /// Panics unless this is among the last lines of the log.
    #[track_caller]
    pub(crate) fn has_logged(&self, text: &str) {
        let log = self.log.lock();
        assert!(log.iter().any(|line| line.contains(text)), "{text} in {log:#?}");
    }

    /// Waits until one of the last lines of the log has all of this.
    pub(crate) async fn logs(&self, texts: &[&str]) {
        let has_all = |line: &String| texts.iter().all(|text| line.contains(text));
        until(&format!("a line with {texts:?}"), async || self.log.lock().iter().any(has_all)).await;
    }

    /// A panic of the server is a failure whatever was answered.
    pub(crate) fn has_not_panicked(&self) {
        let log = self.log.lock();
        assert!(!log.iter().any(|line| line.contains("panicked at")), "the server panicked: {log:#?}");
    }
}

/// Sends a process a signal.
pub(crate) fn send(child: &Child, signal: Signal) {
    let id = child.id().expect("a running process");
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("it is running");
}

type LogLines = Lines<BufReader<ChildStderr>>;

async fn next_line(lines: &mut LogLines, log: &Mutex<VecDeque<String>>) -> Option<String> {
    let line = lines.next_line().await.ok().flatten()?;
    let mut log = log.lock();
    // What tells of a panic stays.
    if log.len() == LOG_LINES && log.pop_front().is_some_and(|first| first.contains("panicked at")) {
        log.push_front("panicked at an earlier moment".to_owned());
    }
    log.push_back(line.clone());
    Some(line)
}

async fn addresses(
    lines: &mut LogLines,
    log: &Mutex<VecDeque<String>>,
    wanted: [&str; 2],
) -> Option<HashMap<String, Url>> {
    let mut found = HashMap::new();
    while !wanted.iter().all(|name| found.contains_key(*name)) {
        let line = next_line(lines, log).await?;
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if event["message"] != "listening" {
            continue;
        }
        let url = |name: &str| format!("http://{}/", event[name].as_str()?).parse().ok();
        found.insert(event["listener"].as_str()?.to_owned(), url("address")?);
        if let Some(decisions) = url("decisions") {
            found.insert("decisions".to_owned(), decisions);
        }
    }
    Some(found)
}
