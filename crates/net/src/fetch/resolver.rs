//! Resolves names to addresses that may be connected to, and gives the connector no others.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::is_public;

/// What may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    PublicOnly,
    Anything,
}

/// Resolves by the system, then filters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolver(pub(super) Reach);

/// The name has addresses perhaps, but none that is public.
#[derive(Debug, thiserror::Error)]
#[error("the name has no public address")]
pub(super) struct NoPublicAddress;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0;
        Box::pin(async move {
            let found = lookup_host((name.as_str(), 0)).await?;
            let permitted: Vec<SocketAddr> =
                found.filter(|address| reach == Reach::Anything || is_public(address.ip())).collect();
            if permitted.is_empty() {
                return Err(NoPublicAddress.into());
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}
