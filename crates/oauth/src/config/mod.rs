//! What the authorization server is told. If a [`Config`] exists, it is right.

mod addresses;
#[cfg(test)]
pub(crate) mod fake;
pub mod language;
mod look;
mod policy;

use sluice_primitives::Lifetime;
use sluice_protocol::Scope;
use sluice_token::jwt::{BelowExt, HeaderType, ScopeClaim};
use thiserror::Error;
use url::Url;

pub use language::{Language, Languages, PageLanguage};
pub use look::{Look, PageFile, PageLink};
pub use policy::{
    AssertionPolicy, DevicePolicy, DpopPolicy, DynamicRegistrationPolicy, EmailClaim, LogoutTokenType,
    LongRequestPolicy, MetadataDocumentPolicy, MtlsPolicy, Policies, PreferredUsername, PushedRequestPolicy,
    RequestObjectPolicy, SoftwareStatements, StatementKeys, SubjectPolicy,
};

use crate::client::AccessTokenStrategy;
use crate::discovery::Announced;

/// The issuer identifier, kept exactly as configured because clients compare it as a string (RFC 8414 §2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    /// The path within the text.
    own_path: String,
    /// Where this server is reached.
    base: Url,
}

/// The text is no issuer identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an issuer is an http or https URL without query, fragment and spaces")]
pub struct InvalidIssuer;

impl Issuer {
    /// The issuer as text, exactly as configured.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The same issuer, whose endpoints are reached below another URL (Hydra's `urls.self.public`).
    #[must_use]
    pub fn reached_at(self, base: Url) -> Self {
        Self { base, ..self }
    }

    /// The path within the identifier, without a slash at its end; empty if there is none (RFC 8414 §3.1).
    pub fn own_path(&self) -> &str {
        &self.own_path
    }

    /// The URL of a path of this server, such as `/oauth2/auth`, below the path that it is reached at.
    pub fn endpoint(&self, path: &str) -> String {
        [self.base.as_str().trim_end_matches('/'), path].concat()
    }

    /// The path that this server is reached at, without a slash at its end; empty if there is none.
    pub fn path(&self) -> &str {
        self.base.path().trim_end_matches('/')
    }

    /// Whether this server is reached over TLS.
    pub fn is_https(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Where this server is reached.
    pub const fn url(&self) -> &Url {
        &self.base
    }
}

impl std::str::FromStr for Issuer {
    type Err = InvalidIssuer;
    fn from_str(raw: &str) -> Result<Self, InvalidIssuer> {
        let base = Url::parse(raw).map_err(|_| InvalidIssuer)?;
        // Parsing looks past spaces and line ends, which clients that compare the text do not.
        let is_exact = !raw.contains(|c: char| c.is_whitespace() || c.is_control());
        let plain = is_exact && base.query().is_none() && base.fragment().is_none() && base.has_host();
        if !plain || !matches!(base.scheme(), "http" | "https") {
            return Err(InvalidIssuer);
        }
        let own_path = base.path().trim_end_matches('/').to_owned();
        Ok(Self { text: raw.to_owned(), own_path, base })
    }
}

/// The pages that people see. Those of this server stand in where none are configured.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the fields are Hydra's `urls.*` keys")]
pub struct Pages {
    /// What built-in pages call this service. Default: `Sluice`.
    pub service_name: String,
    /// What operators put around built-in pages. Default: nothing.
    pub look: Look,
    pub login: Url,
    pub registration: Url,
    pub consent: Url,
    pub logout: Url,
    /// Where a user types the code of a device.
    pub device_verification: Url,
    /// Where a user goes who has decided about a device.
    pub device_success: Url,
    pub error: Option<Url>,
    pub post_logout_redirect: Option<Url>,
}

/// How long things live.
#[derive(Debug, Clone, Copy)]
pub struct Lifetimes {
    /// From the authorization request to the consent verifier; default 30 min.
    pub flow: Lifetime,
    /// Of an authorization code; default 60 s (RFC 6749 §4.1.2 allows ten minutes at most).
    pub code: Lifetime,
    /// Of an access token; default 1 h.
    pub access_token: Lifetime,
    /// Of an id token; default 1 h.
    pub id_token: Lifetime,
    /// Of a refresh token since its last rotation; default 30 days, may be without end.
    pub refresh_token: Lifetime,
    /// Of a remembered login session that names no `remember_for`; without end unless configured.
    pub session: Lifetime,
    /// How long a remembered login session lives without being used; default 30 days.
    pub session_idle: Lifetime,
    /// How long after a rotation its predecessor is answered with the same pair; default 30 s.
    pub refresh_window: Lifetime,
    /// The longest life of an access token, whatever a client's lifespans say; 744 h by default and at most.
    pub longest_access_token: Lifetime,
    /// How long a revocation is remembered: see [`remembered_for`].
    pub revocation: Lifetime,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            flow: Lifetime::minutes(30),
            code: Lifetime::secs(60),
            access_token: Lifetime::hours(1),
            id_token: Lifetime::hours(1),
            refresh_token: Lifetime::hours(720),
            session: Lifetime::FOREVER,
            session_idle: Lifetime::hours(720),
            refresh_window: Lifetime::secs(30),
            longest_access_token: LONGEST_ACCESS_TOKEN,
            revocation: remembered_for(&[LONGEST_ACCESS_TOKEN]),
        }
    }
}

