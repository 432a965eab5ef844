//! `secrets`: lists of secrets. The first seals, all of them open, so that they can be rotated.

use super::key::{Key, Kind, Owner};
use super::mode::Mode;
use super::reader::Reader;
use super::secret_string::SecretString;

/// The shortest secret that is accepted, in characters; Hydra's rule.
const SHORTEST: usize = 16;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "system",
        Kind::Secrets,
        "Seals what is in flight: flows, codes, tokens, cookies. At least 16 characters each. \
         Required but with `--dev`.",
    ),
    Key::hydra(
        "cookie",
        Kind::Secrets,
        "Seals session cookies; without it they are sealed with `secrets.system`. To set it the first time \
         ends the sessions that are in cookies already.",
    ),
    Key::own(
        "storage",
        Kind::Secrets,
        "Seals the signing keys in the store, and keys the hashes of client secrets that Sluice made up. \
         Without it, derived from `secrets.system`.",
    ),
    Key {
        owner: Owner::Sluice,
        ..Key::ignored(
            "pepper",
            Kind::Secrets,
            "the hashes of passwords are salted, but not keyed, in this version",
        )
    },
    Key::ignored("pagination", Kind::Secrets, "page tokens are sealed with secrets.system"),
];

/// Secrets by purpose, each at least 16 characters long. In each list the first seals and all open.
#[derive(Debug, Clone)]
pub(crate) struct SecretsSettings {
    /// In flight. Empty only in development: the program then keeps a secret of its own beside the store.
    pub(crate) system: Vec<SecretString>,
    /// Session cookies. Empty: use `system`.
    pub(crate) cookie: Vec<SecretString>,
    /// At rest. Empty: derive from `system`.
    pub(crate) storage: Vec<SecretString>,
}

pub(super) fn read(reader: &mut Reader<'_>, mode: Mode) -> SecretsSettings {
    let problems = reader.problem_count();
    let system = reader.secrets("secrets.system", SHORTEST);
    if system.is_empty() && !mode.is_development() && reader.problem_count() == problems {
        let reason = format!("is required: at least one secret of {SHORTEST} characters or more");
        reader.refuse("secrets.system", reason);
    }
    SecretsSettings {
        system,
        cookie: reader.secrets("secrets.cookie", SHORTEST),
        storage: reader.secrets("secrets.storage", SHORTEST),
    }
}
