//! What every run can be told.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use url::Url;

use crate::account::demanded_tls;
use crate::driver::{Failure, Length, Load, Pace};
use crate::error::BenchError;
use crate::scenario::{Dialect, StandardServer};
use crate::target::{Start, is_postgres, is_sqlite};

/// What looks for the knee.
const KNEE: &str = "knee";
/// What `--p99-below` is unless it is said.
const P99_BELOW: Duration = Duration::from_millis(50);

/// How a scenario is run.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new(KNEE).args(["find_knee", "half_knee"]).multiple(true))]
#[expect(clippy::struct_excessive_bools, reason = "they are flags")]
pub struct RunArgs {
    /// Users at the same time, each with connections of its own
    #[arg(short, long, default_value = "256")]
    pub connections: NonZeroUsize,
    /// End after so many operations
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration")]
    pub operations: Option<NonZeroU64>,
    /// End after so much time
    #[arg(long, default_value = "10s", value_parser = lasting)]
    pub duration: Duration,
    /// For how long the same is done before anything is measured
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    pub warm_up: Duration,
    /// Begin so many operations a second, answered or not (open loop); without it each user begins when its last has ended
    #[arg(long, value_parser = bounded_rate)]
    pub rate: Option<f64>,
    /// Raise the rate until the server does not keep up
    #[arg(long, conflicts_with_all = ["rate", "runs"])]
    pub find_knee: bool,
    /// Find the knee likewise, and measure at half of it
    #[arg(long, conflicts_with_all = ["rate", "runs", "find_knee"])]
    pub half_knee: bool,
    /// With --find-knee or --half-knee: a server keeps up while 99 of 100 operations that are due end well within this time
    /// [default: 50ms]
    #[arg(long, value_parser = lasting, requires = KNEE)]
    pub p99_below: Option<Duration>,
    /// Threads of the driver [default: one for each core]
    #[arg(long)]
    pub threads: Option<NonZeroUsize>,
    /// Measure so many times, and report the median
    #[arg(long, default_value = "1")]
    pub runs: NonZeroUsize,
    /// Do not measure what a bare request costs
    #[arg(long)]
    pub no_floor: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write index.html and run.json into this folder
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Make a CPU profile of the server meanwhile, without what the kernel does for it; it goes into the report. The run lasts
    /// two seconds or more
    #[arg(long, requires = "report")]
    pub profile: bool,
    /// Which server
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What a measurement of its own kind is told beside that: it starts its own server.
#[derive(Debug, Clone, Args)]
pub struct OwnServerArgs {
    /// Threads of the driver
    #[arg(long, default_value = "2")]
    pub threads: NonZeroUsize,
    /// The database of the server: postgres://… or sqlite:… [default: a private PostgreSQL]
    #[arg(long)]
    pub dsn: Option<String>,
    /// A setting of the server, instead of its default
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write run.json into this folder, and index.html where there is a page about it
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
}

/// Where it counts what PostgreSQL takes, and the server is started here.
#[derive(Debug, Clone, Args)]
pub struct DatabaseArgs {
    /// With --dsn: a process of its PostgreSQL, which counts with its children; where that runs on this machine and outside of
    /// containers, its DSN is enough
    #[arg(long, value_name = "PID", requires = "dsn")]
    pub database_pid: Option<u32>,
}

/// A server that runs.
const FOUND: &str = "found";
/// A server whose database is not private to the run.
const GIVEN_DATABASE: &str = "given_database";

/// Which server is measured: without a URL one that is started here.
#[derive(Debug, Clone, Default, Args)]
#[command(group = ArgGroup::new(FOUND).args(["public_url", "issuer"]).multiple(true))]
#[command(group = ArgGroup::new(GIVEN_DATABASE).args(["public_url", "issuer", "dsn"]).multiple(true))]
pub struct ServerArgs {
    /// The database of the server that is started: postgres://… or sqlite:… [default: a private PostgreSQL]
    #[arg(long, conflicts_with_all = ["public_url", "issuer"])]
    pub dsn: Option<String>,
    /// A setting of the server that is started, instead of its default
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["public_url", "issuer"])]
    pub set: Vec<String>,
    /// A server that runs: where browsers and applications see it
    #[arg(long, value_name = "URL")]
    pub public_url: Option<Url>,
    /// The same: its admin listener
    #[arg(long, value_name = "URL", requires = "public_url", conflicts_with_all = ["dsn", "set"])]
    pub admin_url: Option<Url>,
    /// The same: its gateway
    #[arg(long, value_name = "URL", requires = "public_url", conflicts_with_all = ["dsn", "set"])]
    pub gateway_url: Option<Url>,
    /// The same: a process of it, which counts with its children; several that are apart may be named
    #[arg(long, value_name = "PID", requires = FOUND)]
    pub server_pid: Vec<u32>,
    /// The same, or with --dsn: a process of its PostgreSQL, which counts with its children; where that runs on this machine and
    /// outside of containers, its DSN is enough
    #[arg(long, value_name = "PID", requires = GIVEN_DATABASE)]
    pub database_pid: Option<u32>,
    /// The same: its PostgreSQL, for the account of statements and rows; sqlite: if it works on SQLite, which costs the server itself
    #[arg(long, value_name = "DSN", requires = FOUND, conflicts_with = "dsn")]
    pub database_dsn: Option<String>,
    /// The same: it has no database, everything is in its processes
    #[arg(long, requires = FOUND, conflicts_with_all = ["database_pid", "database_dsn"])]
    pub no_database: bool,
    /// How a server that runs is spoken to
    #[arg(long, value_enum, default_value_t)]
    pub server: Dialects,
    /// Of --server standard: the issuer, below which its discovery document is
    #[arg(long, value_name = "URL", required_if_eq("server", "standard"))]
    pub issuer: Option<Url>,
    /// Of --server standard: a client that may do what the scenario does
    #[arg(long, required_if_eq("server", "standard"))]
    pub client_id: Option<String>,
    /// Of --server standard: its secret; without one it is public
    #[arg(long)]
    pub client_secret: Option<String>,
    /// Of --server standard: a redirect URI of the client; nothing has to listen there
    #[arg(long, default_value = "http://127.0.0.1:5555/callback")]
    pub redirect_uri: String,
    /// Of --server standard: who logs in
    #[arg(long)]
    pub user: Option<String>,
    /// Of --server standard: the password of that user
    #[arg(long)]
    pub password: Option<String>,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Dialects {
    /// Hydra's API
    #[default]
    Hydra,
    /// OAuth 2.0 and OpenID Connect alone, with a client that is there already
    Standard,
}

