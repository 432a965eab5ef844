//! Tokens that are bound to a key, behind a proxy that ended TLS.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk as PublicJwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::KeyPair;
use serde_json::{Map, json};
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::Jwk;
use sluice_gateway::authn::ForeignClaims;
use sluice_gateway::proxy::{PlainHttp, ProxyConfig, RunningProxy};
use sluice_gateway::route::LiveRoutes;
use sluice_gateway::{Caller, PolicyValidator, Question, Validated};
use sluice_primitives::{Clock, SystemClock, Timestamp};
use sluice_token::Confirmation;
use tokio_util::sync::CancellationToken;

use super::given::*;
use super::whole::{ask, config, gateway_of, routes};

const TOKEN: &str = "bound";

/// Every token is bound to this key.
struct Bound([u8; 32]);

impl PolicyValidator for Bound {
    fn validate(&self, _: Question<'_>) -> Validated {
        Validated::Now(Ok(Arc::new(Caller::Foreign(Box::new(ForeignClaims {
            issuer: "https://issuer.example".to_owned(),
            subject: Some("alice".to_owned()),
            client: Some("shop".to_owned()),
            scope: String::new(),
            audience: Vec::new(),
            expires_at: Timestamp::from_secs(4_000_000_000),
            taken_until: Timestamp::from_secs(4_000_000_000),
            confirmation: Some(Confirmation::Jkt(self.0)),
            claims: Map::new(),
        })))))
    }
}

/// A proof for `GET` of this address with [`TOKEN`].
fn proof(pair: &KeyPair, key: &Jwk, address: &str) -> String {
    let mut public = serde_json::to_value(key.public()).unwrap();
    public.as_object_mut().unwrap().retain(|name, _| ["kty", "crv", "x", "y"].contains(&name.as_str()));
    let mut header = Header::new(Algorithm::ES256);
    header.typ = Some("dpop+jwt".to_owned());
    header.jwk = Some(serde_json::from_value::<PublicJwk>(public).unwrap());
    let claims = json!({
        "jti": address, "htm": "GET", "htu": address, "iat": SystemClock.now().as_secs(),
        "ath": URL_SAFE_NO_PAD.encode(sha256(TOKEN.as_bytes())),
    });
    encode(&header, &claims, &EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap()).unwrap()
}

/// The address in a proof is the one that the client asked for (RFC 9449 §4.3).
#[tokio::test]
async fn a_proof_is_for_the_https_address_behind_a_proxy_that_ended_tls() {
    let pair = KeyPair::generate().unwrap();
    let key = Jwk::from_pem(&pair.serialize_pem()).unwrap();
    let (backend, _requests) = Backend::bind().await.recording();
    let text = format!(
        "upstreams: {{app: {{servers: [\"http://{backend}\"]}}}}\n\
         routes: [{{name: all, match: {{prefix: /}}, upstream: app}}]\n"
    );
    let validation = Arc::new(Bound(key.thumbprint_bytes().unwrap()));
    let gateway = gateway_of(Arc::new(LiveRoutes::new(routes(&text))), validation);
    let plain_http = PlainHttp::TerminatedAt(["127.0.0.0/8".parse().unwrap()].into());
    let (config, shutdown) = (ProxyConfig { plain_http, ..config() }, CancellationToken::new());
    let running = RunningProxy::start(config, Arc::new(gateway), shutdown.clone()).await.unwrap();
    for (address, status) in [("https://a/orders", 200), ("http://a/orders", 401)] {
        let proof = proof(&pair, &key, address);
        let request = format!(
            "GET /orders HTTP/1.1\r\nhost: a\r\nx-forwarded-proto: https\r\nauthorization: DPoP {TOKEN}\r\ndpop: {proof}\r\n\r\n"
        );
        assert_eq!(ask(&running, &request).await.status(), status, "{address}");
    }
    shutdown.cancel();
}
