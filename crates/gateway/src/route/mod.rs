//! Which rule a request falls under.
//!
//! [`file`](mod@file): the YAML file, as it is written. [`Route`]: a rule, checked and ready for use. [`RouteTable`]: all of them, found by host
//! ([`host`]), path ([`path`], [`pattern`]) and method. [`LiveRoutes`]: the table in force, replaced as a whole. [`RoutesFile`]: what
//! replaces it when the file changes. `metadata`: what clients may know of protected resources.

pub mod file;
pub mod host;
mod live;
mod metadata;
pub mod path;
pub mod pattern;
mod reload;
mod rule;
mod table;
mod tree;

pub use live::LiveRoutes;
pub use metadata::WELL_KNOWN;
pub use reload::{Reloaded, RoutesError, RoutesFile, RoutesState};
pub use rule::{
    AuthMode, BalancedUpstream, Enrichment, HeaderFrom, Limit, LimitBy, Phantom, Preflight, Resource, Route,
    RoutePolicy, StalePolicy, TokenSources,
};
pub use table::{RouteTable, Settings, Unrouted};
