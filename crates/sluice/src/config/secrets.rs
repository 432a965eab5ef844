//! `secrets`: lists of secrets. The first seals, all of them open, so that they can be rotated.

use super::key::{Key, Kind};
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
         Without it, derived from `secrets.system`; empty, it is refused.",
    ),
    Key::own(
        "pepper",
        Kind::Secrets,
        "Keys the hashes of passwords: who has the database alone cannot guess. A hash is keyed anew when its person logs \
         in, so a pepper is needed until `sluice secrets status` counts no more passwords of it. Without any, derived \
         from `secrets.system`, which then cannot be rotated away before: set one from the start. Empty, it is refused.",
    ),
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
    /// Of the hashes of passwords. Empty: derive from `system`.
    pub(crate) pepper: Vec<SecretString>,
}

pub(super) fn read(reader: &mut Reader<'_>, mode: Mode) -> SecretsSettings {
    let problems = reader.problem_count();
    let system = reader.secrets("secrets.system", SHORTEST);
    if system.is_empty() && !mode.is_development() && reader.problem_count() == problems {
        let reason = format!("is required: at least one secret of {SHORTEST} characters or more");
        reader.refuse_missing("secrets.system", reason);
    }
    for key in ["secrets.storage", "secrets.pepper"] {
        if !mode.is_development() {
            reader.refuse_blank(key, "what it protects is bound to secrets.system");
        }
    }
    SecretsSettings {
        system,
        cookie: reader.secrets("secrets.cookie", SHORTEST),
        storage: reader.secrets("secrets.storage", SHORTEST),
        pepper: reader.secrets("secrets.pepper", SHORTEST),
    }
}
