//! What FAPI 2.0 asks of a client when it registers (Security Profile §5.3, §5.4). What it asks of requests is checked when
//! they come.

use sluice_crypto::jwk::SigningAlgorithm;

use super::RegistrationError;
use crate::client::model::{AuthMethod, Client};

/// Of id tokens for a client that names none: configuration may have a default that the profile forbids.
const USUAL: SigningAlgorithm = SigningAlgorithm::PS256;

/// Refuses what the profile forbids, and fills in an algorithm that it allows.
pub(super) fn check(client: &mut Client) -> Result<(), RegistrationError> {
    if !client.security.profile.is_fapi() {
        return Ok(());
    }
    if client.id_token_signed_response_alg.is_none() {
        client.id_token_signed_response_alg = Some(USUAL.as_str().to_owned());
    }
    check_method(client.auth_method)?;
    check_keys(client)?;
    check_binding(client)?;
    check_algorithms(client)?;
    check_issuer(client)?;
    check_flows(client)
}

fn check_method(method: AuthMethod) -> Result<(), RegistrationError> {
    match method {
        AuthMethod::PrivateKeyJwt | AuthMethod::TlsClientAuth | AuthMethod::SelfSignedTlsClientAuth => Ok(()),
        AuthMethod::ClientSecretBasic
        | AuthMethod::ClientSecretPost
        | AuthMethod::ClientSecretJwt
        | AuthMethod::None => Err(refused(
            "token_endpoint_auth_method to be 'private_key_jwt', 'tls_client_auth' or 'self_signed_tls_client_auth'",
        )),
    }
}

/// Keys that came over a connection that anybody on the way could change prove nothing (Security Profile §5.2.1).
fn check_keys(client: &Client) -> Result<(), RegistrationError> {
    if client.jwks_uri.as_ref().is_none_or(|uri| uri.url().scheme() == "https") {
        return Ok(());
    }
    Err(refused("jwks_uri to be an https:// URL"))
}

fn check_binding(client: &Client) -> Result<(), RegistrationError> {
    if client.security.binds_tokens() {
        return Ok(());
    }
    Err(refused("dpop_bound_access_tokens or tls_client_certificate_bound_access_tokens to be set"))
}

fn check_algorithms(client: &Client) -> Result<(), RegistrationError> {
    let formats = &client.formats;
    let named = [
        &client.auth_signing_alg,
        &client.id_token_signed_response_alg,
        &client.userinfo_signed_response_alg,
        &client.request_object_signing_alg,
        &formats.authorization_signing_alg,
        &formats.introspection_signing_alg,
        &formats.access_token_signing_alg,
    ];
    let allowed =
        |name: &String| name.parse().is_ok_and(|algorithm| client.security.profile.allows(algorithm));
    if named.into_iter().flatten().all(allowed) {
        return Ok(());
    }
    Err(refused("each signing algorithm to be PS256, ES256 or EdDSA"))
}

/// A client tells by it which server answers (Security Profile §5.3.2.2).
fn check_issuer(client: &Client) -> Result<(), RegistrationError> {
    if client.formats.omits_issuer {
        return Err(refused("authorization_response_iss to be true"));
    }
    Ok(())
}

fn check_flows(client: &Client) -> Result<(), RegistrationError> {
    let front_channel = client.response_types.iter().any(|own| own != "code");
    if front_channel || client.grant_types.iter().any(|own| own == "implicit") {
        return Err(refused("response_types to be 'code' alone, and no implicit grant"));
    }
    if client.redirect_uris.iter().any(|uri| uri.url().is_none_or(|url| url.scheme() != "https")) {
        let hint = "The security profile FAPI 2.0 asks for redirect URIs with https://.";
        return Err(RegistrationError::RedirectUri(hint.to_owned()));
    }
    Ok(())
}

fn refused(asked: &str) -> RegistrationError {
    RegistrationError::metadata(format!("The security profile FAPI 2.0 asks for {asked}."))
}
