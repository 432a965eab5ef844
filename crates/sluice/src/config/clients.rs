//! `clients.http`: what Sluice may call. (Not OAuth clients: Hydra calls its HTTP clients so.)

use super::key::{Key, Kind};
use super::reader::Reader;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "http.disallow_private_ip_ranges",
        Kind::Boolean,
        "Whether requests to private, loopback and link-local addresses are refused.",
    )
    .with_default("false"),
    Key::hydra(
        "http.private_ip_exception_urls",
        Kind::Texts,
        "URLs that may be called although their address is private; the match is exact.",
    ),
];

/// What Sluice may call.
#[derive(Debug, Clone)]
pub(crate) struct OutboundSettings {
    /// Whether private, loopback and link-local addresses are refused. Default: no.
    pub(crate) disallow_private_ip_ranges: bool,
    /// URLs, compared as texts, that may be called all the same. Default: none.
    pub(crate) private_ip_exception_urls: Vec<String>,
}

pub(super) fn read(reader: &mut Reader<'_>) -> OutboundSettings {
    OutboundSettings {
        disallow_private_ip_ranges: reader.boolean("clients.http.disallow_private_ip_ranges"),
        private_ip_exception_urls: reader.texts("clients.http.private_ip_exception_urls"),
    }
}
