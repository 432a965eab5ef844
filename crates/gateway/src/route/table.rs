//! All routes, found by host, path and method.

use std::sync::Arc;

use super::rule::Route;
use crate::proxy::upstream::UpstreamConfig;

/// All routes. Made from a file, never changed.
#[derive(Debug, Default)]
pub struct RouteTable {
    routes: Vec<Arc<Route>>,
    upstreams: Vec<Arc<UpstreamConfig>>,
}

impl RouteTable {
    /// All routes, in the order of the file.
    pub fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// All upstreams.
    pub fn upstreams(&self) -> &[Arc<UpstreamConfig>] {
        &self.upstreams
    }
}
