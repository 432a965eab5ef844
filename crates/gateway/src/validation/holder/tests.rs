use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, Method};
use jsonwebtoken::EncodingKey;
use jsonwebtoken::crypto::sign;
use serde_json::{Value, json};
use sluice_crypto::SystemSecret;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::{Jwk, SigningAlgorithm};
use sluice_primitives::OsRng;
use sluice_token::claims::RareClaims;

use super::*;
use crate::validation::fake::{NETWORK, START, changed, claims, key, sealer};

const TOKEN: &str = "a.token";
const REMEMBERED: u32 = 10;

fn check() -> HolderCheck {
    check_with(Arc::new(ArcSwap::from_pointee(sealer())))
}

fn check_with(sealer: Arc<ArcSwap<Sealer>>) -> HolderCheck {
    HolderCheck::new(HolderParts {
        sealer,
        rng: Arc::new(OsRng),
        proof_lifetime: Lifetime::secs(60),
        proof_ahead: Lifetime::secs(15),
        nonce_lifetime: Lifetime::minutes(5),
        remembered_proofs: REMEMBERED as usize,
    })
}

fn holder() -> Jwk {
    Jwk { kid: None, alg: None, ..key("holder", SigningAlgorithm::EdDSA) }
}

/// A proof for `GET https://api.example/orders` with [`TOKEN`], changed.
fn proof_of(key: &Jwk, change: &Value) -> String {
    let ath = URL_SAFE_NO_PAD.encode(sha256(TOKEN.as_bytes()));
    let claims = json!({
        "jti": "1", "htm": "GET", "htu": "https://api.example/orders", "iat": START.as_secs(), "ath": ath,
    });
    let header = json!({ "typ": "dpop+jwt", "alg": "EdDSA", "jwk": key.public() });
    let part = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let message = format!("{}.{}", part(&header), part(&changed(claims, change)));
    let der = [
        &[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20][..],
        &URL_SAFE_NO_PAD.decode(serde_json::to_value(key).unwrap()["d"].as_str().unwrap()).unwrap(),
    ];
    let key = EncodingKey::from_ed_der(&der.concat());
    let signature = sign(message.as_bytes(), &key, jsonwebtoken::Algorithm::EdDSA).unwrap();
    format!("{message}.{signature}")
}

fn proof(change: &Value) -> String {
    proof_of(&holder(), change)
}

fn caller(confirmation: Option<Confirmation>) -> Caller {
    let rare = RareClaims { confirmation, ..RareClaims::default() };
    Caller::Own(Box::new(sluice_token::AccessTokenClaims { rare, ..claims() }))
}

fn bound() -> Caller {
    caller(Some(Confirmation::Jkt(holder().thumbprint_bytes().unwrap())))
}

struct Request<'a> {
    proofs: &'a [&'a str],
    certificate: Option<[u8; 32]>,
    scheme: Scheme,
    nonce: bool,
}

const BEARER: Request<'static> =
    Request { proofs: &[], certificate: None, scheme: Scheme::Bearer, nonce: false };
const DPOP: Request<'static> = Request { scheme: Scheme::Dpop, ..BEARER };

impl HolderCheck {
    fn judge(&self, caller: &Caller, request: &Request<'_>) -> Result<(), Refusal> {
        self.judge_at(caller, request, START)
    }

    fn judge_at(&self, caller: &Caller, request: &Request<'_>, now: Timestamp) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for proof in request.proofs {
            headers.append("dpop", HeaderValue::from_str(proof).unwrap());
        }
        let asked = Asked {
            has_body: false,
            method: &Method::GET,
            https: true,
            host: "api.example",
            path: "/orders",
            query: Some("page=2"),
            headers: &headers,
            client: [127, 0, 0, 1].into(),
            certificate: request.certificate,
            last: None,
        };
        let policy = RoutePolicy { dpop_nonce: request.nonce, ..RoutePolicy::default() };
        let presented = Presented { token: TOKEN, scheme: request.scheme };
        let proof = self.check(caller, &presented, &asked, (&policy, now))?;
        proof.map_or(Ok(()), |proof| self.remember(&proof, now))
    }
}

