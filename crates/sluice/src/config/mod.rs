//! Configuration: the one place that reads files and environment, and the only one that knows the names of
//! keys.
//!
//! [`load`] writes the layers (`layers`) over each other into values (`values`), which one file per section
//! reads into
//! its typed part of [`Settings`]. `table` knows every key; `show` and `reference` print from it. `gateway_process`: the few
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
mod hook;
mod identity;
mod identity_hashing;
mod identity_limits;
mod identity_mail;
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
pub(crate) use gateway::{AccessLogSetting, GatewaySettings, PhantomSettings, ServedLinkSettings};
pub(crate) use gateway_process::{GatewayProcessSettings, load_gateway};
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
pub(crate) use tls::{PemSource, TlsSettings};
pub(crate) use ttl::TtlSettings;
pub(crate) use urls::UrlsSettings;
pub(crate) use webfinger::WebfingerSettings;

pub(crate) use self::{
    hook::{HookKeyPlace, HookSettings, HooksSettings},
    identity::{BreachedList, IdentitySettings, PreferredUsername},
    identity_limits::LimitsSettings,
    identity_mail::MailSettings,
    registration::{KeySetSource, RegistrationSettings, SoftwareStatements},
    rotation::KeyRotationSettings,
};
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

use error::Findings;
use layers::Layers;
use reader::{Outcome, Reader};
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
    load_with(sources, |layers| layers.files(&sources.files))
}

/// What is in force, as [`Loaded::show`] prints it, with the warnings: of a node or, where there is a link and no database is
/// named, of a gateway by itself.
///
/// # Errors
/// [`ConfigError`] if that one would not start with it.
pub(crate) fn in_force(sources: &Sources) -> Result<(String, Vec<Finding>), ConfigError> {
    let (values, ..) = gather(&Table::new(), sources, |layers| layers.files(&sources.files));
    if gateway_process::is_alone(&values)
        && let Some(gateway) = load_gateway(sources)?
    {
        return Ok((gateway.show(), gateway.warnings));
    }
    let node = load(sources)?;
    Ok((node.show(), node.warnings))
}

/// What is set, and where, of a configuration that [`in_force`] refuses, as far as it can be read; secrets and passwords are redacted.
pub(crate) fn refused(sources: &Sources) -> String {
    let table = Table::new();
    let (values, ..) = gather(&table, sources, |layers| layers.files(&sources.files));
    show::show(&table, &values)
}

/// Reads which database is configured, and in which form is logged, and nothing else: tending one needs neither secrets nor an issuer.
/// Of the log, what cannot be read is as it is by default. With what is warned about there, and in all that is said. Call it once:
/// a file may be a pipe.
///
/// # Errors
/// [`ConfigError`] if no database is configured, or it cannot be read.
pub(crate) fn load_database(
    sources: &Sources,
) -> Result<(DatabaseSettings, LogSettings, Vec<Finding>), ConfigError> {
    let table = Table::new();
    let (values, findings, _) = gather(&table, sources, |layers| layers.files(&sources.files));
    let mut reader = Reader::new(&table, &values, findings);
    let (database, log) = (database::read(&mut reader), log::read(&mut reader));
    let findings = reader.into_findings();
    match database {
        Some(database) => Ok((database, log, findings.into_warnings_alone())),
        None => Err(findings.into_error()),
    }
}

/// Reads how long things live, and nothing else. With what is warned about there alone.
///
/// # Errors
/// [`ConfigError`] with every problem of that section.
pub(crate) fn load_ttl(sources: &Sources) -> Result<(TtlSettings, Vec<Finding>), ConfigError> {
    let table = Table::new();
    let (values, findings, _) = gather(&table, sources, |layers| layers.files(&sources.files));
    let elsewhere = findings.warning_count();
    let mut reader = Reader::new(&table, &values, findings);
    let ttl = ttl::read(&mut reader);
    let mut warnings = reader.into_findings().into_warnings()?;
    Ok((ttl, warnings.split_off(elsewhere)))
}

/// What all layers say, before a section reads it; `files` writes the layer of the files.
fn gather(table: &Table, sources: &Sources, files: impl FnOnce(&mut Layers<'_>)) -> (Values, Findings, Mode) {
    let mut layers = Layers { table, values: Values::default(), findings: Findings::default() };
    layers.defaults();
    files(&mut layers);
    layers.environment(&sources.environment);
    layers.overrides(&sources.overrides);
    layers.warn_about_ignored();
    let Layers { mut values, mut findings, .. } = layers;
    let mode = derived::fill(&mut values, sources);
    let is_hydras = |(name, value): &(OsString, OsString)| name == "DEV" && value == "true";
    if !mode.is_development() && sources.environment.iter().any(is_hydras) {
        findings.warn("DEV", "is not read from the environment; `--dev` is for development");
    }
    (values, findings, mode)
}

/// Reads the configuration; `files` writes the layer of the files.
fn load_with(sources: &Sources, files: impl FnOnce(&mut Layers<'_>)) -> Result<Loaded, ConfigError> {
    let table = Table::new();
    let (mut values, findings, mode) = gather(&table, sources, files);
    let mut reader = Reader::new(&table, &values, findings);
    let settings = read(&mut reader, mode);
    let Outcome { findings, shortened, .. } = reader.into_outcome();
    for (key, longest) in shortened {
        values.correct(&key, longest);
    }
    match settings {
        Some(settings) => Ok(Loaded { settings, warnings: findings.into_warnings()?, table, values }),
        None => Err(findings.into_error()),
    }
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
