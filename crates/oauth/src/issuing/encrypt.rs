//! What a client wants encrypted is encrypted to a key of its own, or not sent at all: a signed token within a JWE
//! (OpenID Connect Core §10.2, RFC 7519 §5.2).

use std::sync::Arc;

use sluice_crypto::jwe::{ContentEncryption, EncryptError, EncryptionKey, KeyManagement, encrypt};
use sluice_primitives::Clock;
use thiserror::Error;

use crate::client::{Client, Encryption};
use crate::client_auth::{ClientKeys, KeysNotFetched};

/// Why something was not encrypted for a client. What it is must then not be sent.
#[derive(Debug, Error)]
pub enum NotEncrypted {
    /// The client registered an algorithm that is not known here.
    #[error("the client wants what it is sent encrypted with an algorithm that is not supported")]
    Algorithm,
    /// None of the client's keys is for the algorithm that it registered.
    #[error("the client has no key for `{0}`, which it wants what it is sent encrypted with")]
    NoKey(KeyManagement),
    /// The client's keys could not be fetched.
    #[error(transparent)]
    Keys(#[from] KeysNotFetched),
    /// The cryptography library failed.
    #[error(transparent)]
    Failed(#[from] EncryptError),
}

/// What is to be encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A signed token.
    Jwt,
    /// Claims, as JSON.
    Claims,
}

/// Encrypts for clients.
pub struct ClientEncryption {
    keys: Arc<ClientKeys>,
    clock: Arc<dyn Clock>,
}

impl ClientEncryption {
    /// Encrypts with these keys of clients.
    pub const fn new(keys: Arc<ClientKeys>, clock: Arc<dyn Clock>) -> Self {
        Self { keys, clock }
    }

    /// The text as the client wants it: encrypted if `how` says so, else as it is.
    ///
    /// # Errors
    /// [`NotEncrypted`] if the client has no key for it.
    pub async fn apply(
        &self,
        client: &Client,
        how: Option<&Encryption>,
        (content, text): (Content, String),
    ) -> Result<String, NotEncrypted> {
        let Some(how) = how else { return Ok(text) };
        let algorithm: KeyManagement = how.alg.parse().map_err(|_| NotEncrypted::Algorithm)?;
        let enc: ContentEncryption = how.enc.parse().map_err(|_| NotEncrypted::Algorithm)?;
        let key = self.key(client, algorithm).await?;
        let cty = match content {
            Content::Jwt => Some("JWT"),
            Content::Claims => None,
        };
        Ok(encrypt(text.as_bytes(), &key, enc, cty)?)
    }

    /// A key of the client; one at a URI is looked for again if it is not among those that are kept.
    async fn key(&self, client: &Client, algorithm: KeyManagement) -> Result<EncryptionKey, NotEncrypted> {
        let now = self.clock.now();
        if let Some(key) = EncryptionKey::of(&self.keys.of(client, now).await?.set, algorithm) {
            return Ok(key);
        }
        let newer = self.keys.newer(client, now).await?;
        let newer = newer.and_then(|keys| EncryptionKey::of(&keys.set, algorithm));
        newer.ok_or(NotEncrypted::NoKey(algorithm))
    }
}