fn not_holder(reason: &'static str) -> Result<(), Refusal> {
    Err(Refusal::NotHolder(reason))
}

#[test]
fn a_token_is_presented_in_the_way_that_it_is_bound() {
    let (free, by_certificate) = (caller(None), caller(Some(Confirmation::X5tS256([1; 32]))));
    let (proof, check) = (proof(&json!({})), check());
    let with_proof = Request { proofs: &[&proof], ..DPOP };
    assert_eq!(check.judge(&free, &BEARER), Ok(()));
    assert_eq!(check.judge(&free, &with_proof), not_holder(NOT_BOUND));
    assert_eq!(check.judge(&bound(), &BEARER), not_holder(UNPROVEN));
    assert_eq!(check.judge(&bound(), &Request { proofs: &[&proof], ..BEARER }), not_holder(UNPROVEN));
    assert_eq!(check.judge(&bound(), &with_proof), Ok(()));
    assert_eq!(check.judge(&by_certificate, &with_proof), not_holder(NOT_BOUND));
}

#[test]
fn a_token_of_a_certificate_is_good_with_that_certificate_only() {
    let caller = caller(Some(Confirmation::X5tS256([1; 32])));
    for (certificate, outcome) in
        [(Some([1; 32]), Ok(())), (Some([2; 32]), not_holder(OTHER_KEY)), (None, not_holder(OTHER_KEY))]
    {
        assert_eq!(check().judge(&caller, &Request { certificate, ..BEARER }), outcome);
    }
}

#[test]
fn a_proof_is_for_one_request_and_one_time() {
    let judge = |proof: &str| check().judge(&bound(), &Request { proofs: &[proof], ..DPOP });
    for good in [
        json!({}),
        json!({ "htu": "https://api.example:443/orders?page=3#x" }),
        json!({ "iat": START.as_secs() - 60 }),
        json!({ "iat": START.as_secs() + 15 }),
        json!({ "nonce": "of another server" }),
    ] {
        assert_eq!(judge(&proof(&good)), Ok(()), "{good}");
    }
    for bad in [
        json!({ "htm": "POST" }),
        json!({ "htu": "https://api.example/order" }),
        json!({ "htu": "http://api.example/orders" }),
        json!({ "htu": "https://other.example/orders" }),
        json!({ "iat": START.as_secs() - 61 }),
        json!({ "iat": START.as_secs() + 16 }),
        json!({ "ath": URL_SAFE_NO_PAD.encode(sha256(b"another token")) }),
        json!({ "ath": null }),
        json!({ "jti": null }),
    ] {
        assert_eq!(judge(&proof(&bad)), not_holder(PROOF_INVALID), "{bad}");
    }
    let of_other = proof_of(&key("other", SigningAlgorithm::EdDSA), &json!({}));
    assert_eq!(judge(&of_other), not_holder(OTHER_KEY));
    assert_eq!(judge("no.proof.at-all"), not_holder(PROOF_INVALID));
}

#[test]
fn a_proof_is_taken_once_and_there_is_one() {
    let (check, proof) = (check(), proof(&json!({})));
    let once = Request { proofs: &[&proof], ..DPOP };
    assert_eq!(
        check.judge(&bound(), &Request { proofs: &[&proof, &proof], ..DPOP }),
        not_holder(PROOF_INVALID)
    );
    assert_eq!(check.judge(&bound(), &once), Ok(()));
    assert_eq!(check.judge(&bound(), &once), not_holder(PROOF_REPLAYED));
    assert_eq!(check.judge(&bound(), &DPOP), not_holder(PROOF_MISSING));
}

#[test]
fn a_proof_of_another_key_is_not_remembered() {
    let (check, other) = (check(), key("other", SigningAlgorithm::EdDSA));
    let of_other = proof_of(&other, &json!({}));
    let shown = Request { proofs: &[&of_other], ..DPOP };
    for _ in 0..3 {
        assert_eq!(check.judge(&bound(), &shown), not_holder(OTHER_KEY));
    }
    assert_eq!(check.seen().remembered(), 0);
    let its_own = caller(Some(Confirmation::Jkt(other.thumbprint_bytes().unwrap())));
    assert_eq!(check.judge(&its_own, &shown), Ok(()));
    assert_eq!(check.judge(&its_own, &shown), not_holder(PROOF_REPLAYED));
}

