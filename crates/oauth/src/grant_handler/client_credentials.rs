//! A client asks for itself (RFC 6749 §4.4). Nothing is written: the token has a grant of its own that no store knows.

use sluice_primitives::GrantId;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{Audience, GrantType, Scope};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::{AccessTokenClaims, TokenId};

use super::{Call, TokenError, TokenService};
use crate::issuing::issuer::token_type;
use crate::issuing::lifetime;

/// What is asked for.
pub(super) struct Asked {
    pub(super) scope: Option<Scope>,
    pub(super) audience: Vec<String>,
    pub(super) authorization_details: Option<String>,
}

impl TokenService {
    pub(super) fn client_credentials(
        &self,
        call: &Call<'_>,
        Asked { scope, audience, authorization_details: _ }: Asked,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now } = *call;
        if client.is_public() {
            return Err(TokenError::PublicClient);
        }
        let scope = match scope {
            Some(scope) => scope,
            None if self.config.default_client_scope => client.scope.clone(),
            None => Scope::default(),
        };
        if !scope.iter().all(|value| self.config.scopes.allows(&client.scope, value)) {
            return Err(TokenError::Scope);
        }
        let audience = Audience::from_values(audience);
        if !client.audience.covers(&audience) {
            return Err(TokenError::Audience);
        }
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
            extra: Extra::None,
            rare: RareClaims { confirmation, ..RareClaims::default() },
            scope,
        };
        let access_token = self.issuer.access_token(client, &claims, &serde_json::Map::new())?;
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
}
