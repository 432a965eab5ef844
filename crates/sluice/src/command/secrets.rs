//! `sluice secrets status|reseal|abandon`.

mod abandon;
mod clients;
mod credentials;
mod nodes;
mod rows;

use std::ffi::OsString;
use std::sync::Arc;

use indicatif::ProgressBar;
use sluice_commit::{StoreError, chain};
use sluice_crypto::credential::Peppers;
use sluice_crypto::digest::derive_key;
use sluice_oauth::client::SealedClientSecrets;
use sluice_oauth::keys::SealedKeys;
use sluice_primitives::Secret;
use tracing::info;

use super::installation::Installation;
use super::{fail, load, print};
use crate::app::{SecretsError, StartError};
use crate::cli::{Console, Exit, SecretsCommand};
use crate::config::{Dsn, SecretString, SecretsSettings, Settings, Sources};
use credentials::{PepperNames, worst};

/// The secrets that passwords name.
const PEPPER: &str = "secrets.pepper";
/// What fingerprints are derived for, and no key is.
const FINGERPRINT: &[u8] = b"secrets status: fingerprint";
/// How many hexadecimal digits of one are shown: enough to tell secrets apart, and too few to be any help to who looks for one.
const FINGERPRINT_DIGITS: usize = 8;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Status,
    Reseal,
    /// To say what would be given up.
    Consider,
    Abandon,
}

/// Shows, moves or gives up what secrets protect; never shows the secrets.
pub(crate) async fn run(
    secrets: SecretsCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let (configuration, action) = match secrets {
        SecretsCommand::Status(configuration) => (configuration, Action::Status),
        SecretsCommand::Reseal(configuration) => (configuration, Action::Reseal),
        SecretsCommand::Abandon(abandon) if abandon.yes => (abandon.configuration, Action::Abandon),
        SecretsCommand::Abandon(abandon) => (abandon.configuration, Action::Consider),
    };
    let sources = configuration.sources(environment);
    let Some(loaded) = load(&sources) else { return Exit::Failure };
    console.warn(&loaded.warnings);
    let settings = &loaded.settings;
    if action == Action::Status && configured(&settings.secrets, console) == Exit::Failure {
        return Exit::Failure;
    }
    match (no_database(settings), action) {
        (None, _) => {}
        (Some(_), Action::Status) => {
            return print(console, "keys at rest     none: there is no database yet");
        }
        (Some(reason), Action::Reseal | Action::Consider | Action::Abandon) => {
            console.say(&reason);
            return Exit::Failure;
        }
    }
    let at_rest = match AtRest::open(settings, &sources).await {
        Ok(at_rest) => at_rest,
        Err(error) => return fail(console, &error),
    };
    let exit = match action {
        Action::Status => at_rest.count(console).await,
        Action::Reseal => at_rest.reseal(console).await,
        Action::Consider => abandon::consider(&at_rest, console).await,
        Action::Abandon => abandon::run(&at_rest, console).await,
    };
    at_rest.installation.stores.shutdown().await;
    exit
}

/// How many secrets there are for each purpose, and the fingerprint of each.
fn configured(secrets: &SecretsSettings, console: &mut Console<'_>) -> Exit {
    let lists = [
        ("secrets.system", &secrets.system),
        ("secrets.cookie", &secrets.cookie),
        ("secrets.storage", &secrets.storage),
        (PEPPER, &secrets.pepper),
    ];
    for (key, list) in lists {
        let fingerprints =
            if key == PEPPER { names_of_peppers(list) } else { list.iter().map(fingerprint).collect() }
                .join(" ");
        let line = match list.len() {
            0 if key == "secrets.system" => format!("{key:<16} none (made at start in development mode)"),
            0 if key == "secrets.cookie" => format!("{key:<16} none (secrets.system seals)"),
            0 => format!("{key:<16} none (derived from secrets.system)"),
            1 => format!("{key:<16} 1, seals and opens: {fingerprints}"),
            more => format!("{key:<16} {more}, the first seals, all open: {fingerprints}"),
        };
        if print(console, &line) == Exit::Failure {
            return Exit::Failure;
        }
    }
    Exit::Success
}

/// What passwords call their pepper, and whoever misses one.
fn names_of_peppers(list: &[SecretString]) -> Vec<String> {
    let secrets: Vec<_> =
        list.iter().map(|secret| Secret::new(secret.expose().as_bytes().to_vec())).collect();
    Peppers::new(&secrets).iter().flat_map(Peppers::ids).map(|id| id.to_string()).collect()
}

/// What tells a secret from others, and does not give it away: the beginning of a key that nothing is sealed or hashed with.
fn fingerprint(secret: &SecretString) -> String {
    let key = derive_key(secret.expose().as_bytes(), FINGERPRINT);
    hex::encode(key).chars().take(FINGERPRINT_DIGITS).collect()
}

