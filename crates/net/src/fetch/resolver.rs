//! Resolves names to addresses that may be connected to, and gives the connector no others.
//!
//! The system's resolver holds a thread for as long as it asks, which may be much longer than anybody waits: a name whose servers
//! do not answer must not take the threads that all other blocking work is done by.

use std::fmt::Debug;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::is_public;
use super::policy::LOCALHOST;

/// How many names a fetcher looks up at once; others wait. The runtime has 512 threads for what blocks.
pub(super) const LOOKUPS_AT_ONCE: usize = 64;

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

/// Asks once for each connection, then filters: what is connected to is what was checked.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    pub(super) reach: Reach,
    pub(super) lookup: Arc<dyn Lookup>,
    /// For lookups.
    pub(super) places: Arc<Semaphore>,
}

impl Resolver {
    /// The place is free again when the lookup ends, and not already when nobody waits for it any more.
    async fn addresses(self, name: Name) -> io::Result<Vec<SocketAddr>> {
        let Self { lookup, places, .. } = self;
        let place = places.acquire_owned().await.map_err(io::Error::other)?;
        let looking_up = spawn_blocking(move || {
            let _place = place;
            lookup.lookup(name.as_str())
        });
        looking_up.await.map_err(io::Error::other)?
    }
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
            let mut permitted = resolver.addresses(name).await?;
            permitted.retain(|address| reach == Reach::Anything || is_public(address.ip()));
            if permitted.is_empty() {
                return Err(NoPublicAddress.into());
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

/// Whether the name always means this machine (RFC 6761 §6.3), also where the resolver of the system knows nothing of it.
fn is_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case(LOCALHOST))
}
