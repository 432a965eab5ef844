//! `oauth2`: how the authorization server behaves.

use std::time::Duration;

use super::device::{self, DeviceSettings};
use super::hook::{self, HookSettings};
use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;

/// Hydra's bounds of the grace period: without a count of reuses, and with one.
const LONGEST_GRACE: Duration = Duration::from_mins(5);
const LONGEST_COUNTED_GRACE: Duration = Duration::from_hours(180 * 24);

const GRACE: &str = "oauth2.grant.refresh_token.rotation_grace_period";
const GRACE_COUNT: &str = "oauth2.grant.refresh_token.rotation_grace_reuse_count";

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "expose_internal_errors",
        Kind::Boolean,
        "Whether error answers tell clients the cause; not in production.",
    )
    .with_default("false"),
    Key::hydra("exclude_not_before_claim", Kind::Boolean, "Whether JWT access tokens come without `nbf`.")
        .with_default("false"),
    Key::hydra(
        "allowed_top_level_claims",
        Kind::Texts,
        "Claims of the session that may stand at the top of an access token.",
    ),
    Key::hydra("mirror_top_level_claims", Kind::Boolean, "Whether claims at the top are repeated in `ext`.")
        .with_default("true"),
    Key::hydra(
        "preserve_ext_claims",
        Kind::Boolean,
        "Whether `ext` keeps the claims that are not at the top, when those are not mirrored.",
    )
    .with_default("false"),
    Key::hydra(
        "hashers.algorithm",
        Kind::Choice(names::<HashAlgorithm>),
        "The hash of client secrets that were chosen.",
    )
    .with_default("pbkdf2"),
    Key::hydra("hashers.bcrypt.cost", Kind::Integer { min: 4, max: 31 }, "The cost of bcrypt.")
        .with_default("10"),
    Key::hydra(
        "hashers.pbkdf2.iterations",
        Kind::Integer { min: 1, max: 100_000_000 },
        "The iterations of PBKDF2.",
    )
    .with_default("25000"),
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
        "How long a rotated refresh token is answered with the same pair again, at most 5m; \
         Hydra's default is 0s.",
    )
    .with_default("30s"),
    Key::ignored(
        "grant.refresh_token.rotation_grace_reuse_count",
        Kind::Integer { min: 0, max: i64::MAX },
        "within the grace period the same pair is answered, however often",
    ),
    Key::ignored(
        "refresh_token_rotation.grace_period",
        Kind::Duration,
        "it is called oauth2.grant.refresh_token.rotation_grace_period",
    ),
    Key::hydra("grant.jwt.jti_optional", Kind::Boolean, "Whether an assertion (RFC 7523) may lack `jti`.")
        .with_default("false"),
    Key::hydra("grant.jwt.iat_optional", Kind::Boolean, "Whether an assertion may lack `iat`.")
        .with_default("false"),
    Key::hydra(
        "grant.jwt.max_ttl",
        Kind::Duration,
        "The longest time between `iat` and `exp` of an assertion.",
    )
    .with_default("720h"),
    Key::hydra(
        "grant.jwt.omit_assertion_audience",
        Kind::Boolean,
        "Whether the audience of an assertion stays out of the access token.",
    )
    .with_default("true"),
    Key::hydra(
        "device_authorization.token_polling_interval",
        Kind::Duration,
        "How long a device is told to wait between its questions.",
    )
    .with_default("5s"),
    Key::hydra(
        "device_authorization.user_code.entropy_preset",
        Kind::Choice(names::<device::UserCodePreset>),
        "The length and characters of user codes.",
    )
    .with_default("high"),
    Key::hydra(
        "device_authorization.user_code.length",
        Kind::Integer { min: 6, max: 64 },
        "The length of user codes; needs `character_set`, and replaces the preset.",
    ),
    Key::hydra(
        "device_authorization.user_code.character_set",
        Kind::Text,
        "The characters of user codes, at least 8; needs `length`.",
    ),
    Key::hydra("token_hook", Kind::Hook, "Called before tokens are issued, to change their claims."),
    Key::hydra(
        "refresh_token_hook",
        Kind::Hook,
        "Called before tokens are refreshed, to change their claims.",
    ),
    Key::ignored("session.encrypt_at_rest", Kind::Boolean, "what is at rest is always sealed"),
    Key::ignored("include_legacy_error_fields", Kind::Boolean, "the fields of Hydra 1 are not sent"),
];

