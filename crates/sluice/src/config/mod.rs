//! Configuration: the one place that reads files and environment, and the only one that knows the names of
//! keys.
//!
//! [`load`] writes the layers (`layers`) over each other into values (`values`), once (`gathered`), which one file per section
//! reads into its typed part of [`Settings`]. `table` knows every key; `show` and `reference` print from it. `gateway_process`: the few
//! sections that a gateway with a link reads.
//!
//! Not here: what the settings mean. If a [`Settings`] exists, it is right.

mod clients;
mod cookies;
mod cors;
mod database;
mod derived;
mod device;
mod dpop;
mod dsn;
mod duration;
mod error;
mod gateway;
mod gateway_process;
mod gathered;
mod hook;
mod identity;
mod identity_hashing;
mod identity_limits;
mod identity_mail;
mod identity_pages;
mod identity_passkeys;
mod jwt_bearer;
mod key;
mod layers;
mod listener;
mod log;
mod metadata_documents;
mod mode;
mod mtls;
mod oauth2;
mod oidc;
mod reader;
mod redact;
mod reference;
mod registration;
mod requests;
mod rotation;
mod secret_string;
mod secrets;
mod serve;
mod show;
mod strategies;
mod suggestion;
mod table;
#[cfg(test)]
mod tests;
mod tls;
mod tracing;
mod ttl;
mod urls;
mod values;
mod webfinger;
mod without_effect;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use self::log::{LogFormat, LogLevel, LogSettings};
pub(crate) use self::tracing::{OtlpSettings, TracingSettings};
pub(crate) use clients::OutboundSettings;
pub(crate) use cookies::SameSite;
pub(crate) use cors::CorsSettings;
pub(crate) use database::DatabaseSettings;
pub(crate) use dsn::Dsn;
pub(crate) use error::{ConfigError, Finding};
pub(crate) use gateway::{AccessLogSetting, GatewaySettings, JWKS_PATH, PhantomSettings, ServedLinkSettings};
pub(crate) use gateway_process::GatewayProcessSettings;
pub(crate) use gathered::Gathered;
pub(crate) use listener::{ListenAddress, ListenerSettings};
pub(crate) use mode::Mode;
pub(crate) use mtls::{CertificateHeader, ShownCertificates};
pub(crate) use oauth2::{OAuth2Settings, PkcePolicy};
pub(crate) use oidc::OidcSettings;
pub(crate) use reference::reference_markdown;
pub(crate) use secret_string::SecretString;
pub(crate) use secrets::SecretsSettings;
pub(crate) use serve::ServeSettings;
pub(crate) use strategies::{
    AccessTokenFormat, JwtType, LogoutTokenType, ScopeClaim, ScopeStrategy, StrategySettings,
};
pub(crate) use tls::{CertificateSettings, PemSource, TlsSettings};
pub(crate) use ttl::TtlSettings;
pub(crate) use urls::UrlsSettings;
pub(crate) use webfinger::WebfingerSettings;

pub(crate) use self::{
    hook::{HookKeyPlace, HookSettings, HooksSettings},
    identity::{BreachedList, EmailClaim, IdentitySettings, PreferredUsername},
    identity_limits::LimitsSettings,
    identity_mail::MailSettings,
    identity_pages::LookSettings,
    registration::{KeySetSource, RegistrationSettings, SoftwareStatements},
    rotation::KeyRotationSettings,
};
pub(crate) use identity_hashing::{HashPoolSettings, PasswordHashSettings};
pub(crate) use oidc::{SubjectType, TokenAlgorithm};

#[cfg(test)]
pub(crate) use self::{
    device::{DeviceSettings, UserCodeSettings},
    dpop::DpopSettings,
    hook::HookAuth,
    jwt_bearer::JwtBearerSettings,
    metadata_documents::MetadataDocumentSettings,
    mtls::MtlsSettings,
    requests::{PushedRequestSettings, RequestObjectSettings, RequestSettings},
    ttl::RefreshTokenTtl,
};
#[cfg(test)]
pub(crate) use oidc::SubjectSettings;

use reader::Reader;
use table::Table;
use values::Values;

/// Everything that is configured, typed and valid.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) database: DatabaseSettings,
    pub(crate) secrets: SecretsSettings,
    pub(crate) urls: UrlsSettings,
    pub(crate) serve: ServeSettings,
    pub(crate) ttl: TtlSettings,
    pub(crate) strategies: StrategySettings,
    pub(crate) oauth2: OAuth2Settings,
    pub(crate) oidc: OidcSettings,
    pub(crate) key_rotation: KeyRotationSettings,
    pub(crate) webfinger: WebfingerSettings,
    pub(crate) identity: IdentitySettings,
    pub(crate) gateway: GatewaySettings,
    pub(crate) link: ServedLinkSettings,
    pub(crate) outbound: OutboundSettings,
    pub(crate) log: LogSettings,
    pub(crate) tracing: TracingSettings,
}

/// Where a configuration comes from, lowest precedence first (below all: the defaults).
///
/// It has no `Debug`: the environment holds secrets.
pub(crate) struct Sources {
    /// YAML files; later ones win.
    pub(crate) files: Vec<PathBuf>,
    /// The environment, as `std::env::vars_os` gives it.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Key paths and values of the command line; values are written as in the environment.
    pub(crate) overrides: Vec<(String, String)>,
    /// What the command line asks for; a file may ask for development with `dev: true`.
    pub(crate) mode: Mode,
    /// Where development keeps its store when there is no `dsn`.
    pub(crate) data_dir: PathBuf,
}

