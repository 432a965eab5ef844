//! How long each token lives: the client's lifespan for the grant type if it has one, the configured one otherwise.

use sluice_primitives::Lifetime;
use sluice_protocol::GrantType;

use crate::client::{Client, GrantLifespans};
use crate::config::Config;

/// Nothing is set.
const UNSET: GrantLifespans = GrantLifespans { access_token: None, id_token: None, refresh_token: None };

const fn of(client: &Client, grant_type: GrantType) -> &GrantLifespans {
    match grant_type {
        GrantType::AuthorizationCode => &client.lifespans.authorization_code,
        GrantType::RefreshToken => &client.lifespans.refresh_token,
        GrantType::ClientCredentials => &client.lifespans.client_credentials,
        GrantType::Implicit => &client.lifespans.implicit,
        GrantType::DeviceCode => &client.lifespans.device_authorization,
        GrantType::JwtBearer => &client.lifespans.jwt_bearer,
        // Hydra has none for it: what is configured holds.
        GrantType::TokenExchange => &UNSET,
    }
}

/// A code of a FAPI 2.0 client lives no longer (FAPI 2.0 Security Profile §5.3.2.2).
const LONGEST_FAPI_CODE: Lifetime = Lifetime::secs(60);

/// Of an authorization code.
pub fn code(client: &Client, config: &Config) -> Lifetime {
    let configured = config.lifetimes.code;
    if client.security.profile.is_fapi() { configured.min(LONGEST_FAPI_CODE) } else { configured }
}

/// Of an access token; never longer than revocations are remembered.
pub fn access_token(client: &Client, grant_type: GrantType, config: &Config) -> Lifetime {
    let lifetimes = &config.lifetimes;
    of(client, grant_type).access_token.unwrap_or(lifetimes.access_token).min(lifetimes.longest_access_token)
}

/// Of an id token.
pub fn id_token(client: &Client, grant_type: GrantType, config: &Config) -> Lifetime {
    of(client, grant_type).id_token.unwrap_or(config.lifetimes.id_token)
}

/// Of a refresh token, since its making.
pub fn refresh_token(client: &Client, grant_type: GrantType, config: &Config) -> Lifetime {
    of(client, grant_type).refresh_token.unwrap_or(config.lifetimes.refresh_token)
}
