//! Opaque access tokens: sealed claims. Opening one needs a key and nothing else.

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{GrantId, Rng, SessionId, Timestamp};
use thiserror::Error;

use crate::claims::{AccessTokenClaims, Extra, Origin, RareClaims, TokenId};
use crate::confirmation::Confirmation;

/// What Hydra puts before its access tokens; secret scanners know it.
const PREFIX: &str = "ory_at_";

/// A token that is no longer is opened without memory from the heap, in characters.
const SHORT: usize = 640;

/// So many bytes hold most claims.
const COMMON: usize = 256;

/// Why a text is no access token of ours.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotAToken {
    /// It does not open.
    #[error(transparent)]
    Sealed(#[from] sluice_crypto::OpenError),
    /// It opens, but to something that this version does not understand.
    #[error("the content of the token is not understood")]
    Content,
}

/// The compact form, after the ids of token and grant as they are; times are relative to `issued_at` where that is shorter.
#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    client: &'a str,
    subject: Option<&'a str>,
    session: Option<[u8; 16]>,
    scope: &'a str,
    #[serde(borrow)]
    audience: Vec<&'a str>,
    issued_at: i64,
    lifetime: i64,
    authenticated_at: i64,
    consented_at: i64,
    #[serde(borrow)]
    extra: WireExtra<'a>,
    #[serde(borrow)]
    userinfo: WireExtra<'a>,
    #[serde(borrow)]
    rare: Option<WireRare<'a>>,
}

/// One byte, and the claims where they are small.
#[derive(Serialize, Deserialize)]
enum WireExtra<'a> {
    None,
    Inline(&'a str),
    InGrant,
}

impl<'a> From<&'a Extra> for WireExtra<'a> {
    fn from(extra: &'a Extra) -> Self {
        match extra {
            Extra::None => Self::None,
            Extra::Inline(json) => Self::Inline(json),
            Extra::InGrant => Self::InGrant,
        }
    }
}

impl From<WireExtra<'_>> for Extra {
    fn from(wire: WireExtra<'_>) -> Self {
        match wire {
            WireExtra::None => Self::None,
            WireExtra::Inline(json) => Self::Inline(json.to_owned()),
            WireExtra::InGrant => Self::InGrant,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct WireRare<'a> {
    confirmation: Option<Confirmation>,
    shown_subject: Option<&'a str>,
    actor: Option<&'a str>,
    authorization_details: Option<&'a str>,
    acr: Option<&'a str>,
    #[serde(borrow)]
    amr: Vec<&'a str>,
    /// Client, token id, and when consent was accepted.
    #[serde(borrow)]
    origins: Vec<(&'a str, [u8; 16], i64)>,
    without_login: bool,
}

impl<'a> WireRare<'a> {
    fn of(rare: &'a RareClaims) -> Self {
        Self {
            confirmation: rare.confirmation,
            shown_subject: rare.shown_subject.as_deref(),
            actor: rare.actor.as_deref(),
            authorization_details: rare.authorization_details.as_deref(),
            acr: rare.acr.as_deref(),
            amr: rare.amr.iter().map(String::as_str).collect(),
            origins: rare
                .origins
                .iter()
                .map(|origin| {
                    (origin.client.as_str(), *origin.token.as_bytes(), origin.consented_at.as_millis())
                })
                .collect(),
            without_login: rare.without_login,
        }
    }
}

impl TryFrom<WireRare<'_>> for RareClaims {
    type Error = NotAToken;
    fn try_from(wire: WireRare<'_>) -> Result<Self, NotAToken> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let origin = |(client, token, consented_at): (&str, [u8; 16], i64)| {
            Ok::<_, NotAToken>(Origin {
                client: client.parse().map_err(|_| NotAToken::Content)?,
                token: TokenId::from_bytes(token),
                consented_at: Timestamp::from_millis(consented_at),
            })
        };
        Ok(Self {
            confirmation: wire.confirmation,
            shown_subject: owned(wire.shown_subject),
            actor: owned(wire.actor),
            authorization_details: owned(wire.authorization_details),
            acr: owned(wire.acr),
            amr: wire.amr.into_iter().map(str::to_owned).collect(),
            origins: wire.origins.into_iter().map(origin).collect::<Result<_, _>>()?,
            without_login: wire.without_login,
        })
    }
}

