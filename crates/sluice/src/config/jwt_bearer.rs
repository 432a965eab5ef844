//! `oauth2.grant.jwt`: the JWT bearer grant (RFC 7523 §2.1).

use std::time::Duration;

use super::key::{Key, Kind};
use super::reader::Reader;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "jti_optional",
        Kind::Boolean,
        "Whether an assertion may come without `jti`; such a one can be used again until it expires.",
    )
    .with_default("false"),
    Key::hydra("iat_optional", Kind::Boolean, "Whether an assertion may come without `iat`.")
        .with_default("false"),
    Key::hydra(
        "max_ttl",
        Kind::Duration,
        "How long an assertion may be valid: from its `iat`, or from now without one, to its `exp`.",
    )
    .with_default("720h"),
    Key::hydra(
        "omit_assertion_audience",
        Kind::Boolean,
        "Whether the audience of the assertion stays out of the access token.",
    )
    .with_default("true"),
];

/// What assertions must be like that are exchanged for a token.
#[derive(Debug, Clone)]
pub(crate) struct JwtBearerSettings {
    /// Whether `jti` may be missing. Default: no.
    pub(crate) jti_optional: bool,
    /// Whether `iat` may be missing. Default: no.
    pub(crate) iat_optional: bool,
    /// The longest time from `iat` (now without one) to `exp`. Default: 30 days.
    pub(crate) max_ttl: Duration,
    /// Whether the access token is without the assertion's audience. Default: yes.
    pub(crate) omit_assertion_audience: bool,
}

pub(super) fn read(reader: &mut Reader<'_>) -> JwtBearerSettings {
    JwtBearerSettings {
        jti_optional: reader.boolean("oauth2.grant.jwt.jti_optional"),
        iat_optional: reader.boolean("oauth2.grant.jwt.iat_optional"),
        max_ttl: reader.lifetime("oauth2.grant.jwt.max_ttl"),
        omit_assertion_audience: reader.boolean("oauth2.grant.jwt.omit_assertion_audience"),
    }
}
