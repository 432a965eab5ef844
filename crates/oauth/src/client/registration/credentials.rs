//! How a client is to authenticate (RFC 7591 §2, OpenID Connect Core §9, RFC 8705 §2).

use sluice_crypto::jwe::EncryptionKey;
use sluice_crypto::jwk::{Jwk, JwkError, JwkSet, MacAlgorithm, SigningAlgorithm};
use sluice_crypto::jws::VerifyingKey;

use super::uris::given_web_url;
use super::{ClientMetadata, RegistrationError, filled};
use crate::client::given_url::GivenUrl;
use crate::client::model::{AuthMethod, Client};

/// A chosen secret has at least so many characters.
pub const MIN_SECRET: usize = 6;
/// A chosen secret has at most so many bytes.
const MAX_SECRET: usize = 512;

/// What was found about authentication.
pub(super) struct Credentials {
    pub(super) method: AuthMethod,
    pub(super) signing_alg: Option<String>,
    pub(super) jwks: Option<JwkSet>,
    pub(super) jwks_uri: Option<GivenUrl>,
}

impl Credentials {
    pub(super) fn of(metadata: &ClientMetadata) -> Result<Self, RegistrationError> {
        let method = method(&metadata.token_endpoint_auth_method)?;
        let (jwks, jwks_uri) = (jwks(metadata)?, jwks_uri(&metadata.jwks_uri)?);
        if jwks.is_some() && jwks_uri.is_some() {
            let hint = "Fields jwks and jwks_uri can not both be set, you must choose one.";
            return Err(RegistrationError::metadata(hint));
        }
        let no_keys = jwks.as_ref().is_none_or(|jwks| jwks.keys.is_empty()) && jwks_uri.is_none();
        if matches!(method, AuthMethod::PrivateKeyJwt | AuthMethod::SelfSignedTlsClientAuth) && no_keys {
            let hint = format!(
                "When token_endpoint_auth_method is '{}', either jwks or jwks_uri must be set.",
                method.as_str()
            );
            return Err(RegistrationError::metadata(hint));
        }
        if method == AuthMethod::TlsClientAuth && metadata.security.tls_client_auth.is_none() {
            let hint = "When token_endpoint_auth_method is 'tls_client_auth', one of the tls_client_auth_ fields must be set.";
            return Err(RegistrationError::metadata(hint));
        }
        check_secret(metadata, method)?;
        Ok(Self {
            method,
            signing_alg: signing_alg(&metadata.token_endpoint_auth_signing_alg, method)?,
            jwks,
            jwks_uri,
        })
    }
}

fn method(asked: &str) -> Result<AuthMethod, RegistrationError> {
    if asked.is_empty() {
        return Ok(AuthMethod::ClientSecretBasic);
    }
    AuthMethod::ALL.into_iter().find(|method| method.as_str() == asked).ok_or_else(|| {
        let known = AuthMethod::ALL.map(|method| format!("'{}'", method.as_str())).join(", ");
        RegistrationError::metadata(format!("Field token_endpoint_auth_method can be one of {known}."))
    })
}

fn signing_alg(asked: &str, method: AuthMethod) -> Result<Option<String>, RegistrationError> {
    let Some(asked) = filled(asked.to_owned()) else { return Ok(None) };
    let (is_known, known, kind) = if method == AuthMethod::ClientSecretJwt {
        let known = MacAlgorithm::ALL.map(MacAlgorithm::as_str).join(", ");
        (asked.parse::<MacAlgorithm>().is_ok(), known, "secret JWT")
    } else {
        let known = SigningAlgorithm::ALL.map(SigningAlgorithm::as_str).join(", ");
        (asked.parse::<SigningAlgorithm>().is_ok(), known, "private key")
    };
    if is_known {
        return Ok(Some(asked));
    }
    let hint = format!("Only {known} are supported as algorithms for {kind} authentication.");
    Err(RegistrationError::metadata(hint))
}

/// The public parts of the keys: private ones that were sent by mistake are not kept.
fn jwks(metadata: &ClientMetadata) -> Result<Option<JwkSet>, RegistrationError> {
    let Some(sent) = &metadata.jwks else { return Ok(None) };
    let public = sent.public();
    if public.keys.iter().any(|key| key.thumbprint().is_err()) {
        return Err(RegistrationError::metadata("Invalid JSON web key in set."));
    }
    Ok(Some(public))
}

/// Keys that can be read, or those that the client has: earlier versions took others, and what an administrator changes beside them is not refused for
/// their sake. Those of an unknown kind are passed over when they are used, as they are at a URI (RFC 7517 §5).
pub(in crate::client) fn check_keys(
    metadata: &ClientMetadata,
    stored: Option<&Client>,
) -> Result<(), RegistrationError> {
    let Some(asked) = metadata.jwks.as_ref().map(JwkSet::public) else { return Ok(()) };
    let own = stored.and_then(|own| own.jwks.as_ref());
    if own != Some(&asked) && asked.keys.iter().any(is_malformed) {
        return Err(RegistrationError::metadata("Invalid JSON web key in set."));
    }
    Ok(())
}

/// Whether the members of a key are not what they must be for signatures or, if it is not for these, for encryption.
pub(in crate::client) fn is_malformed(key: &Jwk) -> bool {
    let why = match VerifyingKey::from_jwk(key) {
        Ok(_) => return false,
        Err(JwkError::NotForSignatures | JwkError::WrongAlgorithm | JwkError::UnknownKeyType) => {
            EncryptionKey::from_jwk(key).err()
        }
        Err(why) => Some(why),
    };
    matches!(why, Some(JwkError::MissingMember(_) | JwkError::MalformedMember(_) | JwkError::Invalid))
}

fn jwks_uri(asked: &str) -> Result<Option<GivenUrl>, RegistrationError> {
    if asked.is_empty() {
        return Ok(None);
    }
    given_web_url(asked)
        .map(Some)
        .ok_or_else(|| RegistrationError::metadata("Field jwks_uri must be an https:// or http:// URL."))
}

/// A secret that signs has at least so many bytes, whoever made it: as many as the hash of the registered algorithm, or of
/// HS256 where none is. Whoever has seen a signature can try secrets on it without asking here, and there are libraries that
/// take no shorter one (RFC 7518 §3.2, OpenID Connect Core §16.19).
pub(in crate::client) fn shortest_to_sign(algorithm: &str) -> usize {
    algorithm.parse().unwrap_or(MacAlgorithm::HS256).key_length()
}

fn check_secret(metadata: &ClientMetadata, method: AuthMethod) -> Result<(), RegistrationError> {
    let Some(secret) = &metadata.client_secret else { return Ok(()) };
    if secret.expose().chars().count() < MIN_SECRET {
        let hint = format!(
            "Field client_secret must contain a secret that is at least {MIN_SECRET} characters long."
        );
        return Err(RegistrationError::metadata(hint));
    }
    let least = shortest_to_sign(&metadata.token_endpoint_auth_signing_alg);
    if method == AuthMethod::ClientSecretJwt && secret.expose().len() < least {
        let hint = format!(
            "When token_endpoint_auth_method is 'client_secret_jwt', client_secret must be at least {least} bytes long, as its algorithm wants."
        );
        return Err(RegistrationError::metadata(hint));
    }
    if secret.expose().len() > MAX_SECRET {
        let hint =
            format!("Field client_secret must contain a secret that is at most {MAX_SECRET} bytes long.");
        return Err(RegistrationError::metadata(hint));
    }
    Ok(())
}
