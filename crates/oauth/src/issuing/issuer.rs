//! The tokens of a grant, together, as a token response.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_crypto::Sealer;
use sluice_crypto::jws::SignError;
use sluice_primitives::{Rng, Timestamp};
use sluice_protocol::token_response::{TokenResponse, TokenType};
use sluice_protocol::{ErrorCode, GrantType, Scope, WriteJson};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::jwt::{HeaderType, JwtLayout};
use sluice_token::{AccessTokenClaims, Confirmation, TokenId};
use thiserror::Error;

use super::encrypt::{ClientEncryption, Content, NotEncrypted, Recipient};
use super::id_token::{Beside, IdTokenClaims, half_hash, id_of_generation, id_of_unrotated, permitted_to};
use super::refresh_token::RefreshToken;
use super::{access_token, algorithm, lifetime};
use crate::client::{AccessTokenStrategy, Client};
use crate::config::{Config, ScopeStrategy};
use crate::grant::Grant;
use crate::keys::KeyRing;

/// What the claims of most id tokens fit into, in bytes.
const USUAL: usize = 512;

/// What is to be issued.
#[derive(Debug)]
pub struct Issue<'a> {
    /// For which grant.
    pub grant: &'a Grant,
    /// To which client.
    pub client: &'a Client,
    /// By which grant type.
    pub grant_type: GrantType,
    /// The scope of the access token: the grant's or less.
    pub scope: &'a Scope,
    /// The audience of the access token: the grant's or less.
    pub audience: &'a [String],
    /// When the pair is made: a repeated refresh says the same as the first.
    pub issued_at: Timestamp,
    /// When it is told.
    pub now: Timestamp,
    /// The id of the access token; none for that of its generation of the grant.
    pub access_token_id: Option<TokenId>,
    /// From the authorization request.
    pub nonce: Option<&'a str>,
    /// When the authorization request arrived.
    pub requested_at: Option<Timestamp>,
    /// The key that the tokens are bound to.
    pub confirmation: Option<Confirmation>,
    /// The key that the id token is encrypted to, as [`TokenIssuer::id_token_recipient`] tells it.
    pub recipient: Option<&'a Recipient>,
}

/// Why nothing could be issued.
#[derive(Debug, Error)]
pub enum IssueError {
    /// There is no key of the algorithm that the client registered: until another one is made.
    #[error("there is no signing key of the algorithm of this client")]
    NoKey,
    /// The client registered an algorithm that is none.
    #[error("this client is registered for an algorithm that is not known")]
    Algorithm,
    /// Signing failed.
    #[error("a token could not be signed")]
    Sign(#[from] SignError),
    /// It would say too much: nobody here takes back a signed token that is so long.
    #[error("a signed access token would be longer than is taken back")]
    TooLong,
    /// The client wants it encrypted, and it could not be.
    #[error(transparent)]
    NotEncrypted(#[from] NotEncrypted),
}

impl IssueError {
    /// What is told instead.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NoKey => ErrorCode::TemporarilyUnavailable,
            Self::Algorithm | Self::Sign(_) => ErrorCode::ServerError,
            Self::TooLong => ErrorCode::InvalidRequest,
            Self::NotEncrypted(why) => why.code(),
        }
    }
}

/// Issues tokens.
pub struct TokenIssuer {
    pub(super) config: Arc<Config>,
    layout: JwtLayout,
    pub(super) keys: Arc<KeyRing>,
    pub(super) encryption: Arc<ClientEncryption>,
    sealer: Arc<Sealer>,
    rng: Arc<dyn Rng>,
}

impl TokenIssuer {
    /// An issuer.
    pub fn new(
        config: Arc<Config>,
        (keys, encryption): (Arc<KeyRing>, Arc<ClientEncryption>),
        sealer: Arc<Sealer>,
        rng: Arc<dyn Rng>,
    ) -> Self {
        let layout = JwtLayout {
            typ: config.jwt_type,
            issuer: config.issuer.as_str().to_owned(),
            top_level: config.top_level_claims.clone(),
            below_ext: config.below_ext,
            not_before: config.not_before,
            scope_claim: config.scope_claim,
        };
        Self { config, layout, keys, encryption, sealer, rng }
    }

