//! Tokens that are bound to a key, from the request to the answer.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::WWW_AUTHENTICATE;
use jsonwebtoken::jwk::Jwk as PublicJwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::KeyPair;
use serde_json::json;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::Jwk;

use super::given::{Ask, GivenGateway, NOW, REMEMBERED_PROOFS, caller, refusal};
use super::*;

/// A client with a key.
pub(super) struct Client {
    pair: KeyPair,
    jwk: Jwk,
}

impl Client {
    pub(super) fn new() -> Self {
        let pair = KeyPair::generate().unwrap();
        let jwk = Jwk::from_pem(&pair.serialize_pem()).unwrap();
        Self { pair, jwk }
    }

    pub(super) fn thumbprint(&self) -> [u8; 32] {
        self.jwk.thumbprint_bytes().unwrap()
    }

    /// A proof for `GET https://api.example.com/orders` with this token.
    fn proof(&self, token: &str, nonce: Option<&str>) -> String {
        let mut public = serde_json::to_value(self.jwk.public()).unwrap();
        public.as_object_mut().unwrap().retain(|name, _| ["kty", "crv", "x", "y"].contains(&name.as_str()));
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some("dpop+jwt".to_owned());
        header.jwk = Some(serde_json::from_value::<PublicJwk>(public).unwrap());
        let mut claims = json!({
            "jti": format!("{token}-{nonce:?}"), "htm": "GET", "htu": "https://api.example.com/orders",
            "iat": NOW.as_secs(), "ath": URL_SAFE_NO_PAD.encode(sha256(token.as_bytes())),
        });
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        encode(&header, &claims, &self.encoding_key()).unwrap()
    }

    fn encoding_key(&self) -> EncodingKey {
        EncodingKey::from_ec_pem(self.pair.serialize_pem().as_bytes()).unwrap()
    }

    pub(super) fn ask(&self, token: &str, nonce: Option<&str>) -> Ask {
        let proof = self.proof(token, nonce);
        Ask::to("/orders").header("authorization", &format!("DPoP {token}")).header("dpop", &proof)
    }
}

fn challenges(answer: &Response<Full<Bytes>>) -> Vec<&str> {
    answer.headers().get_all(WWW_AUTHENTICATE).iter().map(|value| value.to_str().unwrap()).collect()
}

#[tokio::test]
async fn a_proof_is_checked_whether_the_verdict_is_waited_for_or_not() {
    let client = Client::new();
    let gateway = GivenGateway::bound(RoutePolicy::default(), client.thumbprint());
    for token in ["bound", "later.bound"] {
        let ask = client.ask(token, None);
        assert_eq!(caller(&gateway.judge(&ask).await).subject(), Some("alice"));
        assert_eq!(refusal(&gateway.judge(&ask).await), Refusal::NotHolder("dpop_proof_replayed"));
    }
}

#[tokio::test]
async fn without_its_proof_a_bound_token_is_worth_nothing() {
    let client = Client::new();
    let gateway = GivenGateway::bound(RoutePolicy::default(), client.thumbprint());
    let as_bearer = gateway.gateway.refuse(&gateway.judge(&Ask::to("/orders").bearer("bound")).await);
    assert_eq!(as_bearer.status(), 401);
    assert!(challenges(&as_bearer)[0].contains("error=\"invalid_token\""));
    let without = Ask::to("/orders").header("authorization", "DPoP bound");
    let without = gateway.gateway.refuse(&gateway.judge(&without).await);
    assert_eq!(challenges(&without).len(), 1);
    assert!(
        challenges(&without)[0].starts_with("DPoP ")
            && challenges(&without)[0].contains("invalid_dpop_proof")
    );
    let of_another = gateway.judge(&Client::new().ask("bound", None)).await;
    assert_eq!(refusal(&of_another), Refusal::NotHolder("token_of_another_key"));
}

#[tokio::test]
async fn a_nonce_that_is_wanted_is_given_and_then_taken() {
    let client = Client::new();
    let policy = RoutePolicy { dpop_nonce: true, ..RoutePolicy::default() };
    let gateway = GivenGateway::bound(policy, client.thumbprint());
    let first = gateway.gateway.refuse(&gateway.judge(&client.ask("bound", None)).await);
    assert!(challenges(&first)[0].contains("error=\"use_dpop_nonce\""));
    let nonce = first.headers()["dpop-nonce"].to_str().unwrap();
    assert_eq!(caller(&gateway.judge(&client.ask("bound", Some(nonce))).await).subject(), Some("alice"));
}

#[tokio::test]
async fn who_has_taken_half_of_the_room_for_proofs_is_told_to_come_again() {
    let client = Client::new();
    let gateway = GivenGateway::bound(RoutePolicy::default(), client.thumbprint());
    let ask = |number: usize| client.ask("bound", Some(&number.to_string()));
    for number in 0..REMEMBERED_PROOFS / 2 {
        assert_eq!(caller(&gateway.judge(&ask(number)).await).subject(), Some("alice"));
    }
    let turned_away = gateway.judge(&ask(REMEMBERED_PROOFS)).await;
    assert_eq!(refusal(&turned_away), Refusal::TooManyProofs);
    assert_eq!(gateway.gateway.refuse(&turned_away).status(), 503);
    let replayed = gateway.judge(&ask(0)).await;
    assert_eq!(refusal(&replayed), Refusal::NotHolder("dpop_proof_replayed"));
    assert_eq!(caller(&gateway.judge(&Ask::to("/orders").bearer("alice")).await).subject(), Some("alice"));
}

#[tokio::test]
async fn who_is_refused_takes_no_room_for_proofs() {
    let client = Client::new();
    let policy = RoutePolicy { scopes: vec!["of.nobody".to_owned()], ..RoutePolicy::default() };
    let gateway = GivenGateway::bound(policy, client.thumbprint());
    for number in 0..2 * REMEMBERED_PROOFS {
        let refused = gateway.judge(&client.ask("bound", Some(&number.to_string()))).await;
        assert_eq!(refusal(&refused), Refusal::InsufficientScope);
    }
}

#[tokio::test]
async fn a_token_of_a_certificate_needs_it() {
    let gateway = GivenGateway::bound(RoutePolicy::default(), [0; 32]);
    for token in ["certified", "later.certified"] {
        let shown = Ask::to("/orders").bearer(token).certified([5; 32]);
        assert_eq!(caller(&gateway.judge(&shown).await).subject(), Some("alice"));
        for other in [Ask::to("/orders").bearer(token), Ask::to("/orders").bearer(token).certified([6; 32])] {
            assert_eq!(refusal(&gateway.judge(&other).await), Refusal::NotHolder("token_of_another_key"));
        }
    }
}
