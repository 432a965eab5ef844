//! Resolves names to addresses that may be connected to, and gives the connector no others.
//!
//! The system's resolver holds a thread for as long as it asks, which may be much longer than anybody waits: a name whose servers
//! do not answer must not take the threads that all other work is done by that blocks, and names of one domain not those for others.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::is_public;
use super::places::{FetchPlace, FetchPlaces};
use super::policy::LOCALHOST;

/// How many names a fetcher looks up at once, those of one site no more than half of what others leave. The runtime has 512
/// threads for what blocks.
pub(super) const LOOKUPS_AT_ONCE: usize = 64;

/// How long a name waits for a place: where names are found, one is free in a moment.
const PATIENCE: Duration = Duration::from_secs(2);

/// What may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    PublicOnly,
    Anything,
}

/// Whom to ask for the addresses of a name.
pub(super) trait Lookup: Debug + Send + Sync {
    /// All addresses of `name`, with port 0, which stands for that of the URL. Blocks.
    fn lookup(&self, name: &str) -> io::Result<Vec<SocketAddr>>;
}

/// The system's resolver.
#[derive(Debug)]
pub(super) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        Ok((name, 0).to_socket_addrs()?.collect())
    }
}

/// The name is not looked up now: too many others are.
#[derive(Debug, thiserror::Error)]
#[error("too many names are being looked up")]
pub(super) struct TooManyLookups;

/// What a lookup comes to, for all who want it.
type Answer = Shared<BoxFuture<'static, Result<Vec<SocketAddr>, Arc<io::Error>>>>;
type UnderWay = Arc<Mutex<HashMap<String, Answer>>>;

/// Lookups that are under way. Key: the name. Bound: as many as there are places. Staleness: none, each goes when it ends, and not
/// already when nobody waits for it any more. Who wants a name that is being looked up waits for the same answer, so that a host that
/// many ask at once takes one place.
#[derive(Debug, Clone)]
pub(super) struct Lookups {
    lookup: Arc<dyn Lookup>,
    places: FetchPlaces,
    under_way: UnderWay,
    freed: Arc<Notify>,
}

impl Lookups {
    /// So many at once.
    pub(super) fn new(lookup: Arc<dyn Lookup>, most: usize) -> Self {
        Self {
            lookup,
            places: FetchPlaces::new(most, most),
            under_way: UnderWay::default(),
            freed: Arc::default(),
        }
    }

    /// The addresses of a name, once there is a place for its lookup.
    async fn addresses_soon(&self, name: &str) -> Result<Answer, TooManyLookups> {
        let until = Instant::now() + PATIENCE;
        loop {
            let freed = self.freed.notified();
            match self.addresses(name) {
                Err(refused) if timeout_at(until, freed).await.is_err() => return Err(refused),
                Err(_) => {}
                answer => return answer,
            }
        }
    }

    /// The addresses of a name, from a lookup that is under way or begins now.
    fn addresses(&self, name: &str) -> Result<Answer, TooManyLookups> {
        let mut under_way = self.under_way.lock();
        if let Some(answer) = under_way.get(name) {
            return Ok(answer.clone());
        }
        let place = self.places.take(name.trim_end_matches('.')).ok_or(TooManyLookups)?;
        let (tell, told) = oneshot::channel::<io::Result<Vec<SocketAddr>>>();
        let answer = async move {
            let found = told.await.unwrap_or_else(|gone| Err(io::Error::other(gone)));
            found.map_err(Arc::new)
        };
        let answer = answer.boxed().shared();
        under_way.insert(name.to_owned(), answer.clone());
        // What does not begin, as when the process ends, is dropped by the next call, and takes itself out.
        drop(under_way);
        let (name, under_way) = (name.to_owned(), Arc::clone(&self.under_way));
        let one = OneLookup { name, under_way, _place: place, _bell: Bell(Arc::clone(&self.freed)) };
        let lookup = Arc::clone(&self.lookup);
        spawn_blocking(move || {
            // Fails if nobody waits any more.
            let _ = tell.send(one.ask(&*lookup));
        });
        Ok(answer)
    }
}

/// A lookup, from when it is wanted until it ends or is given up.
struct OneLookup {
    name: String,
    under_way: UnderWay,
    /// Free again when the name is under way no more.
    _place: FetchPlace,
    /// Rings when it is: fields go in their order.
    _bell: Bell,
}

/// Tells those who wait for a place that one is free.
struct Bell(Arc<Notify>);

impl Drop for Bell {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl OneLookup {
    fn ask(self, lookup: &dyn Lookup) -> io::Result<Vec<SocketAddr>> {
        lookup.lookup(&self.name)
    }
}

impl Drop for OneLookup {
    fn drop(&mut self) {
        self.under_way.lock().remove(&self.name);
    }
}

/// Asks for each connection, then filters: what is connected to is what was checked.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    pub(super) reach: Reach,
    pub(super) lookups: Lookups,
}

/// The name has addresses perhaps, but none that is public.
#[derive(Debug, thiserror::Error)]
#[error("the name has no public address")]
pub(super) struct NoPublicAddress;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let reach = resolver.reach;
            if reach == Reach::PublicOnly && is_this_machine(name.as_str()) {
                return Err(NoPublicAddress.into());
            }
            let mut permitted = resolver.lookups.addresses_soon(name.as_str()).await?.await?;
            permitted.retain(|address| reach == Reach::Anything || is_public(address.ip()));
            if permitted.is_empty() {
                return Err(NoPublicAddress.into());
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

/// Whether the name always means this machine (RFC 6761 §6.3), also where the resolver of the system knows nothing of it.
pub(super) fn is_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case(LOCALHOST))
}
