//! A client asks for itself (RFC 6749 §4.4). Nothing is written: the token has a grant of its own that no store knows.

use sluice_primitives::{GrantId, Timestamp};
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{Audience, GrantType, Scope};
use sluice_token::claims::Extra;
use sluice_token::{AccessTokenClaims, TokenId};

use super::{TokenError, TokenService};
use crate::client::Client;
use crate::issuing::lifetime;

impl TokenService {
    pub(super) fn client_credentials(
        &self,
        client: &Client,
        scope: Option<Scope>,
        audience: Vec<String>,
        now: Timestamp,
    ) -> Result<TokenResponse, TokenError> {
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
            scope,
        };
        let access_token = self.issuer.access_token(client, &claims, &serde_json::Map::new())?;
        Ok(TokenResponse {
            access_token,
            expires_in: life.as_secs(),
            id_token: None,
            refresh_token: None,
            scope: claims.scope.to_string(),
            token_type: "bearer",
        })
    }
}
