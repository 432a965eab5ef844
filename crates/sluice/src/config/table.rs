//! Table: every key that is known, put together from the sections.
//!
//! It drives the reading of files, of the environment and of overrides, `config show` and the reference
//! page. A key that
//! is not here is not read.

use std::collections::BTreeMap;

use super::key::{Environment, Key};
use super::{
    clients, cookies, cors, database, device, dpop, gateway, hook, identity, identity_hashing,
    identity_limits, identity_mail, identity_pages, identity_passkeys, jwt_bearer, listener, log,
    metadata_documents, mode, mtls, oauth2, oidc, registration, requests, rotation, secrets, serve,
    strategies, tls, tracing, ttl, urls, webfinger, without_effect,
};

/// The sections in the order of the reference page.
const SECTIONS: &[(&str, &[Key])] = &[
    ("", mode::KEYS),
    ("", database::KEYS),
    ("secrets.", secrets::KEYS),
    ("urls.", urls::KEYS),
    ("serve.", serve::KEYS),
    ("serve.tls.", tls::COMMON_SWITCH),
    ("serve.tls.", tls::KEYS),
    ("serve.public.", listener::KEYS),
    ("serve.public.", listener::REQUEST_LOG),
    ("serve.public.tls.", tls::SWITCH),
    ("serve.public.tls.", tls::KEYS),
    ("serve.public.cors.", cors::KEYS),
    ("serve.admin.", listener::KEYS),
    ("serve.admin.", listener::REQUEST_LOG),
    ("serve.admin.tls.", tls::SWITCH),
    ("serve.admin.tls.", tls::KEYS),
    ("serve.admin.cors.", cors::KEYS),
    ("serve.gateway.", gateway::GATEWAY_LISTENER),
    ("serve.gateway.", listener::KEYS),
    ("serve.gateway.", listener::NO_REQUEST_LOG),
    ("serve.gateway.tls.", tls::OWN_SWITCH),
    ("serve.gateway.tls.", tls::KEYS),
    ("serve.gateway.mtls.", mtls::GATEWAY_KEYS),
    ("serve.decisions.", gateway::DECISION_LISTENER),
    ("serve.decisions.", listener::KEYS),
    ("serve.decisions.", listener::NO_REQUEST_LOG),
    ("serve.decisions.tls.", tls::OWN_SWITCH),
    ("serve.decisions.tls.", tls::KEYS),
    ("serve.decisions.mtls.", mtls::DECISION_KEYS),
    ("serve.link.", gateway::LINK_LISTENER),
    ("serve.link.", listener::KEYS),
    ("serve.link.", listener::REQUEST_LOG),
    ("serve.link.tls.", tls::OWN_SWITCH),
    ("serve.link.tls.", tls::KEYS),
    ("serve.cookies.", cookies::KEYS),
    ("ttl.", ttl::KEYS),
    ("strategies.", strategies::KEYS),
    ("oauth2.", oauth2::KEYS),
    ("oauth2.token_hook", hook::KEYS),
    ("oauth2.refresh_token_hook", hook::KEYS),
    ("oauth2.grant.jwt.", jwt_bearer::KEYS),
    ("oauth2.device_authorization.", device::KEYS),
    ("oauth2.", requests::KEYS),
    ("oauth2.dpop.", dpop::KEYS),
    ("oauth2.mtls.", mtls::KEYS),
    ("oidc.", oidc::KEYS),
    ("oidc.dynamic_client_registration.", registration::KEYS),
    ("oidc.client_id_metadata_documents.", metadata_documents::KEYS),
    ("keys.", rotation::KEYS),
    ("webfinger.", webfinger::KEYS),
    ("identity.", identity::KEYS),
    ("identity.password_hash.", identity_hashing::PASSWORD_HASH_KEYS),
    ("identity.hash_pool.", identity_hashing::HASH_POOL_KEYS),
    ("identity.hardening.", identity_hashing::HARDENING_KEYS),
    ("identity.limits.", identity_limits::KEYS),
    ("identity.passkeys.", identity_passkeys::KEYS),
    ("identity.mail.", identity_mail::KEYS),
    ("identity.pages.", identity_pages::KEYS),
    ("gateway.", gateway::KEYS),
    ("clients.", clients::KEYS),
    ("log.", log::KEYS),
    ("tracing.", tracing::KEYS),
    ("", without_effect::KEYS),
];

/// Every known key by its full path.
#[derive(Debug)]
pub(crate) struct Table {
    ordered: Vec<KnownKey>,
    by_path: BTreeMap<String, &'static Key>,
}

/// A key with its full path.
#[derive(Debug, Clone)]
pub(crate) struct KnownKey {
    pub(crate) path: String,
    pub(crate) key: &'static Key,
}

impl Table {
    pub(crate) fn new() -> Self {
        let ordered: Vec<KnownKey> = SECTIONS
            .iter()
            .flat_map(|(prefix, keys)| keys.iter().map(move |key| (prefix, key)))
            .map(|(prefix, key)| KnownKey { path: format!("{prefix}{}", key.name), key })
            .collect();
        let by_path = ordered.iter().map(|known| (known.path.clone(), known.key)).collect();
        Self { ordered, by_path }
    }

    /// Every key, in the order of the reference page.
    pub(crate) fn keys(&self) -> &[KnownKey] {
        &self.ordered
    }

    pub(crate) fn find(&self, path: &str) -> Option<&'static Key> {
        self.by_path.get(path).copied()
    }

    /// Whether there are known keys below `path`.
    pub(super) fn is_section(&self, path: &str) -> bool {
        let prefix = format!("{path}.");
        self.by_path.range(prefix.clone()..).next().is_some_and(|(key, _)| key.starts_with(&prefix))
    }
}

impl KnownKey {
    /// The environment variable of this key, in Hydra's naming: `serve.public.port` is `SERVE_PUBLIC_PORT`.
    pub(crate) fn variable(&self) -> Option<String> {
        match self.key.environment {
            Environment::Read => Some(self.path.replace('.', "_").to_uppercase()),
            Environment::NotRead => None,
        }
    }
}
