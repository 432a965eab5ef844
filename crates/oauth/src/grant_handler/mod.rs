//! The token endpoint (RFC 6749 §3.2), one file per grant type. The client is authenticated first, whatever it asks for.
//!
//! `authorization_code`, `refresh_token`, `client_credentials`; [`error`]: what may go wrong.

mod authorization_code;
mod client_credentials;
pub mod error;
mod refresh_token;

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::{Clock, Rng, Timestamp};
use sluice_protocol::token_request::InvalidTokenRequest;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{GrantType, TokenRequest};
use sluice_token::{Confirmation, FeedFollower, Marker, RevocationSet, Target};

pub use error::TokenError;

use crate::caller::Caller;
use crate::client::Client;
use crate::client_auth::{ClientAuthenticator, Presented};
use crate::config::{Config, LONGEST_ACCESS_TOKEN};
use crate::grant::GrantRepository;
use crate::issuing::TokenIssuer;
use crate::metrics::OAuthMetrics;
use crate::sender_constraint::SenderConstraint;

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
    /// Issues tokens.
    pub issuer: Arc<TokenIssuer>,
    /// Opens codes and refresh tokens.
    pub sealer: Arc<Sealer>,
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

/// Who asks, bound to which key, and when.
struct Call<'a> {
    client: &'a Client,
    confirmation: Option<Confirmation>,
    now: Timestamp,
}

impl TokenService {
    /// Answers a token request.
    ///
    /// # Errors
    /// [`TokenError`] says why not.
    pub async fn issue(
        &self,
        presented: Presented,
        caller: &Caller,
        request: TokenRequest,
    ) -> Result<TokenResponse, TokenError> {
        // A node that missed changes must not issue to a client that was deleted, or whose secret was rotated, meanwhile.
        if self.follower.is_stale() {
            return Err(StoreError::Unavailable(None).into());
        }
        let now = self.clock.now();
        let client = self.clients.authenticate(presented, caller, now).await?;
        check_grant_type(&client, request.grant_type())?;
        let confirmation = self.constraint.of(&client, caller, now).await?;
        let call = Call { client: &client, confirmation, now };
        let (issued, counter) = match request {
            TokenRequest::AuthorizationCode { code, redirect_uri, code_verifier } => {
                let exchange = authorization_code::Exchange { code, redirect_uri, code_verifier };
                (self.redeem_code(&call, exchange).await?, &self.metrics.redeemed)
            }
            TokenRequest::RefreshToken { refresh_token, scope, audience } => {
                let exchange = refresh_token::Exchange { refresh_token, scope, audience };
                (self.refresh(&call, exchange).await?, &self.metrics.refreshed)
            }
            TokenRequest::ClientCredentials { scope, audience, authorization_details } => {
                let asked = client_credentials::Asked { scope, audience, authorization_details };
                (self.client_credentials(&call, asked)?, &self.metrics.client_credentials)
            }
            TokenRequest::DeviceCode { .. }
            | TokenRequest::JwtBearer { .. }
            | TokenRequest::TokenExchange(_) => {
                return Err(InvalidTokenRequest::UnsupportedGrantType.into());
            }
        };
        counter.add();
        Ok(issued)
    }

    /// A grant was revoked in the store: this node knows at once, the others by the feed.
    fn apply_grant_marker(&self, grant: sluice_primitives::GrantId, now: Timestamp) {
        let marker = Marker { target: Target::Grant(grant), at: now, expires_at: now + LONGEST_ACCESS_TOKEN };
        self.revocations.apply(&marker);
    }
}

fn check_grant_type(client: &Client, grant_type: GrantType) -> Result<(), TokenError> {
    if client.grant_types.iter().any(|own| own == grant_type.as_str()) {
        Ok(())
    } else {
        Err(TokenError::GrantTypeNotAllowed(grant_type.as_str()))
    }
}
