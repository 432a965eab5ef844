//! Settings in the words of the domain.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_http::{CookiePolicy, CorsPolicy, Proxies};
use sluice_net::TrustedProxies;
use sluice_oauth::client::AccessTokenStrategy;
use sluice_oauth::config::{
    Config, Issuer, Lifetimes, Look, Pages, PkcePolicy, ScopeStrategy, remembered_for,
};
use sluice_oauth::discovery::Announced;
use sluice_oauth::keys::RotationPolicy;
use sluice_primitives::Lifetime;
use sluice_token::jwt::{BelowExt, HeaderType, ScopeClaim};
use url::Url;

use super::listeners::certificate_policy;
use super::look::look;
use super::policies;
use super::stores::StartError;
use crate::config::{self, CorsSettings, Settings, WebfingerSettings};

/// How many flows may be parked at once.
const PARKED_QUOTA: u64 = 100_000;

/// What the authorization server of a node is told, which shows pages: their files are read.
pub(crate) fn of_node(settings: &Settings) -> Result<Config, StartError> {
    let mut config = oauth(settings)?;
    config.pages.look = look(&settings.identity)?;
    Ok(config)
}

/// What the authorization server is told.
pub(crate) fn oauth(settings: &Settings) -> Result<Config, StartError> {
    let issuer: Issuer =
        settings.urls.issuer.parse().map_err(|error: sluice_oauth::config::InvalidIssuer| {
            StartError::Setting { key: "urls.self.issuer", reason: error.to_string() }
        })?;
    let issuer = issuer.reached_at(settings.urls.public.clone());
    let claims = &settings.oauth2.claims;
    Ok(Config {
        pages: pages(settings, &issuer)?,
        lifetimes: lifetimes(settings),
        access_tokens: match settings.strategies.access_token {
            config::AccessTokenFormat::Opaque => AccessTokenStrategy::Opaque,
            config::AccessTokenFormat::Jwt => AccessTokenStrategy::Jwt,
        },
        scopes: match settings.strategies.scope {
            config::ScopeStrategy::Exact => ScopeStrategy::Exact,
            config::ScopeStrategy::Wildcard => ScopeStrategy::Wildcard,
        },
        pkce: match settings.oauth2.pkce {
            config::PkcePolicy::Optional => PkcePolicy { for_all: false, for_public: false },
            config::PkcePolicy::RequiredOfPublicClients => PkcePolicy { for_all: false, for_public: true },
            config::PkcePolicy::Required => PkcePolicy { for_all: true, for_public: true },
        },
        top_level_claims: claims.allowed_top_level.clone(),
        below_ext: match (claims.mirror_top_level, claims.preserve_ext) {
            (true, _) => BelowExt::All,
            (false, true) => BelowExt::Rest,
            (false, false) => BelowExt::Nothing,
        },
        not_before: !claims.exclude_not_before,
        scope_claim: match settings.strategies.jwt_scope_claim {
            config::ScopeClaim::List => ScopeClaim::List,
            config::ScopeClaim::String => ScopeClaim::Text,
            config::ScopeClaim::Both => ScopeClaim::Both,
        },
        jwt_type: match settings.strategies.jwt_type {
            config::JwtType::AccessToken => HeaderType::AccessToken,
            config::JwtType::Plain => HeaderType::Plain,
        },
        default_client_scope: settings.oauth2.client_credentials_default_scope,
        parked_quota: PARKED_QUOTA,
        announced: announced(&settings.webfinger),
        policies: policies::policies(settings)?,
        issuer,
    })
}

fn announced(webfinger: &WebfingerSettings) -> Announced {
    Announced {
        authorization_endpoint: webfinger.authorization_url.clone(),
        token_endpoint: webfinger.token_url.clone(),
        userinfo_endpoint: webfinger.userinfo_url.clone(),
        jwks_uri: webfinger.jwks_url.clone(),
        scopes: webfinger.supported_scope.clone(),
        claims: webfinger.supported_claims.clone(),
        authorization_details_types: webfinger.supported_details_types.clone(),
        device_authorization_endpoint: webfinger.device_authorization_url.clone(),
        registration_endpoint: webfinger.client_registration_url.clone(),
    }
}

