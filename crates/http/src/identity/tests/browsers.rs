//! The browsers of people, as the authorization server knows them.

use std::sync::Arc;

use sluice_oauth::Config;
use sluice_oauth::client::{AccessTokenStrategy, ClientDirectory};
use sluice_oauth::config::{Issuer, Lifetimes, Look, Pages, PkcePolicy, Policies, ScopeStrategy};
use sluice_oauth::discovery::Announced;
use sluice_oauth::login_session::LoginSessionService;
use sluice_primitives::ManualClock;
use sluice_store_contract::MemoryStore;
use sluice_token::jwt::{BelowExt, HeaderType, ScopeClaim};

pub(super) fn browsers(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>) -> LoginSessionService {
    LoginSessionService {
        config: Arc::new(config("https://id.example.org".parse().unwrap())),
        sessions: store.clone(),
        clients: Arc::new(ClientDirectory::new(store.clone(), 10)),
        revocations: Arc::default(),
        clock: clock.clone(),
    }
}

fn config(issuer: Issuer) -> Config {
    let own = |path: &str| issuer.endpoint(path).parse().unwrap();
    Config {
        pages: Pages {
            service_name: "Sluice".to_owned(),
            look: Look::default(),
            login: own("/ui/login"),
            registration: own("/ui/registration"),
            consent: own("/ui/consent"),
            logout: own("/ui/logout"),
            device_verification: own("/ui/device"),
            device_success: own("/ui/device/success"),
            error: None,
            post_logout_redirect: None,
        },
        lifetimes: Lifetimes::default(),
        access_tokens: AccessTokenStrategy::Opaque,
        scopes: ScopeStrategy::Exact,
        pkce: PkcePolicy::default(),
        top_level_claims: Vec::new(),
        below_ext: BelowExt::Nothing,
        not_before: true,
        scope_claim: ScopeClaim::List,
        jwt_type: HeaderType::default(),
        default_client_scope: false,
        parked_quota: 100,
        announced: Announced::default(),
        policies: Policies::default(),
        issuer,
    }
}
