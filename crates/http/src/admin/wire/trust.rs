//! Trusted issuers as Hydra's admin API spells them (`trustOAuth2JwtGrantIssuer`, `trustedOAuth2JwtGrantIssuer`).

use jiff::fmt::temporal::Pieces;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use sluice_crypto::jwk::Jwk;
use sluice_oauth::trust::{NewTrust, TrustedIssuer};
use sluice_primitives::Timestamp;

use super::client::rfc3339;

/// `POST /admin/trust/grants/jwt-bearer/issuers`. What is missing is for the rules to say.
#[derive(Deserialize)]
pub(crate) struct NewTrustBody {
    issuer: Option<String>,
    subject: Option<String>,
    allow_any_subject: Option<bool>,
    scope: Option<Vec<String>>,
    jwk: Option<Jwk>,
    #[serde(default, deserialize_with = "until")]
    expires_at: Option<jiff::Timestamp>,
}

/// A time (RFC 3339). `9999-12-31T23:59:59Z`, which is how forever is written, is beyond what can be told by less than a day: it stands
/// for the last moment that can.
fn until<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<jiff::Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let is_last_year = |pieces: Pieces<'_>| {
        pieces.date().year() == 9999 && pieces.time().is_some() && pieces.offset().is_some()
    };
    match text.parse() {
        Err(_) if Pieces::parse(&text).is_ok_and(is_last_year) => Ok(Some(jiff::Timestamp::MAX)),
        time => time.map(Some).map_err(D::Error::custom),
    }
}

impl From<NewTrustBody> for NewTrust {
    fn from(body: NewTrustBody) -> Self {
        Self {
            issuer: body.issuer.unwrap_or_default(),
            subject: body.subject.unwrap_or_default(),
            allow_any_subject: body.allow_any_subject.unwrap_or_default(),
            scope: body.scope.unwrap_or_default(),
            jwk: body.jwk.unwrap_or_default(),
            expires_at: body.expires_at.map(|time| Timestamp::from_millis(time.as_millisecond())),
        }
    }
}

/// A trusted issuer. Of its key the name only.
#[derive(Serialize)]
pub(crate) struct TrustedBody {
    id: String,
    issuer: String,
    subject: String,
    allow_any_subject: bool,
    scope: Vec<String>,
    public_key: PublicKeyBody,
    created_at: String,
    expires_at: String,
}

/// In Hydra a set is named like the issuer.
#[derive(Serialize)]
struct PublicKeyBody {
    set: String,
    kid: String,
}

impl From<&TrustedIssuer> for TrustedBody {
    fn from(trusted: &TrustedIssuer) -> Self {
        Self {
            id: trusted.id.to_string(),
            issuer: trusted.issuer.clone(),
            subject: trusted.subject.clone().unwrap_or_default(),
            allow_any_subject: trusted.subject.is_none(),
            scope: trusted.scope.iter().map(str::to_owned).collect(),
            public_key: PublicKeyBody { set: trusted.issuer.clone(), kid: trusted.key_id.clone() },
            created_at: rfc3339(trusted.created_at),
            expires_at: rfc3339(trusted.expires_at),
        }
    }
}
