//! This site as authenticators see it.

use serde_json::Value;
use thiserror::Error;
use tracing::error;
use uuid::Uuid;
use webauthn_rs::prelude::{
    AuthenticationResult, CredentialID, DiscoverableAuthentication, Passkey, PasskeyRegistration,
    PublicKeyCredential, RegisterPublicKeyCredential, Url, Webauthn, WebauthnBuilder, WebauthnError,
};
use webauthn_rs_proto::{AllowCredentials, ResidentKeyRequirement};

use super::ceremony::LIFETIME;
use super::stored::StoredPasskey;
use crate::config::PasskeyConfig;
use crate::identity::Identity;

/// Why passkeys cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidRelyingParty {
    /// There is no origin of pages.
    #[error("passkeys need at least one origin of pages")]
    NoOrigin,
    /// Browsers would refuse.
    #[error("the origin {origin} is not of the domain {rp_id}, or its host is no domain")]
    Origin {
        /// The origin.
        origin: Url,
        /// The domain.
        rp_id: String,
    },
}

/// This site as authenticators see it.
#[derive(Debug, Clone)]
pub struct RelyingParty {
    webauthn: Webauthn,
}

impl RelyingParty {
    /// The relying party that is configured.
    ///
    /// # Errors
    /// [`InvalidRelyingParty`] if browsers would refuse. An address instead of a domain is such a case.
    pub fn new(config: &PasskeyConfig) -> Result<Self, InvalidRelyingParty> {
        let (applications, pages): (Vec<&Url>, Vec<&Url>) =
            config.origins.iter().partition(|origin| is_of_application(origin));
        let mut built = None;
        for origin in pages {
            let refused =
                |_| InvalidRelyingParty::Origin { origin: origin.clone(), rp_id: config.rp_id.clone() };
            let alone = WebauthnBuilder::new(&config.rp_id, origin).map_err(refused)?;
            built = Some(match built {
                None => alone,
                Some(former) => WebauthnBuilder::append_allowed_origin(former, origin),
            });
        }
        let builder = built.ok_or(InvalidRelyingParty::NoOrigin)?;
        let builder = applications.into_iter().fold(builder, WebauthnBuilder::append_allowed_origin);
        let builder = builder.rp_name(&config.rp_name).timeout(LIFETIME.as_duration());
        let webauthn = builder.build().map_err(|_| InvalidRelyingParty::NoOrigin)?;
        Ok(Self { webauthn })
    }

    /// Options to make a passkey, one that can be found without a name where there is room for it.
    pub(super) fn register(
        &self,
        identity: &Identity,
        known: Vec<CredentialID>,
    ) -> Option<(Value, PasskeyRegistration)> {
        let display = if identity.username.is_empty() { &identity.email } else { &identity.username };
        let user = identity.id.as_uuid();
        let started = self.webauthn.start_passkey_registration(user, &identity.email, display, Some(known));
        let (mut options, state) = told(started)?;
        if let Some(selection) = &mut options.public_key.authenticator_selection {
            selection.resident_key = Some(ResidentKeyRequirement::Preferred);
        }
        Some((serde_json::to_value(options).ok()?, state))
    }

    /// The passkey that a browser made.
    pub(super) fn registered(
        &self,
        response: &RegisterPublicKeyCredential,
        state: &PasskeyRegistration,
    ) -> Result<Passkey, WebauthnError> {
        self.webauthn.finish_passkey_registration(response, state)
    }

    /// Options to show a passkey: one of these, or, if there are none, any.
    pub(super) fn ask_for(&self, passkeys: &[StoredPasskey]) -> Option<(Value, DiscoverableAuthentication)> {
        let (mut options, state) = told(self.webauthn.start_discoverable_authentication())?;
        options.public_key.allow_credentials = passkeys.iter().map(allowed).collect();
        options.mediation = None; // the page's to decide
        Some((serde_json::to_value(options).ok()?, state))
    }

    /// What the passkey has proved.
    pub(super) fn verify(
        &self,
        response: &PublicKeyCredential,
        state: DiscoverableAuthentication,
        passkey: &Passkey,
    ) -> Result<AuthenticationResult, WebauthnError> {
        self.webauthn.finish_discoverable_authentication_v2(response, state, passkey)
    }

    /// Whose the passkey says to be. Nothing is verified.
    pub(super) fn claimed_owner(&self, response: &PublicKeyCredential) -> Option<Uuid> {
        let (owner, _) = self.webauthn.identify_discoverable_authentication(response).ok()?;
        Some(owner)
    }
}

/// Whether it is the origin of an Android application, which is of no domain: Android asks the domain whether the application may
/// act for it. It has no host, and so has to be the same to the last character.
fn is_of_application(origin: &Url) -> bool {
    origin.scheme() == "android"
}

fn allowed(passkey: &StoredPasskey) -> AllowCredentials {
    AllowCredentials {
        type_: "public-key".to_owned(),
        id: passkey.passkey.cred_id().clone(),
        transports: passkey.transports.clone(),
    }
}

/// To begin fails for a name that is empty, and nobody's is.
fn told<T>(started: Result<T, WebauthnError>) -> Option<T> {
    started.inspect_err(|cause| error!(error = %cause, "no passkey ceremony")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(rp_id: &str, origins: &[&str]) -> PasskeyConfig {
        let origins = origins.iter().map(|origin| origin.parse().unwrap()).collect();
        PasskeyConfig { rp_id: rp_id.to_owned(), rp_name: "Example".to_owned(), origins }
    }

    #[test]
    fn origins_are_of_the_domain() {
        let fine = [
            config("example.com", &["https://example.com", "https://login.example.com:8443"]),
            config("localhost", &["http://localhost:4444"]),
            config("example.com", &["android:apk-key-hash:c2lnbmVy", "https://example.com"]),
        ];
        for config in fine {
            assert!(RelyingParty::new(&config).is_ok(), "{config:?}");
        }
        let refused = [
            config("example.com", &["https://badexample.com"]),
            config("example.com", &["https://example.com", "https://example.org"]),
            config("127.0.0.1", &["http://127.0.0.1:4444"]),
            config("example.com", &["https://example.com", "ios:bundle-id:com.example"]),
        ];
        for config in refused {
            let error = RelyingParty::new(&config).unwrap_err();
            assert!(matches!(error, InvalidRelyingParty::Origin { .. }), "{config:?}: {error}");
        }
        let without_pages: [&[&str]; 2] = [&[], &["android:apk-key-hash:c2lnbmVy"]];
        for none in without_pages {
            let refused = RelyingParty::new(&config("example.com", none)).unwrap_err();
            assert_eq!(refused, InvalidRelyingParty::NoOrigin, "{none:?}");
        }
    }
}
