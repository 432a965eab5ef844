//! Userinfo (OpenID Connect Core §5.3): JSON, or a token of its own that is signed, encrypted or both, as the client
//! registered (§5.3.2).

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_commit::StoreError;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, GrantId, Rng, Timestamp};
use sluice_protocol::{ErrorCode, Scope};
use sluice_token::claims::Extra;
use sluice_token::{AccessTokenClaims, TokenId};
use thiserror::Error;

use crate::access_token_reader::{AccessTokenReader, NotActive};
use crate::client::{Client, ClientDirectory};
use crate::config::Config;
use crate::grant::GrantRepository;
use crate::issuing::IssueError;
use crate::issuing::encrypt::{ClientEncryption, Content, NotEncrypted};
use crate::issuing::id_token::permitted;
use crate::keys::KeyRing;
use crate::sender_constraint::{NotHolder, PresentedToken, SenderConstraint};

/// Which claims each scope value asks for (OpenID Connect Core §5.4).
const CLAIMS: [(&str, &[&str]); 4] = [
    (
        "profile",
        &[
            "name",
            "family_name",
            "given_name",
            "middle_name",
            "nickname",
            "preferred_username",
            "profile",
            "picture",
            "website",
            "gender",
            "birthdate",
            "zoneinfo",
            "locale",
            "updated_at",
        ],
    ),
    ("email", &["email", "email_verified"]),
    ("address", &["address"]),
    ("phone", &["phone_number", "phone_number_verified"]),
];

/// Whether one of these scope values asks for the claim (OpenID Connect Core §5.4).
pub(crate) fn comes_with(scope: &Scope, claim: &str) -> bool {
    CLAIMS.iter().any(|(value, claims)| scope.contains(value) && claims.contains(&claim))
}

/// Why there is no userinfo.
#[derive(Debug, Error)]
pub enum UserinfoError {
    /// No token was presented.
    #[error("no access token was presented")]
    NoToken,
    /// One was presented in the query of the URL, where nobody may (RFC 6750 §2.3).
    #[error("an access token was presented in the query")]
    TokenInQuery,
    /// More than one token was presented, or the form that may hold one cannot be read (RFC 6750 §3.1).
    #[error("more than one access token was presented, or a form that cannot be read")]
    Malformed,
    /// The token does not hold.
    #[error(transparent)]
    Token(#[from] NotActive),
    /// The token is bound to a key that its bearer does not hold.
    #[error(transparent)]
    NotHolder(#[from] NotHolder),
    /// The token does not cover `openid`.
    #[error("the access token does not cover the scope `openid`")]
    Scope,
    /// The claims could not be signed as the client registered.
    #[error(transparent)]
    Unsigned(#[from] IssueError),
    /// The claims could not be encrypted as the client registered.
    #[error(transparent)]
    NotEncrypted(#[from] NotEncrypted),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UserinfoError {
    /// The error value (RFC 6750 §3.1); none where no token was presented at all, or not to be seen.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::NoToken | Self::TokenInQuery => None,
            Self::Malformed => Some(ErrorCode::InvalidRequest),
            Self::Token(_) => Some(ErrorCode::InvalidToken),
            Self::NotHolder(error) => Some(error.code()),
            Self::Scope => Some(ErrorCode::InsufficientScope),
            Self::Unsigned(error) => Some(error.code()),
            Self::NotEncrypted(error) => Some(error.code()),
            Self::Store(error) if error.is_temporary() => Some(ErrorCode::TemporarilyUnavailable),
            Self::Store(_) => Some(ErrorCode::ServerError),
        }
    }

    /// The sentence that is said of the error; none if there is none.
    pub fn description(&self) -> Option<&'static str> {
        match self {
            Self::NotEncrypted(why) => Some(why.description()),
            Self::NotHolder(why) => Some(why.description()),
            _ => self.code().map(ErrorCode::description),
        }
    }
}

/// The claims about a user, as the client registered.
#[derive(Clone, PartialEq)]
pub enum Userinfo {
    /// As JSON.
    Claims(Map<String, Value>),
    /// Signed, encrypted or both (`application/jwt`).
    Jwt(String),
}

impl fmt::Debug for Userinfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claims(claims) => f.debug_tuple("Claims").field(claims).finish(),
            Self::Jwt(_) => f.debug_tuple("Jwt").finish_non_exhaustive(),
        }
    }
}

