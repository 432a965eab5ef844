//! What is measured: a server that runs already, or one that is started here on a private database.
//!
//! [`Target::found`], [`Target::started`]. `database`: the private PostgreSQL, or what a DSN names. `server`: the program as
//! a process. `backend`: what is behind the gateway. `listening`: programs that are told where to listen. `idle`: what it takes while
//! nobody asks. [`Keeper`]: whose CPU the work of the database is.
//!
//! Everything that was started here ends with the target, and with this process however that ends.

mod backend;
mod database;
mod error;
mod idle;
mod keeper;
pub(crate) mod listening;
pub(crate) mod nginx;
pub(crate) mod process;
mod server;
mod shown;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sluice_private_postgres::disk;
use tempfile::TempDir;
use url::Url;

use crate::account::processes::roots;
use crate::driver::{Endpoint, Endpoints, Failure};
use crate::inside::StartedServer;
use crate::report::Memory;

use backend::Backend;
use database::Database;
use listening::until_free;
use server::Server;
use shown::without_passwords;

pub(crate) use database::{is_postgres, is_sqlite};
pub use error::TargetError;
pub(crate) use error::told;
pub use idle::Idle;
pub use keeper::Keeper;
pub(crate) use shown::shown_command;
pub use shown::shown_setting;

/// A path behind the gateway of a started target. It takes a token with [`GATEWAY_SCOPE`].
pub const GATEWAY_PATH: &str = "/orders";
/// The scope that [`GATEWAY_PATH`] takes.
pub const GATEWAY_SCOPE: &str = "orders.read";

/// A server that runs already.
#[derive(Debug, Clone)]
pub struct Found {
    /// What browsers and applications see.
    pub public: Url,
    /// The admin listener, where there is one.
    pub admin: Option<Url>,
    /// The gateway, where there is one.
    pub gateway: Option<Url>,
    /// Its processes, if they are on this machine.
    pub pids: Vec<u32>,
    /// The PostgreSQL that it works on, to account for; or `sqlite:`, whose work is the server's own.
    pub dsn: Option<String>,
    /// A process of its database, which counts with all below it; for a PostgreSQL on this machine the DSN is enough.
    pub database_pid: Option<u32>,
    /// Whether it is known to have no database: everything is in its processes.
    pub without_database: bool,
    /// Whether it says itself where its endpoints are: then these paths are whole, and those of the URLs are no part of them.
    pub is_discovered: bool,
}

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// `postgres://…`, `sqlite:FILE`, or `sqlite:` for a file that is thrown away. A private PostgreSQL by default.
    pub dsn: Option<String>,
    /// A process of the PostgreSQL that is named so, if that does not tell its own.
    pub database_pid: Option<u32>,
    /// Settings over the defaults that the server ships with, `key=value`.
    pub set: Vec<String>,
    /// With the gateway, and something behind it.
    pub gateway: bool,
}

/// A server under measurement.
pub struct Target {
    /// Where it listens.
    pub endpoints: Arc<Endpoints>,
    /// The processes of the server, if they are on this machine: each with all its children counts.
    pub server_pids: Vec<u32>,
    /// The database that is accounted for, if it is PostgreSQL.
    pub postgres: Option<String>,
    /// A process of the database with all below it, where it is known and [`Self::postgres`] does not tell.
    pub database_pid: Option<u32>,
    /// Whose CPU the work of the database is.
    pub keeper: Keeper,
    /// From the start of the process to the first `200` of `/health/ready`, the schema's migrations included.
    pub started_in: Option<Duration>,
    /// What the process took while nobody asked, if it was started here.
    pub idle: Option<Idle>,
    /// Whether the most memory that its processes have had is that since [`Self::forget_peaks`].
    has_new_peaks: bool,
    // In the order in which they end.
    _backend: Option<Backend>,
    server: Option<Server>,
    database: Option<Database>,
    folder: Option<TempDir>,
    settings: Vec<(String, String)>,
}

impl Found {
    /// What knows nothing of its database may have one.
    fn keeper(&self) -> Keeper {
        let is_within = self.without_database || self.dsn.as_deref().is_some_and(is_sqlite);
        if is_within { Keeper::Server } else { Keeper::Others }
    }

