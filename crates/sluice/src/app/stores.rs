//! Which database: the DSN decides once, here; everybody else sees repositories.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sluice_commit::{CommitMetrics, StoreError, StoreRefusals};
use sluice_gateway::link::LinkError;
use sluice_identity::factor::FactorRepository;
use sluice_identity::hardening::HardeningRepository;
use sluice_identity::identity::IdentityDirectory;
use sluice_identity::mail::{CodeRepository, MailRepository};
use sluice_identity::session::IdentitySessionRepository;
use sluice_net::FetchError;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::consent::ConsentRepository;
use sluice_oauth::device::DeviceCodeRepository;
use sluice_oauth::flow::ParkedFlowRepository;
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::keys::KeyRepository;
use sluice_oauth::login_session::LoginSessionRepository;
use sluice_oauth::logout::OutboxRepository;
use sluice_oauth::replay::ReplayRepository;
use sluice_oauth::serving_node::ServingNodeRepository;
use sluice_oauth::takeover::{HydraMarkRepository, HydraTokenRepository};
use sluice_oauth::trust::TrustedIssuerRepository;
use sluice_primitives::{Clock, NetworkId, NodeId, Rng, Timestamp};
use sluice_store_postgres::PostgresStore;
use sluice_store_sqlite::SqliteStore;
use sluice_token::Feed;
use thiserror::Error;

use super::secrets::SecretsError;
use crate::config::{DatabaseSettings, Dsn};

