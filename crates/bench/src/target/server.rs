//! The server as a process.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::TargetError;
use super::listening::free_endpoint;
use super::process::Process;
use super::shown::shown_setting;
use crate::driver::{Agent, Ask, Endpoints, Origin};

/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_mins(1);
/// Of the end of the log, when the server did not start.
const TAIL: u64 = 2000;
const TAIL_LINES: usize = 5;
/// What seals tokens, and keys at rest unless another secret does.
const SYSTEM_SECRET: &str = "secrets.system";
/// The same of a PostgreSQL that is there for longer than a run, so that the next opens what this one has sealed. It is in the
/// documents, and protects nothing.
const SECRET_OF_BENCHMARKS: &str = "a-secret-of-benchmarks-alone";
/// In the words of a server that lacks a secret or a pepper.
const SEALED: &[&str] = &["Put the secret that sealed it back", "is not configured: without it"];
const SEALED_WITH_ANOTHER: &str =
    "This database is sealed with another secret: name it by --set secrets.system=";

/// The program, where it listens, and the process once it is started.
pub(super) struct Server {
    program: PathBuf,
    log: PathBuf,
    endpoints: Endpoints,
    arguments: Vec<String>,
    /// What was set over the defaults: for the gateway, and by whoever runs the benchmark.
    set: Vec<String>,
    process: Option<Process>,
}

impl Server {
    /// Not started yet. The name of the issuer has the port, so that the server cannot choose.
    pub(super) fn of(program: &Path, folder: &Path, dsn: &str) -> Result<Self, TargetError> {
        let (public, admin) = (free_endpoint()?, free_endpoint()?);
        let arguments = ["serve", "all", "--dev", "--auto-migrate", "--data-dir"].map(str::to_owned);
        let mut server = Self {
            program: program.to_owned(),
            log: folder.join("server.log"),
            arguments: arguments.to_vec(),
            set: Vec::new(),
            process: None,
            endpoints: Endpoints { public, admin: Some(admin.clone()), gateway: None },
        };
        server.arguments.push(folder.display().to_string());
        server.option("dsn", dsn);
        server.option("urls.self.issuer", &format!("http://{}/", server.endpoints.public.host));
        server.listen("public", server.endpoints.public.address);
        server.listen("admin", admin.address);
        Ok(server)
    }

    /// With the gateway beside it.
    pub(super) fn with_gateway(&mut self, routes: &Path) -> Result<(), TargetError> {
        let gateway = free_endpoint()?;
        self.listen("gateway", gateway.address);
        let log = self.log.with_file_name("gateway.log");
        self.set(&[
            "serve.decisions.enabled=false".to_owned(),
            format!("gateway.routes={}", routes.display()),
            format!("gateway.access_log={}", log.display()),
        ]);
        self.endpoints.gateway = Some(gateway);
        Ok(())
    }

    /// Settings over the defaults.
    pub(super) fn set(&mut self, settings: &[String]) {
        self.set.extend_from_slice(settings);
    }

    /// With the secret of benchmarks, unless one was set.
    pub(super) fn keep_secret(&mut self) {
        let is_named =
            |setting: &String| setting.split_once('=').is_some_and(|(key, _)| key == SYSTEM_SECRET);
        if !self.set.iter().any(is_named) {
            self.option(SYSTEM_SECRET, SECRET_OF_BENCHMARKS);
        }
    }

