//! Which rule a request falls under.
//!
//! [`file`]: the YAML file, as it is written. [`Route`]: a rule, checked and ready for use. [`RouteTable`]: all of them, found by host, path and method.
//! `reload`: the table in force, replaced as a whole.

pub mod file;
mod rule;
mod table;

pub use rule::{
    AuthMode, BalancedUpstream, Enrichment, HeaderFrom, Limit, LimitBy, Phantom, Preflight, Resource, Route,
    RoutePolicy, StalePolicy, TokenSources,
};
pub use table::RouteTable;
