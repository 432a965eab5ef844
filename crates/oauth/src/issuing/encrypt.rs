//! What a client wants encrypted is encrypted to a key of its own, or not sent at all: a signed token within a JWE
//! (OpenID Connect Core §10.2, RFC 7519 §5.2).

use std::sync::Arc;

use sluice_crypto::jwe::{ContentEncryption, EncryptError, EncryptionKey, KeyManagement, encrypt};
use sluice_primitives::Clock;
use sluice_protocol::ErrorCode;
use thiserror::Error;

use crate::client::{Client, Encryption};
use crate::client_auth::remote_keys::NOT_FETCHED;
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

impl NotEncrypted {
    /// What is told instead: that the key is not there is for the client to mend.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Keys(why) if why.is_busy() => ErrorCode::TemporarilyUnavailable,
            Self::Keys(_) | Self::NoKey(_) => ErrorCode::InvalidRequest,
            Self::Algorithm | Self::Failed(_) => ErrorCode::ServerError,
        }
    }

    /// The sentence that the client reads.
    pub const fn description(&self) -> &'static str {
        match self {
            Self::Keys(why) if !why.is_busy() => NOT_FETCHED,
            Self::NoKey(_) => {
                "The client wants what it is sent encrypted, and has no key for the algorithm that it registered."
            }
            _ => self.code().description(),
        }
    }
}

/// What is to be encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A signed token.
    Jwt,
    /// Claims, as JSON.
    Claims,
}

/// A key of a client, and how it wants something encrypted to it.
#[derive(Debug)]
pub struct Recipient {
    key: EncryptionKey,
    enc: ContentEncryption,
}

impl Recipient {
    /// The text, encrypted.
    ///
    /// # Errors
    /// [`NotEncrypted::Failed`] if the cryptography library fails.
    pub fn encrypt(&self, content: Content, text: &str) -> Result<String, NotEncrypted> {
        let cty = match content {
            Content::Jwt => Some("JWT"),
            Content::Claims => None,
        };
        Ok(encrypt(text.as_bytes(), &self.key, self.enc, cty)?)
    }
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
        match self.recipient(client, how).await? {
            Some(recipient) => recipient.encrypt(content, &text),
            None => Ok(text),
        }
    }

    /// The key to encrypt to as `how` says; none if it says nothing.
    ///
    /// # Errors
    /// [`NotEncrypted`] if the client has no key for it.
    pub async fn recipient(
        &self,
        client: &Client,
        how: Option<&Encryption>,
    ) -> Result<Option<Recipient>, NotEncrypted> {
        let Some(how) = how else { return Ok(None) };
        let algorithm: KeyManagement = how.alg.parse().map_err(|_| NotEncrypted::Algorithm)?;
        let enc: ContentEncryption = how.enc.parse().map_err(|_| NotEncrypted::Algorithm)?;
        Ok(Some(Recipient { key: self.key(client, algorithm).await?, enc }))
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
