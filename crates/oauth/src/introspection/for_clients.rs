//! Introspection for resource servers (RFC 7662), and its answers as tokens of their own (RFC 9701).
//!
//! A resource server is a client that can prove who it is. It is told of access tokens that name it in `aud`, or name
//! nobody, and of its own tokens. Of any other it learns that it is not active, and no more (RFC 7662 §4, RFC 9701 §5).

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use sluice_commit::StoreError;
use sluice_primitives::Clock;
use sluice_protocol::ErrorCode;
use sluice_protocol::introspection::IntrospectionResponse;
use thiserror::Error;

use super::{IntrospectionService, inactive};
use crate::caller::Caller;
use crate::client::Client;
use crate::client_auth::{ClientAuthError, ClientAuthenticator, Presented};
use crate::issuing::encrypt::{ClientEncryption, Content, NotEncrypted};
use crate::issuing::{IssueError, algorithm};
use crate::keys::KeyRing;

/// `typ` of an answer that is a token (RFC 9701 §5).
const TYPE: &str = "token-introspection+jwt";

/// Why a client is told nothing.
#[derive(Debug, Error)]
pub enum IntrospectionError {
    /// The parameters could not be read, or `token` is missing.
    #[error("the request is malformed")]
    Malformed,
    /// The client did not prove who it is.
    #[error(transparent)]
    Client(#[from] ClientAuthError),
    /// The client cannot prove who it is.
    #[error("a public client may not introspect tokens")]
    PublicClient,
    /// The answer could not be signed as the client registered.
    #[error(transparent)]
    Unsigned(#[from] IssueError),
    /// The answer could not be encrypted as the client registered.
    #[error(transparent)]
    NotEncrypted(#[from] NotEncrypted),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IntrospectionError {
    /// Whether whoever asked has left, and was turned away for that: nobody has to hear of it.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_unheard())
    }

    /// The error value.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed => ErrorCode::InvalidRequest,
            Self::Client(error) => error.code(),
            Self::PublicClient => ErrorCode::InvalidClient,
            Self::Unsigned(error) => error.code(),
            Self::NotEncrypted(error) => error.code(),
            Self::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
            Self::Store(_) => ErrorCode::ServerError,
        }
    }

    /// The sentence that the client reads.
    pub fn description(&self) -> &'static str {
        match self {
            Self::Client(why) => why.description(),
            Self::NotEncrypted(why) => why.description(),
            _ => self.code().description(),
        }
    }
}

/// What a client asks.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The token.
    pub token: &'a str,
    /// Whether the answer shall be a token itself.
    pub as_jwt: bool,
}

impl fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("as_jwt", &self.as_jwt).finish_non_exhaustive()
    }
}

/// What a client is told.
#[derive(Clone)]
pub enum Told {
    /// As JSON.
    Json(Box<IntrospectionResponse>),
    /// As a token (`application/token-introspection+jwt`).
    Jwt(String),
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(answer) => f.debug_tuple("Json").field(answer).finish(),
            Self::Jwt(_) => f.debug_tuple("Jwt").finish_non_exhaustive(),
        }
    }
}

/// Says what is known about tokens to those who serve with them.
pub struct ClientIntrospection {
    /// Who speaks.
    pub clients: Arc<ClientAuthenticator>,
    /// Knows tokens.
    pub introspection: Arc<IntrospectionService>,
    /// Signs.
    pub keys: Arc<KeyRing>,
    /// Encrypts.
    pub encryption: Arc<ClientEncryption>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// An answer that is a token (RFC 9701 §5). Neither `sub` nor `exp`: it is to be taken for no other kind.
#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    aud: &'a str,
    iat: i64,
    token_introspection: &'a IntrospectionResponse,
}

impl ClientIntrospection {
    /// What the client that presents itself may know about a token.
    ///
    /// # Errors
    /// [`IntrospectionError`] says why not.
    pub async fn introspect(
        &self,
        presented: Presented,
        caller: &Caller,
        asked: Asked<'_>,
    ) -> Result<Told, IntrospectionError> {
        let client = self.clients.authenticate(presented, caller, self.clock.now()).await?;
        if client.is_public() {
            return Err(IntrospectionError::PublicClient);
        }
        let known = self.introspection.introspect(asked.token, None).await?;
        let answer = if known.active && !may_know(&client, &known) {
            inactive(&format_args!("it is not a token of the client {}, nor meant for it", client.id))
        } else {
            as_seen(known)
        };
        if asked.as_jwt {
            return Ok(Told::Jwt(self.token(&client, &answer).await?));
        }
        Ok(Told::Json(Box::new(answer)))
    }

    async fn token(
        &self,
        client: &Client,
        answer: &IntrospectionResponse,
    ) -> Result<String, IntrospectionError> {
        let config = &self.introspection.config;
        let algorithm = algorithm::of_introspection(client, config)?;
        let key = self.keys.id_token_signer(algorithm).ok_or(IssueError::NoKey)?;
        let claims = Claims {
            iss: config.issuer.as_str(),
            aud: client.id.as_str(),
            iat: self.clock.now().as_secs(),
            token_introspection: answer,
        };
        let payload = serde_json::to_vec(&claims).unwrap_or_default();
        let signed = key.sign(Some(TYPE), &payload).map_err(IssueError::from)?;
        let how = client.formats.introspection_encryption.as_ref();
        Ok(self.encryption.apply(client, how, (Content::Jwt, signed)).await?)
    }
}

/// Whether the token is the client's own, or an access token that it may be presented with.
fn may_know(client: &Client, token: &IntrospectionResponse) -> bool {
    let own = token.client_id.as_deref() == Some(client.id.as_str());
    let audience = token.aud.as_deref().unwrap_or_default();
    let meant = audience.is_empty() || audience.iter().any(|name| name == client.id.as_str());
    own || (meant && token.token_use == Some("access_token"))
}

/// Whom the token speaks for as its client sees it: an administrator alone knows more.
fn as_seen(token: IntrospectionResponse) -> IntrospectionResponse {
    let sub = token.obfuscated_subject.or(token.sub);
    IntrospectionResponse { sub, obfuscated_subject: None, ..token }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_token_nor_an_answer_that_is_one_is_printed() {
        let (token, as_jwt) = ("a-token-of-somebody", true);
        let printed = format!("{:?} {:?}", Asked { token, as_jwt }, Told::Jwt(token.to_owned()));
        assert!(!printed.contains(token), "{printed}");
    }
}
