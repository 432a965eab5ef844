//! `resource`: what clients can find out about a protected resource (RFC 9728).

use serde_json::{Map, Value};
use url::Url;

use super::section::Section;
use super::value;
use crate::route::{Resource, TokenSources, WELL_KNOWN};

/// Reads a resource.
pub(super) fn read(mut section: Section<'_>, sources: &TokenSources) -> Option<Resource> {
    if !section.has("identifier") {
        section.mistake("identifier", "is missing");
    }
    let identifier = section.parse("identifier", identifier);
    let servers = section.list("authorization_servers", authorization_server);
    let scopes = section.list("scopes_supported", value::scope);
    let name = section.parse("name", value::text);
    let documentation = section.parse("documentation", |text| Url::parse(text).map_err(|_| "must be a URL"));
    section.finish();
    let (identifier, url) = identifier?;
    let mut document = Map::from_iter([("resource".to_owned(), Value::from(identifier.as_str()))]);
    let methods: &[&str] = if sources.authorization { &["header"] } else { &[] };
    let mut tell = |key: &str, value: Value| document.insert(key.to_owned(), value);
    tell("bearer_methods_supported", methods.into());
    if !servers.is_empty() {
        tell("authorization_servers", servers.into());
    }
    if !scopes.is_empty() {
        tell("scopes_supported", scopes.into());
    }
    if let Some(name) = name {
        tell("resource_name", name.into());
    }
    if let Some(url) = documentation {
        tell("resource_documentation", url.as_str().into());
    }
    let metadata_path = metadata_path(&url);
    let metadata_url = format!("{}{metadata_path}", url.origin().ascii_serialization());
    Some(Resource { identifier, metadata_url, metadata_path, metadata: Value::Object(document).to_string() })
}

/// Where the metadata of the resource at `url` is: without the slash after the host, and with any other (RFC 9728 §3.1).
fn metadata_path(url: &Url) -> String {
    let path = if url.path() == "/" { "" } else { url.path() };
    format!("{WELL_KNOWN}{path}")
}

/// The identifier of an issuer (RFC 8414 §2), as it is written: clients compare it as a text.
fn authorization_server(text: &str) -> Result<String, &'static str> {
    value::authority(text)?;
    value::as_written(text)
}

/// An https URL (RFC 9728 §1.2), as it is written: it is compared as a text.
fn identifier(text: &str) -> Result<(String, Url), &'static str> {
    let url = Url::parse(text).map_err(|_| "must be an https URL")?;
    if url.scheme() != "https" {
        return Err("must be an https URL");
    }
    if url.fragment().is_some()
        || url.query().is_some()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err("must have no query, no fragment and no user");
    }
    Ok((value::as_written(text)?, url))
}
