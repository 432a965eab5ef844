//! What the routers hand to handlers.

use std::sync::Arc;

use sluice_identity::administration::IdentityAdministration;
use sluice_oauth::Config;
use sluice_oauth::authorization::{AuthorizationService, PushedRequests};
use sluice_oauth::client::{ClientDirectory, ClientService, DynamicRegistration};
use sluice_oauth::consent::ConsentService;
use sluice_oauth::device::{DeviceAuthorizationService, UserCodeService};
use sluice_oauth::flow::FlowService;
use sluice_oauth::grant_handler::TokenService;
use sluice_oauth::introspection::IntrospectionService;
use sluice_oauth::introspection::for_clients::ClientIntrospection;
use sluice_oauth::keys::{KeyRing, KeyService};
use sluice_oauth::login_session::LoginSessionService;
use sluice_oauth::logout::LogoutService;
use sluice_oauth::revocation::RevocationService;
use sluice_oauth::sender_constraint::SenderConstraint;
use sluice_oauth::trust::TrustService;
use sluice_oauth::userinfo::UserinfoService;
use sluice_primitives::Lifetime;

use crate::admin::client_texts::ClientTexts;
use crate::cookies::CookiePolicy;
use crate::cors::CorsPolicy;
use crate::identity::IdentityState;
use crate::ui::UiState;

/// Whether the process can serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It can.
    Yes {
        /// How old its knowledge of revocations is: told by a process that is a gateway and nothing else.
        feed_age: Option<Lifetime>,
    },
    /// It cannot, and why: by component.
    No(Vec<(&'static str, String)>),
}

/// Says whether the process can serve.
#[async_trait::async_trait]
pub trait Health: Send + Sync {
    /// Whether it can, now.
    async fn ready(&self) -> Ready;
}

/// What public handlers work with.
#[derive(Clone)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct PublicState {
    pub config: Arc<Config>,
    pub authorization: Arc<AuthorizationService>,
    /// Takes pushed requests.
    pub pushed: Arc<PushedRequests>,
    pub tokens: Arc<TokenService>,
    pub devices: Arc<DeviceAuthorizationService>,
    /// None where clients do not register themselves.
    pub registration: Option<Arc<DynamicRegistration>>,
    pub revocation: Arc<RevocationService>,
    pub introspection: Arc<ClientIntrospection>,
    pub constraint: Arc<SenderConstraint>,
    pub userinfo: Arc<UserinfoService>,
    pub logout: Arc<LogoutService>,
    pub keys: Arc<KeyRing>,
    pub clients: Arc<ClientDirectory>,
    pub cookies: Arc<CookiePolicy>,
    pub cors: Option<Arc<CorsPolicy>>,
    pub health: Arc<dyn Health>,
    /// The API of people; none where they are kept elsewhere.
    pub identity: Option<Arc<IdentityState>>,
    /// The built-in pages.
    pub ui: UiState,
    pub version: &'static str,
}

/// What admin handlers work with.
#[derive(Clone)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct AdminState {
    pub flows: Arc<FlowService>,
    pub devices: Arc<UserCodeService>,
    pub logout: Arc<LogoutService>,
    pub consents: Arc<ConsentService>,
    pub sessions: Arc<LoginSessionService>,
    pub introspection: Arc<IntrospectionService>,
    pub clients: Arc<ClientService>,
    /// Their JSON.
    pub client_texts: Arc<ClientTexts>,
    pub keys: Arc<KeyService>,
    pub trust: Arc<TrustService>,
    /// People's records; none where they are kept elsewhere.
    pub identities: Option<Arc<IdentityAdministration>>,
    pub public_keys: Arc<KeyRing>,
    pub cors: Option<Arc<CorsPolicy>>,
    pub health: Arc<dyn Health>,
    /// What a caller must present, if the port is not open: any of these.
    pub bearer: Option<Arc<[sluice_primitives::Secret<String>]>>,
    /// The public names that an open port is reached at; any, if there are none.
    pub hosts: Vec<String>,
    pub version: &'static str,
}
