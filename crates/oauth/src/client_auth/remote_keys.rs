//! Key sets at a client's `jwks_uri`, fetched when needed and kept for a while.

use std::sync::Arc;

use async_trait::async_trait;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sluice_commit::chain;
use sluice_crypto::jwk::{Jwk, JwkSet};
use sluice_net::{FetchError, FetchLimits, FetchPlaces, Fetcher, host_of};
use sluice_primitives::{Lifetime, Timestamp};
use thiserror::Error;
use url::Url;

use super::client_keys::{ClientKeySet, expected_entries};
use crate::set_back::holds;

/// A longer key set is not read, in bytes.
const MAX_SET: usize = 128 * 1024;
/// A set of a client has at most so many keys: whoever writes it chooses how much is kept for it.
pub(crate) const MAX_KEYS: usize = 100;
/// So much of key sets is kept, in bytes of memory.
const CAPACITY: u64 = 32 * 1024 * 1024;
/// What a set is taken for beside its keys and its URI, in bytes.
const SET: u64 = 512;
/// A key set is kept for at least this, whatever its `max-age`.
const SHORTEST: Lifetime = Lifetime::minutes(1);
/// And for no longer than this; also how long old keys serve while new ones cannot be fetched.
const LONGEST: Lifetime = Lifetime::minutes(60);
/// How long it is kept if its answer does not say.
const USUAL: Lifetime = Lifetime::minutes(10);
/// How long after a failure the URI is left alone.
const AFTER_FAILURE: Lifetime = Lifetime::secs(10);
/// A key that is not known makes the set be fetched again no sooner than this after the last time.
const REFETCH: Lifetime = Lifetime::secs(30);

/// How many are fetched at once, those that are known and those that are not each.
const AT_ONCE: usize = 64;
/// How many of one host.
const OF_A_HOST: usize = 16;

/// A key set as it was fetched.
#[derive(Debug, Clone)]
pub struct FetchedKeySet {
    /// The JSON.
    pub body: Vec<u8>,
    /// `max-age` of the answer.
    pub max_age: Option<Lifetime>,
}

/// What a client is told whose keys cannot be fetched.
pub(crate) const NOT_FETCHED: &str = "The keys of the client cannot be fetched from its `jwks_uri`.";

/// A key set that could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeysNotFetched {
    /// This server has too much to fetch.
    #[error("the client's keys could not be fetched: too much is being fetched")]
    Busy,
    /// They are not there, or not such as can be read: that is for who named the URI to mend.
    #[error("the client's keys could not be fetched: {0}")]
    NotThere(String),
}

