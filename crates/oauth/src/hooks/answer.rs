//! What a hook says (Hydra's `TokenHookResponse`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{HookAnswer, HookError};
use crate::grant::Replaced;
use crate::issuing::access_token::{MAX_IN_TOKEN, length_in_token};

/// An object without a session, and one with `null`, are a session without members, as in Hydra.
#[derive(Deserialize)]
struct Body {
    session: Option<Session>,
}

/// A member that is not there replaces what was there with nothing, as in Hydra.
#[derive(Default, Deserialize)]
struct Session {
    access_token: Option<Map<String, Value>>,
    id_token: Option<Map<String, Value>>,
}

/// 200: the claims are replaced. 204: they are not. 403: nothing is to be issued. Anything else is a fault. Claims of a hook stand in the
/// token itself, those with a name of `top_level` twice in a signed one.
pub(super) fn read(answer: &HookAnswer, top_level: &[String]) -> Result<Option<Replaced>, HookError> {
    match answer.status {
        200 => {
            let body: Body = serde_json::from_slice(&answer.body).map_err(|_| HookError::Answer)?;
            let session = body.session.unwrap_or_default();
            let access_token = session.access_token.unwrap_or_default();
            if length_in_token(&access_token, top_level) > MAX_IN_TOKEN {
                return Err(HookError::TooLong(MAX_IN_TOKEN));
            }
            Ok(Some(Replaced::new(access_token, session.id_token.unwrap_or_default())))
        }
        204 => Ok(None),
        403 => Err(HookError::Refused),
        status => Err(HookError::Status(status)),
    }
}
