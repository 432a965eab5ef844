//! What browsers and clients use.

pub(crate) mod authorize;
pub(crate) mod device;
pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod introspect;
pub(crate) mod jwks;
pub(crate) mod logout;
pub(crate) mod par;
pub(crate) mod registration;
pub(crate) mod revoke;
pub(crate) mod token;
pub(crate) mod userinfo;

use sluice_oauth::refusals::Endpoint;

use crate::respond::oauth_error::Refusing;
use crate::state::PublicState;

/// What is told of a refusal at this endpoint, of a request that names this client.
fn refusing<'a>(state: &'a PublicState, endpoint: Endpoint, client: Option<&'a str>) -> Refusing<'a> {
    Refusing { endpoint, client, refusals: &state.authorization.metrics.refusals, has_left: false }
}
