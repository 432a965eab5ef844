//! `oidc.client_id_metadata_documents`: clients whose id is the URL of a document about them.

use url::Host;

use super::key::{Key, Kind};
use super::reader::Reader;

const HOSTS: &str = "oidc.client_id_metadata_documents.allowed_hosts";

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "enabled",
        Kind::Boolean,
        "Whether a client id may be the https URL of a document that describes the client, which is fetched.",
    )
    .with_default("false"),
    Key::own(
        "allowed_hosts",
        Kind::Texts,
        "The hosts of such documents: `app.example.com`, or `*.example.com` for every host below it. Without it, \
         any public host.",
    ),
];

/// Which documents about clients are fetched.
#[derive(Debug, Clone)]
pub(crate) struct MetadataDocumentSettings {
    /// Host names in lower case (and punycode); `*.` before one stands for every host below it. Empty: any public
    /// host.
    pub(crate) allowed_hosts: Vec<String>,
}

/// Reads the section; `None` when documents are not fetched.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<MetadataDocumentSettings> {
    let enabled = reader.boolean("oidc.client_id_metadata_documents.enabled");
    let mut allowed_hosts = Vec::new();
    for text in reader.texts(HOSTS) {
        match host_pattern(&text) {
            Some(pattern) => allowed_hosts.push(pattern),
            None => reader
                .refuse(HOSTS, format!("{text:?} is not a host such as app.example.com or *.example.com")),
        }
    }
    enabled.then_some(MetadataDocumentSettings { allowed_hosts })
}

/// The pattern as the hosts of parsed URLs are written.
fn host_pattern(text: &str) -> Option<String> {
    let (below, name) = text.strip_prefix("*.").map_or(("", text), |name| ("*.", name));
    match Host::parse(name).ok()? {
        Host::Domain(domain) if !domain.contains('*') => Some(format!("{below}{domain}")),
        Host::Domain(_) => None,
        address => below.is_empty().then(|| address.to_string()),
    }
}