/// How long a revocation is remembered, if what relies on that lives for so long at most: access tokens, and flows under way, whose
/// users may sign out meanwhile. Longer, by as much as clocks may differ.
#[must_use]
pub fn remembered_for(lives: &[Lifetime]) -> Lifetime {
    let longest = lives.iter().copied().max().unwrap_or_default();
    longest.as_duration().saturating_add(CLOCK_SKEW.as_duration()).into()
}

/// How long a session is kept for those who hold tokens of it and want to hear of a logout, if refresh tokens live for so long: for an eighth
/// longer, or a day and that. Within each eighth it is kept for longer by whoever refreshes: [`kept_again_after`].
#[must_use]
pub fn tokens_of_session(refresh_token: Lifetime) -> Lifetime {
    let longest = refresh_token.max(Lifetime::hours(24));
    longest.as_duration().saturating_add(kept_again_after(refresh_token).as_duration()).into()
}

/// How often, at most, a refresh keeps its session for longer.
#[must_use]
pub fn kept_again_after(refresh_token: Lifetime) -> Lifetime {
    (refresh_token.max(Lifetime::hours(24)).as_duration() / 8).into()
}

/// Who must use PKCE beyond public clients of this server's own judgement.
#[derive(Debug, Clone, Copy, Default)]
pub struct PkcePolicy {
    /// Every client.
    pub for_all: bool,
    /// Public clients.
    pub for_public: bool,
}

/// How requested scopes are held against those of the client, and those that an introspection requires against the granted
/// ones (Hydra's `strategies.scope`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScopeStrategy {
    /// The same text.
    #[default]
    Exact,
    /// `foo.*` allows `foo.bar`; `*` allows everything.
    Wildcard,
}

impl ScopeStrategy {
    /// Whether a client that may ask for `allowed` may ask for `asked`. The two names of being away stand for each other: discovery
    /// announces both, and many clients ask for all that it announces.
    pub fn allows(self, allowed: &Scope, asked: &str) -> bool {
        let is_offline = Scope::OFFLINE.contains(&asked);
        self.has(allowed, asked) || is_offline && Scope::OFFLINE.iter().any(|name| self.has(allowed, name))
    }

    /// Whether what was granted has all that is required, each by its own name.
    pub fn covers(self, granted: &Scope, required: &Scope) -> bool {
        required.iter().all(|value| self.has(granted, value))
    }

    fn has(self, patterns: &Scope, value: &str) -> bool {
        match self {
            Self::Exact => patterns.contains(value),
            Self::Wildcard => patterns.iter().any(|pattern| wildcard(pattern, value)),
        }
    }
}

fn wildcard(pattern: &str, asked: &str) -> bool {
    let (mut patterns, mut parts) = (pattern.split('.'), asked.split('.'));
    let mut last_was_star = false;
    loop {
        match (patterns.next(), parts.next()) {
            (Some("*"), Some(part)) if !part.is_empty() => last_was_star = true,
            (Some(own), Some(part)) if own == part => last_was_star = false,
            (None, None) => return true,
            (None, Some(part)) => {
                return last_was_star && !part.is_empty() && parts.all(|part| !part.is_empty());
            }
            _ => return false,
        }
    }
}

/// No access token lives longer, whatever is configured.
pub const LONGEST_ACCESS_TOKEN: Lifetime = Lifetime::hours(31 * 24);

/// By so much the clocks of nodes and gateways may differ: what has ended here may hold there yet.
pub(crate) const CLOCK_SKEW: Lifetime = Lifetime::minutes(5);

