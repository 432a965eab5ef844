//! Request objects by reference (OpenID Connect Core §6.2, RFC 9101 §5.2): fetched from where their client said, when it
//! was registered, that they would be, and from nowhere else.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use quick_cache::sync::Cache;
use sluice_commit::chain;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwe::MAX_TOKEN;
use sluice_net::bounded::oldest_first;
use sluice_net::{FetchLimits, FetchPlaces, Fetcher, host_of};
use sluice_primitives::{Lifetime, Timestamp};
use thiserror::Error;
use url::Url;

use super::error::RequestObjectError;
use crate::client::Client;
use crate::set_back::holds;

/// A longer URI is refused, in bytes (OpenID Connect Core §6.2).
const MAX_URI: usize = 512;
/// What an answer may say that it is.
const MEDIA_TYPES: [&str; 2] = ["application/oauth-authz-req+jwt", "application/jwt"];

/// Objects that are kept.
const CAPACITY: usize = 256;
/// An object is kept for at least this, whatever its `max-age`; also how long one whose answer does not say.
const SHORTEST: Lifetime = Lifetime::secs(10);
/// And for no longer than this.
const LONGEST: Lifetime = Lifetime::secs(60);
/// How long after a failure the URI is left alone, and how soon an object is fetched again that is not what a fragment says.
const REFETCH: Lifetime = Lifetime::secs(10);

/// How many are fetched at once.
const AT_ONCE: usize = 64;
/// How many of one host.
const OF_A_HOST: usize = 16;

/// A request object as it was fetched.
#[derive(Debug, Clone)]
pub struct FetchedObject {
    /// The object.
    pub body: Vec<u8>,
    /// `max-age` of the answer.
    pub max_age: Option<Lifetime>,
}

/// There is no request object at a URI.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the request object could not be fetched: {0}")]
pub struct RequestObjectUnreachable(pub String);

/// Where request objects are fetched. Guarded against inner networks, endless bodies and slow servers.
#[async_trait]
pub trait RequestObjectSource: Send + Sync {
    /// The request object at `uri`.
    async fn fetch(&self, uri: &Url) -> Result<FetchedObject, RequestObjectUnreachable>;
}

#[async_trait]
impl RequestObjectSource for Fetcher {
    async fn fetch(&self, uri: &Url) -> Result<FetchedObject, RequestObjectUnreachable> {
        let usual = self.limits();
        let limits = FetchLimits {
            https_only: true,
            max_redirects: 0,
            max_bytes: usual.max_bytes.min(MAX_TOKEN),
            ..usual
        };
        let answer = self.get_with(uri, &MEDIA_TYPES.join(", "), limits).await;
        let answer = answer.map_err(|why| RequestObjectUnreachable(chain(&why)))?;
        if !answer.status.is_success() {
            let status = answer.status.as_u16();
            return Err(RequestObjectUnreachable(format!("the answer has the status {status}")));
        }
        let named = answer.content_type.as_deref().and_then(|text| text.split(';').next()).map(str::trim);
        if !named.is_some_and(|named| MEDIA_TYPES.iter().any(|known| known.eq_ignore_ascii_case(named))) {
            return Err(RequestObjectUnreachable(
                "the answer is not of the type of a request object".to_owned(),
            ));
        }
        Ok(FetchedObject { body: answer.body.into(), max_age: answer.max_age.map(Lifetime::from) })
    }
}

/// Objects by URI. Key: the URI without its fragment, which anybody may make up. Bound: `CAPACITY`; the oldest go first. Staleness: the `max-age`
/// of the answer, 10 to 60 seconds; less for a client that says with a fragment that there is another. Those who need one at
/// once share one fetch. A failure is kept too, for a moment: anybody may ask, and requests must not become as many to others.
pub struct FetchedObjects {
    source: Arc<dyn RequestObjectSource>,
    objects: Cache<Url, Arc<Kept>>,
    places: FetchPlaces,
}

struct Kept {
    body: Result<Vec<u8>, RequestObjectUnreachable>,
    fetched_at: Timestamp,
    good_until: Timestamp,
}

impl Kept {
    /// Whether this can be what is asked for: it is not too old, and not old enough to have been replaced by what a fragment
    /// tells of.
    fn serves(&self, hash: Option<[u8; 32]>, now: Timestamp) -> bool {
        let may_be_replaced = now >= self.fetched_at + REFETCH;
        holds(self.fetched_at, self.good_until, now) && (self.is(hash) || !may_be_replaced)
    }

