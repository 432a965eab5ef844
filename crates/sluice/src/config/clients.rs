//! `clients.http`: what Sluice may call. (Not OAuth clients: Hydra calls its HTTP clients so.)

use std::path::PathBuf;
use std::time::Duration;

use super::key::{Key, Kind};
use super::reader::Reader;

const LONGEST_TIMEOUT: Duration = Duration::from_mins(5);

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "http.disallow_private_ip_ranges",
        Kind::Boolean,
        "Whether requests to private, loopback and link-local addresses are refused; with `dev` they are not, \
         unless this says so. Hydra's default is false.",
    )
    .with_default("true"),
    Key::hydra(
        "http.private_ip_exception_urls",
        Kind::Texts,
        "URLs that may be called although their address is private, without query; `*` stands for any characters but `.` and `/`, \
         `**` for any.",
    ),
    Key::own(
        "http.ca_file",
        Kind::Path,
        "A PEM file of authorities that are believed besides those of the system.",
    ),
    Key::own("http.timeout", Kind::Duration, "How long a request may take; from 1s to 5m.")
        .with_default("10s"),
    Key::own(
        "http.max_bytes",
        Kind::Integer { min: 1024, max: 104_857_600 },
        "How long the body of an answer may be, in bytes.",
    )
    .with_default("1048576"),
    Key::own("http.max_redirects", Kind::Integer { min: 0, max: 10 }, "How many redirects are followed.")
        .with_default("3"),
];

/// What Sluice may call.
#[derive(Debug, Clone)]
pub(crate) struct OutboundSettings {
    /// Whether private, loopback and link-local addresses are refused. Default: yes, but not in development.
    pub(crate) disallow_private_ip_ranges: bool,
    /// URLs, compared as texts, that may be called all the same. Default: none.
    pub(crate) private_ip_exception_urls: Vec<String>,
    /// PEM; authorities besides those of the system. Default: none.
    pub(crate) ca_file: Option<PathBuf>,
    /// Of a whole request. Default: 10 s; from 1 s to 5 min.
    pub(crate) timeout: Duration,
    /// Of an answer. Default: 1 MiB.
    pub(crate) max_bytes: usize,
    /// Default: 3.
    pub(crate) max_redirects: usize,
}

pub(super) fn read(reader: &mut Reader<'_>) -> OutboundSettings {
    OutboundSettings {
        disallow_private_ip_ranges: reader.boolean("clients.http.disallow_private_ip_ranges"),
        private_ip_exception_urls: reader.texts("clients.http.private_ip_exception_urls"),
        ca_file: reader.path("clients.http.ca_file"),
        timeout: reader.duration_within("clients.http.timeout", Duration::from_secs(1)..=LONGEST_TIMEOUT),
        max_bytes: reader.integer("clients.http.max_bytes").unwrap_or_default(),
        max_redirects: reader.integer("clients.http.max_redirects").unwrap_or_default(),
    }
}
