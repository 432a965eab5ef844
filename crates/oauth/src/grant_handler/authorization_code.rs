//! A code is exchanged (RFC 6749 §4.1.3). Everything that can be checked without the store is checked before it.

use sluice_crypto::digest::sha256;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{AttemptId, Timestamp};
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{CodeVerifier, GrantType};
use tracing::warn;

use super::{Call, TokenError, TokenService};
use crate::authorization::code::AuthorizationCode;
use crate::client::Client;
use crate::grant::{RedeemCode, Redemption};
use crate::issuing::{Issue, lifetime};

/// What the client presents.
pub(super) struct Exchange {
    pub(super) code: String,
    pub(super) redirect_uri: Option<String>,
    pub(super) code_verifier: Option<String>,
}

impl TokenService {
    pub(super) async fn redeem_code(
        &self,
        call: &Call<'_>,
        exchange: Exchange,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now } = *call;
        let code = AuthorizationCode::open(&exchange.code, &self.sealer)?;
        check(&code, client, &exchange, now)?;
        let redeem = RedeemCode {
            grant: code.grant,
            attempt: AttemptId::generate(now, &*self.rng),
            now,
            expires_at: now + self.longest_life(client),
        };
        let grant = match self.grants.redeem_code(redeem).await? {
            Redemption::Redeemed(grant) => grant,
            Redemption::Replayed => {
                self.apply_grant_marker(code.grant, now);
                warn!(target: "sluice_audit", { grant.id = %code.grant, client.id = %client.id }, "code replayed: grant revoked");
                return Err(TokenError::CodeReplayed(code.grant));
            }
            Redemption::Revoked => return Err(TokenError::Revoked(code.grant)),
            Redemption::Unknown => return Err(TokenError::UnknownGrant(code.grant)),
        };
        Ok(self.issuer.issue(&Issue {
            grant: &grant,
            client,
            grant_type: GrantType::AuthorizationCode,
            scope: &grant.scope,
            audience: grant.audience.as_slice(),
            issued_at: grant.rotated_at.unwrap_or(now).floor_to_secs(),
            nonce: code.nonce.as_deref(),
            requested_at: Some(code.requested_at),
            confirmation,
        })?)
    }

    /// How long a grant is of use after redemption: as long as a token of it may be.
    fn longest_life(&self, client: &Client) -> sluice_primitives::Lifetime {
        let access = lifetime::access_token(client, GrantType::AuthorizationCode, &self.config);
        let refresh = lifetime::refresh_token(client, GrantType::AuthorizationCode, &self.config);
        let may = client.grant_types.iter().any(|own| own == GrantType::RefreshToken.as_str());
        let life = if may { access.max(refresh) } else { access };
        // A replayed code must still find its grant, and no verifier may find the id free.
        life.max(self.config.lifetimes.flow).max(self.config.lifetimes.code)
    }
}

fn check(
    code: &AuthorizationCode,
    client: &Client,
    exchange: &Exchange,
    now: Timestamp,
) -> Result<(), TokenError> {
    if code.client != client.id {
        return Err(TokenError::OtherClient);
    }
    if now >= code.expires_at {
        return Err(TokenError::Expired);
    }
    match (&code.redirect_uri, &exchange.redirect_uri) {
        (Some(expected), Some(presented)) if same_bytes(expected, &sha256(presented.as_bytes())) => {}
        (None, None) => {}
        // The request left it out because the client has only one; naming that one again does no harm.
        (None, Some(presented)) if client.redirect_uris.iter().any(|own| own.as_str() == presented) => {}
        _ => return Err(TokenError::RedirectUriMismatch),
    }
    match (&code.challenge, exchange.code_verifier.as_deref()) {
        (None, None) => Ok(()),
        (None, Some(_)) => {
            Err(TokenError::Pkce("a verifier without a challenge in the authorization request"))
        }
        (Some(_), None) => Err(TokenError::Pkce("the verifier is missing")),
        (Some(challenge), Some(verifier)) => {
            let verifier: CodeVerifier =
                verifier.parse().map_err(|_| TokenError::Pkce("the verifier is malformed"))?;
            let matches = same_bytes(challenge.as_bytes(), &sha256(verifier.as_str().as_bytes()));
            matches.then_some(()).ok_or(TokenError::Pkce("the verifier is wrong"))
        }
    }
}
