//! Keys that are shown to an administrator, private parts included: who reads those can sign as this server does.

use sluice_crypto::jwk::{Jwk, JwkSet};
use tracing::info;

use super::service::{KeyService, KeyServiceError};

impl KeyService {
    /// As [`Self::set`], for somebody who asks: the audit trail says so.
    ///
    /// # Errors
    /// [`KeyServiceError::NoSuchSet`].
    pub async fn show_set(&self, set: &str) -> Result<JwkSet, KeyServiceError> {
        let shown = self.set(set).await?;
        let private = shown.keys.iter().filter(|key| key.is_private());
        let kids: Vec<&str> = private.filter_map(|key| key.kid.as_deref()).collect();
        if !kids.is_empty() {
            info!(target: "sluice_audit", { key.set = set, key.kids = ?kids }, "private keys read");
        }
        Ok(shown)
    }

    /// As [`Self::key`], for somebody who asks: the audit trail says so.
    ///
    /// # Errors
    /// [`KeyServiceError::NoSuchKey`].
    pub async fn show_key(&self, set: &str, kid: &str) -> Result<JwkSet, KeyServiceError> {
        let shown = self.key(set, kid).await?;
        if shown.keys.iter().any(Jwk::is_private) {
            info!(target: "sluice_audit", { key.set = set, key.kid = kid }, "private keys read");
        }
        Ok(shown)
    }
}
