//! Token lifespans of a client, flat as Hydra has them.

use serde::{Deserialize, Serialize};
use sluice_oauth::client::{GrantLifespans, Lifespans};
use sluice_primitives::Lifetime;

use super::go_duration::GoDuration;

type Span = Option<GoDuration>;

/// `PUT …/lifespans`, and part of a client. What is not set is `null`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names are Hydra's")]
pub(crate) struct LifespansBody {
    authorization_code_grant_access_token_lifespan: Span,
    authorization_code_grant_id_token_lifespan: Span,
    authorization_code_grant_refresh_token_lifespan: Span,
    client_credentials_grant_access_token_lifespan: Span,
    device_authorization_grant_access_token_lifespan: Span,
    device_authorization_grant_id_token_lifespan: Span,
    device_authorization_grant_refresh_token_lifespan: Span,
    implicit_grant_access_token_lifespan: Span,
    implicit_grant_id_token_lifespan: Span,
    jwt_bearer_grant_access_token_lifespan: Span,
    refresh_token_grant_access_token_lifespan: Span,
    refresh_token_grant_id_token_lifespan: Span,
    refresh_token_grant_refresh_token_lifespan: Span,
}

impl From<&Lifespans> for LifespansBody {
    fn from(lifespans: &Lifespans) -> Self {
        let Lifespans { authorization_code, refresh_token, client_credentials, implicit, .. } = lifespans;
        let (device, jwt_bearer) = (&lifespans.device_authorization, &lifespans.jwt_bearer);
        Self {
            authorization_code_grant_access_token_lifespan: authorization_code.access_token.map(GoDuration),
            authorization_code_grant_id_token_lifespan: authorization_code.id_token.map(GoDuration),
            authorization_code_grant_refresh_token_lifespan: authorization_code.refresh_token.map(GoDuration),
            client_credentials_grant_access_token_lifespan: client_credentials.access_token.map(GoDuration),
            device_authorization_grant_access_token_lifespan: device.access_token.map(GoDuration),
            device_authorization_grant_id_token_lifespan: device.id_token.map(GoDuration),
            device_authorization_grant_refresh_token_lifespan: device.refresh_token.map(GoDuration),
            implicit_grant_access_token_lifespan: implicit.access_token.map(GoDuration),
            implicit_grant_id_token_lifespan: implicit.id_token.map(GoDuration),
            jwt_bearer_grant_access_token_lifespan: jwt_bearer.access_token.map(GoDuration),
            refresh_token_grant_access_token_lifespan: refresh_token.access_token.map(GoDuration),
            refresh_token_grant_id_token_lifespan: refresh_token.id_token.map(GoDuration),
            refresh_token_grant_refresh_token_lifespan: refresh_token.refresh_token.map(GoDuration),
        }
    }
}

impl From<LifespansBody> for Lifespans {
    fn from(body: LifespansBody) -> Self {
        Self {
            authorization_code: spans(
                body.authorization_code_grant_access_token_lifespan,
                body.authorization_code_grant_id_token_lifespan,
                body.authorization_code_grant_refresh_token_lifespan,
            ),
            refresh_token: spans(
                body.refresh_token_grant_access_token_lifespan,
                body.refresh_token_grant_id_token_lifespan,
                body.refresh_token_grant_refresh_token_lifespan,
            ),
            client_credentials: spans(body.client_credentials_grant_access_token_lifespan, None, None),
            implicit: spans(
                body.implicit_grant_access_token_lifespan,
                body.implicit_grant_id_token_lifespan,
                None,
            ),
            device_authorization: spans(
                body.device_authorization_grant_access_token_lifespan,
                body.device_authorization_grant_id_token_lifespan,
                body.device_authorization_grant_refresh_token_lifespan,
            ),
            jwt_bearer: spans(body.jwt_bearer_grant_access_token_lifespan, None, None),
        }
    }
}

fn spans(access_token: Span, id_token: Span, refresh_token: Span) -> GrantLifespans {
    let lifetime = |span: Span| -> Option<Lifetime> { span.map(|GoDuration(span)| span) };
    GrantLifespans {
        access_token: lifetime(access_token),
        id_token: lifetime(id_token),
        refresh_token: lifetime(refresh_token),
    }
}
