//! What a presented token says. One of this server is as good as when it is used elsewhere: signed or sealed here, not
//! expired, not revoked.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use sluice_crypto::Sealer;
use sluice_crypto::jws::unverified_parts;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{GrantId, Rng, Timestamp};
use sluice_protocol::ClientId;
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::{AccessTokenClaims, Confirmation, RevocationSet, TokenId};

use super::{ExchangeError, TokenKind, policy};
use crate::access_token_reader::AccessTokenReader;
use crate::client::{Client, ClientDirectory};
use crate::config::Config;
use crate::grant::{Grant, GrantPage, GrantRepository, Listed, Standing};
use crate::issuing::id_token::{id_of_generation, id_of_unrotated};
use crate::issuing::issuer::may_refresh;
use crate::issuing::{access_token, front_channel};
use crate::keys::KeyRing;
use crate::takeover::HydraTokens;
use crate::trust::{Assertion, TrustedAssertions};

/// Among how many grants of one session, the newest ones, that of an id token is looked for.
const GRANTS: u32 = 100;
/// Among how many generations of a grant, the latest ones, that of an id token is looked for.
const GENERATIONS: usize = 1_000;

/// A token that was presented, and holds.
#[derive(Debug, Clone)]
pub struct Presented {
    /// What it says, as an access token of this server would: one of another issuer as if the client that presents it had got
    /// it here.
    pub facts: AccessTokenClaims,
    /// The claims of the consent page.
    pub extra: Map<String, Value>,
    /// Whom it is for by its own `aud`: an id token is for its client, and not for the services that its grant is for.
    pub audience: Vec<String>,
    /// Who may act for its subject (RFC 8693 §4.4).
    pub may_act: Option<Value>,
    /// Where it comes from, if from another issuer.
    pub assertion: Option<Assertion>,
}

/// Who presents a token, and when.
#[derive(Debug, Clone, Copy)]
pub struct Presenter<'a> {
    /// Who.
    pub client: &'a Client,
    /// The key that the client proved to hold.
    pub confirmation: Option<Confirmation>,
    /// When.
    pub now: Timestamp,
}

/// Reads presented tokens.
pub struct PresentedTokens {
    /// What it is told.
    pub config: Arc<Config>,
    /// The clients, for what those of id tokens registered.
    pub clients: Arc<ClientDirectory>,
    /// Reads access tokens.
    pub reader: Arc<AccessTokenReader>,
    /// Verifies id tokens.
    pub keys: Arc<KeyRing>,
    /// Grants, for refresh tokens and id tokens.
    pub grants: Arc<dyn GrantRepository>,
    /// Opens refresh tokens.
    pub sealer: Arc<Sealer>,
    /// Knows refresh tokens that a Hydra issued.
    pub hydra: Arc<HydraTokens>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// Verifies what other issuers say.
    pub assertions: Arc<TrustedAssertions>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

#[derive(Deserialize)]
struct IdTokenClaims {
    iss: String,
    sub: String,
    aud: Vec<String>,
    exp: i64,
    jti: String,
    sid: Option<String>,
    at_hash: Option<String>,
}

impl PresentedTokens {
    /// On whose behalf the new token is.
    ///
    /// # Errors
    /// [`ExchangeError`] if the token does not hold.
    pub async fn subject(
        &self,
        by: Presenter<'_>,
        token: &str,
        kind: TokenKind,
    ) -> Result<Presented, ExchangeError> {
        match kind {
            TokenKind::RefreshToken => self.refresh_token(by, token).await,
            TokenKind::AccessToken | TokenKind::Jwt | TokenKind::IdToken => self.actor(by, token, kind).await,
        }
    }

    /// Who acts. A refresh token says nothing about that.
    ///
    /// # Errors
    /// [`ExchangeError`] if the token does not hold.
    pub async fn actor(
        &self,
        by: Presenter<'_>,
        token: &str,
        kind: TokenKind,
    ) -> Result<Presented, ExchangeError> {
        match kind {
            TokenKind::AccessToken => self.access_token(by, token).await,
            TokenKind::Jwt if self.is_own(token) => self.access_token(by, token).await,
            TokenKind::Jwt => self.foreign(by, token).await,
            TokenKind::IdToken => self.id_token(by, token).await,
            TokenKind::RefreshToken => Err(ExchangeError::UnknownType),
        }
    }

