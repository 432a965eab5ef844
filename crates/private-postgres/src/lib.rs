//! A private PostgreSQL: a cluster of the installed server for one process, with fsync on and a fresh database for whoever
//! asks. It ends with the process, however that ends. And a PgBouncer before one.

mod options;
mod pooler;
mod temporary;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use thiserror::Error;

pub use options::{ClusterOptions, disk, is_installed};
pub use pooler::PrivatePooler;
pub use temporary::TemporaryDatabase;

/// Starts the server and waits until nobody holds the other end of its standard input any more: then the process that asked
/// for it is gone, even by SIGKILL, and the server goes too. If it went while the server started, nobody reads where that is: to say
/// it must not end this. Arguments: directory of the programs, port, where its folder is
/// made, options of the server.
const WATCHDOG: &str = r#"
trap '' INT TERM HUP PIPE
bin=$1 port=$2
dir=$(mktemp -d "$3/sluice-postgres.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
options="-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$dir $4"
{
    "$bin/initdb" -D "$dir/data" -U sluice -A trust -E UTF8 --no-locale --no-sync &&
    "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 -o "$options" start
} >"$dir/start" 2>&1 </dev/null || { cat "$dir/start" "$dir/log" >&2; exit 1; }
echo "$dir" 2>/dev/null || :
cat >/dev/null
"$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1
"#;
const ATTEMPTS: usize = 5;
const USER: &str = "sluice";

/// Why there is no cluster.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// No server is installed.
    #[error(
        "PostgreSQL is not installed: neither `pg_config --bindir` nor /usr/lib/postgresql/*/bin has `initdb`"
    )]
    NotInstalled,
    /// `POSTGRES_BIN` names a folder without it.
    #[error("{CHOSEN} is {}, and there is no `initdb`", .0.display())]
    NotThere(PathBuf),
    /// A program could not be started.
    #[error("a program of PostgreSQL could not be started")]
    Io(#[from] std::io::Error),
    /// A program failed.
    #[error("PostgreSQL could not do what it was told: {0}")]
    Failed(String),
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Connections are ended, data is written.
    Fast,
    /// As by a crash.
    Immediate,
}

/// A running cluster. It stops when this is dropped or the process ends.
#[derive(Debug)]
pub struct PrivateCluster {
    programs: PathBuf,
    directory: PathBuf,
    options: ClusterOptions,
    port: u16,
    databases: AtomicU32,
    watchdog: Child,
    /// Whose end is what the watchdog waits for.
    alive: Option<ChildStdin>,
}

impl PrivateCluster {
    /// The cluster of this process, started by whoever asks first.
    ///
    /// # Panics
    /// If it cannot be started: without it no test means anything.
    #[expect(clippy::panic, reason = "for tests, which end here")]
    pub async fn shared() -> &'static Self {
        static SHARED: OnceLock<PrivateCluster> = OnceLock::new();
        let start = || SHARED.get_or_init(|| Self::start().unwrap_or_else(|error| panic!("{error}")));
        tokio::task::spawn_blocking(start).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a cluster of its own, for tests. Blocks for a second or two.
    ///
    /// # Errors
    /// [`ClusterError`] with what the programs said.
    pub fn start() -> Result<Self, ClusterError> {
        Self::start_with(&ClusterOptions::of_tests())
    }

    /// The same with other options.
    ///
    /// # Errors
    /// [`ClusterError`] with what the programs said.
    pub fn start_with(options: &ClusterOptions) -> Result<Self, ClusterError> {
        let programs = programs()?;
        let mut last = ClusterError::NotInstalled;
        for _ in 0..ATTEMPTS {
            // The port is free now and may be taken the next moment: then another is tried.
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            match Self::start_on(&programs, port, options) {
                Ok(cluster) => return Ok(cluster),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn start_on(programs: &Path, port: u16, options: &ClusterOptions) -> Result<Self, ClusterError> {
        let mut watchdog = watchdog(programs, port, options).spawn()?;
        let alive = watchdog.stdin.take();
        let mut directory = String::new();
        if let Some(said) = watchdog.stdout.take() {
            BufReader::new(said).read_line(&mut directory)?;
        }
        if directory.is_empty() {
            let mut said = String::new();
            watchdog.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said)).transpose()?;
            watchdog.wait()?;
            return Err(ClusterError::Failed(said));
        }
        let directory = PathBuf::from(directory.trim_end());
        Ok(Self {
            programs: programs.to_owned(),
            directory,
            options: options.clone(),
            port,
            databases: AtomicU32::new(0),
            watchdog,
            alive,
        })
    }

    /// Makes a fresh, empty database, which is there as long as the cluster, and returns its DSN. In the cluster that tests share it is
    /// to be a [`TemporaryDatabase`].
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn database(&self) -> String {
        self.dsn(&self.create_database().await)
    }

    async fn create_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.execute("postgres", &format!("CREATE DATABASE {name}")).await;
        name
    }

    /// Blocks until it is gone.
    fn drop_database(&self, name: &str) {
        let output = self.psql("postgres", &format!("DROP DATABASE {name} WITH (FORCE)")).output();
        if let Err(error) = output.map_err(ClusterError::from).and_then(|output| succeeded(&output)) {
            eprintln!("the database {name} stays: {error}");
        }
    }

    /// The DSN of a database of this cluster.
    pub fn dsn(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// The port on 127.0.0.1.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the postmaster, if it runs.
    pub fn postmaster(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.directory.join("data/postmaster.pid")).ok()?;
        file.lines().next()?.trim().parse().ok()
    }

