//! What a client registers beyond RFC 7591, held against what this server can do.

use sluice_crypto::jwe::{ContentEncryption, KeyManagement};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_token::jwt::HeaderType;

use super::uris::{is_loopback, web_url};
use super::{ClientMetadata, RegistrationError};
use crate::client::profile::{ClientSecurity, Encryption, RequestDefaults, ResponseFormats, Software};
use crate::keys::REQUEST_OBJECT_ALGORITHMS;

/// Longer texts are refused, in bytes.
const MAX_TEXT: usize = 1024;

/// How the client proves who it is and binds what it holds. The sealed secret is never taken from outside.
pub(super) fn security(metadata: &ClientMetadata) -> ClientSecurity {
    ClientSecurity { sealed_secret: None, ..metadata.security.clone() }
}

/// How what the client is sent is signed and encrypted.
pub(super) fn formats(metadata: &ClientMetadata) -> Result<ResponseFormats, RegistrationError> {
    let asked = &metadata.formats;
    let signed = [
        ("authorization_signed_response_alg", &asked.authorization_signing_alg),
        ("introspection_signed_response_alg", &asked.introspection_signing_alg),
        ("access_token_signed_response_alg", &asked.access_token_signing_alg),
    ];
    for (field, algorithm) in signed {
        check_signing(field, algorithm.as_deref())?;
    }
    for (field, how) in asked.encrypted() {
        check_encryption(field, how, &KeyManagement::ALL)?;
    }
    if let Some(how) = &asked.request_object_encryption {
        check_encryption("request_object_encryption", how, &REQUEST_OBJECT_ALGORITHMS)?;
    }
    Ok(ResponseFormats {
        authorization_signing_alg: as_written(asked.authorization_signing_alg.as_deref()),
        introspection_signing_alg: as_written(asked.introspection_signing_alg.as_deref()),
        access_token_signing_alg: as_written(asked.access_token_signing_alg.as_deref()),
        access_token_jwt_typ: jwt_typ(asked.access_token_jwt_typ.as_deref())?,
        ..asked.clone()
    })
}

/// What a JWT access token calls itself, as it stands there.
fn jwt_typ(asked: Option<&str>) -> Result<Option<String>, RegistrationError> {
    let Some(asked) = asked else { return Ok(None) };
    let typ = HeaderType::named(asked).map(|typ| typ.as_str().to_owned());
    let hint = "Field access_token_jwt_typ can either be 'at+jwt' or 'JWT'.";
    typ.map(Some).ok_or_else(|| RegistrationError::metadata(hint))
}

/// An algorithm by the name that stands in what is signed with it.
fn as_written(algorithm: Option<&str>) -> Option<String> {
    let algorithm: SigningAlgorithm = algorithm?.parse().ok()?;
    Some(algorithm.to_string())
}

/// What requests of the client mean where they say nothing.
pub(super) fn defaults(metadata: &ClientMetadata) -> Result<RequestDefaults, RegistrationError> {
    let asked = &metadata.defaults;
    // OpenID Connect Registration §2: the scheme is https. What is on the user's own machine needs none.
    if let Some(uri) = &asked.initiate_login_uri
        && web_url(uri).is_none_or(|uri| uri.scheme() != "https" && !is_loopback(&uri))
    {
        let hint =
            "Field initiate_login_uri must be an https:// URL, or an http:// one at a loopback address.";
        return Err(RegistrationError::metadata(hint));
    }
    Ok(asked.clone())
}

/// What the client is.
pub(super) fn software(metadata: &ClientMetadata) -> Result<Software, RegistrationError> {
    let asked = &metadata.software;
    if !matches!(asked.application_type.as_str(), "" | "web" | "native") {
        return Err(RegistrationError::metadata("Field application_type can either be 'web' or 'native'."));
    }
    if [&asked.id, &asked.version].iter().any(|text| text.len() > MAX_TEXT) {
        return Err(RegistrationError::metadata("Field software_id or software_version is too long."));
    }
    Ok(asked.clone())
}

/// Which types of `authorization_details` the client may ask for.
pub(super) fn authorization_details_types(
    metadata: &ClientMetadata,
) -> Result<Vec<String>, RegistrationError> {
    let asked = &metadata.authorization_details_types;
    if asked.len() > 64 || asked.iter().any(|name| name.is_empty() || name.len() > 255) {
        let hint = "Field authorization_details_types holds at most 64 names of 1 to 255 bytes.";
        return Err(RegistrationError::metadata(hint));
    }
    Ok(asked.clone())
}

fn check_signing(field: &str, algorithm: Option<&str>) -> Result<(), RegistrationError> {
    let known = |name: &str| name.parse::<SigningAlgorithm>().is_ok();
    if algorithm.is_none_or(known) {
        return Ok(());
    }
    Err(RegistrationError::metadata(format!("Field {field} names an algorithm that is not supported.")))
}

fn check_encryption(field: &str, how: &Encryption, known: &[KeyManagement]) -> Result<(), RegistrationError> {
    if !known.iter().any(|algorithm| algorithm.as_str() == how.alg) {
        let known: Vec<_> = known.iter().map(|algorithm| algorithm.as_str()).collect();
        let hint = format!("Field {field}_alg can be one of {}.", known.join(", "));
        return Err(RegistrationError::metadata(hint));
    }
    if how.enc.parse::<ContentEncryption>().is_err() {
        let known = ContentEncryption::ALL.map(ContentEncryption::as_str).join(", ");
        return Err(RegistrationError::metadata(format!("Field {field}_enc can be one of {known}.")));
    }
    Ok(())
}