/// Writes an opaque token.
pub fn write(claims: &AccessTokenClaims, sealer: &Sealer, rng: &dyn Rng) -> String {
    let wire = encode(claims);
    [PREFIX, &sealer.seal(Purpose::AccessToken, &wire, rng)].concat()
}

/// Reads an opaque token; expiry and revocation are the caller's to check.
///
/// # Errors
/// [`NotAToken`] for anything that this installation did not issue as an access token.
pub fn read(token: &str, sealer: &Sealer) -> Result<AccessTokenClaims, NotAToken> {
    let sealed = token.strip_prefix(PREFIX).unwrap_or(token);
    if sealed.len() > SHORT {
        return decode(&sealer.open(Purpose::AccessToken, sealed)?);
    }
    decode(sealer.open_in(Purpose::AccessToken, sealed, &mut [0; SHORT])?)
}

/// Whether a text has the form of an opaque token of an installation like this. Nothing is opened.
pub fn is_of_form(token: &str) -> bool {
    Sealer::is_of_form(token.strip_prefix(PREFIX).unwrap_or(token))
}

/// The compact binary form of claims.
pub fn encode(claims: &AccessTokenClaims) -> Vec<u8> {
    encode_with(claims, (&claims.userinfo).into())
}

/// What a JWT carries sealed beside its public claims: all but what userinfo tells, which stays in the grant.
pub fn encode_for_jwt(claims: &AccessTokenClaims) -> Vec<u8> {
    encode_with(claims, WireExtra::InGrant)
}

fn encode_with(claims: &AccessTokenClaims, userinfo: WireExtra<'_>) -> Vec<u8> {
    let wire = Wire {
        client: claims.client.as_str(),
        subject: claims.subject.as_ref().map(sluice_protocol::Subject::as_str),
        session: claims.session.map(|session| *session.as_bytes()),
        scope: claims.scope.as_str(),
        audience: claims.audience.iter().map(String::as_str).collect(),
        issued_at: claims.issued_at.as_secs(),
        lifetime: claims.expires_at.as_secs().saturating_sub(claims.issued_at.as_secs()),
        authenticated_at: claims.authenticated_at.as_millis(),
        consented_at: claims.consented_at.as_millis(),
        extra: (&claims.extra).into(),
        userinfo,
        rare: (claims.rare != RareClaims::default()).then(|| WireRare::of(&claims.rare)),
    };
    let mut bytes = Vec::with_capacity(COMMON);
    bytes.extend_from_slice(claims.id.as_bytes());
    bytes.extend_from_slice(claims.grant.as_bytes());
    postcard::to_extend(&wire, bytes).unwrap_or_default()
}

