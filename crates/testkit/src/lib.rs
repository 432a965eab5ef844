//! What tests share.
//!
//! [`postgres`]: a private PostgreSQL cluster for one test process.

pub mod postgres;

pub use postgres::{ClusterError, PrivateCluster, Stop};
