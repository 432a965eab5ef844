//! What tokens are checked with in a process of its own: keys and revocations by way of a link.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use sluice_commit::chain;
use sluice_crypto::jwk::{JwkSet, SigningAlgorithm};
use sluice_crypto::jws::{VerifiedJws, VerifyingKey, verify};
use sluice_crypto::paseto::PasetoPublicKey;
use sluice_crypto::{Purpose, SealedSubkeys, Sealer};
use sluice_gateway::link::{LinkClient, LinkError};
use sluice_gateway::validation::{Authority, BoxedValidation, OwnKeys};
use sluice_gateway::{Caller, TokenFault};
use sluice_primitives::{Lifetime, NetworkId, Secret};
use sluice_token::link::{LinkKeys, TokenAnswer};
use sluice_token::{Change, FeedFollower, paseto, sealed};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

/// How often keys are asked for, whether or not the feed spoke of them.
const KEYS_EVERY: Duration = Duration::from_mins(1);
/// When they are asked for once more after the feed spoke of them, last pause first.
const AFTER_A_CHANGE: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(1)];
/// They are asked for no sooner again because of a token that no key opens.
const FOR_A_TOKEN: Duration = Duration::from_secs(1);
/// When they are asked for again after they were not to be had.
const AFTER_A_FAILURE: Duration = Duration::from_secs(2);
/// The pause after a feed or keys that could not be had.
const BACK_OFF: Duration = Duration::from_millis(500);

/// The keys as they came last.
pub(super) struct LinkedKeys {
    current: ArcSwap<Keys>,
    /// Opens sealed tokens, and the facts in JWTs; seals the nonces of DPoP proofs.
    pub(super) sealer: Arc<ArcSwap<Sealer>>,
    generation: AtomicU64,
    /// A token was there that no key opens.
    missing: Notify,
}

struct Keys {
    document: Vec<u8>,
    verifying: Vec<VerifyingKey>,
    algorithms: Vec<SigningAlgorithm>,
    persons: Vec<PasetoPublicKey>,
    network: NetworkId,
    issuer: String,
    longest_access_token: Lifetime,
    longest_person_token: Lifetime,
}

