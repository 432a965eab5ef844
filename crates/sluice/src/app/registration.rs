//! Which clients there are besides those that an administrator registers.

use std::sync::Arc;

use sluice_crypto::secret_hash::FastHashKeys;
use sluice_net::Fetcher;
use sluice_oauth::Config;
use sluice_oauth::client::{
    ClientService, DynamicRegistration, DynamicRegistrationParts, MetadataDocumentParts, MetadataDocuments,
    RegistrationRules, Statements,
};
use sluice_oauth::config::ScopeStrategy;
use sluice_oauth::discovery::{self, consent_page_scopes};
use sluice_oauth::keys::KeyRing;
use sluice_primitives::Clock;
use tracing::warn;

use super::oauth_config;
use super::stores::StartError;
use crate::config::Settings;

/// What clients may register in an installation with these settings.
pub(crate) fn registration_rules(settings: &Settings) -> Result<RegistrationRules, StartError> {
    Ok(rules(settings, &oauth_config::oauth(settings)?))
}

/// What clients may register here.
pub(super) fn rules(settings: &Settings, config: &Config) -> RegistrationRules {
    let endpoint = config.issuer.endpoint("/oauth2/register").parse().ok();
    let standard = RegistrationRules::default();
    let (default_scope, self_registered_scope) = match settings.oidc.default_client_scope.as_slice() {
        // What discovery announces is among it: OpenID Connect clients name no scope when they register.
        [] => {
            let announced =
                [&[standard.default_scope.as_str()], consent_page_scopes(config)].concat().join(" ");
            (standard.default_scope, announced)
        }
        configured => (configured.join(" "), configured.join(" ")),
    };
    RegistrationRules {
        default_scope,
        self_registered_scope,
        self_registered_audience: settings.oidc.self_registered_audience.clone(),
        subject_types: oauth_config::subject_types(settings),
        registration_endpoint: endpoint.filter(|_| config.policies.dynamic_registration.enabled),
        origins_count: settings.serve.public.cors.is_some(),
    }
}

/// Warns of scopes that are announced to everybody and that clients nobody looked at may not ask for: many ask for all of them, and
/// each of their requests is refused.
pub(super) fn tell_of_scopes_beyond(config: &Config, rules: &RegistrationRules) {
    let registration = &config.policies.dynamic_registration;
    let is_open = registration.enabled && registration.initial_access_token.is_none();
    if !is_open && !config.policies.metadata_documents.enabled {
        return;
    }
    let announced = discovery::scopes(config);
    let beyond = scopes_beyond(&announced, rules, config.scopes);
    if !beyond.is_empty() {
        warn!(
            scope.missing = beyond.join(" "),
            "clients that register themselves or that a document describes may not ask for all that discovery announces as \
             scopes_supported: oidc.dynamic_client_registration.default_scope does not have it"
        );
    }
}

/// Those of these scopes for which such clients may not ask.
fn scopes_beyond<'a>(
    announced: &'a [String],
    rules: &RegistrationRules,
    strategy: ScopeStrategy,
) -> Vec<&'a str> {
    let beyond = announced.iter().filter(|scope| !rules.permits_anybody_scope(scope, strategy));
    beyond.map(String::as_str).collect()
}

/// Clients that documents describe, if that is configured. Nothing is stored of them: one that names no subject type has whichever
/// stands first, so that it goes on to know its users by the names that it was told.
pub(super) fn documents(
    (settings, config, rules): (&Settings, &Config, &RegistrationRules),
    fetcher: &Arc<Fetcher>,
    ring: &Arc<KeyRing>,
    clock: &Arc<dyn Clock>,
) -> Option<Arc<MetadataDocuments>> {
    let policy = config.policies.metadata_documents.clone();
    let parts = MetadataDocumentParts {
        rules: RegistrationRules {
            subject_types: oauth_config::listed_subject_types(settings),
            ..rules.clone()
        },
        default_scope: rules.self_registered_scope.clone(),
        default_audience: rules.self_registered_audience.clone(),
        source: Arc::clone(fetcher) as _,
        sectors: Arc::clone(fetcher) as _,
        keys: Arc::clone(ring) as _,
        read: sluice_http::read_client,
        clock: Arc::clone(clock),
        policy,
    };
    parts.policy.enabled.then(|| Arc::new(MetadataDocuments::new(parts)))
}

/// Clients that register themselves, if that is configured.
pub(super) fn dynamic(
    (config, rules): (&Config, &RegistrationRules),
    clients: &Arc<ClientService>,
    hash_keys: &FastHashKeys,
    fetcher: &Arc<Fetcher>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<DynamicRegistration>>, StartError> {
    let policy = &config.policies.dynamic_registration;
    if !policy.enabled {
        return Ok(None);
    }
    let source = Arc::clone(fetcher) as _;
    let mut names = config.addresses("/oauth2/register");
    names.push(config.issuer.as_str().to_owned());
    let statements = Statements::new(&policy.software_statements, source, names).map_err(|error| {
        let key = "oidc.dynamic_client_registration.software_statement_jwks";
        StartError::Setting { key, reason: error.to_string() }
    })?;
    Ok(Some(Arc::new(DynamicRegistration::new(DynamicRegistrationParts {
        policy: policy.clone(),
        default_scope: rules.self_registered_scope.clone(),
        default_audience: rules.self_registered_audience.clone(),
        unsigned_requests: config.policies.request_objects.allow_unsigned,
        id_token_alg: config.policies.id_token_alg,
        pairwise_by_default: rules.is_pairwise_by_default(),
        statements,
        clients: Arc::clone(clients),
        hash_keys: hash_keys.clone(),
        read: sluice_http::read_client,
        clock: Arc::clone(clock),
    }))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_that_are_announced_and_that_registered_clients_cannot_ask_for_are_told_of() {
        let announced = ["openid", "offline_access", "offline", "email", "groups"].map(str::to_owned);
        for (strategy, default, expected) in [
            (ScopeStrategy::Exact, "openid offline_access email groups", &[][..]),
            (ScopeStrategy::Exact, "openid offline email", &["groups"][..]),
            (ScopeStrategy::Exact, "openid", &["offline_access", "offline", "email", "groups"]),
            (ScopeStrategy::Wildcard, "*", &[]),
            (ScopeStrategy::Exact, "*", &["openid", "offline_access", "offline", "email", "groups"]),
        ] {
            let self_registered_scope = default.to_owned();
            let rules = RegistrationRules { self_registered_scope, ..RegistrationRules::default() };
            assert_eq!(scopes_beyond(&announced, &rules, strategy), expected, "{strategy:?} {default}");
        }
    }
}
