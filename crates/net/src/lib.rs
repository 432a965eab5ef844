//! What every listener and every outbound request shares.
//!
//! [`listen`]: sockets, connections and their end. [`tls`]: certificates, also renewed ones. [`client_address`]: who
//! is asking, behind proxies. [`client_certificate`](mod@client_certificate): which certificate the client proved to
//! hold, behind proxies too. [`tls_termination`]: whether plain http may be believed to have been https.
//! [`MAX_HEADER_LINES`]: how many lines of headers a request may have. [`is_host`]: what it may name as its host.
//! [`is_chunked_at_most`]: how its body may come. [`fetch`]: the one guarded HTTP client. [`smtp`]: mail, handed to
//! its server. [`LimitClock`]: what rate limiters tell the time by; [`Network`], [`Site`]: whom they count. [`bounded`]: memory of what strangers can make any number of. `seldom`: what is said
//! now and then.
//! [`whole_body`](fn@whole_body): a body in one piece.
//!
//! Nothing here knows a route: whose requests these are is the business of `http` and `gateway`.

pub mod bounded;
pub mod client_address;
pub mod client_certificate;
pub mod fetch;
mod header_lines;
mod host;
mod limit_clock;
pub mod listen;
mod network;
mod quoted_list;
mod seldom;
pub mod smtp;
pub mod tls;
pub mod tls_termination;
mod transfer_coding;
mod whole_body;

pub use client_address::{
    ClientAddress, TrustedProxies, canonical_network, forwarded_proto, forwarded_without_hosts,
};
pub use client_certificate::{
    CertificateHeader, CertificateHeaderFormat, ClientCertificate, ClientCertificateSource,
    ForwardedCertificatePolicy, UnreadableCertificate, client_certificate,
};
pub use fetch::{
    FetchError, FetchLimits, FetchPlace, FetchPlaces, FetchPolicy, Fetched, Fetcher, UrlPattern, host_of,
};
pub use header_lines::{MAX_HEADER_LINES, has_too_many_lines};
pub use host::{is_host, is_unnamed};
pub use limit_clock::{LimitClock, LimitMoment};
pub use listen::{
    BindAddress, ConnectionCount, ConnectionFacts, DetachedListener, Drained, IncomingBody, Limits, Linger,
    ListenError, Listener, LocalAddress, PeerAddress, PeerCertificates, Transport, Unreadable, serve,
    serve_each,
};
pub use network::{NETWORKS_OF_A_SITE, Network, Site};
pub use smtp::{
    InvalidMailbox, InvalidSmtpUrl, Mailbox, OutgoingMail, SmtpConfig, SmtpError, SmtpReply, SmtpTransport,
    SmtpUrl, StartTls, UnsendableMail,
};
pub use tls::{
    AcceptorError, CertificateValidity, ClientTls, PemSource, Reload, SelfSigned, TlsAcceptorHandle,
    TlsError, client_config, self_signed,
};
pub use tls_termination::{NotTerminated, is_over_tls, is_tls_terminated};
pub use transfer_coding::is_chunked_at_most;
pub use whole_body::{NoWholeBody, whole_body};
