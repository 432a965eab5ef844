//! An assertion of a trusted issuer is exchanged (RFC 7523 §2.1). The token has a grant of its own that no store knows.

use sluice_primitives::{GrantId, Secret};
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{Audience, GrantType, Scope};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::{AccessTokenClaims, TokenId};

use super::{Call, TokenError, TokenService};
use crate::grant::{GrantClaims, Replaced};
use crate::hooks::HookCall;
use crate::issuing::issuer::token_type;
use crate::issuing::{access_token, lifetime};
use crate::refused_value::RefusedValue;
use crate::trust::Assertion;

/// What is asked for.
pub(super) struct Asked {
    pub(super) assertion: Secret<String>,
    pub(super) scope: Option<Scope>,
    pub(super) audience: Vec<String>,
}

impl TokenService {
    pub(super) async fn jwt_bearer(
        &self,
        call: &Call<'_>,
        asked: Asked,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now, .. } = *call;
        let profile = client.security.profile;
        let assertion = self.assertions.verify(asked.assertion.expose(), profile, now).await?;
        let scope = asked.scope.unwrap_or_default();
        let beyond = scope.iter().find(|value| !self.both_allow(call, &assertion, value));
        if let Some(beyond) = beyond {
            return Err(TokenError::Scope(RefusedValue::new(beyond)));
        }
        let audience = self.audience_for(call, asked.audience, &assertion)?;
        self.spend_proof(call).await?;
        let said = GrantClaims::default();
        let granted = (&scope, audience.as_slice());
        let hooked = HookCall {
            subject: assertion.subject.as_str(),
            assertion: Some(asked.assertion.expose()),
            ..HookCall::about((client, call.sent), GrantType::JwtBearer, granted, &said, now)
        };
        let extra = self.ask_hooks(&hooked).await?.map(Replaced::into_access_token).unwrap_or_default();
        let grant = GrantId::generate(now, &*self.rng);
        let life = lifetime::access_token(client, GrantType::JwtBearer, &self.config);
        let claims = AccessTokenClaims {
            id: TokenId::derive(grant, 0),
            grant,
            client: client.id.clone(),
            subject: Some(assertion.subject.clone()),
            session: None,
            audience: audience.as_slice().to_vec(),
            issued_at: now.floor_to_secs(),
            expires_at: now.floor_to_secs() + life,
            authenticated_at: now,
            consented_at: now,
            extra: access_token::extra(&extra, false),
            userinfo: Extra::InGrant,
            rare: RareClaims { confirmation, without_login: true, ..RareClaims::default() },
            scope,
        };
        let access_token = self.issuer.access_token(client, &claims, &extra)?;
        // Last: what is refused uses nothing up.
        self.assertions.spend(&assertion, now).await?;
        Ok(TokenResponse {
            access_token,
            expires_in: life.as_secs(),
            id_token: None,
            refresh_token: None,
            scope: claims.scope.to_string(),
            token_type: token_type(confirmation),
            issued_token_type: None,
            authorization_details: None,
        })
    }

    /// Whether both the trust in the issuer and the client's registration cover a scope value.
    fn both_allow(&self, call: &Call<'_>, assertion: &Assertion, value: &str) -> bool {
        let strategy = self.config.scopes;
        strategy.allows(&assertion.scope, value) && strategy.allows(&call.client.scope, value)
    }

    /// What is asked for, of the client's; and what the assertion is for, if that is to be told.
    fn audience_for(
        &self,
        call: &Call<'_>,
        asked: Vec<String>,
        assertion: &Assertion,
    ) -> Result<Audience, TokenError> {
        let asked = Audience::from_values(asked);
        let beyond = asked.as_slice().iter().find(|name| !call.client.audience.permits(name));
        if let Some(beyond) = beyond {
            return Err(TokenError::Audience(RefusedValue::new(beyond)));
        }
        if self.config.policies.assertions.omit_audience {
            return Ok(asked);
        }
        Ok(Audience::from_values(asked.as_slice().iter().chain(&assertion.audience).cloned()))
    }
}