    /// What there is to say of its database, for the report.
    fn database(&self) -> Option<(&'static str, &'static str)> {
        const UNKNOWN: &str = "unknown: no --database-dsn, --database-pid or --no-database was given";
        match (&self.dsn, self.database_pid) {
            _ if self.without_database => Some(("database", "none: all is in the processes of the server")),
            (Some(dsn), _) if is_sqlite(dsn) => Some(("database", "SQLite, as given")),
            (None, None) => Some(("CPU of the database", UNKNOWN)),
            _ => None,
        }
    }
}

/// Whether a process that was named can be accounted for.
fn is_here(pid: u32) -> Result<(), TargetError> {
    if process::is_there(pid) { Ok(()) } else { Err(TargetError::NoProcess(pid)) }
}

#[cfg(test)]
impl Found {
    /// Of which nothing else is known.
    fn at(public: Url) -> Self {
        Self {
            public,
            admin: None,
            gateway: None,
            pids: Vec::new(),
            dsn: None,
            database_pid: None,
            without_database: false,
            is_discovered: false,
        }
    }
}

#[cfg(test)]
impl Target {
    /// One server for everything, of which nothing else is known.
    pub(crate) fn at(url: Url) -> Self {
        let (public, admin) = (url.clone(), Some(url));
        Self::found(&Found { admin, ..Found::at(public) }).unwrap()
    }
}

impl Target {
    /// A server that runs already.
    ///
    /// # Errors
    /// [`TargetError`] if a URL cannot be used, a DSN is of another kind, or a process is not there.
    pub fn found(found: &Found) -> Result<Self, TargetError> {
        let endpoint = |url: &Url| {
            let endpoint = Endpoint::of(url)?;
            let path = if found.is_discovered { String::new() } else { endpoint.path };
            Ok::<_, Failure>(Endpoint { path, ..endpoint })
        };
        let endpoints = Endpoints {
            public: endpoint(&found.public)?,
            admin: found.admin.as_ref().map(endpoint).transpose()?,
            gateway: found.gateway.as_ref().map(endpoint).transpose()?,
        };
        if let Some(dsn) = found.dsn.as_ref().filter(|dsn| !is_postgres(dsn) && !is_sqlite(dsn)) {
            return Err(TargetError::ForeignDsn(without_passwords(dsn)));
        }
        found.pids.iter().chain(&found.database_pid).try_for_each(|pid| is_here(*pid))?;
        let postgres = found.dsn.clone().filter(|dsn| is_postgres(dsn));
        let mut settings = vec![("server".to_owned(), format!("found at {}", found.public))];
        if found.pids.is_empty() {
            settings.push(("CPU of the server".to_owned(), "unknown: no --server-pid was given".to_owned()));
        }
        settings.extend(found.database().map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Self {
            endpoints: Arc::new(endpoints),
            server_pids: roots(&found.pids),
            postgres,
            database_pid: found.database_pid,
            keeper: found.keeper(),
            started_in: None,
            idle: None,
            has_new_peaks: false,
            _backend: None,
            server: None,
            database: None,
            folder: None,
            settings,
        })
    }

