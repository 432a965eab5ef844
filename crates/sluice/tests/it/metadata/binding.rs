//! Tokens that are bound to keys and certificates (RFC 9449, RFC 8705).

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sluice_crypto::jwk::Jwk;
use sluice_testkit::{Authorize, TestClient, TestSluice};

use super::Server;
use super::endpoints::DEVICE_CODE;
use crate::answer::{Answer, http};
use crate::keyed::{MACHINE, code_from, part, proof_claims, redemption, send};
use crate::legs::token;
use crate::requests::parameters;
use crate::rfc8705::Shown;

const TOKEN: &str = "/oauth2/token";

/// RFC 9449 §5.1.
pub(super) async fn proofs(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    let client = sluice.client(&json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    let credentials =
        [("client_id", client.id.as_str()), ("client_secret", client.secret.as_deref().unwrap())];
    let ask = async |algorithm: &str| {
        let proof = proof(sluice, (algorithm, TOKEN));
        send(sluice, TOKEN, &[("dpop", &proof)], &[MACHINE, &credentials].concat()).await
    };
    let announced = server.names(entry);
    for algorithm in &announced {
        assert_eq!(ask(algorithm).await.ok()["token_type"], "DPoP", "{algorithm}");
    }
    assert!(!announced.contains(&"RS256"));
    ask("RS256").await.refused_with(400, "invalid_dpop_proof");
}

/// A proof of a new key, for a form that is sent to this path.
pub(crate) fn proof(sluice: &TestSluice, (algorithm, path): (&str, &str)) -> String {
    let claims = part(&proof_claims(sluice, "POST", path));
    let header = |pkcs8: &[u8]| {
        let jwk = Jwk::from_pkcs8(pkcs8).unwrap().public();
        let header = part(&json!({"typ": "dpop+jwt", "alg": algorithm, "jwk": jwk}));
        format!("{header}.{claims}")
    };
    let (signed, signature) = match algorithm {
        "ES256" => on_curve(&ECDSA_P256_SHA256_FIXED_SIGNING, header),
        "ES384" => on_curve(&ECDSA_P384_SHA384_FIXED_SIGNING, header),
        "ES512" => on_curve(&ECDSA_P521_SHA512_FIXED_SIGNING, header),
        "RS256" => rsa(&RSA_PKCS1_SHA256, header),
        "PS256" => rsa(&RSA_PSS_SHA256, header),
        "PS384" => rsa(&RSA_PSS_SHA384, header),
        "PS512" => rsa(&RSA_PSS_SHA512, header),
        "EdDSA" | "Ed25519" => {
            let pair = Ed25519KeyPair::generate().unwrap();
            let signed = header(pair.to_pkcs8v1().unwrap().as_ref());
            let signature = pair.sign(signed.as_bytes()).as_ref().to_vec();
            (signed, signature)
        }
        _ => panic!("how does {algorithm} sign?"),
    };
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn on_curve(
    algorithm: &'static EcdsaSigningAlgorithm,
    header: impl Fn(&[u8]) -> String,
) -> (String, Vec<u8>) {
    let pair = EcdsaKeyPair::generate(algorithm).unwrap();
    let signed = header(pair.to_pkcs8v1().unwrap().as_ref());
    let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    (signed, signature.as_ref().to_vec())
}

fn rsa(encoding: &'static dyn RsaEncoding, header: impl Fn(&[u8]) -> String) -> (String, Vec<u8>) {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let pkcs8: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let signed = header(pkcs8.as_ref());
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(encoding, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    (signed, signature)
}

/// A client that shows a certificate, and whose tokens are bound to it.
async fn bound(sluice: &TestSluice, method: &str, shown: &Shown) -> TestClient {
    let metadata = json!({"token_endpoint_auth_method": method, "jwks": {"keys": [shown.jwk()]},
                          "grant_types": ["authorization_code", "client_credentials", DEVICE_CODE],
                          "tls_client_certificate_bound_access_tokens": true});
    sluice.client(&metadata).await
}

/// RFC 8705 §3.3.
pub(super) async fn certificates(server: &Server, entry: &str) {
    let (sluice, shown) = (&server.sluice, Shown::self_signed());
    let client = bound(sluice, "client_secret_post", &shown).await;
    let credentials =
        [("client_id", client.id.as_str()), ("client_secret", client.secret.as_deref().unwrap())];
    let headers = [("client-cert", &*shown.client_cert())];
    let answer = send(sluice, TOKEN, &headers, &[MACHINE, &credentials].concat()).await;
    if server.flag(entry) {
        let said = sluice.introspect(token(&answer.ok(), "access_token")).await;
        assert_eq!(said["cnf"], json!({"x5t#S256": shown.thumbprint()}));
    } else {
        answer.refused_with(400, "invalid_request");
    }
}

/// RFC 8705 §5: endpoints of this server that look at certificates, each at its own path.
pub(super) async fn aliases(server: &Server, entry: &str) {
    let (sluice, shown) = (&server.sluice, Shown::self_signed());
    let client = bound(sluice, "self_signed_tls_client_auth", &shown).await;
    let (own, certificate) = ([("client_id", client.id.as_str())], shown.client_cert());
    let headers = [("client-cert", certificate.as_str())];
    let code = code_from(sluice, &client.authorize_url(&Authorize::default())).await;
    let redeemed =
        send(sluice, TOKEN, &headers, &[redemption(&client, &code).as_slice(), &own].concat()).await;
    let access_token = token(&redeemed.ok(), "access_token").to_owned();
    for (endpoint, alias) in server.said[entry].as_object().unwrap() {
        let path = server.path(endpoint);
        assert!(alias.as_str().unwrap().ends_with(path), "{endpoint}: {alias}");
        if endpoint == "userinfo_endpoint" {
            let ask = || http().get(sluice.public.join(path).unwrap()).bearer_auth(&access_token);
            assert_eq!(Answer::to(ask()).await.status, 401);
            Answer::to(ask().header("client-cert", &certificate)).await.ok();
            continue;
        }
        let pushed = parameters(&client, &[]);
        let form: Vec<_> = match endpoint.as_str() {
            "token_endpoint" => [MACHINE, &own].concat(),
            "pushed_authorization_request_endpoint" => {
                pushed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
            }
            "device_authorization_endpoint" => own.to_vec(),
            _ => vec![own[0], ("token", "unknown")],
        };
        send(sluice, path, &[], &form).await.refused_with(401, "invalid_client");
        let answer = send(sluice, path, &headers, &form).await;
        assert!(matches!(answer.status, 200 | 201), "{endpoint}: {} {}", answer.status, answer.body);
    }
}
