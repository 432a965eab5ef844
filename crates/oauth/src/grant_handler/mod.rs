//! The token endpoint (RFC 6749 §3.2), one file per grant type. The client is authenticated first, whatever it asks for.
//!
//! `authorization_code`, `device_code`, `refresh_token`, `client_credentials`, `jwt_bearer`, `token_exchange`; `redemption`: what
//! the first two share; `recipient`: whether their tokens can be made, and to whom id tokens are encrypted; `less`: requests for less than was granted; `hooked`:
//! who is asked first; [`error`]: what may go wrong.

mod authorization_code;
mod client_credentials;
mod device_code;
pub mod error;
mod hooked;
mod jwt_bearer;
mod less;
mod recipient;
mod redemption;
mod refresh_token;
mod token_exchange;

use std::net::IpAddr;
use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_primitives::{Clock, Rng, Timestamp};
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{GrantType, TokenRequest};
use sluice_token::{Confirmation, FeedFollower, Marker, RevocationSet, Target};

pub use error::TokenError;
use less::Less;

use crate::caller::Caller;
use crate::client::Client;
use crate::client_auth::{ClientAuthenticator, Presented};
use crate::config::Config;
use crate::device::{DeviceCodeRepository, DevicePolls};
use crate::dpop::Unspent;
use crate::grant::GrantRepository;
use crate::hooks::{Hooks, SentParameters};
use crate::issuing::TokenIssuer;
use crate::login_session::LoginSessionRepository;
use crate::metrics::{Counter, OAuthMetrics};
use crate::sender_constraint::{Bound, SenderConstraint};
use crate::takeover::HydraTokens;
use crate::token_exchange::PresentedTokens;
use crate::trust::TrustedAssertions;

/// The token endpoint.
pub struct TokenService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Who speaks.
    pub clients: Arc<ClientAuthenticator>,
    /// To which key tokens are bound.
    pub constraint: Arc<SenderConstraint>,
    /// Grants.
    pub grants: Arc<dyn GrantRepository>,
    /// The sessions that grants are of.
    pub sessions: Arc<dyn LoginSessionRepository>,
    /// The codes of devices.
    pub devices: Arc<dyn DeviceCodeRepository>,
    /// How devices poll here.
    pub polls: Arc<DevicePolls>,
    /// Verifies what other issuers say.
    pub assertions: Arc<TrustedAssertions>,
    /// Reads tokens that are to be exchanged.
    pub exchanged: Arc<PresentedTokens>,
    /// Who is asked first, if anybody.
    pub hooks: Option<Hooks>,
    /// Issues tokens.
    pub issuer: Arc<TokenIssuer>,
    /// Opens codes and refresh tokens.
    pub sealer: Arc<Sealer>,
    /// Knows refresh tokens that a Hydra issued.
    pub hydra: Arc<HydraTokens>,
    /// How much this node knows of what was revoked and changed.
    pub follower: Arc<FeedFollower>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// What an operator sees.
    pub metrics: Arc<OAuthMetrics>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

/// Who asks with what, bound to which key, from where, and when.
struct Call<'a> {
    client: &'a Client,
    sent: &'a SentParameters<'a>,
    confirmation: Option<Confirmation>,
    /// Of that key. Each handler spends it once it has seen what only the client can have: a row is not for everybody to write.
    proof: Option<Unspent>,
    address: Option<IpAddr>,
    now: Timestamp,
}

impl TokenService {
    /// Answers a token request; `sent` is what hooks are told of its form.
    ///
    /// # Errors
    /// [`TokenError`] says why not.
    pub async fn issue(
        &self,
        presented: Presented,
        caller: &Caller,
        request: TokenRequest,
        sent: &SentParameters<'_>,
    ) -> Result<TokenResponse, TokenError> {
        // A node that missed changes must not issue to a client that was deleted, or whose secret was rotated, meanwhile.
        self.follower.heard_lately()?;
        let now = self.clock.now();
        let client = self.clients.authenticate(presented, caller, now).await?;
        check_grant_type(&client, request.grant_type())?;
        let Bound { confirmation, proof } = self.constraint.of(&client, caller, now)?;
        let call = Call { client: &client, sent, confirmation, proof, address: caller.address, now };
        let (issued, counter) = self.answer(&call, request).await?;
        counter.add();
        Ok(issued)
    }

    async fn answer(
        &self,
        call: &Call<'_>,
        request: TokenRequest,
    ) -> Result<(TokenResponse, &Counter), TokenError> {
        // Boxed are the rare ones, so that the others are small.
        Ok(match request {
            TokenRequest::AuthorizationCode {
                code,
                redirect_uri,
                code_verifier,
                audience,
                authorization_details,
            } => {
                let less = Less::read(audience, authorization_details.as_deref())?;
                let exchange = authorization_code::Exchange { code, redirect_uri, code_verifier, less };
                (self.redeem_code(call, exchange).await?, &self.metrics.redeemed)
            }
            TokenRequest::RefreshToken { refresh_token, scope, audience, authorization_details } => {
                let exchange =
                    refresh_token::Exchange { refresh_token, scope, audience, authorization_details };
                (self.refresh(call, exchange).await?, &self.metrics.refreshed)
            }
            TokenRequest::ClientCredentials { scope, audience, authorization_details } => {
                let asked = client_credentials::Asked { scope, audience, authorization_details };
                (self.client_credentials(call, asked).await?, &self.metrics.client_credentials)
            }
            TokenRequest::DeviceCode { device_code, audience, authorization_details } => {
                let less = Less::read(audience, authorization_details.as_deref())?;
                (Box::pin(self.poll_device(call, &device_code, less)).await?, &self.metrics.redeemed)
            }
            TokenRequest::JwtBearer { assertion, scope, audience } => {
                let asked = jwt_bearer::Asked { assertion, scope, audience };
                (Box::pin(self.jwt_bearer(call, asked)).await?, &self.metrics.assertions)
            }
            TokenRequest::TokenExchange(asked) => {
                (Box::pin(self.exchange_token(call, *asked)).await?, &self.metrics.exchanged)
            }
        })
    }

    /// Takes the proof of the request, if there is one: from here on no node takes it again.
    async fn spend_proof(&self, call: &Call<'_>) -> Result<(), TokenError> {
        Ok(self.constraint.spend(call.proof, call.now).await?)
    }

    /// From when on nobody needs to know any more what was revoked at `now`.
    fn forgotten_at(&self, now: Timestamp) -> Timestamp {
        now + self.config.lifetimes.revocation
    }

    /// A grant was revoked in the store: this node knows at once, the others by the feed.
    fn apply_grant_marker(&self, grant: sluice_primitives::GrantId, now: Timestamp) {
        let expires_at = self.forgotten_at(now);
        let marker = Marker { target: Target::Grant(grant), at: now, expires_at };
        self.revocations.apply(&marker);
    }
}

fn check_grant_type(client: &Client, grant_type: GrantType) -> Result<(), TokenError> {
    if client.may_use(grant_type) {
        Ok(())
    } else {
        Err(TokenError::GrantTypeNotAllowed(grant_type.as_str()))
    }
}
