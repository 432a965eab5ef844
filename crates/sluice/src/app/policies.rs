//! What the extensions of OAuth are told, from settings. Files that settings name are read here, once.

use std::path::Path;

use sluice_crypto::jwk::SigningAlgorithm;
use sluice_oauth::config::{
    AssertionPolicy, DevicePolicy, DpopPolicy, DynamicRegistrationPolicy, EmailClaim, LogoutTokenType,
    LongRequestPolicy, MetadataDocumentPolicy, MtlsPolicy, Policies, PreferredUsername, PushedRequestPolicy,
    RequestObjectPolicy, SoftwareStatements, StatementKeys, SubjectPolicy,
};
use sluice_primitives::Secret;

use super::oauth_config::subject_types;
use super::stores::StartError;
use crate::config::{self, KeySetSource, RegistrationSettings, SecretString, Settings, TokenAlgorithm};

/// The policies of these settings.
///
/// # Errors
/// [`StartError::Setting`] if a file that they name cannot be read.
pub(crate) fn policies(settings: &Settings) -> Result<Policies, StartError> {
    let (oauth2, oidc) = (&settings.oauth2, &settings.oidc);
    Ok(Policies {
        device: DevicePolicy {
            lifetime: settings.ttl.device_user_code.into(),
            interval: oauth2.device.polling_interval.into(),
            user_code_length: oauth2.device.user_code.length,
            user_code_characters: oauth2.device.user_code.characters.clone(),
        },
        assertions: AssertionPolicy {
            jti_optional: oauth2.jwt_bearer.jti_optional,
            iat_optional: oauth2.jwt_bearer.iat_optional,
            longest: oauth2.jwt_bearer.max_ttl.into(),
            omit_audience: oauth2.jwt_bearer.omit_assertion_audience,
        },
        pushed_requests: PushedRequestPolicy {
            lifetime: oauth2.requests.pushed.lifespan.into(),
            required: oauth2.requests.pushed.required,
        },
        long_requests: LongRequestPolicy {
            per_network: oauth2.requests.long_per_network,
            exempt: settings.identity.limits.exempt.clone(),
        },
        request_objects: RequestObjectPolicy {
            require_signed: oauth2.requests.objects.require_signed,
            allow_unsigned: oauth2.requests.objects.allow_unsigned,
            by_reference: oauth2.requests.fetch_request_uris,
        },
        dpop: DpopPolicy {
            nonce_required: oauth2.dpop.nonce_required,
            nonce_lifetime: oauth2.dpop.nonce_lifetime.into(),
            proof_lifetime: oauth2.dpop.proof_lifetime.into(),
        },
        mtls: mtls(settings)?,
        subjects: SubjectPolicy {
            types: subject_types(settings),
            pairwise_salt: oidc.subjects.pairwise_salt.as_ref().map(secret),
        },
        dynamic_registration: match &oidc.registration {
            Some(registration) => DynamicRegistrationPolicy {
                plain_http_keys: !settings.outbound.disallow_private_ip_ranges,
                ..registration_policy(registration)?
            },
            None => DynamicRegistrationPolicy::default(),
        },
        metadata_documents: match &oidc.metadata_documents {
            Some(documents) => {
                MetadataDocumentPolicy { enabled: true, allowed_hosts: documents.allowed_hosts.clone() }
            }
            None => MetadataDocumentPolicy::default(),
        },
        id_token_alg: algorithm(oidc.default_id_token_algorithm),
        access_token_alg: algorithm(settings.strategies.access_token_algorithm),
        logout_token_type: match settings.strategies.logout_token_type {
            config::LogoutTokenType::Logout => LogoutTokenType::Logout,
            config::LogoutTokenType::Plain => LogoutTokenType::Plain,
        },
        preferred_username: preferred_username(settings.identity.preferred_username),
        email_claim: email_claim(settings.identity.email_claim),
    })
}

const fn preferred_username(configured: config::PreferredUsername) -> PreferredUsername {
    match configured {
        config::PreferredUsername::Username => PreferredUsername::Username,
        config::PreferredUsername::Email => PreferredUsername::Email,
        config::PreferredUsername::Nothing => PreferredUsername::Nothing,
    }
}

const fn email_claim(configured: config::EmailClaim) -> EmailClaim {
    match configured {
        config::EmailClaim::Always => EmailClaim::Always,
        config::EmailClaim::Verified => EmailClaim::Verified,
    }
}

const fn algorithm(configured: TokenAlgorithm) -> SigningAlgorithm {
    match configured {
        TokenAlgorithm::Rs256 => SigningAlgorithm::RS256,
        TokenAlgorithm::Es256 => SigningAlgorithm::ES256,
        TokenAlgorithm::Ps256 => SigningAlgorithm::PS256,
        TokenAlgorithm::EdDsa => SigningAlgorithm::EdDSA,
    }
}

fn mtls(settings: &Settings) -> Result<MtlsPolicy, StartError> {
    let mtls = &settings.oauth2.mtls;
    Ok(MtlsPolicy {
        enabled: mtls.listener_asks || mtls.proxy.is_some(),
        aliases: mtls.endpoint_aliases_url.clone(),
        proxy_verifies: mtls.proxy.is_some() && mtls.proxy_verifies,
        trust_anchors: mtls
            .trust_anchors
            .as_deref()
            .map(|path| read("oauth2.mtls.trust_anchors", path))
            .transpose()?,
    })
}

fn registration_policy(registration: &RegistrationSettings) -> Result<DynamicRegistrationPolicy, StartError> {
    const KEYS: &str = "oidc.dynamic_client_registration.software_statement_jwks";
    let software_statements = match (registration.software_statements, &registration.software_statement_jwks)
    {
        (config::SoftwareStatements::Ignore, _) => SoftwareStatements::Ignore,
        (config::SoftwareStatements::Verify, Some(source)) => SoftwareStatements::Verify {
            keys: match source {
                KeySetSource::File(path) => StatementKeys::Set(read(KEYS, path)?),
                KeySetSource::Url(url) => StatementKeys::At(url.clone()),
            },
            issuers: registration.software_statement_issuers.clone(),
        },
        // Configuration does not let the keys be missing: without them nothing could be verified.
        (config::SoftwareStatements::Refuse | config::SoftwareStatements::Verify, _) => {
            SoftwareStatements::Refuse
        }
    };
    Ok(DynamicRegistrationPolicy {
        enabled: true,
        initial_access_token: registration.initial_access_token.as_ref().map(secret),
        software_statements,
        ..DynamicRegistrationPolicy::default()
    })
}

fn secret(text: &SecretString) -> Secret<String> {
    Secret::new(text.expose().to_owned())
}

fn read(key: &'static str, path: &Path) -> Result<String, StartError> {
    std::fs::read_to_string(path)
        .map_err(|cause| StartError::Setting { key, reason: format!("{}: {cause}", path.display()) })
}
