//! Resolves names to addresses that may be connected to, and gives the connector no others.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::is_public;
use super::policy::LOCALHOST;

/// What may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    PublicOnly,
    Anything,
}

/// Whom to ask for the addresses of a name.
pub(super) trait Lookup: Debug + Send + Sync {
    /// All addresses of `name`, with port 0, which stands for that of the URL.
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// The system's resolver.
#[derive(Debug)]
pub(super) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(lookup_host((name, 0)).await?.collect()) })
    }
}

/// Asks once for each connection, then filters: what is connected to is what was checked.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    pub(super) reach: Reach,
    pub(super) lookup: Arc<dyn Lookup>,
}

/// The name has addresses perhaps, but none that is public.
#[derive(Debug, thiserror::Error)]
#[error("the name has no public address")]
pub(super) struct NoPublicAddress;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.reach;
        let is_inside = reach == Reach::PublicOnly && is_this_machine(name.as_str());
        let looking_up = self.lookup.lookup(name.as_str().to_owned());
        Box::pin(async move {
            if is_inside {
                return Err(NoPublicAddress.into());
            }
            let mut permitted = looking_up.await?;
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