impl KeysNotFetched {
    /// Whether it is this server that could not do it now.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

/// Where key sets are fetched. Guarded against inner networks, endless bodies and slow servers.
#[async_trait]
pub trait KeySetSource: Send + Sync {
    /// The key set at `uri`.
    async fn fetch(&self, uri: &Url) -> Result<FetchedKeySet, KeysNotFetched>;
}

#[async_trait]
impl KeySetSource for Fetcher {
    async fn fetch(&self, uri: &Url) -> Result<FetchedKeySet, KeysNotFetched> {
        let usual = self.limits();
        let limits = FetchLimits { max_bytes: usual.max_bytes.min(MAX_SET), ..usual };
        let answer = self.get_with(uri, "application/jwk-set+json, application/json", limits).await;
        let answer = answer.map_err(|why| match why {
            FetchError::Busy => KeysNotFetched::Busy,
            why => KeysNotFetched::NotThere(chain(&why)),
        })?;
        if !answer.status.is_success() {
            let why = format!("the answer has the status {}", answer.status.as_u16());
            return Err(KeysNotFetched::NotThere(why));
        }
        Ok(FetchedKeySet { body: answer.body.into(), max_age: answer.max_age.map(Lifetime::from) })
    }
}

/// Key sets by URI. Key: the whole URI. Bound: [`CAPACITY`], of what they take in memory. Staleness: the `max-age` of the
/// answer, 1 to 60 minutes, less when a token names an unknown key. Those who need one at once share one fetch. A failure is kept too, for a
/// moment, so that requests do not become requests to others; who goes away before the answer has failed, where there are old keys.
/// That there was no place is not kept.
pub(crate) struct RemoteKeys {
    source: Arc<dyn KeySetSource>,
    /// Whether keys are taken that are not quick to use: of somebody who is configured.
    is_trusted: bool,
    sets: Cache<Url, Arc<Kept>, Bytewise>,
    /// The last good ones, by the same key and bound: who asks and goes away does not take the old keys along.
    last: Cache<Url, Arc<Kept>, Bytewise>,
    first: FetchPlaces,
    /// For what is known: nobody who names others takes these places.
    anew: FetchPlaces,
}

struct Kept {
    keys: Result<Arc<ClientKeySet>, KeysNotFetched>,
    /// When somebody last tried to fetch it.
    tried_at: Timestamp,
    /// When the keys came; the same, unless the last try failed.
    fetched_at: Timestamp,
    good_until: Timestamp,
    /// What the keys are taken for, in bytes.
    memory: u64,
}

#[derive(Clone)]
struct Bytewise;

impl Weighter<Url, Arc<Kept>> for Bytewise {
    fn weight(&self, uri: &Url, kept: &Arc<Kept>) -> u64 {
        let uri = u64::try_from(uri.as_str().len()).unwrap_or(u64::MAX);
        kept.memory.saturating_add(uri).saturating_add(SET)
    }
}

impl RemoteKeys {
    /// Those of clients. Keys that are not quick to use ([`Jwk::is_quick`]) are passed over: clients choose what is at their URIs.
    pub(crate) fn new(source: Arc<dyn KeySetSource>) -> Self {
        let places = || FetchPlaces::new(AT_ONCE, OF_A_HOST);
        let cache = || Cache::with_weighter(expected_entries(CAPACITY), CAPACITY, Bytewise);
        Self { source, is_trusted: false, sets: cache(), last: cache(), first: places(), anew: places() }
    }

    /// Those of somebody whose URI is configured.
    pub(crate) fn of_trusted(source: Arc<dyn KeySetSource>) -> Self {
        Self { is_trusted: true, ..Self::new(source) }
    }

    /// The keys at `uri`.
    pub(crate) async fn keys(&self, uri: &Url, now: Timestamp) -> Result<Arc<ClientKeySet>, KeysNotFetched> {
        let old = self.sets.get(uri).filter(|kept| !kept.is_current(now));
        self.current(uri, old, now).await.keys.clone()
    }

    /// The keys at `uri`, fetched again; none if they were fetched a moment ago.
    pub(crate) async fn refetch(
        &self,
        uri: &Url,
        now: Timestamp,
    ) -> Result<Option<Arc<ClientKeySet>>, KeysNotFetched> {
        let Some(old) = self.sets.get(uri) else { return self.keys(uri, now).await.map(Some) };
        if holds(old.tried_at, old.tried_at + REFETCH, now) {
            return Ok(None);
        }
        self.current(uri, Some(old), now).await.keys.clone().map(Some)
    }

    /// What is kept, or else fetched; `old` is dropped first, unless somebody else has done that already.
    async fn current(&self, uri: &Url, old: Option<Arc<Kept>>, now: Timestamp) -> Arc<Kept> {
        if let Some(old) = &old {
            self.sets.remove_if(uri, |kept| Arc::ptr_eq(kept, old));
        }
        match self.sets.get_value_or_guard_async(uri).await {
            Ok(kept) => kept,
            Err(placeholder) => {
                let kept = self.renewed(uri, old.as_ref(), now).await;
                // Fails if the placeholder was evicted: then the next one fetches again.
                let _ = placeholder.insert(Arc::clone(&kept));
                kept
            }
        }
    }

