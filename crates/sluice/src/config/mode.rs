//! Development or production, and the defaults that follow from it.

use super::key::{Key, Kind};

pub(super) const KEYS: &[Key] = &[Key::hydra(
    "dev",
    Kind::Boolean,
    "Development mode, as `--dev`: plain http is allowed, and the store and the secrets are made \
     up. Never in production.",
)
.with_default("false")
.not_from_environment()];

/// Whether this server is for development.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Secrets, a store and an https issuer are required.
    Production,
    /// `--dev`: an http issuer is allowed; without `secrets.system` the program keeps a secret of its own.
    Development,
}

impl Mode {
    pub(crate) fn is_development(self) -> bool {
        self == Self::Development
    }
}
