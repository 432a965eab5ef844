//! What tests share.
//!
//! [`postgres`]: a private PostgreSQL cluster for one test process. With the feature `node`: `node`, a server within the
//! process; `keys`, what it signs with; `browser`, a browser without windows; `client`, the application behind a registered client. With the feature
//! `smtp`: `smtp`, a mail server. With `factors`: `authenticator`, which holds a passkey; `app_code`, an
//! authenticator app. With `log`: `Captured`, what a test logs.

#![cfg_attr(
    feature = "node",
    expect(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::missing_panics_doc,
        reason = "for tests, which end where something is not as it must be"
    )
)]

#[cfg(feature = "factors")]
mod app_code;
#[cfg(feature = "factors")]
pub mod authenticator;
#[cfg(feature = "node")]
pub mod browser;
#[cfg(feature = "log")]
mod captured;
#[cfg(feature = "node")]
pub mod client;
#[cfg(feature = "keys")]
pub mod keys;
#[cfg(feature = "node")]
pub mod node;
#[cfg(feature = "smtp")]
pub mod smtp;

#[cfg(feature = "factors")]
pub use app_code::app_code;
#[cfg(feature = "factors")]
pub use authenticator::Authenticator;
#[cfg(feature = "node")]
pub use browser::{Browser, Page, accept_consent, accept_login, redirect_to};
#[cfg(feature = "log")]
pub use captured::{CaptureGuard, Captured};
#[cfg(feature = "node")]
pub use client::{Authorize, TestClient, TokenAnswer, VERIFIER};
#[cfg(feature = "keys")]
pub use keys::KeysInTurn;
#[cfg(feature = "node")]
pub use node::{Backend, Database, ISSUER, TestSluice};
pub use sluice_private_postgres as postgres;
pub use sluice_private_postgres::{ClusterError, PrivateCluster, Stop};
#[cfg(feature = "smtp")]
pub use smtp::{Delivery, ReceivedMail, SmtpOptions, SmtpServer, SmtpStep, SmtpTls};