    /// All that it is told over its defaults; of two values of a key the later counts.
    pub(super) fn told(&self) -> Vec<(String, String)> {
        let options = self.arguments.windows(2).filter_map(|pair| match pair {
            [option, setting] if option == "--set" => Some(setting),
            _ => None,
        });
        let pairs = options.chain(&self.set).filter_map(|setting| setting.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn listen(&mut self, listener: &str, address: SocketAddr) {
        self.option(&format!("serve.{listener}.host"), &address.ip().to_string());
        self.option(&format!("serve.{listener}.port"), &address.port().to_string());
    }

    fn option(&mut self, key: &str, value: &str) {
        self.arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
    }

    /// Starts it, and waits until it is ready; how long that took. A process that is still there is ended before.
    pub(super) async fn start(&mut self) -> Result<Duration, TargetError> {
        drop(self.process.take());
        let mut arguments = self.arguments.clone();
        arguments.extend(self.set.iter().flat_map(|pair| ["--set".to_owned(), pair.clone()]));
        let began = Instant::now();
        let process = Process::start(&self.program, &arguments, &self.log)?;
        self.process = Some(process);
        self.until_ready().await?;
        Ok(began.elapsed())
    }

    /// Until `/health/ready` says so.
    pub(super) async fn until_ready(&self) -> Result<(), TargetError> {
        let began = Instant::now();
        let mut agent = Agent::new(0, Arc::new(self.endpoints.clone()), None);
        loop {
            let answer = agent.send(&Ask::get(Origin::Admin, "/health/ready")).await;
            if answer.is_ok_and(|answer| answer.status() == 200) {
                return Ok(());
            }
            if !self.process.as_ref().is_some_and(Process::is_running) {
                return Err(TargetError::Ended(self.last_words()));
            }
            if began.elapsed() > PATIENCE {
                return Err(TargetError::NotReady(PATIENCE.as_secs(), self.last_words()));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The process, or 0 before the start.
    pub(super) fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::pid)
    }

    pub(super) fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    pub(super) const fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// How it runs, for the report.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        const AS_IT_SHIPS: &str = "as it ships: request log, audit and metrics on";
        const BUT_FOR: &str = "as it ships, but for the settings above";
        let (set, logs) = if self.set.is_empty() {
            ("none: the defaults that the server ships with".to_owned(), AS_IT_SHIPS)
        } else {
            (self.set.iter().map(|setting| shown_setting(setting)).collect::<Vec<_>>().join(", "), BUT_FOR)
        };
        vec![
            ("server".to_owned(), "started here: serve all --dev, for plain http".to_owned()),
            ("settings of the server".to_owned(), set),
            ("logs".to_owned(), logs.to_owned()),
        ]
    }

    /// The server appends, so that what it writes next is at the beginning again.
    pub(super) fn empty_log(&self) {
        let opened = OpenOptions::new().write(true).open(&self.log);
        // A log that cannot be emptied is a larger log.
        drop(opened.and_then(|log| log.set_len(0)));
    }

    fn last_words(&self) -> String {
        let said = tail(&self.log).unwrap_or_default();
        let lines: Vec<_> = said.lines().rev().take(TAIL_LINES).collect();
        let lines: Vec<_> = lines.into_iter().rev().collect();
        if lines.is_empty() { "it said nothing".to_owned() } else { with_advice(lines.join("\n")) }
    }
}

/// What a server said, and what helps where it lacks a secret.
fn with_advice(said: String) -> String {
    let is_sealed = SEALED.iter().any(|words| said.contains(words));
    if is_sealed { format!("{said}\n{SEALED_WITH_ANOTHER}") } else { said }
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_logs_no_more_is_told_than_is_known() {
        let folder = Path::new("nowhere");
        let mut server = Server::of(Path::new("sluice"), folder, "sqlite:file").unwrap();
        let told = |server: &Server, name: &str| {
            server.settings().into_iter().find(|(is, _)| is == name).map(|(_, value)| value).unwrap()
        };
        assert_eq!(told(&server, "logs"), "as it ships: request log, audit and metrics on");
        server.set(&["log.level=error".to_owned(), "serve.admin.profiling=true".to_owned()]);
        assert_eq!(told(&server, "settings of the server"), "log.level=error, serve.admin.profiling=true");
        assert_eq!(told(&server, "logs"), "as it ships, but for the settings above");
        server.set(&["secrets.system=a-secret-of-mine".to_owned()]);
        assert!(told(&server, "settings of the server").ends_with(", secrets.system=…"));
    }

    #[test]
    fn what_a_gateway_is_told_is_no_default_and_can_be_told_otherwise() {
        let mut server = Server::of(Path::new("sluice"), Path::new("nowhere"), "sqlite:file").unwrap();
        server.with_gateway(Path::new("nowhere/routes.yaml")).unwrap();
        server.set(&["gateway.access_log=elsewhere".to_owned()]);
        let settings = server.settings();
        let told = |name: &str| settings.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str());
        assert_eq!(
            told("settings of the server"),
            Some(
                "serve.decisions.enabled=false, gateway.routes=nowhere/routes.yaml, \
                 gateway.access_log=nowhere/gateway.log, gateway.access_log=elsewhere"
            )
        );
        assert_eq!(told("logs"), Some("as it ships, but for the settings above"));
    }

    #[test]
    fn a_database_that_is_there_for_longer_has_the_secret_of_benchmarks_unless_another_is_named() {
        let server = |set: &[String]| {
            let mut server =
                Server::of(Path::new("sluice"), Path::new("nowhere"), "postgres://db/x").unwrap();
            server.set(set);
            server.keep_secret();
            server.arguments.iter().any(|argument| argument.starts_with("secrets.system="))
        };
        assert!(server(&["secrets.storage=another-of-mine".to_owned()]));
        assert!(!server(&["secrets.system=a-secret-of-mine".to_owned()]));
    }

    #[test]
    fn what_a_server_is_told_ends_with_what_counts() {
        let mut server =
            Server::of(Path::new("sluice"), Path::new("nowhere"), "postgres://db/x?a=b").unwrap();
        server.keep_secret();
        server.set(&["secrets.system=another".to_owned(), "log.level=error".to_owned()]);
        let told = server.told();
        let of = |name: &str| told.iter().rfind(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(of("dsn"), Some("postgres://db/x?a=b"));
        assert_eq!(of("secrets.system"), Some("another"));
        assert_eq!(told.last().map(|(key, _)| key.as_str()), Some("log.level"));
    }

    #[test]
    fn whoever_lacks_a_secret_is_told_how_to_name_it() {
        let said =
            with_advice("passwords need a pepper, which is not configured: without it, nobody".to_owned());
        assert!(said.ends_with("name it by --set secrets.system="), "{said}");
        assert_eq!(with_advice("no such file".to_owned()), "no such file");
    }
}
