use std::sync::atomic::AtomicU32;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use sluice_commit::StoreError;
use sluice_crypto::SystemSecret;
use sluice_crypto::jwk::{Jwk, RsaSize};
use sluice_gateway::link::LinkConfig;
use sluice_primitives::{OsRng, SystemClock};
use sluice_testkit::Captured;
use sluice_token::{Feed, FeedBatch, FeedPosition};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::*;

const NETWORK: NetworkId = NetworkId::from_bytes([7; 16]);

fn server(secrets: &[&[u8]]) -> Sealer {
    let secrets: Vec<_> = secrets.iter().map(|secret| SystemSecret::new(secret.to_vec())).collect();
    Sealer::new(NETWORK, &secrets)
}

/// What a server with these secrets gives away.
fn document(secrets: &[&[u8]]) -> LinkKeys {
    LinkKeys {
        network: NETWORK.to_string(),
        issuer: "https://id.example".to_owned(),
        sealed: vec![server(secrets).subkeys(Purpose::TokenFacts)],
        jwks: to_raw_value(&json!({ "keys": [] })).unwrap(),
        persons: Vec::new(),
        longest_access_token: None,
        longest_person_token: None,
    }
}

fn opens(keys: &LinkedKeys, nonce: &str) -> bool {
    keys.sealer.load().open(Purpose::DpopNonce, nonce).is_ok()
}

fn nonce(keys: &LinkedKeys) -> String {
    keys.sealer.load().seal(Purpose::DpopNonce, b"now", &OsRng)
}

#[test]
fn gateways_of_one_server_take_each_others_nonces_also_while_its_secret_changes() {
    let keys = |secrets: &[&[u8]]| LinkedKeys::of(&document(secrets)).unwrap();
    let (one, other, stranger) = (keys(&[b"old"]), keys(&[b"old"]), keys(&[b"another"]));
    assert!(opens(&one, &nonce(&other)) && !opens(&one, &nonce(&stranger)));
    one.replace(&document(&[b"new", b"old"])).unwrap();
    assert!(opens(&one, &nonce(&other)));
    other.replace(&document(&[b"new", b"old"])).unwrap();
    assert!(opens(&other, &nonce(&one)));
}

#[test]
fn what_the_server_says_of_the_longest_life_of_a_token_is_in_force_from_then_on() {
    let keys = LinkedKeys::of(&document(&[b"old"])).unwrap();
    let spans = || (keys.longest_access_token(), keys.longest_person_token());
    assert_eq!(spans(), (Lifetime::FOREVER, Lifetime::FOREVER), "an earlier release");
    let before = keys.generation();
    let told = LinkKeys { longest_access_token: Some(3_600), ..document(&[b"old"]) };
    keys.replace(&told).unwrap();
    assert_eq!(spans(), (Lifetime::hours(1), Lifetime::FOREVER));
    assert!(keys.generation() > before, "what is remembered of tokens is asked anew");
    let before = keys.generation();
    keys.replace(&LinkKeys { longest_person_token: Some(900), ..told }).unwrap();
    assert_eq!(spans(), (Lifetime::hours(1), Lifetime::minutes(15)));
    assert!(keys.generation() > before, "and of people's");
}

#[test]
fn the_issuer_that_the_server_names_is_in_force_from_then_on() {
    let keys = LinkedKeys::of(&document(&[b"old"])).unwrap();
    let is_issuer = || ["https://id.example", "https://login.example"].map(|issuer| keys.is_issuer(issuer));
    assert_eq!(is_issuer(), [true, false]);
    let before = keys.generation();
    let told = LinkKeys { issuer: "https://login.example".to_owned(), ..document(&[b"old"]) };
    keys.replace(&told).unwrap();
    assert_eq!(is_issuer(), [false, true]);
    assert!(keys.generation() > before, "what is remembered of tokens is asked anew");
}

#[test]
fn the_keys_of_nonces_are_gateways_own_and_the_server_has_others() {
    let keys = LinkedKeys::of(&document(&[b"old"])).unwrap();
    let sealer = keys.sealer.load();
    assert!(server(&[b"old"]).open(Purpose::DpopNonce, &nonce(&keys)).is_err());
    assert!(!sealer.knows(Purpose::AccessToken) && !sealer.knows(Purpose::RefreshToken));
}

#[tokio::test(start_paused = true)]
async fn tokens_that_no_key_opens_have_the_keys_asked_for_once_a_second_at_most() {
    let keys = LinkedKeys::of(&document(&[b"old"])).unwrap();
    let asked = AtomicU32::new(0);
    let ask = || async {
        asked.fetch_add(1, Ordering::SeqCst);
        Ok::<_, LinkError>(document(&[b"new", b"old"]))
    };
    let (_changed, wanted) = watch::channel(0);
    let tokens = async {
        sleep(FOR_A_TOKEN * 10).await;
        assert_eq!(asked.load(Ordering::SeqCst), 0);
        for _ in 0..50 {
            keys.look_again();
            sleep(FOR_A_TOKEN / 10).await;
        }
    };
    tokio::select! {
        () = renew_when_due(ask, &keys, wanted) => unreachable!("it goes on"),
        () = tokens => {}
    }
    let asked = asked.load(Ordering::SeqCst);
    assert!((5..=6).contains(&asked), "{asked}");
    let new = server(&[b"new"]).seal(Purpose::TokenFacts, b"facts", &OsRng);
    assert!(keys.sealer.load().open(Purpose::TokenFacts, &new).is_ok());
}