/// What the authorization server is told.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who signs.
    pub issuer: Issuer,
    /// Where people are sent.
    pub pages: Pages,
    /// How long things live.
    pub lifetimes: Lifetimes,
    /// Kind of access token for clients that name none.
    pub access_tokens: AccessTokenStrategy,
    /// How scopes are compared.
    pub scopes: ScopeStrategy,
    /// Who must use PKCE.
    pub pkce: PkcePolicy,
    /// Consent claims that stand at the top level of a JWT access token.
    pub top_level_claims: Vec<String>,
    /// Which consent claims stand below `ext` of such a token.
    pub below_ext: BelowExt,
    /// Whether access tokens say since when they hold (`nbf`).
    pub not_before: bool,
    /// How a JWT tells the scope.
    pub scope_claim: ScopeClaim,
    /// What a JWT access token calls itself.
    pub jwt_type: HeaderType,
    /// Whether client-credentials requests without a scope get all of the client's.
    pub default_client_scope: bool,
    /// How many flows may be parked at once.
    pub parked_quota: u64,
    /// What discovery is told to say.
    pub announced: Announced,
    /// What the extensions are told.
    pub policies: Policies,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_keeps_its_text_and_its_path() {
        let issuer: Issuer = "https://id.example/tenant/".parse().unwrap();
        assert_eq!(issuer.as_str(), "https://id.example/tenant/");
        assert_eq!(issuer.endpoint("/oauth2/auth"), "https://id.example/tenant/oauth2/auth");
        assert_eq!(issuer.path(), "/tenant");
        let behind = issuer.reached_at(Url::parse("https://edge.example/").unwrap());
        assert_eq!(behind.as_str(), "https://id.example/tenant/");
        assert_eq!(behind.endpoint("/oauth2/auth"), "https://edge.example/oauth2/auth");
        assert_eq!((behind.own_path(), behind.path()), ("/tenant", ""));
        assert!("https://id.example/?a=b".parse::<Issuer>().is_err());
        assert!("ftp://id.example/".parse::<Issuer>().is_err());
        for unseen in
            [" https://id.example", "https://id.example/\n", "https://id.\texample", "https://id.example/a b"]
        {
            assert!(unseen.parse::<Issuer>().is_err(), "{unseen:?}");
        }
    }

    #[test]
    fn a_revocation_is_remembered_for_longer_than_anything_lives_that_relies_on_it() {
        let lives = [Lifetime::hours(1), Lifetime::hours(3), Lifetime::minutes(30)];
        assert_eq!(remembered_for(&lives), Lifetime::minutes(185));
        assert!(remembered_for(&[Lifetime::FOREVER]).is_forever());
        assert!(Lifetimes::default().revocation > Lifetimes::default().longest_access_token);
    }

    #[test]
    fn a_wildcard_scope_covers_what_is_below_it() {
        let allowed: Scope = "photos.* openid".parse().unwrap();
        assert!(ScopeStrategy::Wildcard.allows(&allowed, "photos.read"));
        assert!(ScopeStrategy::Wildcard.allows(&allowed, "photos.read.all"));
        assert!(!ScopeStrategy::Wildcard.allows(&allowed, "photos"));
        assert!(!ScopeStrategy::Exact.allows(&allowed, "photos.read"));
        let asked = |text: &str| text.parse::<Scope>().unwrap();
        assert!(ScopeStrategy::Wildcard.covers(&allowed, &asked("openid photos.read")));
        assert!(!ScopeStrategy::Wildcard.covers(&allowed, &asked("photos.read email")));
        assert!(!ScopeStrategy::Exact.covers(&allowed, &asked("openid photos.read")));
    }

    #[test]
    fn a_client_that_has_one_name_of_being_away_may_ask_by_the_other() {
        use ScopeStrategy::{Exact, Wildcard};
        for (strategy, own, is_allowed) in [
            (Exact, "openid offline_access", true),
            (Exact, "openid offline", true),
            (Wildcard, "openid offline_access", true),
            (Wildcard, "openid offline", true),
            (Wildcard, "*", true),
            (Exact, "*", false),
            (Exact, "openid", false),
            (Wildcard, "openid offline.*", false),
        ] {
            let own: Scope = own.parse().unwrap();
            for asked in Scope::OFFLINE {
                assert_eq!(strategy.allows(&own, asked), is_allowed, "{strategy:?} {own} {asked}");
            }
        }
    }

    #[test]
    fn what_was_granted_has_the_name_that_it_was_granted_by() {
        let of = |text: &str| text.parse::<Scope>().unwrap();
        for strategy in [ScopeStrategy::Exact, ScopeStrategy::Wildcard] {
            assert!(strategy.covers(&of("openid offline"), &of("offline")));
            assert!(!strategy.covers(&of("openid offline"), &of("offline_access")));
        }
    }
}