fn pages(settings: &Settings, issuer: &Issuer) -> Result<Pages, StartError> {
    let own = |path: &str| {
        Url::parse(&issuer.endpoint(path))
            .map_err(|error| StartError::Setting { key: "urls.self.issuer", reason: error.to_string() })
    };
    let or_own = |configured: &Option<Url>, path: &str| configured.clone().map_or_else(|| own(path), Ok);
    let login = or_own(&settings.urls.login, "/ui/login")?;
    let registration = or_own(&settings.urls.registration, "/ui/registration")?;
    // Where nobody may register, the built-in page could say no more than that.
    let is_closed = !settings.identity.registration.enabled && registration == own("/ui/registration")?;
    Ok(Pages {
        service_name: settings.identity.service_name.clone(),
        look: Look::default(),
        registration: if is_closed { login.clone() } else { registration },
        login,
        consent: or_own(&settings.urls.consent, "/ui/consent")?,
        logout: or_own(&settings.urls.logout, "/ui/logout")?,
        device_verification: or_own(&settings.urls.device_verification, "/ui/device")?,
        device_success: or_own(&settings.urls.device_success, "/ui/device/success")?,
        error: settings.urls.error.clone(),
        post_logout_redirect: settings.urls.post_logout_redirect.clone(),
    })
}

fn lifetimes(settings: &Settings) -> Lifetimes {
    let ttl = &settings.ttl;
    // What a sign-out or a revocation has to outlive. The tokens of the identity API are signed out by the same markers.
    let relying = [
        ttl.longest_access_token,
        settings.identity.session.access_token,
        ttl.device_user_code,
        // The code of a flow comes after it, and its grant's own revocation is looked for when it is redeemed.
        ttl.login_consent_request + ttl.auth_code,
    ];
    Lifetimes {
        flow: ttl.login_consent_request.into(),
        code: ttl.auth_code.into(),
        access_token: ttl.access_token.into(),
        id_token: ttl.id_token.into(),
        refresh_token: ttl.refresh_token.lifetime(),
        session: ttl.authentication_session.into(),
        session_idle: Lifetimes::default().session_idle,
        refresh_window: settings.oauth2.refresh_token_grace.into(),
        longest_access_token: ttl.longest_access_token.into(),
        revocation: remembered_for(&relying.map(Lifetime::from)),
    }
}

/// Who is believed about clients: where they are, and which certificate they showed.
pub(crate) fn proxies(settings: &Settings) -> Proxies {
    Proxies {
        addresses: TrustedProxies::new(settings.serve.trusted_proxies.clone()),
        certificates: certificate_policy(settings.oauth2.mtls.proxy.as_ref()),
    }
}

/// How cookies are set, and what seals that of the session.
pub(crate) fn cookies(settings: &Settings, over_tls: bool, sealer: &Arc<Sealer>) -> CookiePolicy {
    let cookies = &settings.serve.cookies;
    let same_site = match cookies.same_site {
        config::SameSite::Strict => sluice_http::SameSite::Strict,
        config::SameSite::Lax => sluice_http::SameSite::Lax,
        config::SameSite::None => sluice_http::SameSite::None,
    };
    CookiePolicy {
        secure: over_tls || cookies.secure,
        same_site,
        session_name: cookies.session_name.clone(),
        domain: cookies.domain.clone(),
        session_path: cookies.session_path.clone(),
        sealer: Arc::clone(sealer),
    }
}

/// Who may read answers across origins.
pub(crate) fn cors(settings: &CorsSettings) -> CorsPolicy {
    CorsPolicy {
        allowed_origins: settings.allowed_origins.clone(),
        allowed_methods: settings.allowed_methods.iter().map(|method| method.as_str().to_owned()).collect(),
        allowed_headers: settings.allowed_headers.clone(),
        exposed_headers: settings.exposed_headers.clone(),
        allow_credentials: settings.allow_credentials,
        max_age: settings.max_age,
    }
}

/// The subject types that clients may choose, the default first.
pub(crate) fn subject_types(settings: &Settings) -> Vec<String> {
    let subjects = &settings.oidc.subjects;
    let others = subjects.supported.iter().filter(|other| **other != subjects.default);
    std::iter::once(&subjects.default).chain(others).copied().map(subject_type).collect()
}

/// The same in the order of configuration.
pub(crate) fn listed_subject_types(settings: &Settings) -> Vec<String> {
    settings.oidc.subjects.supported.iter().copied().map(subject_type).collect()
}

fn subject_type(one: config::SubjectType) -> String {
    match one {
        config::SubjectType::Public => "public".to_owned(),
        config::SubjectType::Pairwise => "pairwise".to_owned(),
    }
}

/// When signing keys are made and deleted.
pub(crate) fn key_rotation(settings: &Settings) -> Result<RotationPolicy, StartError> {
    let rotation = &settings.key_rotation;
    let policy = RotationPolicy {
        every: rotation.every.map(Lifetime::from),
        announce_for: rotation.announce_for.into(),
        retire_after: rotation.retire_after.into(),
    };
    policy
        .check()
        .map_err(|error| StartError::Setting { key: "keys.rotation", reason: error.to_string() })?;
    Ok(policy)
}
