//! What tokens are checked with in a process of its own: keys and revocations by way of a link.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use sluice_commit::chain;
use sluice_crypto::jwk::{JwkSet, SigningAlgorithm};
use sluice_crypto::jws::{VerifiedJws, VerifyError, VerifyingKey, unverified_parts, verify};
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
use tracing::{info, warn};

use crate::app::outage::Outage;

/// How often keys are asked for, whether or not the feed spoke of them.
const KEYS_EVERY: Duration = Duration::from_mins(1);
/// When they are asked for once more after the feed spoke of them, last pause first.
const AFTER_A_CHANGE: [Duration; 3] =
    [Duration::from_secs(5), Duration::from_secs(1), Duration::from_millis(100)];
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
        let verified = verify(token, &keys.verifying, &keys.algorithms);
        // A new key may be the first for its algorithm.
        let is_of_other = matches!(verified, Err(VerifyError::UnknownKey | VerifyError::AlgorithmNotAllowed));
        if is_of_other && names_issuer(token, &keys.issuer) {
            self.look_again();
        }
        verified.ok()
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

    fn is_issuer(&self, claimed: &str) -> bool {
        self.current.load().issuer == claimed
    }

    fn issuer(&self) -> Option<String> {
        Some(self.current.load().issuer.clone()).filter(|issuer| !issuer.is_empty())
    }

    /// Secrets change with a restart of the server, of which no feed tells; and a server may sign with a key before it is heard of here.
    fn look_again(&self) {
        self.missing.notify_one();
    }
}

/// Whether a JWT says that it is of this issuer, and is signed as one may be: those of others come here, too.
fn names_issuer(token: &str, issuer: &str) -> bool {
    let Ok(parts) = unverified_parts(token) else { return false };
    parts.header.alg.parse::<SigningAlgorithm>().is_ok()
        && parts.unverified_issuer().as_deref() == Some(issuer)
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
/// again, maybe with other secrets. At first they may have, too: nobody was told of what came while the gateway started.
async fn hear(follower: &FeedFollower, changed: &watch::Sender<u64>) {
    let (mut was_unheard, outage) = (true, Outage::default());
    loop {
        match follower.catch_up().await {
            Ok(changes) => {
                if outage.is_over() {
                    info!("revocations are heard again");
                }
                let is_told = changes.iter().any(|change| matches!(change, Change::Keys(_)));
                if std::mem::take(&mut was_unheard) || is_told {
                    changed.send_modify(|times| *times += 1);
                }
                follower.wait().await;
            }
            Err(error) => {
                was_unheard = true;
                if let Some(times) = outage.failed() {
                    warn!(error = %chain(&error), times, "revocations were not heard");
                }
                sleep(BACK_OFF).await;
            }
        }
    }
}

/// Asks for keys when they may have changed, when a token is there that they do not open, and each minute. A server may tell of a change
/// before another, which is asked, has heard of it, so after a change it is asked several times; a failure is made up for soon.
async fn renew_when_due<F: Future<Output = Result<LinkKeys, LinkError>>>(
    ask: impl Fn() -> F,
    keys: &LinkedKeys,
    mut wanted: watch::Receiver<u64>,
) {
    let mut pauses = Vec::new();
    let mut asked_at = Instant::now();
    loop {
        let pause = pauses.last().copied().unwrap_or(KEYS_EVERY);
        tokio::select! {
            () = sleep(pause) => {
                pauses.pop();
            }
            () = missing(keys, asked_at + FOR_A_TOKEN) => {}
            told = wanted.changed() => {
                if told.is_err() {
                    return;
                }
                pauses = AFTER_A_CHANGE.to_vec();
            }
        }
        asked_at = Instant::now();
        // A token that no key opens takes no pause away, so that there may be one already.
        if renew(ask(), keys).await.is_err() && pauses.last() != Some(&AFTER_A_FAILURE) {
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
pub(super) struct LinkAuthority {
    client: Arc<LinkClient>,
    outage: Arc<Outage>,
}

impl LinkAuthority {
    pub(super) fn new(client: Arc<LinkClient>) -> Self {
        Self { client, outage: Arc::default() }
    }
}

impl Authority for LinkAuthority {
    fn introspect(&self, token: &str) -> BoxedValidation {
        let (client, outage) = (Arc::clone(&self.client), Arc::clone(&self.outage));
        let token = Secret::new(token.to_owned());
        Box::pin(async move {
            let answer = client.check(token.expose()).await;
            if answer.is_ok() && outage.is_over() {
                info!("the authorization server answers about tokens again");
            }
            match answer {
                Ok(answer) if !answer.known && !answer.active => Err(TokenFault::NotAuthentic),
                Ok(answer) if !answer.active => Err(TokenFault::Revoked),
                Ok(answer) => told(&answer).ok_or(TokenFault::Unreachable),
                // Whether it is to be said was seen when it was asked.
                Err(LinkError::Silent) => Err(TokenFault::Unreachable),
                Err(error) => {
                    if let Some(times) = outage.failed() {
                        warn!(error = %chain(&error), times, "the authorization server could not be asked about a token");
                    }
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
mod tests;
