//! What a client that registers itself may say. The words of refusals are Hydra's where it has them.

use std::borrow::Cow;

use sluice_crypto::jwk::{Jwk, JwkSet, SigningAlgorithm};
use sluice_crypto::jws::VerifyingKey;
use sluice_protocol::{Audience, GrantType, Scope};

use super::strangers;
use crate::client::given_url::GivenUrl;
use crate::client::model::{AccessTokenStrategy, AuthMethod, Client, Lifespans};
use crate::client::profile::{ClientSecurity, ResponseFormats, TokenExchangePolicy};
use crate::client::registration::{
    ClientMetadata, RegistrationError, check_own_frontchannel_logout, check_own_links, is_malformed,
};
use crate::client_auth::remote_keys::MAX_KEYS;
use crate::config::ScopeStrategy;
use crate::subject::PAIRWISE;

/// Grant types by which a client asks for itself: nobody would be behind such tokens.
const FOR_ITSELF: [GrantType; 3] =
    [GrantType::ClientCredentials, GrantType::JwtBearer, GrantType::TokenExchange];

/// Whom the registrant is trusted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Anybody who reaches the endpoint.
    Anybody,
    /// Who bears the initial access token (RFC 7591 §1.2).
    Invited,
}

/// What may be asked for.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Whom the registrant is trusted as.
    pub trust: Trust,
    /// The scope of who names none, and the most that anybody may have.
    pub default_scope: &'a str,
    /// The same for the audience; a URL stands for what is below it, too.
    pub default_audience: &'a [String],
    /// Whether keys may be at an `http://` URL.
    pub plain_http_keys: bool,
    /// Whether there are request objects that nobody signed.
    pub unsigned_requests: bool,
    /// What is written down for who names no algorithm of id tokens; nothing if none.
    pub id_token_alg: Option<SigningAlgorithm>,
    /// Whether who names no subject type has pairwise subjects.
    pub pairwise_by_default: bool,
    /// The client as it is, if it changes itself: what an administrator gave it, it keeps and may repeat.
    pub stored: Option<&'a Client>,
}

