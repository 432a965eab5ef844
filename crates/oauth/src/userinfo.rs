//! Userinfo (OpenID Connect Core §5.3).

use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_commit::StoreError;
use sluice_primitives::Clock;
use sluice_protocol::ErrorCode;
use thiserror::Error;

use crate::access_token_reader::{AccessTokenReader, NotActive};
use crate::grant::GrantRepository;
use crate::issuing::id_token::permitted;

/// Why there is no userinfo.
#[derive(Debug, Error)]
pub enum UserinfoError {
    /// No token was presented.
    #[error("no access token was presented")]
    NoToken,
    /// More than one token was presented, or the form that may hold one cannot be read (RFC 6750 §3.1).
    #[error("more than one access token was presented, or a form that cannot be read")]
    Malformed,
    /// The token does not hold.
    #[error(transparent)]
    Token(#[from] NotActive),
    /// The token does not cover `openid`.
    #[error("the access token does not cover the scope `openid`")]
    Scope,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UserinfoError {
    /// The error value (RFC 6750 §3.1); none where no token was presented at all.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::NoToken => None,
            Self::Malformed => Some(ErrorCode::InvalidRequest),
            Self::Token(_) => Some(ErrorCode::InvalidToken),
            Self::Scope => Some(ErrorCode::InsufficientScope),
            Self::Store(error) if error.is_temporary() => Some(ErrorCode::TemporarilyUnavailable),
            Self::Store(_) => Some(ErrorCode::ServerError),
        }
    }
}

/// Tells who the user is.
pub struct UserinfoService {
    /// Reads access tokens.
    pub reader: Arc<AccessTokenReader>,
    /// Grants: the claims are theirs.
    pub grants: Arc<dyn GrantRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl UserinfoService {
    /// The claims about the user of an access token.
    ///
    /// # Errors
    /// [`UserinfoError`] says why not.
    pub async fn userinfo(&self, token: &str) -> Result<Map<String, Value>, UserinfoError> {
        self.reader.check_knowledge()?;
        let claims = self.reader.active(token, self.clock.now())?;
        if !claims.scope.contains("openid") {
            return Err(UserinfoError::Scope);
        }
        let grant = self.grants.find(claims.grant).await?.ok_or(NotActive::Revoked)?;
        if grant.revoked_at.is_some() {
            return Err(NotActive::Revoked.into());
        }
        let mut userinfo = permitted(&grant.claims.id_token);
        let subject = grant.claims.shown_subject.unwrap_or_else(|| grant.subject.to_string());
        userinfo.insert("sub".to_owned(), Value::String(subject));
        Ok(userinfo)
    }
}