/// Why there is no database, if there is none. To open a SQLite file that is not there would make it, and a path that was mistyped
/// would look like work that is done.
fn no_database(settings: &Settings) -> Option<String> {
    match &settings.database.dsn {
        Dsn::Memory => Some("the database: `dsn` is `memory`, which keeps nothing".to_owned()),
        Dsn::Sqlite { path } if path.exists() => None,
        Dsn::Sqlite { path } => Some(format!("the database: there is no file {}", path.display())),
        Dsn::Postgres { .. } => None,
    }
}

/// What is in the database, and the secrets that open it.
struct AtRest {
    installation: Installation,
    peppers: PepperNames,
    keys: SealedKeys,
    clients: SealedClientSecrets,
}

impl AtRest {
    async fn open(settings: &Settings, sources: &Sources) -> Result<Self, StartError> {
        let installation = Installation::open(settings, sources, &ProgressBar::hidden()).await?;
        let (stores, sealer) = (&installation.stores, &installation.at_rest);
        let rng = || Arc::clone(&installation.rng);
        let hash_keys = installation.secrets.client_secrets().ok_or(SecretsError::Missing)?;
        let clients =
            SealedClientSecrets::new(stores.repositories() as _, Arc::clone(sealer), hash_keys, rng());
        let keys = SealedKeys::new(stores.repositories() as _, Arc::clone(sealer), rng());
        let ids = installation.credentials.peppers().ids();
        let peppers = PepperNames::new(ids, settings.secrets.pepper.len());
        Ok(Self { installation, peppers, keys, clients })
    }

    /// Whether nodes that serve have the same secrets, and how many keys, client secrets, passwords, second factors and mails each secret protects.
    async fn count(&self, console: &mut Console<'_>) -> Exit {
        let (keys, clients) = match (self.keys.count().await, self.clients.in_use().await) {
            (Ok(keys), Ok(clients)) => (keys, clients),
            (Err(error), _) | (_, Err(error)) => return fail(console, &error),
        };
        let secrets = &self.installation.secrets;
        // What the secrets protect is told also where nothing is to be learnt of nodes.
        let unknown =
            |error: StoreError| vec![format!("nodes            cannot be asked: {}", chain(&error))];
        let nodes = nodes::lines(&self.installation).await.unwrap_or_else(unknown);
        let sealed = rows::sealed_lines("keys at rest", &keys, secrets);
        for line in nodes.into_iter().chain(sealed).chain(clients::lines(&clients, secrets)) {
            if print(console, &line) == Exit::Failure {
                return Exit::Failure;
            }
        }
        let credentials = self.installation.stored_credentials();
        let names = (&self.installation.secrets, &self.peppers);
        let counted = credentials::count(&credentials, names, console).await;
        worst(counted, rows::count(&self.installation, console).await)
    }

    async fn reseal(&self, console: &mut Console<'_>) -> Exit {
        let done = match self.keys.reseal().await {
            Ok(done) => done,
            Err(error) => return fail(console, &error),
        };
        tell_resealed("keys", done.resealed);
        let clients = match self.clients.reseal().await {
            Ok(clients) => clients,
            Err(error) => return fail(console, &error),
        };
        tell_resealed("client secrets", clients.resealed);
        for (set, kid) in &done.unopened {
            let _ =
                writeln!(console.err, "the key `{kid}` of the set `{set}` opens with none of the secrets");
        }
        for client in &clients.unopened {
            let _ =
                writeln!(console.err, "the secret of the client `{client}` opens with none of the secrets");
        }
        let name = self.installation.secrets.name_at_rest(0);
        let (resealed, unchanged) = (done.resealed, done.unchanged);
        let keys = format!("Sealed {resealed} keys with {name}; it had sealed {unchanged} already.");
        let (resealed, unchanged) = (clients.resealed, clients.unchanged);
        let secrets =
            format!("Sealed {resealed} client secrets with {name}; it had sealed {unchanged} already.");
        let mut told = print(console, &keys);
        if told == Exit::Success && resealed + unchanged > 0 {
            told = print(console, &secrets);
        }
        told =
            worst(told, credentials::reseal(&self.installation.stored_credentials(), &name, console).await);
        told = worst(told, rows::reseal(&self.installation, &name, console).await);
        if done.unopened.is_empty() && clients.unopened.is_empty() { told } else { Exit::Failure }
    }
}

/// Says in the audit trail what the first secret seals now.
fn tell_resealed(what: &str, count: u64) {
    if count > 0 {
        info!(target: "sluice_audit", { what, count }, "sealed again with the first secret");
    }
}