#[test]
fn a_token_of_a_person_that_no_key_verifies_has_the_keys_asked_for() {
    let keys = LinkedKeys::of(&document(&[b"old"])).unwrap();
    assert_eq!(keys.verify_paseto("v4.public.AAAA"), None);
    assert!(keys.missing.notified().now_or_never().is_some());
}

/// A JWT that nobody signed.
fn jwt(alg: &str, kid: &str, issuer: &str) -> String {
    let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    format!("{}.{}.AAAA", part(json!({ "alg": alg, "kid": kid })), part(json!({ "iss": issuer })))
}

#[test]
fn a_jwt_of_this_issuer_whose_key_is_not_known_has_the_keys_asked_for() {
    let key = Jwk::generate(SigningAlgorithm::EdDSA, "known".to_owned(), RsaSize::default()).unwrap();
    let jwks = to_raw_value(&json!({ "keys": [key.public()] })).unwrap();
    let keys = LinkedKeys::of(&LinkKeys { jwks, ..document(&[b"old"]) }).unwrap();
    for (token, is_asked) in [
        (jwt("EdDSA", "new", "https://id.example"), true),
        (jwt("ES256", "new", "https://id.example"), true),
        (jwt("EdDSA", "known", "https://id.example"), false),
        (jwt("EdDSA", "new", "https://other.example"), false),
        ("no JWT".to_owned(), false),
    ] {
        assert!(keys.verify_jwt(&token).is_none());
        assert_eq!(keys.missing.notified().now_or_never().is_some(), is_asked, "{token}");
    }
}

/// A feed that cannot be read the second time.
#[derive(Default)]
struct Away(AtomicU32);

#[async_trait]
impl Feed for Away {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            1 => Err(StoreError::Busy),
            _ => Ok(FeedBatch { position: from.clone(), ..FeedBatch::default() }),
        }
    }

    async fn wait(&self) {
        sleep(Duration::from_secs(1)).await;
    }
}

/// How often keys are said to have changed by who hears a server, which is away after a second, for so long.
async fn times_told(hearing: Duration) -> u64 {
    let follower = FeedFollower::new(Arc::new(Away::default()), Arc::default(), Arc::new(SystemClock));
    let (changed, wanted) = watch::channel(0);
    let heard = timeout(hearing, hear(&follower, &changed)).await;
    assert!(heard.is_err(), "it goes on");
    *wanted.borrow()
}

#[tokio::test(start_paused = true)]
async fn keys_may_have_changed_while_the_gateway_started() {
    assert_eq!(times_told(Duration::from_millis(500)).await, 1);
}

#[tokio::test(start_paused = true)]
async fn once_a_server_is_heard_again_it_may_have_other_keys() {
    assert_eq!(times_told(KEYS_EVERY).await, 2, "at first, and after it was away");
}

/// A feed that cannot be read for the first two minutes and a half.
struct AwayUntil(Instant);

#[async_trait]
impl Feed for AwayUntil {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        if Instant::now() < self.0 {
            return Err(StoreError::Busy);
        }
        Ok(FeedBatch { position: from.clone(), ..FeedBatch::default() })
    }

    async fn wait(&self) {
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn that_revocations_are_not_heard_is_said_once_a_minute_and_that_they_are_again_once() {
    let (log, _guard) = Captured::begin();
    let feed = AwayUntil(Instant::now() + Duration::from_secs(150));
    let follower = FeedFollower::new(Arc::new(feed), Arc::default(), Arc::new(SystemClock));
    let (changed, _wanted) = watch::channel(0);
    assert!(timeout(Duration::from_mins(5), hear(&follower, &changed)).await.is_err(), "it goes on");
    let said = log.lines("revocations were not heard");
    let [first, second, third] = said.as_slice() else { panic!("{}", log.text()) };
    assert!(first.contains("WARN") && first.ends_with("times=1"), "{first}");
    assert!([second, third].iter().all(|line| line.ends_with("times=120")), "{}", log.text());
    let over = log.lines("revocations are heard again");
    assert!(over.len() == 1 && over.concat().contains("INFO"), "{}", log.text());
}

#[tokio::test]
async fn that_the_server_cannot_be_asked_about_tokens_is_said_once_however_many_come() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (log, _guard) = Captured::begin();
    let client = LinkClient::new(&LinkConfig {
        url: format!("http://{gone}").parse().unwrap(),
        token: Secret::new("a token".to_owned()),
        ca_file: None,
    });
    let authority = LinkAuthority::new(Arc::new(client.unwrap()));
    for _ in 0..10 {
        assert_eq!(authority.introspect("a token").await.err(), Some(TokenFault::Unreachable));
    }
    let said = log.lines("the authorization server could not be asked about a token");
    assert_eq!(said.len(), 1, "{}", log.text());
    assert!(said.concat().contains("WARN"), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_no_key_opens_takes_no_place_of_the_questions_after_a_change() {
    let keys = LinkedKeys::of(&document(&[b"old"])).unwrap();
    let asked = AtomicU32::new(0);
    let ask = || async {
        asked.fetch_add(1, Ordering::SeqCst);
        Ok::<_, LinkError>(document(&[b"old"]))
    };
    let (changed, wanted) = watch::channel(0);
    let told = async {
        changed.send_modify(|times| *times += 1);
        sleep(Duration::from_secs(2)).await;
        keys.look_again();
        sleep(Duration::from_secs(6)).await;
    };
    tokio::select! {
        () = renew_when_due(ask, &keys, wanted) => unreachable!("it goes on"),
        () = told => {}
    }
    assert_eq!(
        asked.load(Ordering::SeqCst),
        5,
        "at once, soon, after one second, for the token, and five seconds later"
    );
}