    fn is(&self, hash: Option<[u8; 32]>) -> bool {
        hash.is_none_or(|hash| self.body.as_ref().is_ok_and(|body| hash == sha256(body)))
    }
}

impl FetchedObjects {
    /// Objects of this source.
    pub fn new(source: Arc<dyn RequestObjectSource>) -> Self {
        Self { source, objects: oldest_first(CAPACITY), places: FetchPlaces::new(AT_ONCE, OF_A_HOST) }
    }

    async fn at(&self, uri: &Url, hash: Option<[u8; 32]>, now: Timestamp) -> Arc<Kept> {
        self.objects.remove_if(uri, |kept| !kept.serves(hash, now));
        match self.objects.get_value_or_guard_async(uri).await {
            Ok(kept) => kept,
            Err(placeholder) => {
                let kept = Arc::new(self.fetch(uri, now).await);
                // Fails if the placeholder was evicted: then the next one fetches again.
                let _ = placeholder.insert(Arc::clone(&kept));
                kept
            }
        }
    }

    async fn fetch(&self, uri: &Url, now: Timestamp) -> Kept {
        let Some(_place) = self.places.take(host_of(uri)) else {
            let busy = RequestObjectUnreachable("too much is being fetched".to_owned());
            return Kept { body: Err(busy), fetched_at: now, good_until: now };
        };
        match self.source.fetch(uri).await {
            Ok(FetchedObject { body, max_age }) => {
                let life = max_age.unwrap_or(SHORTEST).clamp(SHORTEST, LONGEST);
                Kept { body: Ok(body), fetched_at: now, good_until: now + life }
            }
            Err(failure) => Kept { body: Err(failure), fetched_at: now, good_until: now + REFETCH },
        }
    }
}

/// The object at `uri`, if the client registered that.
pub(super) async fn fetch(
    objects: &FetchedObjects,
    uri: &str,
    client: &Client,
    now: Timestamp,
) -> Result<String, RequestObjectError> {
    let (place, fragment) = uri.split_once('#').unwrap_or((uri, ""));
    let registered = |own: &String| own.split('#').next() == Some(place);
    if uri.len() > MAX_URI || !client.request_uris.iter().any(registered) {
        return Err(RequestObjectError::NotRegistered);
    }
    let url = Url::parse(place).map_err(|_| RequestObjectError::NotRegistered)?;
    // OpenID Connect Core §6.2: a fragment may be the hash of what is there.
    let hash = hash(fragment);
    let kept = objects.at(&url, hash, now).await;
    let body = kept.body.as_ref().map_err(RequestObjectUnreachable::clone)?;
    if !kept.is(hash) {
        return Err(RequestObjectUnreachable("it is not what the fragment says".to_owned()).into());
    }
    let text = str::from_utf8(body).map_err(|_| RequestObjectUnreachable("it is no text".to_owned()))?;
    Ok(text.trim_ascii().to_owned())
}