impl Bounds<'_> {
    /// The metadata within these bounds. Scopes beyond them are left out, and what is said of redirect URIs is adapted, which
    /// RFC 7591 §3.2.1 allows; anything else that only an administrator can decide is refused.
    ///
    /// # Errors
    /// [`RegistrationError`] names the member.
    pub fn restrict(&self, metadata: ClientMetadata) -> Result<ClientMetadata, RegistrationError> {
        let is_stranger = self.trust == Trust::Anybody;
        let metadata = if is_stranger { strangers::adapt(metadata, self.stored) } else { metadata };
        self.check_members(&metadata)?;
        self.check_grant_types(&metadata.grant_types)?;
        self.check_keys(&metadata.jwks_uri)?;
        self.check_own_keys(metadata.jwks.as_ref())?;
        self.check_signatures(&metadata)?;
        check_redirects(&metadata)?;
        check_own_links(&metadata, self.stored)?;
        if is_stranger {
            check_own_frontchannel_logout(&metadata, self.stored)?;
            strangers::check(&metadata, self.stored)?;
        }
        let scope = self.scope(&metadata.scope)?;
        let metadata = self.keep(ClientMetadata { scope, client_secret: None, ..metadata });
        if is_stranger {
            let subject_type = metadata.subject_type.as_str();
            if subject_type == PAIRWISE || (subject_type.is_empty() && self.pairwise_by_default) {
                strangers::check_pairwise(&metadata, self.stored)?;
            }
        }
        Ok(self.name_algorithm(metadata))
    }

    /// Who names no algorithm expects RS256 (OpenID Connect Registration §2), unless it is told another. FAPI 2.0 has a usual
    /// one of its own.
    fn name_algorithm(&self, metadata: ClientMetadata) -> ClientMetadata {
        let is_open =
            metadata.id_token_signed_response_alg.is_empty() && !metadata.security.profile.is_fapi();
        match self.id_token_alg.filter(|_| is_open) {
            Some(algorithm) => {
                let id_token_signed_response_alg = algorithm.as_str().to_owned();
                ClientMetadata { id_token_signed_response_alg, ..metadata }
            }
            None => metadata,
        }
    }

    fn check_members(&self, asked: &ClientMetadata) -> Result<(), RegistrationError> {
        let own = self.stored;
        let strategy = own.and_then(|own| own.access_token_strategy).map(AccessTokenStrategy::as_str);
        let exchange = own.map_or_else(TokenExchangePolicy::default, |own| own.token_exchange.clone());
        let audience = own.map(|own| own.audience.as_slice()).unwrap_or_default();
        let details = own.map(|own| own.authorization_details_types.as_slice()).unwrap_or_default();
        let refusals = [
            ("metadata", self.sets_metadata(asked)),
            (
                "access_token_strategy",
                !asked.access_token_strategy.is_empty()
                    && strategy != Some(asked.access_token_strategy.as_str()),
            ),
            ("access_token_jwt_typ", self.sets_jwt_typ(asked.formats.access_token_jwt_typ.as_ref())),
            (
                "authorization_response_iss",
                asked.formats.omits_issuer && !own.is_some_and(|own| own.formats.omits_issuer),
            ),
            ("skip_consent", asked.skip_consent && !own.is_some_and(|own| own.skip_consent)),
            (
                "skip_logout_consent",
                asked.skip_logout_consent && !own.is_some_and(|own| own.skip_logout_consent),
            ),
            (
                "token_exchange",
                asked.token_exchange != TokenExchangePolicy::default() && asked.token_exchange != exchange,
            ),
            ("lifespans", self.sets_lifespans(&asked.lifespans)),
            ("audience", self.is_audience_beyond(&asked.audience, audience)),
            ("authorization_details_types", self.is_beyond(&asked.authorization_details_types, details)),
        ];
        match refusals.iter().find(|(_, refused)| *refused) {
            Some((member, _)) => {
                Err(refused(format!("\"{member}\" cannot be set for dynamic client registration.")))
            }
            None => Ok(()),
        }
    }

    /// Whether anybody asks for a value that no administrator has given.
    fn is_beyond(&self, asked: &[String], given: &[String]) -> bool {
        self.trust == Trust::Anybody && !asked.iter().all(|value| given.contains(value))
    }

    /// Whether anybody asks for a service that no administrator has given, and that is neither one of configuration's nor below one.
    fn is_audience_beyond(&self, asked: &[String], given: &[String]) -> bool {
        let default = Audience::from_values(self.default_audience.iter().cloned());
        let is_given = |value: &String| given.contains(value) || default.permits(value);
        self.trust == Trust::Anybody && !asked.iter().all(is_given)
    }

    /// Keys that come over a connection that anybody on the way can change prove nothing.
    fn check_keys(&self, asked: &str) -> Result<(), RegistrationError> {
        let own = self.stored.and_then(|own| own.jwks_uri.as_ref()).map(GivenUrl::as_str);
        let is_tls = asked.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
        if asked.is_empty() || is_tls || self.plain_http_keys || own == Some(asked) {
            return Ok(());
        }
        Err(refused("Field jwks_uri must be an https:// URL.".to_owned()))
    }

    /// Keys that are kept for anybody are few, small, quick to use, and such as can be read. Those of an unknown kind are passed over, as they are
    /// at a URI (RFC 7517 §5).
    fn check_own_keys(&self, asked: Option<&JwkSet>) -> Result<(), RegistrationError> {
        let Some(asked) = asked.filter(|_| self.trust == Trust::Anybody) else { return Ok(()) };
        let own = self.stored.and_then(|own| own.jwks.as_ref());
        if own.is_some_and(|own| *own == asked.public()) {
            return Ok(());
        }
        if asked.keys.len() > MAX_KEYS {
            return Err(refused(format!("Field jwks can hold at most {MAX_KEYS} keys.")));
        }
        if !asked.keys.iter().all(Jwk::is_quick) {
            let hint = "An RSA key of field jwks can have 4096 bits and an exponent of 65537 at most.";
            return Err(refused(hint.to_owned()));
        }
        if !asked.keys.iter().all(Jwk::has_short_lists) || asked.keys.iter().any(is_malformed) {
            return Err(refused("Invalid JSON web key in set.".to_owned()));
        }
        Ok(())
    }

    /// Who says that they sign, or that they do not, must be able to come by that: they would not learn here why they never do.
    fn check_signatures(&self, asked: &ClientMetadata) -> Result<(), RegistrationError> {
        let own = self.stored;
        let had_none = own.is_some_and(|own| own.request_object_signing_alg.as_deref() == Some("none"));
        let must_sign = asked.security.require_signed_request_object;
        if asked.request_object_signing_alg == "none" && must_sign && !self.unsigned_requests && !had_none {
            let hint =
                "Field request_object_signing_alg cannot be 'none': request objects must be signed here.";
            return Err(refused(hint.to_owned()));
        }
        let had_to = own.is_some_and(|own| own.security.require_signed_request_object);
        let has_to = asked.security.require_signed_request_object && !had_to;
        let keys = asked.jwks.as_ref().filter(|keys| !keys.keys.is_empty());
        if has_to && keys.is_none() && asked.jwks_uri.is_empty() {
            let hint = "When require_signed_request_object is true, either jwks or jwks_uri must be set.";
            return Err(refused(hint.to_owned()));
        }
        let signs = has_to || asked.token_endpoint_auth_method == AuthMethod::PrivateKeyJwt.as_str();
        let had_keys = |keys: &JwkSet| own.is_some_and(|own| own.jwks.as_ref() == Some(&keys.public()));
        let is_usable = |keys: &JwkSet| !VerifyingKey::usable_of(keys).is_empty() || had_keys(keys);
        if signs && keys.is_some_and(|keys| !is_usable(keys)) {
            let hint =
                "Field jwks has no key to check signatures with: an RSA key must have 2048 bits at least.";
            return Err(refused(hint.to_owned()));
        }
        Ok(())
    }

    fn sets_metadata(&self, asked: &ClientMetadata) -> bool {
        let Some(asked) = &asked.metadata else { return false };
        let is_empty = asked.is_null() || asked.as_object().is_some_and(serde_json::Map::is_empty);
        !is_empty && self.stored.is_none_or(|stored| stored.metadata != *asked)
    }

    fn sets_jwt_typ(&self, asked: Option<&String>) -> bool {
        let own = self.stored.and_then(|stored| stored.formats.access_token_jwt_typ.as_ref());
        asked.is_some() && own != asked
    }

    fn sets_lifespans(&self, asked: &Lifespans) -> bool {
        *asked != Lifespans::default() && self.stored.is_none_or(|stored| stored.lifespans != *asked)
    }

    fn check_grant_types(&self, asked: &[String]) -> Result<(), RegistrationError> {
        let has = |name: &str| self.stored.is_some_and(|own| own.grant_types.iter().any(|own| own == name));
        let is_new = |name: &str| asked.iter().any(|asked| asked == name) && !has(name);
        match FOR_ITSELF.iter().find(|grant_type| is_new(grant_type.as_str())) {
            Some(grant_type) if self.trust == Trust::Anybody => Err(refused(format!(
                "The grant type \"{}\" cannot be set without an initial access token.",
                grant_type.as_str()
            ))),
            _ => Ok(()),
        }
    }

    /// What is asked for and may be had. If nothing is asked for, or nothing of it may be had: what the client has, or the
    /// default.
    fn scope(&self, asked: &str) -> Result<String, RegistrationError> {
        let malformed = |_| refused("Field scope is malformed.".to_owned());
        let unnamed = self.stored.map_or(self.default_scope, |own| own.scope.as_str());
        if asked.trim().is_empty() {
            return Ok(unnamed.to_owned());
        }
        // What it has it may repeat, however long an administrator made it.
        let own = self.stored.map(|own| &own.scope).filter(|own| own.as_str() == asked);
        let asked = own.map_or_else(|| Scope::asked(asked), |own| Ok(own.clone())).map_err(malformed)?;
        if self.trust == Trust::Invited {
            return Ok(asked.as_str().to_owned());
        }
        let default: Scope = self.default_scope.parse().map_err(malformed)?;
        let own = self.stored.map_or_else(|| Cow::Owned(Scope::default()), |own| Cow::Borrowed(&own.scope));
        let may_have = |value: &&str| {
            ScopeStrategy::Exact.allows(&default, value) || ScopeStrategy::Exact.allows(&own, value)
        };
        let kept: Vec<&str> = asked.iter().filter(may_have).collect();
        Ok(if kept.is_empty() { unnamed.to_owned() } else { kept.join(" ") })
    }

    /// The metadata with what an administrator said about the client, which is not the client's to change; of a new one with what
    /// configuration says of all.
    fn keep(&self, metadata: ClientMetadata) -> ClientMetadata {
        let Some(stored) = self.stored else {
            let audience = named_or(metadata.audience, self.default_audience);
            return ClientMetadata { audience, owner: String::new(), ..metadata };
        };
        let strategy = stored.access_token_strategy.map(|strategy| strategy.as_str().to_owned());
        let metadata = keep_sector(stored, metadata);
        ClientMetadata {
            audience: named_or(metadata.audience, stored.audience.as_slice()),
            authorization_details_types: named_or(
                metadata.authorization_details_types,
                &stored.authorization_details_types,
            ),
            security: stricter(&stored.security, metadata.security),
            owner: stored.owner.clone(),
            metadata: Some(stored.metadata.clone()),
            skip_consent: stored.skip_consent,
            skip_logout_consent: stored.skip_logout_consent,
            access_token_strategy: strategy.unwrap_or_default(),
            formats: ResponseFormats {
                access_token_jwt_typ: stored.formats.access_token_jwt_typ.clone(),
                omits_issuer: stored.formats.omits_issuer,
                ..metadata.formats
            },
            lifespans: stored.lifespans,
            token_exchange: stored.token_exchange.clone(),
            ..metadata
        }
    }
}

