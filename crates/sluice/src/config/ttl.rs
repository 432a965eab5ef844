//! `ttl`: how long things live.

use std::time::Duration;

use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use sluice_primitives::Lifetime;

use super::key::{Key, Kind};
use super::reader::Reader;

/// What RFC 6749 §4.1.2 recommends as the longest life of a code.
const LONGEST_RECOMMENDED_CODE: Duration = Duration::from_mins(10);

/// The least that revocations are remembered for: while nodes are restarted one after the other for another span, none forgets what
/// another still has to know.
const LEAST_LONGEST: Duration = Duration::from_hours(1);

pub(super) const KEYS: &[Key] = &[
    Key::hydra("login_consent_request", Kind::Duration, "How long a login and consent flow may take.")
        .with_default("30m"),
    Key::hydra(
        "authentication_session",
        Kind::Duration,
        "How long a remembered login lasts for which the login page names no other span. At the built-in page that is one at which the box \"Keep \
         me signed in\" was left alone, unless the browser is closed before, or it is not used for 24h; where it was ticked it is 30 days.",
    )
    .with_default("720h"),
    Key::hydra(
        "access_token",
        Kind::Duration,
        "How long access tokens are valid; at most `ttl.longest_access_token`.",
    )
    .with_default("1h"),
    Key::own(
        "longest_access_token",
        Kind::Duration,
        "The longest life of an access token, whatever `ttl.access_token` and a client's own lifespans say, from 1h to 744h: \
         revocations are remembered for so long, in the database and in memory. The same on all nodes. Lowered, it ends tokens that were \
         issued for longer; to raise it, stop all nodes first.",
    )
    .with_default("744h"),
    Key::hydra("refresh_token", Kind::Duration, "How long refresh tokens are valid; -1: for ever.")
        .with_default("720h"),
    Key::hydra("id_token", Kind::Duration, "How long id tokens are valid.").with_default("1h"),
    Key::hydra(
        "auth_code",
        Kind::Duration,
        "How long authorization codes are valid; Hydra's default is 10m.",
    )
    .with_default("60s"),
    Key::hydra("device_user_code", Kind::Duration, "How long the codes of a device authorization are valid.")
        .with_default("10m"),
];

/// Lifetimes; each is at least one second.
#[derive(Debug, Clone)]
pub(crate) struct TtlSettings {
    /// Default: 30 min.
    pub(crate) login_consent_request: Duration,
    /// Default: 30 days.
    pub(crate) authentication_session: Duration,
    /// Default: 1 h.
    pub(crate) access_token: Duration,
    /// Whatever else is said. Default: 744 h; from 1 h to that.
    pub(crate) longest_access_token: Duration,
    /// Default: 30 days.
    pub(crate) refresh_token: RefreshTokenTtl,
    /// Default: 1 h.
    pub(crate) id_token: Duration,
    /// Default: 60 s (RFC 6749 §4.1.2 recommends ten minutes at most; more is warned about).
    pub(crate) auth_code: Duration,
    /// Of the device code and of the user code. Default: 10 min.
    pub(crate) device_user_code: Duration,
}

/// How long a refresh token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefreshTokenTtl {
    Expires(Duration),
    /// `-1`.
    Never,
}

impl RefreshTokenTtl {
    /// As a span, which may have no end.
    pub(crate) fn lifetime(self) -> Lifetime {
        match self {
            Self::Expires(span) => span.into(),
            Self::Never => Lifetime::FOREVER,
        }
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> TtlSettings {
    let auth_code = reader.lifetime("ttl.auth_code");
    if auth_code > LONGEST_RECOMMENDED_CODE {
        reader.warn("ttl.auth_code", "is more than the ten minutes that RFC 6749 §4.1.2 recommends at most");
    }
    let access_token = reader.lifetime("ttl.access_token");
    let range = LEAST_LONGEST..=LONGEST_ACCESS_TOKEN.as_duration();
    let longest_access_token = reader.duration_within("ttl.longest_access_token", range.clone());
    if range.contains(&longest_access_token) && access_token > longest_access_token {
        reader.shorten("ttl.access_token", longest_access_token, "revocations are not remembered for longer");
    }
    TtlSettings {
        login_consent_request: reader.lifetime("ttl.login_consent_request"),
        authentication_session: reader.lifetime("ttl.authentication_session"),
        access_token,
        longest_access_token,
        refresh_token: read_refresh_token(reader),
        id_token: reader.lifetime("ttl.id_token"),
        auth_code,
        device_user_code: reader.lifetime("ttl.device_user_code"),
    }
}

fn read_refresh_token(reader: &mut Reader<'_>) -> RefreshTokenTtl {
    if reader.text("ttl.refresh_token").as_deref() == Some("-1") {
        return RefreshTokenTtl::Never;
    }
    RefreshTokenTtl::Expires(reader.lifetime("ttl.refresh_token"))
}
