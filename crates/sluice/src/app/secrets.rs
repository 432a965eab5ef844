//! Keys from secrets: in flight, at rest, and of the fast hash of generated client secrets.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sluice_crypto::credential::Peppers;
use sluice_crypto::digest::{MacKey, derive_key, sha256};
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_crypto::{Purpose, Sealer, SystemSecret, fingerprint};
use sluice_identity::factor::RecoveryCodeKeys;
use sluice_identity::mail::CodeKey;
use sluice_oauth::device::UserCodeKeys;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{NetworkId, Rng, Secret};
use thiserror::Error;

use super::identity_tokens::IdentityTokenKeys;
use crate::config::{SecretString, SecretsSettings};

/// The file that holds the secret of development mode, beside its database.
const DEVELOPMENT_SECRET: &str = "system.secret";

/// Why there is no key material.
#[derive(Debug, Error)]
pub(crate) enum SecretsError {
    /// Nothing is configured, and this is not development mode.
    #[error("secrets.system is not set")]
    Missing,
    /// The file of development mode cannot be read or written.
    #[error("the secret of development mode in {path}")]
    File {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
}

/// The secrets that are in force, first the one that seals.
pub(crate) struct KeyMaterial {
    system: Vec<SystemSecret>,
    /// Of session cookies; empty where they have none of their own.
    cookie: Vec<SystemSecret>,
    storage: Vec<SystemSecret>,
    /// How many of `storage` are not derived from `system`.
    own_storage: usize,
    pepper: Vec<SystemSecret>,
}

impl KeyMaterial {
    /// The configured secrets; in development mode, where none are, one of its own in `directory`.
    ///
    /// # Errors
    /// [`SecretsError`] if there is no secret to be had.
    pub(crate) fn of(
        settings: &SecretsSettings,
        directory: Option<&Path>,
        rng: &dyn Rng,
    ) -> Result<Self, SecretsError> {
        let mut system: Vec<_> = settings.system.iter().map(bytes).collect();
        if system.is_empty() {
            system.push(development_secret(directory.ok_or(SecretsError::Missing)?, rng)?);
        }
        // What was sealed before there was a secret for it goes on to open.
        let and_derived = |own: &[SecretString], info: &[u8]| {
            let derived = system.iter().map(|secret| derived(secret, info));
            own.iter().map(bytes).chain(derived).collect()
        };
        let storage = and_derived(&settings.storage, b"secrets.storage");
        let pepper = and_derived(&settings.pepper, b"secrets.pepper");
        let (cookie, own_storage) = (settings.cookie.iter().map(bytes).collect(), settings.storage.len());
        Ok(Self { system, cookie, storage, own_storage, pepper })
    }

    /// A secret that lives as long as this process.
    pub(crate) fn passing(rng: &dyn Rng) -> Self {
        let system = vec![Secret::new(random_bytes::<32>(rng).to_vec())];
        let from_system = |info| system.iter().map(|secret| derived(secret, info)).collect();
        let (storage, pepper) = (from_system(b"secrets.storage".as_slice()), from_system(b"secrets.pepper"));
        Self { system, cookie: Vec::new(), storage, own_storage: 0, pepper }
    }

    /// Seals what is in flight.
    pub(crate) fn in_flight(&self, network: NetworkId) -> Sealer {
        Sealer::new(network, &self.system).with_own_secrets(Purpose::SessionCookie, &self.cookie)
    }

    /// Seals what is at rest.
    pub(crate) fn at_rest(&self, network: NetworkId) -> Sealer {
        Sealer::new(network, &self.storage)
    }

    /// What the configuration calls the secret in this place of those at rest.
    pub(crate) fn name_at_rest(&self, place: usize) -> String {
        match place.checked_sub(self.own_storage) {
            None => format!("secrets.storage #{}", place + 1),
            Some(derived) => format!("secrets.system #{}", derived + 1),
        }
    }

    /// The peppers of passwords.
    pub(crate) fn peppers(&self) -> Option<Peppers> {
        Peppers::new(&self.pepper)
    }

    /// The keys of the hashes of the codes that mails carry, which live for hours.
    pub(crate) fn mail_codes(&self) -> Option<CodeKey> {
        CodeKey::derive(&self.storage)
    }

    /// The keys of the hashes of recovery codes.
    pub(crate) fn recovery_codes(&self) -> Option<RecoveryCodeKeys> {
        RecoveryCodeKeys::derive(&self.storage)
    }

    /// The keys of the access tokens of this network's identity API: the first signs, all verify.
    ///
    /// # Errors
    /// [`SecretsError`] if there is no secret to derive them from.
    pub(crate) fn identity_tokens(&self, network: NetworkId) -> Result<IdentityTokenKeys, SecretsError> {
        IdentityTokenKeys::derive(&self.system, network).ok_or(SecretsError::Missing)
    }

    /// The keys of the hash of the codes that users of devices type.
    pub(crate) fn user_codes(&self) -> Option<UserCodeKeys> {
        let mut keys = self.storage.iter().map(|secret| MacKey::derive(secret.expose(), b"user codes"));
        Some(UserCodeKeys::new(keys.next()?, keys.collect()))
    }