    /// The keys as they are now, or the old ones while new ones cannot be had: until the answer is there, too.
    async fn renewed(&self, uri: &Url, old: Option<&Arc<Kept>>, now: Timestamp) -> Arc<Kept> {
        let last = self.last.get(uri).or_else(|| old.filter(|old| old.keys.is_ok()).cloned());
        let last = last.filter(|last| now < last.fetched_at + LONGEST);
        let is_old = |last: &Arc<Kept>| old.is_some_and(|old| Arc::ptr_eq(old, last));
        // Somebody asked for them a moment ago and went away.
        if let Some(begun) = last.as_ref().filter(|last| last.is_current(now) && !is_old(last)) {
            return Arc::clone(begun);
        }
        let meanwhile = last.map(|last| Arc::new(last.serving_on(now)));
        if let Some(meanwhile) = &meanwhile {
            self.last.insert(uri.clone(), Arc::clone(meanwhile));
        }
        let places = if meanwhile.is_some() { &self.anew } else { &self.first };
        let Some(_place) = places.take(host_of(uri)) else {
            let busy = || Kept::failed(KeysNotFetched::Busy, now, now);
            return meanwhile.unwrap_or_else(|| Arc::new(busy()));
        };
        match (self.fetch(uri, now).await, meanwhile) {
            (Ok(fetched), _) => {
                let fetched = Arc::new(fetched);
                self.last.insert(uri.clone(), Arc::clone(&fetched));
                fetched
            }
            (Err(_), Some(meanwhile)) => meanwhile,
            (Err(failure), None) => Arc::new(Kept::failed(failure, now, now + AFTER_FAILURE)),
        }
    }

    async fn fetch(&self, uri: &Url, now: Timestamp) -> Result<Kept, KeysNotFetched> {
        let set = self.source.fetch(uri).await?;
        let good_until = now + set.max_age.unwrap_or(USUAL).clamp(SHORTEST, LONGEST);
        let keys = parse(&set.body, self.is_trusted)?;
        let memory = keys.memory();
        Ok(Kept { keys: Ok(keys), tried_at: now, fetched_at: now, good_until, memory })
    }
}

impl Kept {
    fn failed(failure: KeysNotFetched, now: Timestamp, good_until: Timestamp) -> Self {
        Self { keys: Err(failure), tried_at: now, fetched_at: now, good_until, memory: 0 }
    }

    /// Whether it need not be fetched again.
    fn is_current(&self, now: Timestamp) -> bool {
        holds(self.tried_at, self.good_until, now)
    }

