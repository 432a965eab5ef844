//! What tests share.
//!
//! [`postgres`]: a private PostgreSQL cluster for one test process. With the feature `node`: `node`, a server within the
//! process; `browser`, a browser without windows; `client`, the application behind a registered client. With the feature
//! `smtp`: `smtp`, a mail server.

#![cfg_attr(
    feature = "node",
    expect(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::missing_panics_doc,
        reason = "for tests, which end where something is not as it must be"
    )
)]

#[cfg(feature = "node")]
pub mod browser;
#[cfg(feature = "node")]
pub mod client;
#[cfg(feature = "node")]
pub mod node;
pub mod postgres;
#[cfg(feature = "smtp")]
pub mod smtp;

#[cfg(feature = "node")]
pub use browser::{Browser, Page, accept_consent, accept_login, redirect_to};
#[cfg(feature = "node")]
pub use client::{Authorize, TestClient, TokenAnswer, VERIFIER};
#[cfg(feature = "node")]
pub use node::{Backend, Database, ISSUER, TestSluice};
pub use postgres::{ClusterError, PrivateCluster, Stop};
#[cfg(feature = "smtp")]
pub use smtp::{Delivery, ReceivedMail, SmtpOptions, SmtpServer, SmtpStep, SmtpTls};