    /// The tokens of a grant.
    ///
    /// # Errors
    /// [`IssueError`] if a key is missing or does not sign, or an access token would be too long.
    pub fn issue(&self, issue: &Issue<'_>) -> Result<TokenResponse, IssueError> {
        let life = lifetime::access_token(issue.client, issue.grant_type, &self.config);
        let claims = self.claims(issue, issue.issued_at + life);
        let access_token = self.access_token(issue.client, &claims, issue.grant.claims.of_access_tokens())?;
        let id_token = if issue.scope.contains("openid") {
            let algorithm = algorithm::of_id_tokens(issue.client, &self.config)?;
            let at_hash = half_hash(&access_token, algorithm);
            let of_generation = id_of_generation(issue.grant.id, issue.grant.generation.0);
            let id = match issue.access_token_id {
                Some(_) => id_of_unrotated(of_generation, &at_hash),
                None => of_generation,
            };
            Some(self.id_token(issue, id, Beside { at_hash: Some(at_hash), ..Beside::default() })?)
        } else {
            None
        };
        // Whoever asks for less this once may ask for all of it later.
        let is_refreshed = may_refresh(issue.client, &issue.grant.scope, self.config.scopes);
        Ok(TokenResponse {
            refresh_token: is_refreshed.then(|| self.refresh_token(issue)),
            access_token,
            expires_in: (issue.issued_at + life).since(issue.now.floor_to_secs()).as_secs(),
            id_token,
            scope: issue.scope.to_string(),
            token_type: token_type(issue.confirmation),
            issued_token_type: None,
            authorization_details: issue.grant.claims.authorization_details.clone(),
        })
    }

    /// The key that id tokens of this client are encrypted to; none if it wants them as they are. To be asked before
    /// anything is used up that is good for one id token only.
    ///
    /// # Errors
    /// [`IssueError`] if the client has no key for that, or there is none to sign with, whether or not it wants them encrypted.
    pub async fn id_token_recipient(&self, client: &Client) -> Result<Option<Recipient>, IssueError> {
        let algorithm = algorithm::of_id_tokens(client, &self.config)?;
        if self.keys.id_token_signer(algorithm).is_none() {
            return Err(IssueError::NoKey);
        }
        let how = client.formats.id_token_encryption.as_ref();
        Ok(self.encryption.recipient(client, how).await?)
    }

    /// Whether access tokens of this client can be signed, if they are. To be asked before anything is used up that is good for one alone.
    ///
    /// # Errors
    /// [`IssueError`] if there is no key to sign with.
    pub fn check_access_token_key(&self, client: &Client) -> Result<(), IssueError> {
        if self.strategy(client) == AccessTokenStrategy::Opaque {
            return Ok(());
        }
        let algorithm = algorithm::of_access_tokens(client, &self.config)?;
        self.keys.access_token_signer(algorithm).map(drop).ok_or(IssueError::NoKey)
    }

    /// An access token alone.
    ///
    /// # Errors
    /// [`IssueError`] if a key is missing or does not sign, or the token would be too long.
    pub fn access_token(
        &self,
        client: &Client,
        claims: &AccessTokenClaims,
        extra: &Map<String, Value>,
    ) -> Result<String, IssueError> {
        let strategy = self.strategy(client);
        let algorithm = algorithm::of_access_tokens(client, &self.config)?;
        let tools = (&*self.keys, &*self.sealer, &*self.rng);
        access_token::write((strategy, algorithm), claims, extra, &self.layout(client), tools)
    }

    pub(super) fn claims(&self, issue: &Issue<'_>, expires_at: Timestamp) -> AccessTokenClaims {
        let grant = issue.grant;
        let strategy = self.strategy(issue.client);
        AccessTokenClaims {
            id: issue.access_token_id.unwrap_or_else(|| TokenId::derive(grant.id, grant.generation.0)),
            grant: grant.id,
            client: grant.client.clone(),
            subject: Some(grant.subject.clone()),
            session: grant.session,
            scope: issue.scope.clone(),
            audience: issue.audience.to_vec(),
            issued_at: issue.issued_at,
            expires_at,
            authenticated_at: grant.authenticated_at,
            consented_at: grant.consented_at,
            extra: access_token::of_grant(&grant.claims, strategy, &self.config.top_level_claims),
            userinfo: match strategy {
                AccessTokenStrategy::Opaque => access_token::userinfo(&grant.claims, issue.scope),
                AccessTokenStrategy::Jwt => Extra::InGrant,
            },
            rare: RareClaims {
                confirmation: issue.confirmation,
                shown_subject: grant.claims.shown_subject.clone(),
                actor: None,
                authorization_details: grant.claims.authorization_details.as_ref().map(Value::to_string),
                acr: grant.claims.acr.clone(),
                amr: grant.claims.amr.clone(),
                ..RareClaims::default()
            },
        }
    }