    /// The same keys, while it is not known whether there are newer ones. Those that came by a clock that was ahead are as old as they were found.
    fn serving_on(&self, now: Timestamp) -> Self {
        let (fetched_at, good_until) = (self.fetched_at.min(now), now + AFTER_FAILURE);
        Self { keys: self.keys.clone(), tried_at: now, fetched_at, good_until, memory: self.memory }
    }
}

fn parse(body: &[u8], is_trusted: bool) -> Result<Arc<ClientKeySet>, KeysNotFetched> {
    let mut set = JwkSet::understood(body).map_err(|why| KeysNotFetched::NotThere(why.to_string()))?;
    if set.keys.len() > MAX_KEYS {
        return Err(KeysNotFetched::NotThere(format!("the set has more than {MAX_KEYS} keys")));
    }
    if !is_trusted {
        set.keys.retain(Jwk::is_quick);
    }
    Ok(Arc::new(ClientKeySet::of(set)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use sluice_net::FetchPolicy;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000_000);

    /// Answers for one host, and for another once; counts how often it is asked.
    #[derive(Default)]
    struct Hosts(AtomicUsize);

    #[async_trait]
    impl KeySetSource for Hosts {
        async fn fetch(&self, uri: &Url) -> Result<FetchedKeySet, KeysNotFetched> {
            let nth = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            match uri.host_str() {
                Some("app.example") => {}
                Some("once.example") if nth == 1 => {}
                Some("once.example" | "gone.example") => {
                    return Err(KeysNotFetched::NotThere("gone".to_owned()));
                }
                _ => std::future::pending::<()>().await,
            }
            Ok(FetchedKeySet { body: br#"{"keys":[]}"#.to_vec(), max_age: None })
        }
    }

    #[tokio::test]
    async fn hosts_that_do_not_answer_leave_places_to_others_and_are_asked_again() {
        for (host, most) in [("silent.example", OF_A_HOST), ("N.silent.example", AT_ONCE / 2)] {
            let source = Arc::new(Hosts::default());
            let keys = RemoteKeys::new(Arc::clone(&source) as _);
            let uri = |number: usize| -> Url {
                format!("https://{}/{number}", host.replace('N', &number.to_string())).parse().unwrap()
            };
            let uris: Vec<Url> = (0..200).map(uri).collect();
            let mut asking: Vec<_> = uris.iter().map(|uri| Box::pin(keys.keys(uri, NOW))).collect();
            let waiting = asking.iter_mut().map(|asking| usize::from(asking.now_or_never().is_none()));
            assert_eq!((waiting.sum::<usize>(), source.0.load(Ordering::SeqCst)), (most, most));
            let app = "https://app.example/jwks".parse().unwrap();
            assert!(keys.keys(&app, NOW).now_or_never().is_some_and(|keys| keys.is_ok()));
            drop(asking);
            assert!(keys.keys(&uri(199), NOW).now_or_never().is_none(), "there is room again");
        }
    }

    const AHEAD: Timestamp = Timestamp::from_secs(1_000_000 + 3_600);

    fn given(host: &str) -> (Arc<Hosts>, RemoteKeys, Url) {
        let source = Arc::new(Hosts::default());
        let keys = RemoteKeys::new(Arc::clone(&source) as _);
        (source, keys, format!("https://{host}/jwks").parse().unwrap())
    }

    #[tokio::test]
    async fn why_keys_are_not_fetched_is_said_to_the_end_without_their_address() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let uri = format!("http://{gone}/jwks?token=a-secret").parse().unwrap();
        let policy = FetchPolicy { allow_private: true, ..FetchPolicy::default() };
        let fetched = KeySetSource::fetch(&Fetcher::new(policy).unwrap(), &uri).await;
        let Err(KeysNotFetched::NotThere(why)) = fetched else { panic!("somebody is there") };
        assert!(why.contains("Connection refused"), "{why}");
        assert!(!why.contains("secret") && !why.contains("token="), "{why}");
    }

    #[tokio::test]
    async fn what_came_by_a_clock_that_was_ahead_is_fetched_again_once_it_is_right() {
        for (host, is_there) in [("app.example", true), ("gone.example", false)] {
            let (source, keys, uri) = given(host);
            for (now, fetches) in [(AHEAD, 1), (NOW, 2), (NOW, 2)] {
                assert_eq!(keys.keys(&uri, now).await.is_ok(), is_there);
                assert_eq!(source.0.load(Ordering::SeqCst), fetches, "{host}");
            }
        }
        let (_, keys, uri) = given("app.example");
        keys.keys(&uri, AHEAD).await.unwrap();
        assert!(keys.refetch(&uri, NOW).await.unwrap().is_some(), "for a key that is not known");
        assert!(keys.refetch(&uri, NOW).await.unwrap().is_none(), "but not again");
    }

    #[tokio::test]
    async fn keys_that_came_by_a_clock_that_was_ahead_serve_no_longer_than_others() {
        let (_, keys, uri) = given("once.example");
        keys.keys(&uri, AHEAD).await.unwrap();
        assert!(keys.keys(&uri, NOW).await.is_ok(), "there are no newer ones");
        assert!(keys.keys(&uri, NOW + LONGEST).await.is_err());
    }
}
