//! `strategies`: what tokens look like and how scopes are compared.

use super::key::{Choice, Key, Kind, names};
use super::oidc::TokenAlgorithm;
use super::reader::Reader;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "scope",
        Kind::Choice(names::<ScopeStrategy>),
        "How a requested scope is held against the client's, and one that an introspection requires against the granted one.",
    )
    .with_default("wildcard"),
    Key::hydra("access_token", Kind::Choice(names::<AccessTokenFormat>), "The form of access tokens.")
        .with_default("opaque"),
    Key::hydra(
        "jwt.scope_claim",
        Kind::Choice(names::<ScopeClaim>),
        "How a JWT access token carries its scope: in `scope`, a text (RFC 9068), in `scp`, a list, as Hydra's do by \
         default, or in both.",
    )
    .with_default("both"),
    Key::own(
        "jwt.typ",
        Kind::Choice(names::<JwtType>),
        "What a JWT access token calls itself in its header: `at+jwt` (RFC 9068), or `JWT` as Hydra's do, for resource \
         servers that take no other; those that hold tokens to RFC 9068 refuse it, so a client may have its own \
         (`access_token_jwt_typ`). Not before all nodes and gateways take both, as those of this version do.",
    )
    .with_default("at+jwt"),
    Key::own(
        "jwt.access_token_signing_alg",
        Kind::Choice(names::<TokenAlgorithm>),
        "What signs the JWT access tokens of clients that registered no algorithm; those of FAPI clients are signed like \
         their id tokens.",
    )
    .with_default("RS256"),
    Key::own(
        "logout_token.typ",
        Kind::Choice(names::<LogoutTokenType>),
        "What a logout token calls itself in its header: `logout+jwt` (OpenID Connect Back-Channel Logout), or `JWT` as \
         Hydra's do, for applications that take no other, such as those with Spring Security before 6.4 or pac4j 6.1; not \
         before all nodes know this key.",
    )
    .with_default("logout+jwt"),
];

/// What tokens look like and how scopes are compared.
#[derive(Debug, Clone)]
pub(crate) struct StrategySettings {
    /// Default: wildcard.
    pub(crate) scope: ScopeStrategy,
    /// Default: opaque. A client may have its own.
    pub(crate) access_token: AccessTokenFormat,
    /// Default: both.
    pub(crate) jwt_scope_claim: ScopeClaim,
    /// Default: `at+jwt`.
    pub(crate) jwt_type: JwtType,
    /// Default: RS256.
    pub(crate) access_token_algorithm: TokenAlgorithm,
    /// Default: `logout+jwt`.
    pub(crate) logout_token_type: LogoutTokenType,
}

/// How a requested scope is held against those of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ScopeStrategy {
    /// Only the same text matches.
    Exact,
    /// `photos.*` of the client matches `photos.read`.
    #[default]
    Wildcard,
}

/// The form of access tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AccessTokenFormat {
    #[default]
    Opaque,
    /// RFC 9068.
    Jwt,
}

/// How a JWT access token carries its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ScopeClaim {
    /// `scp`, a list.
    List,
    /// `scope`, a text (RFC 9068 §2.2.3).
    String,
    /// What Hydra's resource servers read, and those of RFC 9068.
    #[default]
    Both,
}

/// What a JWT access token calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum JwtType {
    /// RFC 9068 §2.1.
    #[default]
    AccessToken,
    /// As an id token does.
    Plain,
}

/// What a logout token calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LogoutTokenType {
    /// OpenID Connect Back-Channel Logout §2.4.
    #[default]
    Logout,
    /// As an id token does.
    Plain,
}

impl Choice for ScopeStrategy {
    const CHOICES: &'static [(&'static str, Self)] = &[("exact", Self::Exact), ("wildcard", Self::Wildcard)];
}

impl Choice for AccessTokenFormat {
    const CHOICES: &'static [(&'static str, Self)] = &[("opaque", Self::Opaque), ("jwt", Self::Jwt)];
}

impl Choice for ScopeClaim {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("list", Self::List), ("string", Self::String), ("both", Self::Both)];
}

impl Choice for JwtType {
    const CHOICES: &'static [(&'static str, Self)] = &[("at+jwt", Self::AccessToken), ("JWT", Self::Plain)];
}

impl Choice for LogoutTokenType {
    const CHOICES: &'static [(&'static str, Self)] = &[("logout+jwt", Self::Logout), ("JWT", Self::Plain)];
}

pub(super) fn read(reader: &mut Reader<'_>) -> StrategySettings {
    StrategySettings {
        scope: reader.choice("strategies.scope"),
        access_token: reader.choice("strategies.access_token"),
        jwt_scope_claim: reader.choice("strategies.jwt.scope_claim"),
        jwt_type: reader.choice("strategies.jwt.typ"),
        access_token_algorithm: reader.choice("strategies.jwt.access_token_signing_alg"),
        logout_token_type: reader.choice("strategies.logout_token.typ"),
    }
}