impl RunArgs {
    /// The load of the run that is measured.
    ///
    /// # Errors
    /// [`Failure::Setup`], if the machine does not say how many cores it has.
    pub fn load(&self) -> Result<Load, Failure> {
        let length = self.operations.map_or(Length::Duration(self.duration), |n| Length::Operations(n.get()));
        Ok(Load {
            users: self.connections,
            threads: self.threads()?.min(self.connections),
            pace: self.rate.map_or(Pace::Closed, |rate| Pace::Open { rate }),
            length,
            first_turn: 0,
        })
    }

    /// The option that has the knee looked for, if one has.
    pub(crate) fn knee(&self) -> Option<&'static str> {
        let asked = [(self.find_knee, "--find-knee"), (self.half_knee, "--half-knee")];
        asked.into_iter().find_map(|(is_asked, option)| is_asked.then_some(option))
    }

    /// How long an operation may take at a rate that is kept up with.
    pub(crate) fn p99_below(&self) -> Duration {
        self.p99_below.unwrap_or(P99_BELOW)
    }

    fn threads(&self) -> Result<NonZeroUsize, Failure> {
        let cores = || {
            std::thread::available_parallelism().map_err(|error| {
                Failure::Setup(format!("the machine does not say how many cores it has: {error}"))
            })
        };
        self.threads.map_or_else(cores, Ok)
    }
}

impl OwnServerArgs {
    /// How the server is started: what was said on the command line comes after these settings, and so goes before them.
    pub fn start(&self, settings: impl IntoIterator<Item = String>) -> Start {
        let set = settings.into_iter().chain(self.set.iter().cloned()).collect();
        Start { dsn: self.dsn.clone(), set, ..Start::default() }
    }
}

impl DatabaseArgs {
    /// The same start, which knows of the process.
    ///
    /// # Errors
    /// [`BenchError::Usage`] if the database has none, or cannot be asked.
    pub fn known_to(&self, start: Start) -> Result<Start, BenchError> {
        check_database(start.dsn.as_deref(), self.database_pid)?;
        Ok(Start { database_pid: self.database_pid, ..start })
    }
}

/// Whether a database can be accounted for, and have a process if one is named.
///
/// # Errors
/// [`BenchError::Usage`]: PostgreSQL with TLS, SQLite with a process.
pub(crate) fn check_database(dsn: Option<&str>, pid: Option<u32>) -> Result<(), BenchError> {
    if pid.is_some() && dsn.is_some_and(is_sqlite) {
        return Err(BenchError::Usage(
            "SQLite has no process of its own: leave --database-pid out".to_owned(),
        ));
    }
    let Some(mode) = dsn.filter(|dsn| is_postgres(dsn)).and_then(demanded_tls) else { return Ok(()) };
    Err(BenchError::Usage(format!(
        "sslmode={mode}: the connection by which the benchmark counts speaks no TLS. Give a DSN that does without (sslmode=disable); \
         of a server that runs, --database-dsn may be left out"
    )))
}

impl ServerArgs {
    /// How the server is spoken to.
    pub fn dialect(&self) -> Dialect {
        match (self.server, &self.issuer, &self.client_id) {
            (Dialects::Standard, Some(issuer), Some(client_id)) => Dialect::Standard(StandardServer {
                issuer: issuer.to_string(),
                client_id: client_id.clone(),
                client_secret: self.client_secret.clone(),
                redirect_uri: self.redirect_uri.clone(),
                user: self.user.clone(),
                password: self.password.clone(),
            }),
            _ => Dialect::Hydra,
        }
    }

    /// Whether the server runs already.
    pub const fn is_found(&self) -> bool {
        self.public_url.is_some() || self.issuer.is_some()
    }
}

/// A time in which something can happen.
pub(crate) fn lasting(said: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(said).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("not more than nothing".to_owned()) } else { Ok(time) }
}

/// Operations a second, of which no driver begins more.
pub(crate) fn bounded_rate(said: &str) -> Result<f64, String> {
    const MOST: f64 = 1_000_000.0;
    positive(said).and_then(|rate| if rate > MOST { Err("more than 1,000,000".to_owned()) } else { Ok(rate) })
}

fn positive(said: &str) -> Result<f64, String> {
    let number: f64 = said.parse().map_err(|_| "not a number".to_owned())?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err("not more than nothing".to_owned()) }
}