    /// Starts `program` with the settings it ships with: request log and audit to a file, metrics on. Development mode only
    /// because there is no TLS here.
    ///
    /// # Errors
    /// [`TargetError`] with what the programs said, or if a process is not there. Nothing is left running.
    pub async fn started(start: &Start, program: &Path) -> Result<Self, TargetError> {
        start.database_pid.map_or(Ok(()), is_here)?;
        let folder = tempfile::Builder::new().prefix("sluice-bench.").tempdir_in(disk())?;
        let database = Database::of(start.dsn.as_deref(), folder.path()).await?;
        let backend = if start.gateway { Some(Backend::start(folder.path()).await?) } else { None };
        let (server, took) = until_free(async || {
            let mut server = Server::of(program, folder.path(), database.dsn())?;
            if let Some(backend) = &backend {
                server.with_gateway(&backend.routes(folder.path())?)?;
            }
            server.set(&start.set);
            if database.is_given_postgres() {
                server.keep_secret();
            }
            let took = server.start().await?;
            Ok::<_, TargetError>((server, took))
        })
        .await?;
        let idle = Idle::of(server.pid()).await;
        let mut settings = server.settings();
        settings.extend(database.settings());
        settings.extend(
            backend.iter().map(|backend| ("behind the gateway".to_owned(), backend.name().to_owned())),
        );
        Ok(Self {
            endpoints: Arc::new(server.endpoints().clone()),
            server_pids: vec![server.pid()],
            postgres: database.postgres().map(str::to_owned),
            database_pid: start.database_pid,
            keeper: if database.postgres().is_some() { Keeper::Others } else { Keeper::Server },
            started_in: Some(took),
            idle,
            has_new_peaks: false,
            _backend: backend,
            server: Some(server),
            database: Some(database),
            folder: Some(folder),
            settings,
        })
    }

    /// How it was started, in words: name and value, for the report.
    pub fn settings(&self) -> Vec<(String, String)> {
        let mut settings = self.settings.clone();
        if let Some(took) = self.started_in {
            settings.push((
                "start".to_owned(),
                format!("{:.0} ms to ready, schema included", took.as_secs_f64() * 1e3),
            ));
        }
        if let Some(idle) = self.idle {
            settings.push(("idle".to_owned(), idle.to_string()));
        }
        settings
    }

