//! A client asks for itself (RFC 6749 §4.4). Nothing is written: the token has a grant of its own that no store knows.

use serde_json::Value;
use sluice_primitives::GrantId;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{Audience, AuthorizationDetails, GrantType, Scope};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::{AccessTokenClaims, TokenId};

use super::{Call, TokenError, TokenService};
use crate::authorization::checks::authorization_details::may_ask;
use crate::client::Client;
use crate::grant::{GrantClaims, Replaced};
use crate::hooks::HookCall;
use crate::issuing::issuer::token_type;
use crate::issuing::{access_token, lifetime};
use crate::refused_value::RefusedValue;

/// What is asked for.
pub(super) struct Asked {
    pub(super) scope: Option<Scope>,
    pub(super) audience: Vec<String>,
    pub(super) authorization_details: Option<String>,
}

impl TokenService {
    pub(super) async fn client_credentials(
        &self,
        call: &Call<'_>,
        Asked { scope, audience, authorization_details }: Asked,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now, .. } = *call;
        if client.is_public() {
            return Err(TokenError::PublicClient);
        }
        let scope = match scope {
            Some(scope) => scope,
            None if self.config.default_client_scope => client.scope.clone(),
            None => Scope::default(),
        };
        let beyond = scope.iter().find(|value| !self.config.scopes.allows(&client.scope, value));
        if let Some(beyond) = beyond {
            return Err(TokenError::Scope(RefusedValue::new(beyond)));
        }
        let audience = Audience::from_values(audience);
        let beyond = audience.as_slice().iter().find(|name| !client.audience.permits(name));
        if let Some(beyond) = beyond {
            return Err(TokenError::Audience(RefusedValue::new(beyond)));
        }
        let details = details(client, authorization_details.as_deref())?;
        self.spend_proof(call).await?;
        let said = GrantClaims::default();
        let granted = (&scope, audience.as_slice());
        let hooked = HookCall::about((client, call.sent), GrantType::ClientCredentials, granted, &said, now);
        let extra = self.ask_hooks(&hooked).await?.map(Replaced::into_access_token).unwrap_or_default();
        let grant = GrantId::generate(now, &*self.rng);
        let life = lifetime::access_token(client, GrantType::ClientCredentials, &self.config);
        let claims = AccessTokenClaims {
            id: TokenId::derive(grant, 0),
            grant,
            client: client.id.clone(),
            subject: None,
            session: None,
            audience: audience.as_slice().to_vec(),
            issued_at: now.floor_to_secs(),
            expires_at: now.floor_to_secs() + life,
            authenticated_at: now,
            consented_at: now,
            extra: access_token::extra(&extra, false),
            userinfo: Extra::InGrant,
            rare: RareClaims {
                confirmation,
                authorization_details: details.as_ref().map(Value::to_string),
                ..RareClaims::default()
            },
            scope,
        };
        Ok(TokenResponse {
            access_token: self.issuer.access_token(client, &claims, &extra)?,
            expires_in: life.as_secs(),
            id_token: None,
            refresh_token: None,
            scope: claims.scope.to_string(),
            token_type: token_type(confirmation),
            issued_token_type: None,
            authorization_details: details,
        })
    }
}

/// What is granted in detail (RFC 9396 §6): of types that the client registered. There is nobody else to be asked.
fn details(client: &Client, asked: Option<&str>) -> Result<Option<Value>, TokenError> {
    let Some(asked) = asked else { return Ok(None) };
    let details = AuthorizationDetails::parse(asked).map_err(|_| TokenError::AuthorizationDetails)?;
    if !may_ask(client, &details) {
        return Err(TokenError::AuthorizationDetails);
    }
    Ok((!details.is_empty()).then(|| details.into_value()))
}
