//! What a hook says (Hydra's `TokenHookResponse`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{HookAnswer, HookFault};
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

/// What becomes of what was said before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before<'a> {
    /// It is gone: no grant has it.
    Gone,
    /// It stays, and what the hook says comes to it.
    Stays(&'a GrantClaims),
    /// What the hook says stands in its place.
    GivesWay(&'a GrantClaims),
}

/// 200: the claims are replaced, or come to those of the consent page where these stay. 204: they are not. 403: nothing is to be
/// issued. Anything else is a fault. There must be room for all of them.
pub(super) fn read(
    answer: &HookAnswer,
    room: Room<'_>,
    before: Before<'_>,
) -> Result<Option<Replaced>, HookFault> {
    match answer.status {
        200 => {
            let said = said(&answer.body)?;
            match before {
                Before::Gone => in_token(said, room).map(Some),
                Before::Stays(page) => beside(said, room, page),
                Before::GivesWay(old) => instead(said, room, old).map(Some),
            }
        }
        204 => Ok(None),
        403 => Err(HookFault::Refused),
        status => Err(HookFault::Status(status)),
    }
}

/// In the token, where there is room for them.
fn in_token(said: Replaced, room: Room<'_>) -> Result<Replaced, HookFault> {
    room.check_in_token(said.access_token()).map_err(HookFault::TooLong)?;
    Ok(said)
}

/// With those of the consent page.
fn beside(said: Replaced, room: Room<'_>, page: &GrantClaims) -> Result<Option<Replaced>, HookFault> {
    let all = said.beside(page);
    // For what the page alone says there was room.
    let access_token = all.as_ref().map(Replaced::access_token);
    if let Some(claims) = access_token.filter(|claims| claims.len() > page.access_token.len()) {
        room.check_beside_page(claims).map_err(HookFault::TooLongTogether)?;
    }
    Ok(all)
}

/// In the place of these. A hook that says them again may say more than a token has room for: there was room elsewhere.
fn instead(said: Replaced, room: Room<'_>, old: &GrantClaims) -> Result<Replaced, HookFault> {
    match room.check_in_token(said.access_token()) {
        Ok(()) => Ok(said),
        Err(_) if said.access_token() == old.of_access_tokens() => Ok(said.kept_by_grant()),
        Err(most) => Err(HookFault::TooLong(most)),
    }
}

fn said(body: &[u8]) -> Result<Replaced, HookFault> {
    let body: Option<Body> = serde_json::from_slice(body).map_err(|_| HookFault::Answer)?;
    let session = body.and_then(|body| body.session).unwrap_or_default();
    Ok(Replaced::new(session.access_token.unwrap_or_default(), session.id_token.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::AccessTokenStrategy;

    #[test]
    fn what_no_token_has_room_for_may_be_said_again_where_a_grant_has_it() {
        let claims = |length: usize| json!({"long": "x".repeat(length)}).as_object().cloned().unwrap();
        let old = GrantClaims { access_token: claims(9_000), ..GrantClaims::default() };
        let read_back = |length: usize, before: Before<'_>| {
            let body = json!({"session": {"access_token": claims(length), "id_token": claims(1)}});
            let answer = HookAnswer { status: 200, body: body.to_string().into_bytes() };
            read(&answer, Room::of(&old, AccessTokenStrategy::Opaque, &[]), before)
        };
        let again = read_back(9_000, Before::GivesWay(&old)).unwrap().unwrap();
        assert_eq!((again.access_token(), again.id_token()), (&claims(9_000), &claims(1)));
        assert!(again.is_beside_page(), "it stays where it is");
        let less = read_back(8_000, Before::GivesWay(&old)).unwrap().unwrap();
        assert!(!less.is_beside_page());
        for (length, before) in [(9_001, Before::GivesWay(&old)), (9_000, Before::Gone)] {
            assert_eq!(read_back(length, before), Err(HookFault::TooLong(8 * 1024)), "{length}");
        }
    }
}
