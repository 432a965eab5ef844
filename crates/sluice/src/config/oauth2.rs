//! `oauth2`: how the authorization server behaves.

use std::time::Duration;

use super::device::{self, DeviceSettings};
use super::dpop::{self, DpopSettings};
use super::hook::{self, HooksSettings};
use super::jwt_bearer::{self, JwtBearerSettings};
use super::key::{Key, Kind};
use super::mtls::{self, MtlsSettings};
use super::reader::Reader;
use super::requests::{self, RequestSettings};
use super::without_effect::ANY_INTEGER;

/// Hydra's bound of the grace period. With a count of reuses Hydra permits 180 days; nobody counts here.
const LONGEST_GRACE: Duration = Duration::from_mins(5);

const GRACE: &str = "oauth2.grant.refresh_token.rotation_grace_period";

/// Why Hydra's hashes of client secrets mean nothing.
const ARGON2ID: &str = "client secrets that somebody chose are hashed with Argon2id, those that Sluice makes up with a keyed hash";

pub(super) const KEYS: &[Key] = &[
    Key::ignored(
        "expose_internal_errors",
        Kind::Boolean,
        "clients are never told the cause of an error; it is in the log, under the request id of the answer",
    ),
    Key::hydra("exclude_not_before_claim", Kind::Boolean, "Whether JWT access tokens come without `nbf`.")
        .with_default("false"),
    Key::hydra(
        "allowed_top_level_claims",
        Kind::Texts,
        "Claims of the session that may stand at the top of a JWT access token.",
    ),
    Key::hydra(
        "mirror_top_level_claims",
        Kind::Boolean,
        "Whether `ext` of a JWT access token has all claims of the session.",
    )
    .with_default("true"),
    Key::hydra(
        "preserve_ext_claims",
        Kind::Boolean,
        "Whether `ext` keeps the claims that are not at the top, when `mirror_top_level_claims` is false.",
    )
    .with_default("false"),
    Key::ignored("hashers.algorithm", Kind::Text, ARGON2ID),
    Key::ignored("hashers.bcrypt.cost", ANY_INTEGER, ARGON2ID),
    Key::ignored("hashers.pbkdf2.iterations", ANY_INTEGER, ARGON2ID),
    Key::hydra("pkce.enforced", Kind::Boolean, "Whether every client must use PKCE.").with_default("false"),
    Key::hydra("pkce.enforced_for_public_clients", Kind::Boolean, "Whether public clients must use PKCE.")
        .with_default("false"),
    Key::hydra(
        "client_credentials.default_grant_allowed_scope",
        Kind::Boolean,
        "Whether a client that asks for no scope in the client credentials grant gets all of its own.",
    )
    .with_default("false"),
    Key::hydra(
        "grant.refresh_token.rotation_grace_period",
        Kind::Duration,
        "How long a rotated refresh token is answered with a pair again, at most 5m; \
         Hydra's default is 0s.",
    )
    .with_default("30s"),
    Key::ignored(
        "grant.refresh_token.rotation_grace_reuse_count",
        Kind::Integer { min: 0, max: i64::MAX },
        "within the grace period, 5m at most, a pair is answered again however often",
    ),
    Key::ignored(
        "refresh_token_rotation.grace_period",
        Kind::Duration,
        "it is called oauth2.grant.refresh_token.rotation_grace_period",
    ),
    Key::hydra(
        "token_hook",
        Kind::Hook,
        "A service that is asked before tokens are issued, whatever the grant type; it may add claims or refuse. One \
         that does not answer refuses.",
    ),
    Key::hydra(
        "refresh_token_hook",
        Kind::Hook,
        "A service that is asked before a refresh token is answered, before `oauth2.token_hook`. One that does not \
         answer refuses.",
    ),
    Key::own("hook_timeout", Kind::Duration, "How long a hook may take; from 1s to 30s.").with_default("5s"),
    Key::ignored("session.encrypt_at_rest", Kind::Boolean, "what is at rest is always sealed"),
    Key::ignored("include_legacy_error_fields", Kind::Boolean, "the fields of Hydra 1 are not sent"),
];

/// How the authorization server behaves.
#[derive(Debug, Clone)]
pub(crate) struct OAuth2Settings {
    pub(crate) claims: AccessTokenClaimsSettings,
    pub(crate) pkce: PkcePolicy,
    /// Whether client credentials without a scope yield all of the client's. Default: no.
    pub(crate) client_credentials_default_scope: bool,
    /// How long a rotated refresh token yields a pair again. Default: 30 s; at most 5 min.
    pub(crate) refresh_token_grace: Duration,
    pub(crate) device: DeviceSettings,
    pub(crate) jwt_bearer: JwtBearerSettings,
    pub(crate) hooks: HooksSettings,
    pub(crate) requests: RequestSettings,
    pub(crate) dpop: DpopSettings,
    pub(crate) mtls: MtlsSettings,
}

/// What is in an access token beyond what the standards ask for.
#[derive(Debug, Clone)]
pub(crate) struct AccessTokenClaimsSettings {
    /// Claims of the session that may stand at the top. Default: none.
    pub(crate) allowed_top_level: Vec<String>,
    /// Whether those are repeated in `ext`. Default: yes.
    pub(crate) mirror_top_level: bool,
    /// Whether `ext` keeps the others when they are not. Default: no.
    pub(crate) preserve_ext: bool,
    /// Whether `nbf` is left out. Default: no.
    pub(crate) exclude_not_before: bool,
}

/// Who must use PKCE (RFC 7636).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PkcePolicy {
    Optional,
    RequiredOfPublicClients,
    Required,
}

pub(super) fn read(reader: &mut Reader<'_>) -> OAuth2Settings {
    OAuth2Settings {
        claims: AccessTokenClaimsSettings {
            allowed_top_level: reader.texts("oauth2.allowed_top_level_claims"),
            mirror_top_level: reader.boolean("oauth2.mirror_top_level_claims"),
            preserve_ext: reader.boolean("oauth2.preserve_ext_claims"),
            exclude_not_before: reader.boolean("oauth2.exclude_not_before_claim"),
        },
        pkce: read_pkce(reader),
        client_credentials_default_scope: reader
            .boolean("oauth2.client_credentials.default_grant_allowed_scope"),
        refresh_token_grace: read_grace(reader),
        device: device::read(reader),
        jwt_bearer: jwt_bearer::read(reader),
        hooks: hook::read(reader),
        requests: requests::read(reader),
        dpop: dpop::read(reader),
        mtls: mtls::read(reader),
    }
}

fn read_pkce(reader: &mut Reader<'_>) -> PkcePolicy {
    let of_public = reader.boolean("oauth2.pkce.enforced_for_public_clients");
    match (reader.boolean("oauth2.pkce.enforced"), of_public) {
        (true, _) => PkcePolicy::Required,
        (false, true) => PkcePolicy::RequiredOfPublicClients,
        (false, false) => PkcePolicy::Optional,
    }
}

/// As Hydra does, a longer period is shortened; unlike Hydra, that is said.
fn read_grace(reader: &mut Reader<'_>) -> Duration {
    let grace = reader.duration(GRACE);
    if grace > LONGEST_GRACE {
        reader.shorten(
            GRACE,
            LONGEST_GRACE,
            "for so long whoever has the token before gets the current pair",
        );
    }
    grace.min(LONGEST_GRACE)
}