/// What is named, or what is there.
fn named_or(asked: Vec<String>, own: &[String]) -> Vec<String> {
    if asked.is_empty() { own.to_vec() } else { asked }
}

/// A client may be stricter with itself than it was, and never less so. By which certificate it is known is its own matter,
/// as its keys are.
fn stricter(own: &ClientSecurity, asked: ClientSecurity) -> ClientSecurity {
    ClientSecurity {
        profile: own.profile.max(asked.profile),
        require_pushed_authorization_requests: own.require_pushed_authorization_requests
            || asked.require_pushed_authorization_requests,
        require_signed_request_object: own.require_signed_request_object
            || asked.require_signed_request_object,
        dpop_bound_access_tokens: own.dpop_bound_access_tokens || asked.dpop_bound_access_tokens,
        tls_client_certificate_bound_access_tokens: own.tls_client_certificate_bound_access_tokens
            || asked.tls_client_certificate_bound_access_tokens,
        ..asked
    }
}

/// Who knows users by names of its own goes on to do so, in the sector that it was registered with.
fn keep_sector(own: &Client, asked: ClientMetadata) -> ClientMetadata {
    if own.subject_type != PAIRWISE {
        return asked;
    }
    let sector_identifier_uri = own.sector_identifier_uri.clone().unwrap_or(asked.sector_identifier_uri);
    ClientMetadata { subject_type: own.subject_type.clone(), sector_identifier_uri, ..asked }
}

/// RFC 7591 §2: a client that sends users away must say where they may come back to.
fn check_redirects(metadata: &ClientMetadata) -> Result<(), RegistrationError> {
    let redirects = ["authorization_code", "implicit"];
    let sends_users_away = metadata.grant_types.is_empty()
        || metadata.grant_types.iter().any(|asked| redirects.contains(&asked.as_str()));
    if sends_users_away && metadata.redirect_uris.is_empty() {
        let hint = "Field redirect_uris must name at least one URI for these grant types.";
        return Err(RegistrationError::RedirectUri(hint.to_owned()));
    }
    Ok(())
}

fn refused(hint: String) -> RegistrationError {
    RegistrationError::Metadata(hint)
}

#[cfg(test)]
mod tests;