    /// Why the CPU of the server is not known, where it is not.
    pub fn why_unaccounted(&self) -> &'static str {
        if self.is_own() {
            "the server has ended"
        } else if self.server_pids.is_empty() {
            "the server is not on this machine, or no --server-pid was given"
        } else {
            "a process that --server-pid names has ended"
        }
    }

    /// From now on the most memory that a server which was started here has had is that since now. One that was found is left as it
    /// is: somebody else may look at it, too.
    pub fn forget_peaks(&mut self) {
        self.has_new_peaks = self.is_own() && idle::forget_peaks(&self.server_pids);
    }

    /// Resident memory of the server's processes; `None` if they are not on this machine.
    pub fn memory(&self) -> Option<Memory> {
        idle::memory(&self.server_pids).map(|memory| Memory { of_run: self.has_new_peaks, ..memory })
    }

    /// The DSN as the server has it, whatever the store.
    pub fn dsn(&self) -> Option<&str> {
        self.database.as_ref().map(Database::dsn).or(self.postgres.as_deref())
    }

    /// Where what was started keeps its files.
    pub fn folder(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.path().to_owned())
    }

    /// The server as it was started, for whoever knows it from inside.
    pub(crate) fn started_server(&self) -> Option<StartedServer> {
        Some(StartedServer { settings: self.server.as_ref()?.told(), folder: self.folder()? })
    }

    /// Forgets what the server logged so far, so that a long run does not fill the disk.
    pub fn empty_log(&self) {
        if let Some(server) = &self.server {
            server.empty_log();
        }
    }

    /// Whether it was started here, and so may be killed.
    pub const fn is_own(&self) -> bool {
        self.server.is_some()
    }

    /// Kills the server (SIGKILL).
    ///
    /// # Errors
    /// [`TargetError::Foreign`] if it was not started here.
    pub fn kill_server(&mut self) -> Result<(), TargetError> {
        self.server.as_mut().ok_or(TargetError::Foreign)?.kill();
        Ok(())
    }

    /// Starts the server again where it listened before.
    ///
    /// # Errors
    /// [`TargetError`] with what it said.
    pub async fn start_server_again(&mut self) -> Result<Duration, TargetError> {
        let server = self.server.as_mut().ok_or(TargetError::Foreign)?;
        let took = server.start().await?;
        self.server_pids = vec![server.pid()];
        Ok(took)
    }

    /// Waits until the server says that it is ready, which it is not while its database is away.
    ///
    /// # Errors
    /// [`TargetError`] with what it said last.
    pub async fn until_ready(&self) -> Result<(), TargetError> {
        self.server.as_ref().ok_or(TargetError::Foreign)?.until_ready().await
    }

    /// Whether a PostgreSQL was started for it.
    pub fn has_own_postgres(&self) -> bool {
        self.database.as_ref().is_some_and(Database::is_own)
    }

    /// Kills every process of the private PostgreSQL (SIGKILL).
    ///
    /// # Errors
    /// [`TargetError::Foreign`] if it was not started here.
    pub fn kill_postgres(&mut self) -> Result<(), TargetError> {
        self.database.as_mut().ok_or(TargetError::Foreign)?.kill()
    }

    /// Starts it again; blocks until it has recovered.
    ///
    /// # Errors
    /// [`TargetError`] with what it said.
    pub fn start_postgres_again(&mut self) -> Result<(), TargetError> {
        self.database.as_mut().ok_or(TargetError::Foreign)?.start_again()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Found {
        Found::at("http://127.0.0.1:9/".parse().unwrap())
    }

    fn with_dsn(dsn: &str) -> Result<Target, TargetError> {
        Target::found(&Found { dsn: Some(dsn.to_owned()), ..found() })
    }

    #[test]
    fn a_server_of_which_nothing_is_known_may_have_a_database_elsewhere() {
        let target = Target::found(&found()).unwrap();
        assert_eq!(target.keeper, Keeper::Others);
        let told = target.settings().into_iter().find(|(name, _)| name == "CPU of the database");
        assert!(told.is_some_and(|(_, told)| told.starts_with("unknown: no --database-dsn")));
        assert_eq!(with_dsn("postgres://db/x").unwrap().keeper, Keeper::Others);
    }

    #[test]
    fn a_server_on_sqlite_or_without_a_database_does_all_the_work_itself() {
        let alone = Target::found(&Found { without_database: true, ..found() }).unwrap();
        assert_eq!(alone.keeper, Keeper::Server);
        let sqlite = with_dsn("sqlite:").unwrap();
        assert_eq!((sqlite.keeper, sqlite.postgres.as_deref()), (Keeper::Server, None));
        assert!(sqlite.settings().contains(&("database".to_owned(), "SQLite, as given".to_owned())));
    }

    #[test]
    fn a_process_that_was_named_and_has_ended_is_no_option_that_is_missing() {
        let why = |pids| Target::found(&Found { pids, ..found() }).unwrap().why_unaccounted();
        assert!(why(Vec::new()).ends_with("no --server-pid was given"));
        assert_eq!(why(vec![std::process::id()]), "a process that --server-pid names has ended");
    }

    #[test]
    fn the_path_of_an_issuer_is_no_part_of_paths_that_are_discovered() {
        let at = |is_discovered| {
            let public = "http://127.0.0.1:9/realms/bench".parse().unwrap();
            Target::found(&Found { is_discovered, ..Found::at(public) })
                .unwrap()
                .endpoints
                .public
                .path
                .clone()
        };
        assert_eq!([at(false), at(true)], ["/realms/bench", ""]);
    }

    #[test]
    fn a_dsn_of_another_kind_is_refused() {
        assert!(matches!(with_dsn("mysql://db/x"), Err(TargetError::ForeignDsn(_))));
        assert!(matches!(with_dsn("memory"), Err(TargetError::ForeignDsn(_))));
    }

    #[test]
    fn a_url_that_nothing_can_be_measured_at_is_no_understood_command() {
        let refused = Target::found(&Found::at("https://127.0.0.1:9/".parse().unwrap())).err().unwrap();
        let refused = crate::BenchError::from(refused);
        assert!(refused.is_usage() && refused.to_string().contains("only http:// is measured"), "{refused}");
    }

    #[test]
    fn a_process_that_is_not_there_is_not_taken_for_one_of_unknown_cost() {
        // One after the highest that there may be.
        let none = (1 << 22) + 1;
        let named = [
            Found { pids: vec![std::process::id(), none], ..found() },
            Found { database_pid: Some(none), ..found() },
        ];
        for found in named {
            let error = Target::found(&found).err().unwrap();
            assert_eq!(error.to_string(), "there is no process 4194305 here");
        }
    }
}
