//! Access tokens of the identity API (PASETO `v4.public`): what their payload says, written and read.
//!
//! The signature is made and checked by whoever has the keys; the network is signed with it as the implicit assertion.

use jiff::Timestamp as Rfc3339;
use serde::{Deserialize, Serialize};
use sluice_primitives::{IdentityId, Lifetime, SessionId, Timestamp};
use uuid::Uuid;

use crate::sealed::NotAToken;

/// What such a token begins with.
pub const PREFIX: &str = "v4.public.";
/// Longer ones are not looked at, in bytes.
pub const MAX_TOKEN: usize = 8 * 1024;

/// What an access token of the identity API says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonTokenClaims {
    /// Who issued it.
    pub issuer: String,
    /// Who it is about.
    pub subject: IdentityId,
    /// For whom it is.
    pub audience: String,
    /// Until when it holds.
    pub expires_at: Timestamp,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Its own id.
    pub id: [u8; 16],
    /// The session it belongs to.
    pub session: SessionId,
    /// When the person proved who it is.
    pub authenticated_at: Timestamp,
    /// How (RFC 8176).
    pub amr: Vec<String>,
    /// How well.
    pub acr: String,
}

impl PersonTokenClaims {
    /// The same of a token that ends so long after it was issued at the latest, whatever was meant then: that its session ended is
    /// remembered for no longer.
    #[must_use]
    pub fn ending_within(mut self, longest: Lifetime) -> Self {
        self.expires_at = self.expires_at.min(self.issued_at + longest);
        self
    }
}

/// The payload. PASETO registers times as RFC 3339 text.
#[derive(Serialize, Deserialize)]
struct Wire {
    iss: String,
    sub: Uuid,
    aud: String,
    exp: Rfc3339,
    iat: Rfc3339,
    jti: Uuid,
    sid: Uuid,
    auth_time: Rfc3339,
    amr: Vec<String>,
    acr: String,
}

/// Writes the payload.
///
/// # Errors
/// [`NotAToken::Content`] if it cannot be written.
pub fn write(claims: &PersonTokenClaims) -> Result<Vec<u8>, NotAToken> {
    let wire = Wire {
        iss: claims.issuer.clone(),
        sub: claims.subject.as_uuid(),
        aud: claims.audience.clone(),
        exp: rfc3339(claims.expires_at),
        iat: rfc3339(claims.issued_at),
        jti: Uuid::from_bytes(claims.id),
        sid: claims.session.as_uuid(),
        auth_time: rfc3339(claims.authenticated_at),
        amr: claims.amr.clone(),
        acr: claims.acr.clone(),
    };
    serde_json::to_vec(&wire).map_err(|_| NotAToken::Content)
}

/// Reads the payload of a token whose signature was verified; issuer, audience, expiry and revocation are the caller's to
/// check.
///
/// # Errors
/// [`NotAToken::Content`] if it is not understood.
pub fn read(verified_payload: &[u8]) -> Result<PersonTokenClaims, NotAToken> {
    let wire: Wire = serde_json::from_slice(verified_payload).map_err(|_| NotAToken::Content)?;
    let time = |time: Rfc3339| Timestamp::from_millis(time.as_millisecond());
    Ok(PersonTokenClaims {
        issuer: wire.iss,
        subject: IdentityId::from_uuid(wire.sub),
        audience: wire.aud,
        expires_at: time(wire.exp),
        issued_at: time(wire.iat),
        id: wire.jti.into_bytes(),
        session: SessionId::from_uuid(wire.sid),
        authenticated_at: time(wire.auth_time),
        amr: wire.amr,
        acr: wire.acr,
    })
}

fn rfc3339(time: Timestamp) -> Rfc3339 {
    Rfc3339::from_millisecond(time.as_millis()).unwrap_or(Rfc3339::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> PersonTokenClaims {
        PersonTokenClaims {
            issuer: "https://id.example".to_owned(),
            subject: IdentityId::from_bytes([1; 16]),
            audience: "https://id.example/auth".to_owned(),
            expires_at: Timestamp::from_millis(1_700_000_600_250),
            issued_at: Timestamp::from_millis(1_700_000_000_250),
            id: [2; 16],
            session: SessionId::from_bytes([3; 16]),
            authenticated_at: Timestamp::from_millis(1_699_999_000_001),
            amr: vec!["pwd".to_owned(), "otp".to_owned()],
            acr: "aal2".to_owned(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(&write(&claims()).unwrap()).unwrap(), claims());
    }

    #[test]
    fn a_token_ends_so_long_after_it_was_issued_at_the_latest() {
        let (issued_at, expires_at) = (claims().issued_at, claims().expires_at);
        assert_eq!(claims().ending_within(Lifetime::minutes(9)).expires_at, issued_at + Lifetime::minutes(9));
        for longer in [Lifetime::minutes(11), Lifetime::FOREVER] {
            assert_eq!(claims().ending_within(longer).expires_at, expires_at);
        }
    }

    #[test]
    fn times_are_written_as_paseto_registers_them() {
        let written: serde_json::Value = serde_json::from_slice(&write(&claims()).unwrap()).unwrap();
        assert_eq!(written["exp"], "2023-11-14T22:23:20.25Z");
    }

    #[test]
    fn a_payload_without_session_is_none() {
        assert_eq!(read(br#"{"iss":"https://id.example"}"#), Err(NotAToken::Content));
    }
}