    /// The settings that it was started with, over those that PostgreSQL ships with.
    pub fn settings(&self) -> &[(String, String)] {
        &self.options.settings
    }

    /// The directory of the Unix socket.
    pub fn socket_directory(&self) -> &Path {
        &self.directory
    }

    /// Runs SQL in a database, as the owner of the cluster.
    ///
    /// # Panics
    /// If the server refuses.
    #[expect(clippy::panic, reason = "for tests, which end here")]
    pub async fn execute(&self, database: &str, sql: &str) {
        let output = tokio::process::Command::from(self.psql(database, sql)).output().await;
        let output = output.unwrap_or_else(|error| panic!("psql: {error}"));
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        command
            .args(["-h", "127.0.0.1", "-U", USER, "-v", "ON_ERROR_STOP=1", "-q", "-d", database, "-c", sql])
            .args(["-p", &self.port.to_string()])
            .stdin(Stdio::null());
        command
    }

    /// The data of a database, as `pg_dump` writes it.
    ///
    /// # Panics
    /// If it cannot.
    #[expect(clippy::panic, reason = "for tests, which end here")]
    pub async fn dump(&self, dsn: &str) -> Vec<u8> {
        let mut command = tokio::process::Command::new(self.programs.join("pg_dump"));
        let output = command.args(["--data-only", "--dbname", dsn]).output().await;
        let output = output.unwrap_or_else(|error| panic!("pg_dump: {error}"));
        assert!(output.status.success(), "pg_dump: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Stops the server. Blocks until it has.
    ///
    /// # Errors
    /// [`ClusterError`] with what `pg_ctl` said.
    pub fn stop(&self, how: Stop) -> Result<(), ClusterError> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        self.control(&["-m", mode, "stop"])
    }

    /// Starts the server again on the same port. Blocks until it accepts connections.
    ///
    /// # Errors
    /// [`ClusterError`] with what `pg_ctl` said.
    pub fn start_again(&self) -> Result<(), ClusterError> {
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} {}",
            self.port,
            self.directory.display(),
            self.options.arguments()
        );
        let log = self.directory.join("log").display().to_string();
        self.control(&["-l", &log, "-o", &options, "start"])
    }

    /// Stops the server and starts it again as a standby, which follows nobody and only reads. Blocks until it accepts connections.
    ///
    /// # Errors
    /// [`ClusterError`] with what went wrong.
    pub fn demote(&self) -> Result<(), ClusterError> {
        self.stop(Stop::Fast)?;
        std::fs::File::create(self.directory.join("data/standby.signal"))?;
        self.start_again()
    }

    fn control(&self, arguments: &[&str]) -> Result<(), ClusterError> {
        let output = as_server_user(self.programs.join("pg_ctl"))
            .arg("-D")
            .arg(self.directory.join("data"))
            .args(["-w", "-t", "60"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()?;
        succeeded(&output)
    }
}

impl Drop for PrivateCluster {
    fn drop(&mut self) {
        drop(self.alive.take());
        // Gone or not, nobody waits for it.
        drop(self.watchdog.wait());
    }
}

fn succeeded(output: &Output) -> Result<(), ClusterError> {
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    Err(ClusterError::Failed(String::from_utf8_lossy(&said).into_owned()))
}

/// What starts the server and ends it.
fn watchdog(programs: &Path, port: u16, options: &ClusterOptions) -> Command {
    let mut command = as_server_user("sh");
    command.args(["-c", WATCHDOG, "sh"]).arg(programs).arg(port.to_string());
    command.arg(&options.below).arg(options.arguments());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A command under the user of the server, which refuses to run as root.
fn as_server_user(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = if is_root() { Command::new("runuser") } else { Command::new(program.as_ref()) };
    if is_root() {
        command.args(["-u", "postgres", "--"]).arg(program.as_ref());
    }
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Names the folder of the programs of another PostgreSQL than the newest that is installed.
const CHOSEN: &str = "POSTGRES_BIN";

/// Where `initdb` is: where [`CHOSEN`] says, or of the newest version of those installed.
fn programs() -> Result<PathBuf, ClusterError> {
    if let Some(chosen) = std::env::var_os(CHOSEN).filter(|chosen| !chosen.is_empty()) {
        let chosen = PathBuf::from(chosen);
        return if chosen.join("initdb").exists() { Ok(chosen) } else { Err(ClusterError::NotThere(chosen)) };
    }
    let configured =
        Command::new("pg_config").arg("--bindir").output().ok().filter(|said| said.status.success());
    let configured =
        configured.map(|said| PathBuf::from(String::from_utf8_lossy(&said.stdout).trim_end().to_owned()));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut installed: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    installed.sort();
    let candidates = installed.into_iter().rev().map(|(_, programs)| programs).chain(configured);
    candidates.into_iter().find(|programs| programs.join("initdb").exists()).ok_or(ClusterError::NotInstalled)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_server_whose_process_is_killed_while_it_starts_goes_too() {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut watchdog = watchdog(&programs().unwrap(), port, &ClusterOptions::of_tests()).spawn().unwrap();
        // What is left of a process that was killed: nobody holds the other ends.
        drop((watchdog.stdin.take(), watchdog.stdout.take(), watchdog.stderr.take()));
        assert!(watchdog.wait().unwrap().success(), "it was started, and stopped");
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it still runs");
    }
}
