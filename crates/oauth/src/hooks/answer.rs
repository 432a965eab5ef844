//! What a hook says (Hydra's `TokenHookResponse`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{HookAnswer, HookError};
use crate::grant::{GrantClaims, Replaced};
use crate::issuing::room::Room;

/// An object without a session, and one with `null`, are a session without members, as in Hydra. So is `null` itself.
#[derive(Deserialize)]
struct Body {
    session: Option<Session>,
}

/// A member that is not there has no claims, as in Hydra.
#[derive(Default, Deserialize)]
struct Session {
    access_token: Option<Map<String, Value>>,
    id_token: Option<Map<String, Value>>,
}

/// 200: the claims are replaced, or come to those of the consent page where these are kept. 204: they are not. 403: nothing is to be
/// issued. Anything else is a fault. There must be room for all of them.
pub(super) fn read(
    answer: &HookAnswer,
    room: Room<'_>,
    kept: Option<&GrantClaims>,
) -> Result<Option<Replaced>, HookError> {
    match answer.status {
        200 => {
            let said = said(&answer.body)?;
            let Some(page) = kept else {
                room.check_in_token(said.access_token()).map_err(HookError::TooLong)?;
                return Ok(Some(said));
            };
            let all = said.beside(page);
            // For what the page alone says there was room.
            let access_token = all.as_ref().map(Replaced::access_token);
            if let Some(claims) = access_token.filter(|claims| claims.len() > page.access_token.len()) {
                room.check_beside_page(claims).map_err(HookError::TooLongTogether)?;
            }
            Ok(all)
        }
        204 => Ok(None),
        403 => Err(HookError::Refused),
        status => Err(HookError::Status(status)),
    }
}

fn said(body: &[u8]) -> Result<Replaced, HookError> {
    let body: Option<Body> = serde_json::from_slice(body).map_err(|_| HookError::Answer)?;
    let session = body.and_then(|body| body.session).unwrap_or_default();
    Ok(Replaced::new(session.access_token.unwrap_or_default(), session.id_token.unwrap_or_default()))
}