/// Tells who the user is.
pub struct UserinfoService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Reads access tokens.
    pub reader: Arc<AccessTokenReader>,
    /// Whether tokens are in the right hands.
    pub constraint: Arc<SenderConstraint>,
    /// Grants: claims that are not in the token itself are there.
    pub grants: Arc<dyn GrantRepository>,
    /// Clients: each has its own way of being told.
    pub clients: Arc<ClientDirectory>,
    /// Signs.
    pub keys: Arc<KeyRing>,
    /// Encrypts.
    pub encryption: Arc<ClientEncryption>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl UserinfoService {
    /// The claims about the user of an access token.
    ///
    /// # Errors
    /// [`UserinfoError`] says why not.
    pub async fn userinfo(&self, presented: &PresentedToken<'_>) -> Result<Userinfo, UserinfoError> {
        self.reader.check_knowledge()?;
        let now = self.clock.now();
        let claims = self.reader.active(presented.token, now)?;
        self.constraint.check_holder(presented, claims.rare.confirmation)?;
        if !claims.scope.contains("openid") {
            return Err(UserinfoError::Scope);
        }
        let told = self.claims(&claims).await?;
        // A client that is gone has no tokens that hold.
        let client = self.clients.find(&claims.client).await?.ok_or(NotActive::Revoked)?;
        self.formatted(&client, told, now).await
    }

    async fn claims(&self, token: &AccessTokenClaims) -> Result<Map<String, Value>, UserinfoError> {
        let mut told = match &token.userinfo {
            Extra::None => Map::new(),
            Extra::Inline(text) => serde_json::from_str(text).unwrap_or_default(),
            Extra::InGrant => self.of_grant(token.grant).await?,
        };
        if !token.rare.origins.is_empty() {
            // The consent page told the client of the grant, not whoever holds an exchanged token.
            told.retain(|name, _| is_covered(&token.scope, name));
        }
        told.insert("sub".to_owned(), token.visible_subject().into());
        self.add_login(token, &mut told);
        Ok(told)
    }

    /// Whose word this is, for whom, and of which login: as an id token says it, as far as the access token itself knows.
    fn add_login(&self, token: &AccessTokenClaims, told: &mut Map<String, Value>) {
        told.insert("iss".to_owned(), self.config.issuer.as_str().into());
        told.insert("aud".to_owned(), Value::from(vec![token.client.as_str()]));
        if let Some(logged_in_at) = token.logged_in_at() {
            told.insert("auth_time".to_owned(), logged_in_at.as_secs().into());
        }
        if let Some(acr) = &token.rare.acr {
            told.insert("acr".to_owned(), acr.as_str().into());
        }
        if !token.rare.amr.is_empty() {
            told.insert("amr".to_owned(), Value::from(token.rare.amr.clone()));
        }
    }

    /// What the grant of a token says that does not carry it.
    async fn of_grant(&self, grant: GrantId) -> Result<Map<String, Value>, UserinfoError> {
        let grant = self.grants.find(grant).await?.ok_or(NotActive::Revoked)?;
        if grant.revoked_at.is_some() {
            return Err(NotActive::Revoked.into());
        }
        Ok(permitted(grant.claims.of_id_tokens()))
    }

    /// The claims as the client registered. What it wants signed or encrypted is never told otherwise.
    async fn formatted(
        &self,
        client: &Client,
        claims: Map<String, Value>,
        now: Timestamp,
    ) -> Result<Userinfo, UserinfoError> {
        let how = client.formats.userinfo_encryption.as_ref();
        let content = match (&client.userinfo_signed_response_alg, how) {
            (None, None) => return Ok(Userinfo::Claims(claims)),
            (None, Some(_)) => (Content::Claims, serde_json::to_string(&claims).unwrap_or_default()),
            (Some(algorithm), _) => (Content::Jwt, self.signed(algorithm, claims, now)?),
        };
        Ok(Userinfo::Jwt(self.encryption.apply(client, how, content).await?))
    }

    /// The claims as a signed token (OpenID Connect Core §5.3.2). It has no `exp`, by which it is told from an id token.
    fn signed(
        &self,
        algorithm: &str,
        mut claims: Map<String, Value>,
        now: Timestamp,
    ) -> Result<String, IssueError> {
        let algorithm: SigningAlgorithm = algorithm.parse().map_err(|_| IssueError::Algorithm)?;
        let key = self.keys.id_token_signer(algorithm).ok_or(IssueError::NoKey)?;
        claims.insert("iat".to_owned(), now.as_secs().into());
        claims.insert("jti".to_owned(), TokenId::from_bytes(random_bytes(&*self.rng)).to_string().into());
        Ok(key.sign(Some("JWT"), &serde_json::to_vec(&claims).unwrap_or_default())?)
    }
}

/// Whether the scope asks for a claim (OpenID Connect Core §5.4).
fn is_covered(scope: &Scope, claim: &str) -> bool {
    CLAIMS.iter().any(|(value, claims)| claims.contains(&claim) && scope.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_a_token_is_not_printed() {
        assert_eq!(format!("{:?}", Userinfo::Jwt("a-token".to_owned())), "Jwt(..)");
    }
}