    /// Whether a JWT says that it is of this server, which is for its signature to show.
    fn is_own(&self, token: &str) -> bool {
        #[derive(Deserialize)]
        struct Issued {
            iss: String,
        }
        let said = unverified_parts(token).and_then(|parts| parts.unverified_claims::<Issued>());
        said.is_ok_and(|said| said.iss == self.config.issuer.as_str())
    }

    async fn access_token(&self, by: Presenter<'_>, token: &str) -> Result<Presented, ExchangeError> {
        let facts = self.reader.active(token, by.now)?;
        policy::check_key((by.client, by.confirmation), &facts)?;
        let extra = match &facts.extra {
            Extra::None => Map::new(),
            Extra::Inline(text) => serde_json::from_str(text).unwrap_or_default(),
            Extra::InGrant => {
                let grant = self.grants.find(facts.grant).await?.ok_or(ExchangeError::NotUsable)?;
                grant.claims.of_access_tokens().clone()
            }
        };
        let (audience, may_act) = (facts.audience.clone(), extra.get("may_act").cloned());
        Ok(Presented { facts, extra, audience, may_act, assertion: None })
    }

    async fn refresh_token(&self, by: Presenter<'_>, token: &str) -> Result<Presented, ExchangeError> {
        let now = by.now;
        let token = self.hydra.open(token, &self.sealer).await?.ok_or(ExchangeError::NotUsable)?;
        if token.client != by.client.id {
            return Err(ExchangeError::OtherClient);
        }
        if token.confirmation.is_some() && token.confirmation != by.confirmation {
            return Err(ExchangeError::OtherKey);
        }
        let Standing { grant, is_revoked } =
            self.grants.standing(token.grant).await?.ok_or(ExchangeError::NotUsable)?;
        let window = self.config.lifetimes.refresh_window;
        let in_window = grant.rotated_at.is_some_and(|rotated_at| now < rotated_at + window);
        let is_current = token.generation == grant.generation
            || (in_window && token.generation.next() == grant.generation);
        if is_revoked || !is_current || grant.redeemed_at.is_none() || now >= token.expires_at {
            return Err(ExchangeError::NotUsable);
        }
        // What is no good for a refresh any more is no good here either.
        if !may_refresh(by.client, &grant.scope, self.config.scopes) {
            return Err(ExchangeError::NoRefresh);
        }
        self.of_grant(by, grant, token.expires_at)
    }

    /// An id token names no grant. It is that of a living grant of the same session whose tokens have such ids: so one
    /// whose subject only its client knows by that name is not taken.
    async fn id_token(&self, by: Presenter<'_>, token: &str) -> Result<Presented, ExchangeError> {
        let now = by.now;
        let verified = self.keys.verify_id_token(token).ok_or(ExchangeError::NotUsable)?;
        let claims: IdTokenClaims = verified.claims().map_err(|_| ExchangeError::NotUsable)?;
        let expires_at = Timestamp::from_secs(claims.exp);
        if claims.iss != self.config.issuer.as_str() || now >= expires_at {
            return Err(ExchangeError::NotUsable);
        }
        let session = claims.sid.as_deref().map(str::parse).transpose();
        let page = GrantPage {
            subject: claims.sub.parse().map_err(|_| ExchangeError::NotUsable)?,
            session: session.map_err(|_| ExchangeError::NotUsable)?,
            listed: Listed::All,
            before: None,
            limit: GRANTS,
            now,
        };
        let is_its = |grant: &Grant| {
            claims.aud.iter().any(|client| client == grant.client.as_str()) && has_id_token(grant, &claims)
        };
        let grant = self.grants.list(page).await?.into_iter().find(is_its);
        let presented = self.of_grant(by, grant.ok_or(ExchangeError::NotUsable)?, expires_at)?;
        self.check_unbound(by, &presented.facts.client).await?;
        Ok(Presented { audience: claims.aud, ..presented })
    }