/// How the authorization server behaves.
#[derive(Debug, Clone)]
pub(crate) struct OAuth2Settings {
    /// Whether error answers tell clients the cause. Default: no.
    pub(crate) expose_internal_errors: bool,
    pub(crate) claims: AccessTokenClaimsSettings,
    /// For chosen client secrets. Default: PBKDF2 with 25 000 iterations.
    pub(crate) client_secret_hash: ClientSecretHash,
    pub(crate) pkce: PkcePolicy,
    /// Whether client credentials without a scope yield all of the client's. Default: no.
    pub(crate) client_credentials_default_scope: bool,
    /// How long a rotated refresh token yields the same pair again. Default: 30 s; at most 5 min, or 180
    /// days when
    /// Hydra's count of reuses is set.
    pub(crate) refresh_token_grace: Duration,
    pub(crate) jwt_bearer: JwtBearerSettings,
    pub(crate) device: DeviceSettings,
    pub(crate) token_hook: Option<HookSettings>,
    pub(crate) refresh_token_hook: Option<HookSettings>,
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

/// How chosen client secrets are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientSecretHash {
    Pbkdf2 { iterations: u32 },
    Bcrypt { cost: u32 },
}

/// Who must use PKCE (RFC 7636).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PkcePolicy {
    Optional,
    RequiredOfPublicClients,
    Required,
}

/// What an assertion must look like (RFC 7523).
#[derive(Debug, Clone)]
pub(crate) struct JwtBearerSettings {
    /// Default: no.
    pub(crate) jti_optional: bool,
    /// Default: no.
    pub(crate) iat_optional: bool,
    /// From `iat` to `exp`. Default: 30 days.
    pub(crate) max_ttl: Duration,
    /// Whether the assertion's audience stays out of the access token. Default: yes.
    pub(crate) omit_assertion_audience: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum HashAlgorithm {
    #[default]
    Pbkdf2,
    Bcrypt,
}

impl Choice for HashAlgorithm {
    const CHOICES: &'static [(&'static str, Self)] = &[("pbkdf2", Self::Pbkdf2), ("bcrypt", Self::Bcrypt)];
}

pub(super) fn read(reader: &mut Reader<'_>) -> OAuth2Settings {
    OAuth2Settings {
        expose_internal_errors: reader.boolean("oauth2.expose_internal_errors"),
        claims: AccessTokenClaimsSettings {
            allowed_top_level: reader.texts("oauth2.allowed_top_level_claims"),
            mirror_top_level: reader.boolean("oauth2.mirror_top_level_claims"),
            preserve_ext: reader.boolean("oauth2.preserve_ext_claims"),
            exclude_not_before: reader.boolean("oauth2.exclude_not_before_claim"),
        },
        client_secret_hash: read_hash(reader),
        pkce: read_pkce(reader),
        client_credentials_default_scope: reader
            .boolean("oauth2.client_credentials.default_grant_allowed_scope"),
        refresh_token_grace: read_grace(reader),
        jwt_bearer: JwtBearerSettings {
            jti_optional: reader.boolean("oauth2.grant.jwt.jti_optional"),
            iat_optional: reader.boolean("oauth2.grant.jwt.iat_optional"),
            max_ttl: reader.lifetime("oauth2.grant.jwt.max_ttl"),
            omit_assertion_audience: reader.boolean("oauth2.grant.jwt.omit_assertion_audience"),
        },
        device: device::read(reader),
        token_hook: hook::read(reader, "oauth2.token_hook"),
        refresh_token_hook: hook::read(reader, "oauth2.refresh_token_hook"),
    }
}

fn read_hash(reader: &mut Reader<'_>) -> ClientSecretHash {
    let cost = reader.integer("oauth2.hashers.bcrypt.cost").unwrap_or_default();
    let iterations = reader.integer("oauth2.hashers.pbkdf2.iterations").unwrap_or_default();
    match reader.choice("oauth2.hashers.algorithm") {
        HashAlgorithm::Pbkdf2 => ClientSecretHash::Pbkdf2 { iterations },
        HashAlgorithm::Bcrypt => ClientSecretHash::Bcrypt { cost },
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
    let counted =
        reader.has(GRACE_COUNT) && reader.integer::<i64>(GRACE_COUNT).is_some_and(|count| count > 0);
    let longest = if counted { LONGEST_COUNTED_GRACE } else { LONGEST_GRACE };
    if grace > longest {
        reader.warn(GRACE, format!("is shortened to {} minutes, the longest", longest.as_secs() / 60));
    }
    grace.min(longest)
}