/// A configuration that was read, as much of it as was asked for.
pub(crate) struct Loaded<T = Settings> {
    pub(crate) settings: T,
    /// What is ignored, and why; one line each for the log.
    pub(crate) warnings: Vec<Finding>,
    table: Table,
    values: Values,
}

impl<T> Loaded<T> {
    /// Every value in force as YAML, with where it was set; secrets and passwords are redacted.
    pub(crate) fn show(&self) -> String {
        show::show(&self.table, &self.values)
    }
}

/// Reads the configuration.
///
/// # Errors
/// [`ConfigError`] with every problem of every source, so that all can be mended at once.
pub(crate) fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    Gathered::of(sources).into_node()
}

/// What is in force, as [`Loaded::show`] prints it, with the warnings: of a node or, where there is a link and no database is
/// named, of a gateway by itself.
///
/// # Errors
/// [`ConfigError`] if that one would not start with it, and what is set, and where, as far as it can be read; secrets and passwords are redacted.
pub(crate) fn in_force(sources: &Sources) -> Result<(String, Vec<Finding>), (ConfigError, String)> {
    let gathered = Gathered::of(sources);
    let set = gathered.show();
    let shown = if gathered.is_of_gateway_alone() {
        gathered.into_gateway().map(|gateway| (gateway.show(), gateway.warnings))
    } else {
        gathered.into_node().map(|node| (node.show(), node.warnings))
    };
    shown.map_err(|error| (error, set))
}

/// Reads which database is configured, and in which form is logged, and nothing else: tending one needs neither secrets nor an issuer.
/// Of the log, what cannot be read is as it is by default. With what is warned about there, and in all that is said.
///
/// # Errors
/// [`ConfigError`] if no database is configured, or it cannot be read, or a file cannot, which may name another.
pub(crate) fn load_database(
    sources: &Sources,
) -> Result<(DatabaseSettings, LogSettings, Vec<Finding>), ConfigError> {
    let Gathered { table, values, findings, .. } = Gathered::of(sources);
    let mut reader = Reader::new(&table, &values, findings);
    let (database, log) = (database::read(&mut reader), log::read(&mut reader));
    let findings = reader.into_findings();
    match database.filter(|_| !values.is_incomplete()) {
        Some(database) => Ok((database, log, findings.into_warnings_alone())),
        None => Err(findings.into_error()),
    }
}

/// Reads which database is configured, and how long things live, and nothing else. With what is warned about there, and in all that is said.
///
/// # Errors
/// [`ConfigError`] with every problem of these sections.
pub(crate) fn load_janitor(
    sources: &Sources,
) -> Result<(DatabaseSettings, TtlSettings, Vec<Finding>), ConfigError> {
    let Gathered { table, values, findings, .. } = Gathered::of(sources);
    let mut reader = Reader::new(&table, &values, findings);
    let (database, ttl) = (database::read(&mut reader), ttl::read(&mut reader));
    let findings = reader.into_findings();
    match database {
        Some(database) => Ok((database, ttl, findings.into_warnings()?)),
        None => Err(findings.into_error()),
    }
}

/// Reads what a password hash costs, and where it is computed, and nothing else: to measure that needs neither a database nor secrets. With what is
/// warned about there, and in all that is said.
///
/// # Errors
/// [`ConfigError`] with every problem of these sections.
pub(crate) fn load_hashing(
    sources: &Sources,
) -> Result<(PasswordHashSettings, HashPoolSettings, Vec<Finding>), ConfigError> {
    let Gathered { table, values, findings, .. } = Gathered::of(sources);
    let mut reader = Reader::new(&table, &values, findings);
    let pool = identity_hashing::read_pool(&mut reader);
    let hash = identity_hashing::read_hash(&mut reader, &pool);
    Ok((hash, pool, reader.into_findings().into_warnings()?))
}

/// Every section is read before one is missed, so that the problems of all are found. `None`: one cannot exist, the reason being
/// among the findings.
fn read(reader: &mut Reader<'_>, mode: Mode) -> Option<Settings> {
    reader.boolean("dev");
    let database = database::read(reader);
    let urls = urls::read(reader, mode);
    let base = urls.as_ref().map_or_else(urls::stand_in, |urls| Some(urls.public.clone()))?;
    let secrets = secrets::read(reader, mode);
    let serve = serve::read(reader, mode, urls.as_ref());
    let ttl = ttl::read(reader);
    let strategies = strategies::read(reader);
    let oauth2 = oauth2::read(reader);
    let oidc = oidc::read(reader);
    let key_rotation = rotation::read(reader, &ttl);
    let webfinger = webfinger::read(reader, &base);
    let identity = identity::read(reader, &base, urls.as_ref());
    let gateway = gateway::read(reader);
    let link = gateway::read_served(reader);
    let outbound = clients::read(reader);
    let log = log::read(reader);
    let tracing = tracing::read(reader);
    Some(Settings {
        mode,
        database: database?,
        secrets,
        urls: urls?,
        serve,
        ttl,
        strategies,
        oauth2,
        oidc,
        key_rotation,
        webfinger,
        identity,
        gateway,
        link,
        outbound,
        log,
        tracing,
    })
}