    /// An id token is bound to no key. If all access tokens of its client are, another client gets none out of it that is not.
    async fn check_unbound(&self, by: Presenter<'_>, owner: &ClientId) -> Result<(), ExchangeError> {
        if by.confirmation.is_some() || *owner == by.client.id {
            return Ok(());
        }
        let owner = self.clients.find(owner).await?.ok_or(ExchangeError::NotUsable)?;
        if owner.security.binds_tokens() { Err(ExchangeError::Unbound) } else { Ok(()) }
    }

    /// What a grant says, while it holds. Its tokens that are presented so are for their client alone.
    fn of_grant(
        &self,
        by: Presenter<'_>,
        grant: Grant,
        expires_at: Timestamp,
    ) -> Result<Presented, ExchangeError> {
        let now = by.now;
        let is_revoked = grant.revoked_at.is_some() || self.revocations.covers_grant(&grant.facts());
        if is_revoked || now >= grant.expires_at {
            return Err(ExchangeError::NotUsable);
        }
        let claims = grant.claims;
        let strategy = by.client.access_token_strategy.unwrap_or(self.config.access_tokens);
        let extra = claims.of_access_tokens().clone();
        let may_act = extra.get("may_act").or_else(|| claims.of_id_tokens().get("may_act"));
        Ok(Presented {
            may_act: may_act.cloned(),
            facts: AccessTokenClaims {
                id: TokenId::derive(grant.id, grant.generation.0),
                grant: grant.id,
                client: grant.client,
                subject: Some(grant.subject),
                session: grant.session,
                audience: grant.audience.as_slice().to_vec(),
                issued_at: now.floor_to_secs(),
                expires_at,
                authenticated_at: grant.authenticated_at,
                consented_at: grant.consented_at,
                extra: access_token::of_grant(&claims, strategy, &self.config.top_level_claims),
                userinfo: access_token::userinfo(&claims, &grant.scope),
                scope: grant.scope,
                rare: RareClaims {
                    shown_subject: claims.shown_subject,
                    authorization_details: claims.authorization_details.as_ref().map(Value::to_string),
                    acr: claims.acr,
                    amr: claims.amr,
                    ..RareClaims::default()
                },
            },
            extra,
            audience: Vec::new(),
            assertion: None,
        })
    }

    /// What a trusted issuer says. A token for it has a grant of its own, like one for an assertion.
    async fn foreign(&self, by: Presenter<'_>, token: &str) -> Result<Presented, ExchangeError> {
        let now = by.now;
        let assertion = self.assertions.verify(token, by.client.security.profile, now).await?;
        Ok(Presented {
            facts: AccessTokenClaims {
                id: TokenId::from_bytes(random_bytes(&*self.rng)),
                grant: GrantId::generate(now, &*self.rng),
                client: by.client.id.clone(),
                subject: Some(assertion.subject.clone()),
                session: None,
                scope: assertion.scope.clone(),
                audience: Vec::new(),
                issued_at: now.floor_to_secs(),
                expires_at: assertion.expires_at.floor_to_secs(),
                authenticated_at: now,
                consented_at: now,
                extra: Extra::None,
                userinfo: Extra::InGrant,
                rare: RareClaims {
                    actor: assertion.act.as_ref().map(Value::to_string),
                    without_login: true,
                    ..RareClaims::default()
                },
            },
            extra: Map::new(),
            audience: Vec::new(),
            may_act: assertion.may_act.clone(),
            assertion: Some(assertion),
        })
    }
}

/// Whether this is one of the grant's id tokens, by its id.
fn has_id_token(grant: &Grant, claims: &IdTokenClaims) -> bool {
    let newest = grant.generation.0;
    let of_generations =
        || (0..=newest).rev().take(GENERATIONS).map(|generation| id_of_generation(grant.id, generation));
    // Its client may rotate by now.
    let unrotated =
        |at_hash| of_generations().map(move |of_generation| id_of_unrotated(of_generation, at_hash));
    let in_front = TokenId::derive(grant.id, front_channel::ID_TOKEN);
    let mut ids =
        of_generations().chain([in_front]).chain(claims.at_hash.as_deref().into_iter().flat_map(unrotated));
    ids.any(|id| id.to_string() == claims.jti)
}
