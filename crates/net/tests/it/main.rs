//! What listeners and outbound requests promise, over real sockets of this machine.

#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

mod client_address;
mod client_certificate;
mod fetch;
mod fetch_addresses;
mod fetch_limits;
mod given;
mod listen;
mod listen_drain;
mod listen_ends;
mod listen_head_lines;
mod listen_rest;
mod listen_rest_http2;
mod listen_small_frames;
mod listen_unix;
mod listen_untaken;
mod smtp;
mod smtp_failures;
mod smtp_stop;
mod tls;
mod tls_client_certificates;
mod tls_names;
mod tls_termination;
