//! A code is exchanged (RFC 6749 §4.1.3). Everything that can be checked without the store is checked before it.

use sluice_crypto::digest::sha256;
use sluice_primitives::Timestamp;
use sluice_primitives::secret::same_bytes;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{CodeVerifier, GrantType};

use super::hooked::AboutToRedeem;
use super::less::Less;
use super::redemption::is_spent;
use super::{Call, TokenError, TokenService};
use crate::authorization::code::AuthorizationCode;
use crate::client::Client;
use crate::issuing::Issue;

/// What the client presents.
pub(super) struct Exchange {
    pub(super) code: String,
    pub(super) redirect_uri: Option<String>,
    pub(super) code_verifier: Option<String>,
    pub(super) less: Less,
}

impl TokenService {
    pub(super) async fn redeem_code(
        &self,
        call: &Call<'_>,
        exchange: Exchange,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now, .. } = *call;
        let code = AuthorizationCode::open(&exchange.code, &self.sealer)?;
        check(&code, client, &exchange, now)?;
        check_binding(&code, call)?;
        let recipient = self.recipient(client, (code.grant, true), |grant| Ok(is_spent(grant))).await?;
        self.spend_proof(call).await?;
        self.check_granted(client, code.grant, &exchange.less).await?;
        let about = AboutToRedeem {
            grant: code.grant,
            grant_type: GrantType::AuthorizationCode,
            nonce: code.nonce.as_deref(),
            requested_at: code.requested_at,
            less: &exchange.less,
        };
        let claims = self.ask_before_redemption(call, about).await?;
        let mut grant = self.redeem(call, code.grant, GrantType::AuthorizationCode, claims).await?;
        self.keep_asked(client, exchange.less, &mut grant)?;
        Ok(self.issuer.issue(&Issue {
            grant: &grant,
            client,
            grant_type: GrantType::AuthorizationCode,
            scope: &grant.scope,
            audience: grant.audience.as_slice(),
            issued_at: grant.rotated_at.unwrap_or(now).floor_to_secs(),
            now,
            access_token_id: None,
            nonce: code.nonce.as_deref(),
            requested_at: Some(code.requested_at),
            confirmation,
            recipient: recipient.as_ref(),
        })?)
    }
}

/// A code that is bound to a key is redeemed with that key (RFC 9449 §10), whatever the tokens are bound to, and one of FAPI 2.0
/// has a challenge (FAPI 2.0 Security Profile §5.3.2.2).
fn check_binding(code: &AuthorizationCode, call: &Call<'_>) -> Result<(), TokenError> {
    let proven = call.proof.map(|proof| proof.key);
    if code.dpop_jkt.is_some() && code.dpop_jkt != proven {
        return Err(TokenError::OtherKey);
    }
    if call.client.security.profile.is_fapi() && code.challenge.is_none() {
        return Err(TokenError::Pkce("the authorization request has no challenge"));
    }
    Ok(())
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