/// Why the server does not start.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    #[error("the database: {0}")]
    Store(#[source] StoreError),
    /// Something about the DSN that only shows when it is used.
    #[error("the database: {0}")]
    Dsn(String),
    /// A path that leads nowhere is more often a wrong one than that of a new installation.
    #[error(
        "the database: there is no file {0}: is the path right, and what it is on mounted? For a new one, run `sluice migrate sql up`"
    )]
    NoFile(PathBuf),
    #[error(
        "the database lacks migrations that this version needs ({0}): run `sluice migrate sql up`, or start with --auto-migrate"
    )]
    NotMigrated(String),
    /// All migrations are applied that this version needs, and what they made is not there any more.
    #[error(
        "the database has another schema than this version works with: it lacks {0}; a later version may have changed it, or somebody by \
         hand: start the version that belongs to it"
    )]
    OtherSchema(String),
    /// Else it would be found by whoever asks for what needs them.
    #[error("the role of the database lacks {0}: let the owner of the tables GRANT that to it")]
    MissingRights(String),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error("the signing keys: {0}")]
    Keys(#[from] sluice_oauth::keys::KeyError),
    #[error("the setting {key}: {reason}")]
    Setting { key: &'static str, reason: String },
    /// The key, or the option, says where it was to be.
    #[error("the listener {listener} ({key}): {cause}")]
    Listen {
        listener: &'static str,
        key: String,
        #[source]
        cause: sluice_net::ListenError,
    },
    #[error("TLS: {0}")]
    Tls(#[from] sluice_net::TlsError),
    /// The keys say where the certificate and its private key were written.
    #[error("TLS of the listener {listener} ({keys}): {cause}")]
    Certificate {
        listener: &'static str,
        keys: String,
        #[source]
        cause: Box<sluice_net::AcceptorError>,
    },
    #[error("outbound requests{setting}: {0}", setting = named(.0, " (clients.http.ca_file)"))]
    Fetch(#[from] FetchError),
    #[error("the hash pool: {0}")]
    HashPool(std::io::Error),
    /// Passwords need a secret that is not configured.
    #[error("the secrets: {0}; `sluice secrets status` counts")]
    MissingSecret(#[from] sluice_identity::credential::MissingSecret),
    /// What would be sealed does not open on the nodes of this database.
    #[error(
        "the secrets: the first one at rest has sealed none of the signing keys in this database, so that its nodes might not open what \
         it seals: is it theirs? If it is new, run `sluice secrets reseal` before; `sluice secrets status` counts"
    )]
    OtherSecrets,
    /// Second factors need a secret that is not configured.
    #[error(
        "the secrets: second factors were sealed with a secret at rest that is not configured: without it, nobody who has one \
         logs in; `sluice secrets status` counts"
    )]
    SealedFactors,
    /// A client's secret needs a secret that is not configured.
    #[error(
        "the secrets: the secret of the client `{0}`, which signs with it, was sealed with a secret at rest that is not configured: \
         without it, the client cannot authenticate; `sluice secrets status` names all such clients"
    )]
    SealedClientSecret(String),
    #[error("the routes (gateway.routes): {0}")]
    Routes(#[from] sluice_gateway::route::RoutesError),
    #[error("the gateway: {0}")]
    Gateway(#[from] sluice_gateway::proxy::StartError),
    #[error("the link{setting}: {0}", setting = named_of_link(.0))]
    Link(#[from] LinkError),
    #[error("the access log {path} (gateway.access_log): {cause}")]
    AccessLog { path: PathBuf, cause: std::io::Error },
    #[error("the directory {path}: {cause}")]
    Directory { path: PathBuf, cause: std::io::Error },
    #[error("the logs: {0}")]
    Logs(#[from] crate::observability::LogInitError),
    #[error("the traces: {0}")]
    Traces(#[from] crate::observability::TracesError),
}

/// The setting of a file of further certificates, if it is that which is no good.
const fn named(error: &FetchError, setting: &'static str) -> &'static str {
    if matches!(error, FetchError::ExtraCa { .. }) { setting } else { "" }
}

/// The same of the link.
const fn named_of_link(error: &LinkError) -> &'static str {
    if let LinkError::Unreachable(error) = error { named(error, " (gateway.link.ca_file)") } else { "" }
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        match error {
            // Nothing is stored at the start: what cannot be used is the DSN.
            StoreError::Invalid(reason) => Self::Dsn(reason),
            other => Self::Store(other),
        }
    }
}

/// What a store promises, all together.
pub(crate) trait Repositories:
    ClientRepository
    + CodeRepository
    + ConsentRepository
    + DeviceCodeRepository
    + FactorRepository
    + Feed
    + GrantRepository
    + HardeningRepository
    + HydraMarkRepository
    + HydraTokenRepository
    + IdentityDirectory
    + IdentitySessionRepository
    + KeyRepository
    + LoginSessionRepository
    + MailRepository
    + OutboxRepository
    + ParkedFlowRepository
    + ReplayRepository
    + ServingNodeRepository
    + TrustedIssuerRepository
{
}

impl Repositories for SqliteStore {}
impl Repositories for PostgresStore {}

/// What becomes of a SQLite file that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsentFile {
    /// It is made, and its directory: its schema is about to be.
    Made,
    /// It is missed: who opens it wants what is in it.
    Refused,
}

/// The store in use.
#[derive(Clone)]
pub(crate) enum Stores {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl Stores {
    /// Opens the store that the DSN names.
    pub(crate) async fn open(
        database: &DatabaseSettings,
        absent: AbsentFile,
        node: NodeId,
        (clock, rng): (Arc<dyn Clock>, Arc<dyn Rng>),
    ) -> Result<Self, StartError> {
        match &database.dsn {
            Dsn::Memory => {
                let options = sluice_store_sqlite::StoreOptions::new(node, clock, rng);
                let store = SqliteStore::open(sluice_store_sqlite::SqlitePath::Temporary, options).await?;
                Ok(Self::Sqlite(Arc::new(store)))
            }
            Dsn::Sqlite { path } => {
                match absent {
                    AbsentFile::Made => make_directory(path)?,
                    // Where that cannot be told, it cannot be opened either, and then the reason is said.
                    AbsentFile::Refused if path.try_exists().is_ok_and(|exists| !exists) => {
                        return Err(StartError::NoFile(path.clone()));
                    }
                    AbsentFile::Refused => {}
                }
                let options = sluice_store_sqlite::StoreOptions::new(node, clock, rng);
                let path = sluice_store_sqlite::SqlitePath::File(path.clone());
                Ok(Self::Sqlite(Arc::new(SqliteStore::open(path, options).await?)))
            }
            Dsn::Postgres { url } => {
                let mut options = sluice_store_postgres::StoreOptions::new(node, clock, rng);
                if let Some(most) = database.max_connections {
                    options = options.with_connections(most);
                }
                Ok(Self::Postgres(Arc::new(PostgresStore::connect(url.expose(), options).await?)))
            }
        }
    }

    /// What the database is called.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// The store as its repositories.
    pub(crate) fn repositories(&self) -> Arc<dyn Repositories> {
        match self {
            Self::Sqlite(store) => Arc::clone(store) as Arc<dyn Repositories>,
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Repositories>,
        }
    }

    /// Brings the schema up to date. A server that is away is waited for so long; `tell` hears, each time that it is tried again, why.
    pub(crate) async fn migrate_up(
        &self,
        wait: Duration,
        tell: impl FnMut(&StoreError),
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.migrate_up().await.map(drop),
            Self::Postgres(store) => store.migrate_up_telling(wait, tell).await,
        }
    }

    /// Each migration, with the time when it was applied; none for one that is missing. Those of a later version are among them.
    pub(crate) async fn migrations(&self) -> Result<Vec<AppliedMigration>, StoreError> {
        Ok(match self {
            Self::Sqlite(store) => store
                .migrate_status()
                .await?
                .into_iter()
                .map(|one| AppliedMigration {
                    version: one.version.into(),
                    name: one.name,
                    is_known: one.is_known,
                    is_required: one.is_required,
                    applied_at: one.applied_at,
                })
                .collect(),
            Self::Postgres(store) => store
                .migrate_status()
                .await?
                .into_iter()
                .map(|one| AppliedMigration {
                    version: one.version.into(),
                    name: one.name,
                    is_known: one.is_known,
                    is_required: one.is_required,
                    applied_at: one.applied_at,
                })
                .collect(),
        })
    }

    /// The columns that statements name and the tables do not have.
    pub(crate) async fn missing_columns(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(store) => store.missing_columns().await,
            Self::Postgres(store) => store.missing_columns().await,
        }
    }

    /// The rights that a node needs and its role does not have, by table.
    pub(crate) async fn missing_rights(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(_) => Ok(Vec::new()),
            Self::Postgres(store) => store.missing_rights().await,
        }
    }

    pub(crate) async fn network_id(&self) -> Result<NetworkId, StoreError> {
        match self {
            Self::Sqlite(store) => store.network_id().await,
            Self::Postgres(store) => store.network_id().await,
        }
    }

    /// Whether it answers; PostgreSQL is tried for so long.
    pub(crate) async fn ping(&self, patience: Duration) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.ping().await,
            Self::Postgres(store) => store.ping_within(patience).await,
        }
    }

    /// When the oldest mail was queued of those that wait.
    pub(crate) async fn oldest_mail(&self) -> Result<Option<Timestamp>, StoreError> {
        match self {
            Self::Sqlite(store) => store.oldest_mail().await,
            Self::Postgres(store) => store.oldest_mail().await,
        }
    }

    /// When the oldest logout notice was made of those that wait.
    pub(crate) async fn oldest_notice(&self) -> Result<Option<Timestamp>, StoreError> {
        match self {
            Self::Sqlite(store) => store.oldest_notice().await,
            Self::Postgres(store) => store.oldest_notice().await,
        }
    }

    pub(crate) async fn shutdown(&self) {
        match self {
            Self::Sqlite(store) => store.shutdown().await,
            Self::Postgres(store) => store.shutdown().await,
        }
    }

    pub(crate) fn commit_metrics(&self) -> &Arc<CommitMetrics> {
        match self {
            Self::Sqlite(store) => store.commit_metrics(),
            Self::Postgres(store) => store.commit_metrics(),
        }
    }

    /// Of reads that share statements, where there are any.
    pub(crate) fn lookup_metrics(&self) -> Option<&Arc<CommitMetrics>> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(store) => Some(store.lookup_metrics()),
        }
    }

    pub(crate) fn refusals(&self) -> &Arc<StoreRefusals> {
        match self {
            Self::Sqlite(store) => store.refusals(),
            Self::Postgres(store) => store.refusals(),
        }
    }
}

/// A migration that this version knows, or that was applied by a later one.
pub(crate) struct AppliedMigration {
    /// Its place in the order.
    pub(crate) version: i64,
    pub(crate) name: String,
    /// Whether this version knows it.
    pub(crate) is_known: bool,
    /// Whether a statement fails without it.
    pub(crate) is_required: bool,
    pub(crate) applied_at: Option<Timestamp>,
}

fn make_directory(path: &std::path::Path) -> Result<(), StartError> {
    let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) else {
        return Ok(());
    };
    std::fs::create_dir_all(directory)
        .map_err(|cause| StartError::Directory { path: directory.to_owned(), cause })
}
