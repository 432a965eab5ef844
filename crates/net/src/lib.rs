//! What every listener and every outbound request shares.
//!
//! [`listen`]: sockets, connections and their end. [`tls`]: certificates, also renewed ones. [`client_address`]: who
//! is asking, behind proxies. [`tls_termination`]: whether plain http may be believed to have been https.
//! [`fetch`]: the one guarded HTTP client.
//!
//! Nothing here knows a route: whose requests these are is the business of `http` and `gateway`.

pub mod client_address;
pub mod fetch;
pub mod listen;
pub mod tls;
pub mod tls_termination;

pub use client_address::TrustedProxies;
pub use fetch::{FetchError, FetchPolicy, Fetched, Fetcher, UrlPattern};
pub use listen::{
    BindAddress, Drained, Limits, ListenError, Listener, LocalAddress, PeerAddress, Transport, serve,
};
pub use tls::{PemSource, Reload, SelfSigned, TlsAcceptorHandle, TlsError, self_signed};
pub use tls_termination::{NotTerminated, is_tls_terminated};