/// Reads the compact binary form.
///
/// # Errors
/// [`NotAToken::Content`] if it is not understood.
pub fn decode(bytes: &[u8]) -> Result<AccessTokenClaims, NotAToken> {
    let (id, rest) = bytes.split_first_chunk().ok_or(NotAToken::Content)?;
    let (grant, rest) = rest.split_first_chunk().ok_or(NotAToken::Content)?;
    let wire: Wire<'_> = postcard::from_bytes(rest).map_err(|_| NotAToken::Content)?;
    Ok(AccessTokenClaims {
        id: TokenId::from_bytes(*id),
        grant: GrantId::from_bytes(*grant),
        client: wire.client.parse().map_err(|_| NotAToken::Content)?,
        subject: wire.subject.map(str::parse).transpose().map_err(|_| NotAToken::Content)?,
        session: wire.session.map(SessionId::from_bytes),
        scope: wire.scope.parse().map_err(|_| NotAToken::Content)?,
        audience: wire.audience.into_iter().map(str::to_owned).collect(),
        issued_at: Timestamp::from_secs(wire.issued_at),
        expires_at: Timestamp::from_secs(wire.issued_at.saturating_add(wire.lifetime)),
        authenticated_at: Timestamp::from_millis(wire.authenticated_at),
        consented_at: Timestamp::from_millis(wire.consented_at),
        extra: wire.extra.into(),
        userinfo: wire.userinfo.into(),
        rare: wire.rare.map(RareClaims::try_from).transpose()?.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> AccessTokenClaims {
        AccessTokenClaims {
            id: TokenId::from_bytes([1; 16]),
            grant: GrantId::from_bytes([2; 16]),
            client: "app".parse().unwrap(),
            subject: Some("alice".parse().unwrap()),
            session: Some(SessionId::from_bytes([3; 16])),
            scope: "a b".parse().unwrap(),
            audience: vec!["shop".to_owned()],
            issued_at: Timestamp::from_secs(1_000),
            expires_at: Timestamp::from_secs(4_600),
            authenticated_at: Timestamp::from_millis(999_123),
            consented_at: Timestamp::from_millis(999_456),
            extra: Extra::Inline("{}".to_owned()),
            userinfo: Extra::InGrant,
            rare: RareClaims { acr: Some("2".to_owned()), ..RareClaims::default() },
        }
    }

    #[test]
    fn a_token_tells_when_its_grant_ends_if_no_store_does() {
        let of_user = claims();
        assert_eq!(of_user.revocable_until(), None);
        let of_client = AccessTokenClaims { subject: None, ..claims() };
        let rare = RareClaims { without_login: true, ..RareClaims::default() };
        let of_assertion = AccessTokenClaims { rare, ..claims() };
        let (client, consented_at) = (of_user.client.clone(), of_user.consented_at);
        let origins = vec![Origin { client, token: TokenId::from_bytes([9; 16]), consented_at }];
        let exchanged =
            AccessTokenClaims { rare: RareClaims { origins, ..RareClaims::default() }, ..claims() };
        for alone in [of_client, of_assertion, exchanged] {
            assert_eq!(alone.revocable_until(), Some(alone.expires_at));
        }
    }

    #[test]
    fn the_form_is_the_one_that_tokens_in_the_world_have() {
        let common =
            ([1_u8; 16], [2_u8; 16], "app", Some("alice"), Some([3_u8; 16]), "a b", ["shop"].as_slice());
        let times = (1_000_i64, 3_600_i64, 999_123_i64, 999_456_i64);
        let nothing: [&str; 0] = [];
        let rare = (
            None::<()>,
            None::<&str>,
            None::<&str>,
            None::<&str>,
            Some("2"),
            nothing.as_slice(),
            nothing.as_slice(),
            false,
        );
        let form = postcard::to_stdvec(&(common, times, (1_u8, "{}"), 2_u8, Some(rare))).unwrap();
        assert_eq!(encode(&claims()), form);
        assert_eq!(decode(&form), Ok(claims()));
    }

    #[test]
    fn what_userinfo_tells_takes_one_byte_where_it_is_nothing() {
        let nothing = AccessTokenClaims { userinfo: Extra::None, ..claims() };
        let little = AccessTokenClaims { userinfo: Extra::Inline("{\"a\":1}".to_owned()), ..claims() };
        let without = encode(&claims()).len();
        assert_eq!((encode(&nothing).len(), encode(&little).len()), (without, without + 8));
        for told in [nothing, little] {
            assert_eq!(decode(&encode(&told)), Ok(told));
        }
    }

    #[test]
    fn a_jwt_does_not_carry_what_userinfo_tells() {
        let little = AccessTokenClaims { userinfo: Extra::Inline("{\"a\":1}".to_owned()), ..claims() };
        assert_eq!(decode(&encode_for_jwt(&little)), Ok(claims()));
    }

    #[test]
    fn what_is_cut_short_anywhere_is_not_understood() {
        let form = encode(&claims());
        for length in 0..form.len() {
            assert_eq!(decode(&form[..length]), Err(NotAToken::Content), "{length}");
        }
    }
}
