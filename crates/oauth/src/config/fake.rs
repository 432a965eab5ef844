//! A configuration for tests: people log in at a page of others.

use sluice_token::jwt::{BelowExt, HeaderType, ScopeClaim};
use url::Url;

use super::{Config, Lifetimes, Look, Pages, PkcePolicy, Policies, ScopeStrategy};
use crate::client::AccessTokenStrategy;
use crate::discovery::Announced;

pub(crate) fn config() -> Config {
    let page = || Url::parse("https://op.example/page").unwrap();
    Config {
        issuer: "https://op.example/".parse().unwrap(),
        pages: Pages {
            service_name: "Sluice".to_owned(),
            look: Look::default(),
            login: page(),
            registration: page(),
            consent: page(),
            logout: page(),
            device_verification: page(),
            device_success: page(),
            error: None,
            post_logout_redirect: None,
        },
        lifetimes: Lifetimes::default(),
        access_tokens: AccessTokenStrategy::Opaque,
        scopes: ScopeStrategy::default(),
        pkce: PkcePolicy::default(),
        top_level_claims: Vec::new(),
        below_ext: BelowExt::default(),
        not_before: false,
        scope_claim: ScopeClaim::default(),
        jwt_type: HeaderType::default(),
        default_client_scope: false,
        parked_quota: 1,
        announced: Announced::default(),
        policies: Policies::default(),
    }
}