/// The document cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the keys of the link cannot be used: {0}")]
pub(crate) struct UnusableKeys(&'static str);

impl Keys {
    fn of(document: &LinkKeys) -> Result<(Self, Sealer), UnusableKeys> {
        let network: NetworkId = document.network.parse().map_err(|_| UnusableKeys("the network"))?;
        let set =
            JwkSet::understood(document.jwks.get().as_bytes()).map_err(|_| UnusableKeys("the JWK set"))?;
        let mut algorithms: Vec<_> = set.keys.iter().filter_map(|key| key.signing_algorithm().ok()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let keys = Self {
            document: serde_json::to_vec(document).unwrap_or_default(),
            verifying: VerifyingKey::usable_of(&set),
            algorithms,
            persons: document.persons.iter().filter_map(|key| PasetoPublicKey::from_jwk(key).ok()).collect(),
            network,
            issuer: document.issuer.clone(),
            longest_access_token: document.longest_access_token.map_or(Lifetime::FOREVER, Lifetime::secs),
            longest_person_token: document.longest_person_token.map_or(Lifetime::FOREVER, Lifetime::secs),
        };
        Ok((keys, sealer(network, &document.sealed)))
    }
}

/// Opens what the server seals. The keys of nonces for DPoP proofs follow from those of the facts in JWTs, which every gateway of a server
/// has and nobody else: so gateways take each other's nonces, and a nonce, which any client may have, tells nothing of the link's token.
fn sealer(network: NetworkId, given: &[SealedSubkeys]) -> Sealer {
    let facts = given.iter().filter(|keys| keys.purpose() == Purpose::TokenFacts);
    let secrets: Vec<_> = facts.flat_map(SealedSubkeys::as_secrets).collect();
    Sealer::from_subkeys(network, given).with_own_secrets(Purpose::DpopNonce, &secrets)
}

impl LinkedKeys {
    pub(super) fn of(document: &LinkKeys) -> Result<Self, UnusableKeys> {
        let (keys, sealer) = Keys::of(document)?;
        Ok(Self {
            current: ArcSwap::from_pointee(keys),
            sealer: Arc::new(ArcSwap::from_pointee(sealer)),
            generation: AtomicU64::new(1),
            missing: Notify::new(),
        })
    }

    /// The issuer of the authorization server.
    pub(super) fn issuer(&self) -> String {
        self.current.load().issuer.clone()
    }

    /// Takes other keys in use, if they are others.
    fn replace(&self, document: &LinkKeys) -> Result<(), UnusableKeys> {
        let (keys, sealer) = Keys::of(document)?;
        if keys.document != self.current.load().document {
            self.sealer.store(Arc::new(sealer));
            self.current.store(Arc::new(keys));
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

impl OwnKeys for LinkedKeys {
    fn verify_jwt(&self, token: &str) -> Option<VerifiedJws> {
        let keys = self.current.load();
        verify(token, &keys.verifying, &keys.algorithms).ok()
    }

    fn verify_paseto(&self, token: &str) -> Option<Vec<u8>> {
        let keys = self.current.load();
        let verified = keys.persons.iter().find_map(|key| key.verify(token, keys.network.as_bytes()).ok());
        if verified.is_none() {
            self.look_again();
        }
        verified
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn longest_access_token(&self) -> Lifetime {
        self.current.load().longest_access_token
    }

    fn longest_person_token(&self) -> Lifetime {
        self.current.load().longest_person_token
    }

    /// Secrets change with a restart of the server, of which no feed tells.
    fn look_again(&self) {
        self.missing.notify_one();
    }
}

/// Asks for the keys until there are some.
pub(super) async fn first_keys(client: &LinkClient) -> LinkedKeys {
    loop {
        match client.keys::<LinkKeys>().await.map(|document| LinkedKeys::of(&document)) {
            Ok(Ok(keys)) => return keys,
            Ok(Err(error)) => warn!(error = %chain(&error), "the link is asked again"),
            Err(error) => warn!(error = %chain(&error), "the link is asked again"),
        }
        sleep(BACK_OFF * 2).await;
    }
}

/// Follows feed and keys, for ever.
pub(super) async fn follow(client: Arc<LinkClient>, follower: Arc<FeedFollower>, keys: Arc<LinkedKeys>) {
    let (changed, wanted) = watch::channel(0_u64);
    let link: &LinkClient = &client;
    let ask = move || link.keys::<LinkKeys>();
    tokio::join!(hear(&follower, &changed), renew_when_due(ask, &keys, wanted));
}

/// Follows the feed, and tells when keys may have changed: the feed says so, or it was not heard for a while, as while the server starts
/// again, maybe with other secrets.
async fn hear(follower: &FeedFollower, changed: &watch::Sender<u64>) {
    let mut was_unheard = false;
    loop {
        match follower.catch_up().await {
            Ok(changes) => {
                let is_told = changes.iter().any(|change| matches!(change, Change::Keys(_)));
                if std::mem::take(&mut was_unheard) || is_told {
                    changed.send_modify(|times| *times += 1);
                }
                follower.wait().await;
            }
            Err(error) => {
                was_unheard = true;
                warn!(error = %chain(&error), "revocations were not heard");
                sleep(BACK_OFF).await;
            }
        }
    }
}

/// Asks for keys when they may have changed, when a token is there that they do not open, and each minute. The server may tell of a change
/// before it has read the keys again, so after a change it is asked several times; a failure is made up for soon.
async fn renew_when_due<F: Future<Output = Result<LinkKeys, LinkError>>>(
    ask: impl Fn() -> F,
    keys: &LinkedKeys,
    mut wanted: watch::Receiver<u64>,
) {
    let mut pauses = Vec::new();
    let mut asked_at = Instant::now();
    loop {
        let pause = pauses.pop().unwrap_or(KEYS_EVERY);
        tokio::select! {
            () = sleep(pause) => {}
            () = missing(keys, asked_at + FOR_A_TOKEN) => {}
            told = wanted.changed() => {
                if told.is_err() {
                    return;
                }
                pauses = AFTER_A_CHANGE.to_vec();
            }
        }
        asked_at = Instant::now();
        if renew(ask(), keys).await.is_err() {
            pauses.push(AFTER_A_FAILURE);
        }
    }
}

/// Waits for a token that no key opens, and until then at least.
async fn missing(keys: &LinkedKeys, until: Instant) {
    sleep_until(until).await;
    keys.missing.notified().await;
}

async fn renew(
    answer: impl Future<Output = Result<LinkKeys, LinkError>>,
    keys: &LinkedKeys,
) -> Result<(), LinkError> {
    let document = answer.await.inspect_err(|error| {
        warn!(error = %chain(error), "the keys stay as they were");
    })?;
    if let Err(error) = keys.replace(&document) {
        warn!(error = %chain(&error), "the keys stay as they were");
    }
    Ok(())
}

/// The authorization server at the other end, asked about tokens when revocations were not heard of for long, and about those that no
/// key here opens.
pub(super) struct LinkAuthority(pub(super) Arc<LinkClient>);

impl Authority for LinkAuthority {
    fn introspect(&self, token: &str) -> BoxedValidation {
        let (client, token) = (Arc::clone(&self.0), Secret::new(token.to_owned()));
        Box::pin(async move {
            match client.check(token.expose()).await {
                Ok(answer) if !answer.known && !answer.active => Err(TokenFault::NotAuthentic),
                Ok(answer) if !answer.active => Err(TokenFault::Revoked),
                Ok(answer) => told(&answer).ok_or(TokenFault::Unreachable),
                Err(error) => {
                    warn!(error = %chain(&error), "the authorization server could not be asked about a token");
                    Err(TokenFault::Unreachable)
                }
            }
        })
    }
}

/// Who calls with a token that holds.
fn told(answer: &TokenAnswer) -> Option<Arc<Caller>> {
    let of_client = || Some(Caller::Own(Box::new(sealed::decode(answer.claims.as_deref()?).ok()?)));
    let of_person = || {
        Some(Caller::Person(Box::new(
            paseto::read(answer.person.as_deref()?.as_bytes()).ok()?.try_into().ok()?,
        )))
    };
    of_client().or_else(of_person).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use async_trait::async_trait;
    use futures_util::FutureExt;
    use serde_json::value::to_raw_value;
    use sluice_commit::StoreError;
    use sluice_crypto::SystemSecret;
    use sluice_primitives::{OsRng, SystemClock};
    use sluice_token::{Feed, FeedBatch, FeedPosition};
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
            jwks: to_raw_value(&serde_json::json!({ "keys": [] })).unwrap(),
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

    #[tokio::test(start_paused = true)]
    async fn once_a_server_is_heard_again_it_may_have_other_keys() {
        let follower = FeedFollower::new(Arc::new(Away::default()), Arc::default(), Arc::new(SystemClock));
        let (changed, mut wanted) = watch::channel(0);
        tokio::select! {
            () = hear(&follower, &changed) => unreachable!("it goes on"),
            told = timeout(KEYS_EVERY, wanted.changed()) => told.unwrap().unwrap(),
        }
        assert_eq!(*wanted.borrow(), 1);
    }
}
