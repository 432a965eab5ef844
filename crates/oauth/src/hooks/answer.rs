//! What a hook says (Hydra's `TokenHookResponse`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{HookAnswer, HookError};
use crate::grant::Replaced;

/// Claims of a hook stand in the token itself, and may be so long, in bytes of JSON.
const MAX_CLAIMS: usize = 4 * 1024;

#[derive(Deserialize)]
struct Body {
    session: Session,
}

/// A member that is not there replaces what was there with nothing, as in Hydra.
#[derive(Deserialize)]
struct Session {
    access_token: Option<Map<String, Value>>,
    id_token: Option<Map<String, Value>>,
}

/// 200: the claims are replaced. 204: they are not. 403: nothing is to be issued. Anything else is a fault.
pub(super) fn read(answer: &HookAnswer) -> Result<Option<Replaced>, HookError> {
    match answer.status {
        200 => {
            let body: Body = serde_json::from_slice(&answer.body).map_err(|_| HookError::Answer)?;
            let access_token = body.session.access_token.unwrap_or_default();
            let length = serde_json::to_vec(&access_token).map_err(|_| HookError::Answer)?.len();
            if length > MAX_CLAIMS {
                return Err(HookError::TooLong(MAX_CLAIMS));
            }
            Ok(Some(Replaced::new(access_token, body.session.id_token.unwrap_or_default())))
        }
        204 => Ok(None),
        403 => Err(HookError::Refused),
        status => Err(HookError::Status(status)),
    }
}