/// The SHA-256 that a fragment is, if it can be one.
fn hash(fragment: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(fragment).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;

    use super::*;
    use crate::client::fake::client;

    const NOW: Timestamp = Timestamp::from_secs(1_000_000);
    const PLACE: &str = "https://app.example/object";

    /// Hands out how often it was asked, or nothing.
    #[derive(Default)]
    struct Counting {
        fetches: AtomicUsize,
        max_age: Option<Lifetime>,
        fails: bool,
    }

    #[async_trait]
    impl RequestObjectSource for Counting {
        async fn fetch(&self, uri: &Url) -> Result<FetchedObject, RequestObjectUnreachable> {
            let nth = self.fetches.fetch_add(1, Ordering::SeqCst) + 1;
            if uri.host_str() != Some("app.example") {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            if self.fails {
                return Err(RequestObjectUnreachable("nobody is there".to_owned()));
            }
            Ok(FetchedObject { body: nth.to_string().into_bytes(), max_age: self.max_age })
        }
    }

    struct Given {
        source: Arc<Counting>,
        objects: FetchedObjects,
        client: Client,
    }

    fn given(source: Counting) -> Given {
        let source = Arc::new(source);
        let objects = FetchedObjects::new(Arc::clone(&source) as _);
        let mut client = client("app");
        client.request_uris = vec![PLACE.to_owned()];
        Given { source, objects, client }
    }

    impl Given {
        async fn object(&self, fragment: &str, later: u32) -> Option<String> {
            let uri = format!("{PLACE}#{fragment}");
            fetch(&self.objects, &uri, &self.client, NOW + Lifetime::secs(later)).await.ok()
        }

        fn fetches(&self) -> usize {
            self.source.fetches.load(Ordering::SeqCst)
        }
    }

    fn hash_of(text: &str) -> String {
        URL_SAFE_NO_PAD.encode(sha256(text.as_bytes()))
    }

    #[tokio::test]
    async fn an_object_is_fetched_once_for_all_who_ask_at_once_and_for_a_while() {
        for (max_age, until) in [(None, 10), (Some(0), 10), (Some(30), 30), (Some(3600), 60)] {
            let given = given(Counting { max_age: max_age.map(Lifetime::secs), ..Counting::default() });
            let (one, other) = tokio::join!(given.object("", 0), given.object("made-up", 0));
            assert_eq!((one.as_deref(), other.as_deref()), (Some("1"), Some("1")));
            assert_eq!(given.object("", until - 1).await.as_deref(), Some("1"), "{max_age:?}");
            assert_eq!(given.object("", until).await.as_deref(), Some("2"), "{max_age:?}");
        }
    }

    #[tokio::test]
    async fn a_failure_is_not_repeated_for_a_moment() {
        let given = given(Counting { fails: true, ..Counting::default() });
        for (later, fetches) in [(0, 1), (9, 1), (10, 2)] {
            assert_eq!(given.object("", later).await, None);
            assert_eq!(given.fetches(), fetches);
        }
    }

    #[tokio::test]
    async fn what_came_by_a_clock_that_was_ahead_is_fetched_again_once_it_is_right() {
        for fails in [false, true] {
            let given = given(Counting { fails, ..Counting::default() });
            for (later, fetches) in [(3_600, 1), (0, 2), (0, 2)] {
                assert_eq!(given.object("", later).await.is_none(), fails);
                assert_eq!(given.fetches(), fetches);
            }
        }
    }

    #[tokio::test]
    async fn objects_that_nobody_asks_for_any_more_do_not_have_others_fetched_again() {
        let (given, later) = (given(Counting::default()), NOW + LONGEST);
        let at = |number: usize| -> Url { format!("{PLACE}/{number}").parse().unwrap() };
        for number in 0..2 * CAPACITY {
            given.objects.at(&at(number), None, NOW).await;
        }
        for number in (1_000..1_200).chain(1_000..1_200) {
            given.objects.at(&at(number), None, later).await;
        }
        assert_eq!(given.fetches(), 2 * CAPACITY + 200);
    }

    #[tokio::test]
    async fn hosts_that_do_not_answer_leave_places_to_others() {
        let given = given(Counting::default());
        let uris = (0..200).map(|number| format!("https://{number}.silent.example/").parse().unwrap());
        let uris: Vec<Url> = uris.collect();
        let mut asking: Vec<_> = uris.iter().map(|uri| Box::pin(given.objects.at(uri, None, NOW))).collect();
        let waiting = asking.iter_mut().map(|asking| usize::from(asking.now_or_never().is_none()));
        assert_eq!((waiting.sum::<usize>(), given.fetches()), (AT_ONCE / 2, AT_ONCE / 2));
        assert!(given.object("", 0).await.is_some());
        drop(asking);
        assert!(given.objects.at(&uris[199], None, NOW).now_or_never().is_none(), "there is room again");
    }

    #[tokio::test]
    async fn a_fragment_of_a_newer_object_has_it_fetched_again_but_not_at_once() {
        let given = given(Counting { max_age: Some(Lifetime::secs(60)), ..Counting::default() });
        let newer = hash_of("2");
        assert_eq!(given.object(&hash_of("1"), 0).await.as_deref(), Some("1"));
        for made_up in ["a", "b", "c"] {
            assert_eq!(given.object(&hash_of(made_up), 9).await, None);
        }
        assert_eq!(given.object(&newer, 9).await, None);
        assert_eq!(given.fetches(), 1);
        assert_eq!(given.object(&newer, 10).await.as_deref(), Some("2"));
        assert_eq!(given.object("", 11).await.as_deref(), Some("2"));
        assert_eq!(given.fetches(), 2);
    }
}
