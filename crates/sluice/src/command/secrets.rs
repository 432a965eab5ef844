//! `sluice secrets status|reseal`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use sluice_oauth::client::SealedClientSecrets;
use sluice_oauth::keys::SealedKeys;
use sluice_primitives::{Clock, OsRng, Rng, SystemClock};

use super::{fail, load, print};
use crate::app::{KeyMaterial, StartError, Stores, key_material, open_store};
use crate::cli::{Console, Exit, SecretsCommand};
use crate::config::{Dsn, SecretsSettings, Settings, Sources};

/// Shows or moves what secrets protect; never the secrets.
pub(crate) async fn run(
    secrets: SecretsCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let (configuration, is_reseal) = match secrets {
        SecretsCommand::Status(configuration) => (configuration, false),
        SecretsCommand::Reseal(configuration) => (configuration, true),
    };
    let sources = configuration.sources(environment);
    let Some(loaded) = load(&sources) else { return Exit::Failure };
    let settings = &loaded.settings;
    if !is_reseal && configured(&settings.secrets, console) == Exit::Failure {
        return Exit::Failure;
    }
    if !has_database(settings) {
        return print(console, "keys at rest     none: there is no database yet");
    }
    let at_rest = match AtRest::open(settings, &sources).await {
        Ok(at_rest) => at_rest,
        Err(error) => return fail(console, &error),
    };
    let exit = if is_reseal { at_rest.reseal(console).await } else { at_rest.count(console).await };
    at_rest.stores.shutdown().await;
    exit
}

/// How many secrets there are for each purpose.
fn configured(secrets: &SecretsSettings, console: &mut Console<'_>) -> Exit {
    let lists = [
        ("secrets.system", secrets.system.len()),
        ("secrets.cookie", secrets.cookie.len()),
        ("secrets.storage", secrets.storage.len()),
    ];
    for (key, count) in lists {
        let line = match count {
            0 if key == "secrets.system" => format!("{key:<16} none (made at start in development mode)"),
            0 if key == "secrets.cookie" => format!("{key:<16} none (secrets.system seals)"),
            0 => format!("{key:<16} none (derived from secrets.system)"),
            1 => format!("{key:<16} 1, seals and opens"),
            more => format!("{key:<16} {more}: the first seals, all open"),
        };
        if print(console, &line) == Exit::Failure {
            return Exit::Failure;
        }
    }
    Exit::Success
}

/// To open a SQLite file that is not there would make it.
fn has_database(settings: &Settings) -> bool {
    match &settings.database.dsn {
        Dsn::Memory => false,
        Dsn::Sqlite { path } => path.exists(),
        Dsn::Postgres { .. } => true,
    }
}

/// What is in the database, and the secrets that open it.
struct AtRest {
    stores: Stores,
    secrets: KeyMaterial,
    keys: SealedKeys,
    clients: SealedClientSecrets,
}

impl AtRest {
    async fn open(settings: &Settings, sources: &Sources) -> Result<Self, StartError> {
        let (clock, rng): (Arc<dyn Clock>, Arc<dyn Rng>) = (Arc::new(SystemClock), Arc::new(OsRng));
        let stores = open_store(&settings.database, false, (&clock, &rng)).await?;
        let secrets = key_material(settings, &sources.data_dir, &*rng)?;
        let sealer = Arc::new(secrets.at_rest(stores.network_id().await?));
        let clients =
            SealedClientSecrets::new(stores.repositories() as _, Arc::clone(&sealer), Arc::clone(&rng));
        let keys = SealedKeys::new(stores.repositories() as _, sealer, rng);
        Ok(Self { stores, secrets, keys, clients })
    }

    /// How many keys and client secrets each secret sealed.
    async fn count(&self, console: &mut Console<'_>) -> Exit {
        let (keys, clients) = match (self.keys.count().await, self.clients.count().await) {
            (Ok(keys), Ok(clients)) => (keys, clients),
            (Err(error), _) | (_, Err(error)) => return fail(console, &error),
        };
        let lines = self.lines("keys at rest", &keys).into_iter();
        for line in lines.chain(self.lines("client secrets", &clients)) {
            if print(console, &line) == Exit::Failure {
                return Exit::Failure;
            }
        }
        Exit::Success
    }

    fn lines(&self, what: &str, counts: &BTreeMap<Option<usize>, u64>) -> Vec<String> {
        let line = |(place, count): (&Option<usize>, &u64)| match place {
            None => format!("{what:<16} {count} sealed with a secret that is not configured"),
            Some(0) => {
                format!("{what:<16} {count} sealed with {}, which seals", self.secrets.name_at_rest(0))
            }
            Some(place) => {
                let name = self.secrets.name_at_rest(*place);
                format!("{what:<16} {count} sealed with {name}: `sluice secrets reseal` moves them")
            }
        };
        counts.iter().map(line).collect()
    }

    async fn reseal(&self, console: &mut Console<'_>) -> Exit {
        let done = match self.keys.reseal().await {
            Ok(done) => done,
            Err(error) => return fail(console, &error),
        };
        let clients = match self.clients.reseal().await {
            Ok(clients) => clients,
            Err(error) => return fail(console, &error),
        };
        for (set, kid) in &done.unopened {
            let _ =
                writeln!(console.err, "the key `{kid}` of the set `{set}` opens with none of the secrets");
        }
        for client in &clients.unopened {
            let _ =
                writeln!(console.err, "the secret of the client `{client}` opens with none of the secrets");
        }
        let name = self.secrets.name_at_rest(0);
        let (resealed, unchanged) = (done.resealed, done.unchanged);
        let keys = format!("Sealed {resealed} keys with {name}; it had sealed {unchanged} already.");
        let (resealed, unchanged) = (clients.resealed, clients.unchanged);
        let secrets =
            format!("Sealed {resealed} client secrets with {name}; it had sealed {unchanged} already.");
        let mut told = print(console, &keys);
        if told == Exit::Success && resealed + unchanged > 0 {
            told = print(console, &secrets);
        }
        if done.unopened.is_empty() && clients.unopened.is_empty() { told } else { Exit::Failure }
    }
}