    /// What tells the secrets of each list from others, in the database: of the one that seals first. Where a list is empty, of those that take its
    /// place. What is derived from a secret has the fingerprint of that secret, and is the same wherever that is: with fingerprints of its own,
    /// of each secret there would be three, and three are long enough to show which guess is right.
    pub(crate) fn fingerprints(&self, network: NetworkId) -> [(&'static str, Vec<String>); 4] {
        let of = |secrets: &[SystemSecret]| -> Vec<_> {
            secrets.iter().map(|one| fingerprint(network, one)).collect()
        };
        let system = of(&self.system);
        // Derived are the last ones, one from each.
        let and_derived = |secrets: &[SystemSecret]| {
            let own = secrets.len().saturating_sub(system.len());
            let own = of(secrets.get(..own).unwrap_or_default());
            own.into_iter().chain(system.iter().cloned()).collect()
        };
        let cookie = if self.cookie.is_empty() { system.clone() } else { of(&self.cookie) };
        let (storage, pepper) = (and_derived(&self.storage), and_derived(&self.pepper));
        [
            ("secrets.system", system),
            ("secrets.cookie", cookie),
            ("secrets.storage", storage),
            ("secrets.pepper", pepper),
        ]
    }

    /// The keys of the fast hash of generated client secrets, each with the id that stored hashes name.
    pub(crate) fn client_secrets(&self) -> Option<FastHashKeys> {
        let mut keys = self.storage.iter().map(|secret| {
            let key = derive_key(secret.expose(), b"client secrets");
            let [id, ..] = sha256(&key);
            (id, MacKey::new(&key))
        });
        Some(FastHashKeys::new(keys.next()?, keys.collect()))
    }
}

fn bytes(secret: &SecretString) -> SystemSecret {
    Secret::new(secret.expose().as_bytes().to_vec())
}

fn derived(secret: &SystemSecret, info: &[u8]) -> SystemSecret {
    Secret::new(derive_key(secret.expose(), info).to_vec())
}

fn development_secret(directory: &Path, rng: &dyn Rng) -> Result<SystemSecret, SecretsError> {
    let path = directory.join(DEVELOPMENT_SECRET);
    let failed = |cause| SecretsError::File { path: path.clone(), cause };
    fs::create_dir_all(directory).map_err(failed)?;
    match create(&path, rng) {
        Ok(()) => {}
        Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(cause) => return Err(failed(cause)),
    }
    fs::read(&path).map(Secret::new).map_err(failed)
}

/// Writes the whole secret under another name first, so that whoever starts at the same time reads all of it or nothing.
fn create(path: &Path, rng: &dyn Rng) -> std::io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let [tag] = random_bytes::<1>(rng);
    let draft = path.with_extension(format!("{}-{tag}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&draft)?.write_all(&random_bytes::<64>(rng))?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    linked
}

#[cfg(test)]
mod tests {
    use sluice_primitives::OsRng;

    use super::*;
    use crate::config::{Mode, Sources, load};

    const NETWORK: NetworkId = NetworkId::from_bytes([1; 16]);

    fn keys(settings: &[(&str, &str)]) -> KeyMaterial {
        let overrides =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (files, environment, data_dir) = (Vec::new(), Vec::new(), PathBuf::from("."));
        let sources = Sources { files, environment, overrides, mode: Mode::Development, data_dir };
        KeyMaterial::of(&load(&sources).unwrap().settings.secrets, None, &OsRng).unwrap()
    }

    fn sealers(settings: &[(&str, &str)]) -> (Sealer, Sealer) {
        let keys = keys(settings);
        (keys.in_flight(NETWORK), keys.at_rest(NETWORK))
    }

    const SYSTEM: (&str, &str) = ("secrets.system", "a-system-secret-for-tests");

    #[test]
    fn a_secret_of_storage_may_be_set_later() {
        let (_, before) = sealers(&[SYSTEM]);
        let sealed = before.seal(Purpose::SigningKey, b"key", &OsRng);
        let (_, after) = sealers(&[SYSTEM, ("secrets.storage", "a-storage-secret-for-tests")]);
        assert!(after.open(Purpose::SigningKey, &sealed).is_ok());
        let sealed = after.seal(Purpose::SigningKey, b"key", &OsRng);
        assert!(before.open(Purpose::SigningKey, &sealed).is_err());
    }

    #[test]
    fn what_is_at_rest_does_not_open_in_flight() {
        let (in_flight, at_rest) = sealers(&[SYSTEM]);
        let sealed = at_rest.seal(Purpose::SigningKey, b"key", &OsRng);
        assert!(in_flight.open(Purpose::SigningKey, &sealed).is_err());
    }

    /// More of them would show whoever reads the database which guess is right.
    #[test]
    fn of_a_secret_there_is_one_fingerprint_whatever_is_derived_from_it() {
        let fingerprints = |settings: &[_]| keys(settings).fingerprints(NETWORK).map(|(_, said)| said);
        let [system, others @ ..] = fingerprints(&[SYSTEM]);
        assert_eq!((system.len(), others), (1, [(); 3].map(|()| system.clone())));
        let passing = KeyMaterial::passing(&OsRng).fingerprints(NETWORK).map(|(_, said)| said);
        assert!(passing.iter().all(|said| said.len() == 1 && *said == passing[0]), "{passing:?}");

        let two = ("secrets.system", "another-secret-for-tests,a-system-secret-for-tests");
        let own = [two, ("secrets.storage", "a-storage-secret-for-tests")];
        let [both, cookie, storage, pepper] = fingerprints(&own);
        assert_eq!((both.len(), &both[1], &cookie, &pepper), (2, &system[0], &both, &both));
        assert_eq!((storage.len(), &storage[1..]), (3, &both[..]));
        assert!(!both.contains(&storage[0]), "{storage:?}");
    }
}
