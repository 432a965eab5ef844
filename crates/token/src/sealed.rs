//! Opaque access tokens: sealed claims. Opening one needs a key and nothing else.

use sluice_crypto::packed::{Pack, Packed, Unpack, pack_variant};
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
#[cfg_attr(test, derive(Debug, PartialEq, serde::Serialize, serde::Deserialize))]
struct Wire<'a> {
    client: &'a str,
    subject: Option<&'a str>,
    session: Option<[u8; 16]>,
    scope: &'a str,
    #[cfg_attr(test, serde(borrow))]
    audience: Vec<&'a str>,
    issued_at: i64,
    lifetime: i64,
    authenticated_at: i64,
    consented_at: i64,
    #[cfg_attr(test, serde(borrow))]
    extra: WireExtra<'a>,
    #[cfg_attr(test, serde(borrow))]
    userinfo: WireExtra<'a>,
    #[cfg_attr(test, serde(borrow))]
    rare: Option<WireRare<'a>>,
}

impl Pack for Wire<'_> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.client.pack(to);
        self.subject.pack(to);
        self.session.pack(to);
        self.scope.pack(to);
        self.audience.pack(to);
        self.issued_at.pack(to);
        self.lifetime.pack(to);
        self.authenticated_at.pack(to);
        self.consented_at.pack(to);
        self.extra.pack(to);
        self.userinfo.pack(to);
        self.rare.pack(to);
    }
}

impl<'a> Unpack<'a> for Wire<'a> {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        Some(Self {
            client: from.read()?,
            subject: from.read()?,
            session: from.read()?,
            scope: from.read()?,
            audience: from.read()?,
            issued_at: from.read()?,
            lifetime: from.read()?,
            authenticated_at: from.read()?,
            consented_at: from.read()?,
            extra: from.read()?,
            userinfo: from.read()?,
            rare: from.read()?,
        })
    }
}

/// One byte, and the claims where they are small.
#[cfg_attr(test, derive(Debug, PartialEq, serde::Serialize, serde::Deserialize))]
enum WireExtra<'a> {
    None,
    Inline(&'a str),
    InGrant,
}

impl Pack for WireExtra<'_> {
    fn pack(&self, to: &mut Vec<u8>) {
        match self {
            Self::None => pack_variant(0, to),
            Self::Inline(json) => {
                pack_variant(1, to);
                json.pack(to);
            }
            Self::InGrant => pack_variant(2, to),
        }
    }
}

impl<'a> Unpack<'a> for WireExtra<'a> {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        match from.variant()? {
            0 => Some(Self::None),
            1 => from.read().map(Self::Inline),
            2 => Some(Self::InGrant),
            _ => None,
        }
    }
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

#[cfg_attr(test, derive(Debug, PartialEq, serde::Serialize, serde::Deserialize))]
struct WireRare<'a> {
    confirmation: Option<Confirmation>,
    shown_subject: Option<&'a str>,
    actor: Option<&'a str>,
    authorization_details: Option<&'a str>,
    acr: Option<&'a str>,
    #[cfg_attr(test, serde(borrow))]
    amr: Vec<&'a str>,
    /// Client, token id, and when consent was accepted.
    #[cfg_attr(test, serde(borrow))]
    origins: Vec<(&'a str, [u8; 16], i64)>,
    without_login: bool,
}

impl Pack for WireRare<'_> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.confirmation.pack(to);
        self.shown_subject.pack(to);
        self.actor.pack(to);
        self.authorization_details.pack(to);
        self.acr.pack(to);
        self.amr.pack(to);
        self.origins.pack(to);
        self.without_login.pack(to);
    }
}

impl<'a> Unpack<'a> for WireRare<'a> {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        Some(Self {
            confirmation: from.read()?,
            shown_subject: from.read()?,
            actor: from.read()?,
            authorization_details: from.read()?,
            acr: from.read()?,
            amr: from.read()?,
            origins: from.read()?,
            without_login: from.read()?,
        })
    }
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
    let write = |to: &mut Vec<u8>| encode_with(claims, (&claims.userinfo).into(), to);
    sealer.seal_behind(PREFIX, Purpose::AccessToken, write, rng)
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
    let mut bytes = Vec::with_capacity(COMMON);
    encode_with(claims, (&claims.userinfo).into(), &mut bytes);
    bytes
}

/// What a JWT carries sealed beside its public claims: all but what userinfo tells, which stays in the grant.
pub fn encode_for_jwt(claims: &AccessTokenClaims) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(COMMON);
    encode_with(claims, WireExtra::InGrant, &mut bytes);
    bytes
}

fn encode_with(claims: &AccessTokenClaims, userinfo: WireExtra<'_>, to: &mut Vec<u8>) {
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
    claims.id.as_bytes().pack(to);
    claims.grant.as_bytes().pack(to);
    wire.pack(to);
}

/// Reads the compact binary form.
///
/// # Errors
/// [`NotAToken::Content`] if it is not understood.
pub fn decode(bytes: &[u8]) -> Result<AccessTokenClaims, NotAToken> {
    let (id, rest) = bytes.split_first_chunk().ok_or(NotAToken::Content)?;
    let (grant, rest) = rest.split_first_chunk().ok_or(NotAToken::Content)?;
    let wire: Wire<'_> = Packed::new(rest).read().ok_or(NotAToken::Content)?;
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
mod tests;
