//! What a hook says (Hydra's `TokenHookResponse`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{HookAnswer, HookError};
use crate::grant::Replaced;
use crate::issuing::access_token::{MAX_IN_TOKEN, MAX_WITH_SEALED, in_token_twice, length_in_token};

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

/// Where claims of a hook end up.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    /// Those that stand beside the others once more.
    pub(super) top_level: &'a [String],
    /// In a signed token, in which all of them stand once more, sealed.
    pub(super) is_signed: bool,
    /// What stands there twice besides, in bytes: authorization details.
    pub(super) beside: usize,
}

impl Room<'_> {
    fn check(self, claims: &Map<String, Value>) -> Result<(), HookError> {
        let whole = length_in_token(claims, self.top_level);
        if whole > MAX_IN_TOKEN {
            return Err(HookError::TooLong(MAX_IN_TOKEN));
        }
        let once = length_in_token(claims, &[]);
        let twice = in_token_twice(once.saturating_add(self.beside));
        let sealed_too = twice.saturating_add(whole.saturating_sub(once));
        if self.is_signed && sealed_too > MAX_WITH_SEALED {
            return Err(HookError::TooLong(MAX_WITH_SEALED * 3 / 7));
        }
        Ok(())
    }
}

/// 200: the claims are replaced. 204: they are not. 403: nothing is to be issued. Anything else is a fault. Claims of a hook stand in the
/// token itself, for which there must be room.
pub(super) fn read(answer: &HookAnswer, room: Room<'_>) -> Result<Option<Replaced>, HookError> {
    match answer.status {
        200 => {
            let body: Body = serde_json::from_slice(&answer.body).map_err(|_| HookError::Answer)?;
            let session = body.session.unwrap_or_default();
            let access_token = session.access_token.unwrap_or_default();
            room.check(&access_token)?;
            Ok(Some(Replaced::new(access_token, session.id_token.unwrap_or_default())))
        }
        204 => Ok(None),
        403 => Err(HookError::Refused),
        status => Err(HookError::Status(status)),
    }
}