    fn strategy(&self, client: &Client) -> AccessTokenStrategy {
        client.access_token_strategy.unwrap_or(self.config.access_tokens)
    }

    /// How a JWT access token of this client is spelled.
    fn layout(&self, client: &Client) -> Cow<'_, JwtLayout> {
        let own = client.formats.access_token_jwt_typ.as_deref().and_then(HeaderType::named);
        match own.filter(|own| *own != self.layout.typ) {
            Some(typ) => Cow::Owned(JwtLayout { typ, ..self.layout.clone() }),
            None => Cow::Borrowed(&self.layout),
        }
    }

    fn refresh_token(&self, issue: &Issue<'_>) -> String {
        let life = lifetime::refresh_token(issue.client, issue.grant_type, &self.config);
        let token = RefreshToken {
            grant: issue.grant.id,
            client: issue.grant.client.clone(),
            generation: issue.grant.generation,
            expires_at: issue.issued_at + life,
            confirmation: issue.confirmation.filter(|_| issue.client.is_public()),
        };
        token.seal(&self.sealer, &*self.rng)
    }

    /// An id token, encrypted if there is a key for that.
    pub(super) fn id_token(
        &self,
        issue: &Issue<'_>,
        id: TokenId,
        beside: Beside,
    ) -> Result<String, IssueError> {
        let algorithm = algorithm::of_id_tokens(issue.client, &self.config)?;
        let key = self.keys.id_token_signer(algorithm).ok_or(IssueError::NoKey)?;
        let grant = issue.grant;
        let life = lifetime::id_token(issue.client, issue.grant_type, &self.config);
        let claims = IdTokenClaims {
            iss: self.config.issuer.as_str(),
            sub: grant.claims.shown_subject.as_deref().unwrap_or(grant.subject.as_str()),
            aud: [grant.client.as_str()],
            exp: (issue.issued_at + life).as_secs(),
            iat: issue.issued_at.as_secs(),
            auth_time: grant.authenticated_at.as_secs(),
            rat: issue.requested_at.map(Timestamp::as_secs),
            jti: id.to_string(),
            nonce: issue.nonce,
            acr: grant.claims.acr.as_deref(),
            amr: &grant.claims.amr,
            sid: grant.session.map(|session| session.to_string()),
            at_hash: beside.at_hash,
            c_hash: beside.c_hash,
            s_hash: beside.s_hash,
            extra: permitted_to(&grant.client, grant.claims.of_id_tokens()),
        };
        let mut payload = Vec::with_capacity(USUAL);
        claims.write_json(&mut payload);
        let signed = key.sign(Some("JWT"), &payload)?;
        match issue.recipient {
            Some(recipient) => Ok(recipient.encrypt(Content::Jwt, &signed)?),
            None => Ok(signed),
        }
    }
}

/// How a token bound to this key is presented: a certificate needs no word about it (RFC 8705 §3).
pub const fn token_type(confirmation: Option<Confirmation>) -> TokenType {
    match confirmation {
        Some(Confirmation::Jkt(_)) => TokenType::Dpop,
        Some(Confirmation::X5tS256(_)) | None => TokenType::Bearer,
    }
}

/// Whether a grant of this scope yields refresh tokens: the user granted being away, for which the client may still ask, and the
/// client is registered for them.
pub fn may_refresh(client: &Client, granted: &Scope, strategy: ScopeStrategy) -> bool {
    Scope::OFFLINE.iter().any(|value| granted.contains(value) && strategy.allows(&client.scope, value))
        && client.may_use(GrantType::RefreshToken)
}