#[test]
fn a_proof_that_finds_no_room_is_refused_and_none_that_is_good_is_forgotten_for_it() {
    // Half of the room is for one key.
    const ROOM: u32 = REMEMBERED / 2;
    let check = check();
    let judge = |number: u32, made: u32, now: u32| {
        let iat = START.as_secs() + i64::from(made);
        let proof = proof(&json!({ "jti": number.to_string(), "iat": iat }));
        let request = Request { proofs: &[&proof], ..DPOP };
        check.judge_at(&bound(), &request, START + Lifetime::secs(now))
    };
    for number in 0..ROOM {
        assert_eq!(judge(number, 0, 0), Ok(()));
    }
    for now in [0, 30, 60] {
        assert_eq!(judge(ROOM, now, now), Err(Refusal::TooManyProofs), "{now}");
        for number in 0..ROOM {
            assert_eq!(judge(number, 0, now), not_holder(PROOF_REPLAYED), "{number} after {now} s");
        }
    }
    assert_eq!(check.seen().turned_away(), 3);
    assert_eq!(judge(0, 0, 90), not_holder(PROOF_INVALID), "it is too old");
    assert_eq!(judge(ROOM, 90, 90), Ok(()), "those that were seen are, too");
    assert_eq!(check.seen().remembered(), 1);
}

#[test]
fn where_nonces_are_wanted_a_proof_has_one_of_the_gateway() {
    let check = check();
    let judge =
        |change: &Value| check.judge(&bound(), &Request { proofs: &[&proof(change)], nonce: true, ..DPOP });
    let Err(Refusal::NonceWanted(nonce)) = judge(&json!({})) else { panic!("no nonce is wanted") };
    assert!(matches!(judge(&json!({ "nonce": "guessed" })), Err(Refusal::NonceWanted(_))));
    assert_eq!(judge(&json!({ "nonce": nonce })), Ok(()));
    assert_eq!(judge(&json!({ "nonce": nonce })), not_holder(PROOF_REPLAYED));
}

#[test]
fn refusals_say_whether_they_are_about_the_proof() {
    for about_proof in [PROOF_MISSING, PROOF_INVALID, PROOF_REPLAYED] {
        assert!(is_about_proof(about_proof));
    }
    for about_token in [OTHER_KEY, UNPROVEN, NOT_BOUND] {
        assert!(!is_about_proof(about_token));
    }
}

#[test]
fn nonces_are_of_the_keys_that_are_in_force() {
    let sealer = |secrets: &[&[u8]]| {
        let secrets: Vec<_> = secrets.iter().map(|secret| SystemSecret::new(secret.to_vec())).collect();
        Arc::new(Sealer::new(NETWORK, &secrets))
    };
    let (here, elsewhere) = (ArcSwap::new(sealer(&[b"old"])), ArcSwap::new(sealer(&[b"old"])));
    let (here, elsewhere) = (Arc::new(here), Arc::new(elsewhere));
    let (one, other) = (check_with(here.clone()), check_with(elsewhere.clone()));
    let takes = |check: &HolderCheck, nonce: &str| {
        let proof = proof(&json!({ "nonce": nonce, "jti": nonce }));
        check.judge(&bound(), &Request { proofs: &[&proof], nonce: true, ..DPOP }) == Ok(())
    };
    assert!(takes(&one, &other.nonce(START)), "of another gateway with the same keys");
    let before = other.nonce(START);
    elsewhere.store(sealer(&[b"new", b"old"]));
    assert!(takes(&other, &before) && !takes(&one, &other.nonce(START)), "the keys are not known here yet");
    here.store(sealer(&[b"new", b"old"]));
    assert!(takes(&one, &other.nonce(START)));
    let seen = other.nonce(START);
    assert!(takes(&one, &seen));
    here.store(sealer(&[b"newer", b"new"]));
    assert!(!takes(&one, &seen), "a proof that was seen is remembered though the keys have changed");
    assert!(!takes(&one, &check_with(Arc::new(ArcSwap::new(sealer(&[b"old"])))).nonce(START)));
}
