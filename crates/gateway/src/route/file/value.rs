//! How single values are written: durations, sizes, names, headers.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use http::header::{self, HeaderName, HeaderValue};
use ipnet::IpNet;
use sluice_primitives::Secret;
use url::Url;

use crate::enrichment::CountryDatabase;

/// A name is at most so long: it becomes a label of metrics.
const LONGEST_NAME: usize = 64;
/// What a server's share may be.
const WEIGHTS: RangeInclusive<u32> = 1..=1000;

/// Headers about a connection or the frame of a message; whoever sets or strips them breaks it.
const FRAMING: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// Headers in which only verified facts stand.
const FACTS: [&str; 5] =
    ["oauth-user-id", "oauth-user-scope", "oauth-client-id", "oauth-issuer", "oauth-country"];

/// A name of a route, an upstream or an issuer.
pub(super) fn name(text: &str) -> Result<Arc<str>, String> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > LONGEST_NAME || !text.chars().all(is_fit) {
        return Err(format!("a name has 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`"));
    }
    Ok(text.into())
}

/// The name of a route. Some names mean something else where a route stands in metrics and in the access log.
pub(super) fn route_name(text: &str) -> Result<Arc<str>, String> {
    match text {
        "-" => Err("is what metrics and the access log call requests without a route".to_owned()),
        "token_validation" => {
            Err("is what metrics and the access log call questions about a token alone".to_owned())
        }
        _ => name(text),
    }
}

/// A network in CIDR notation, or an address.
pub(super) fn network(text: &str) -> Result<IpNet, &'static str> {
    let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse().ok().or_else(single).ok_or("must be a network such as 10.0.0.0/8, or an address")
}

/// A duration such as `1m 30s` or `250ms`.
pub(super) fn duration(within: RangeInclusive<Duration>) -> impl Fn(&str) -> Result<Duration, String> {
    move |text| {
        let duration = if text == "0" { Ok(Duration::ZERO) } else { humantime::parse_duration(text) };
        let duration = duration.map_err(|_| "must be a duration such as 250ms, 30s or 5m".to_owned())?;
        if within.contains(&duration) {
            return Ok(duration);
        }
        let shown = |bound: &Duration| humantime::format_duration(*bound).to_string();
        Err(format!("must be {} to {}", shown(within.start()), shown(within.end())))
    }
}

/// A size such as `10MiB` or `4096`.
pub(super) fn size(text: &str) -> Result<u64, &'static str> {
    text.parse::<ByteSize>().map(|size| size.0).map_err(|_| "must be a size such as 10MiB")
}

/// A share beside others.
pub(super) fn weight(text: &str) -> Result<NonZeroU32, String> {
    let weight = text.parse().ok().filter(|weight| WEIGHTS.contains(weight)).and_then(NonZeroU32::new);
    weight.ok_or_else(|| format!("a weight is a number from {} to {}", WEIGHTS.start(), WEIGHTS.end()))
}

/// Any text but none.
pub(super) fn text(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("must not be empty") } else { Ok(text.to_owned()) }
}

/// A scope (RFC 6749 §3.3): one word.
pub(super) fn scope(text: &str) -> Result<String, &'static str> {
    let is_fit = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    if text.is_empty() || !text.bytes().all(is_fit) { Err("must be one scope") } else { Ok(text.to_owned()) }
}

/// A URL that tokens or secrets may be sent to.
pub(super) fn authority(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "must be a URL")?;
    let is_safe = match url.scheme() {
        "https" => true,
        "http" => url.host().is_some_and(|host| match host {
            url::Host::Domain(name) => name == "localhost",
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        }),
        _ => false,
    };
    if is_safe { Ok(url) } else { Err("must be an https URL (http only on this machine)") }
}

/// A URL that is told and compared as it is written: without what parsers look past, and others do not.
pub(super) fn as_written(url: &str) -> Result<String, &'static str> {
    let is_exact = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    if is_exact { Ok(url.to_owned()) } else { Err("must have no spaces and no line ends") }
}

/// The origin of pages (RFC 6454 §6.2), as browsers write it.
pub(super) fn origin(text: &str) -> Result<HeaderValue, &'static str> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let is_origin = url.is_some_and(|url| url.origin().ascii_serialization() == text);
    let value = HeaderValue::from_str(text).ok().filter(|_| is_origin);
    value.ok_or("must be an origin as browsers write it, such as https://app.example.com")
}

/// A file that can be read; relative to the routes file.
pub(super) fn file(text: &str, directory: &Path) -> Result<PathBuf, String> {
    let path = directory.join(text);
    match std::fs::File::open(&path).and_then(|file| file.metadata()) {
        Ok(found) if found.is_file() => Ok(path),
        Ok(_) => Err(format!("{} is no file", path.display())),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

/// What a file with the countries of addresses holds.
pub(super) fn countries(text: &str, directory: &Path) -> Result<CountryDatabase, String> {
    let path = file(text, directory)?;
    CountryDatabase::read(&path).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        format!("{}: {error}{}", path.display(), cause.unwrap_or_default())
    })
}

/// A secret in a file, without the line feed at its end.
pub(super) fn secret(text: &str, directory: &Path) -> Result<Secret<String>, String> {
    let path = file(text, directory)?;
    let content = std::fs::read_to_string(&path).map(Secret::new);
    let content = content.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let secret = content.expose().trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        Err(format!("{} is empty", path.display()))
    } else {
        Ok(Secret::new(secret.to_owned()))
    }
}

/// The name of a header.
pub(super) fn header(text: &str) -> Result<HeaderName, &'static str> {
    // A name may have a star, but no header has: whoever writes one means more than one header.
    if text.contains('*') {
        return Err("must be the name of a header; there are no patterns");
    }
    text.parse().map_err(|_| "must be the name of a header")
}

/// The name of a header that is kept from upstreams.
pub(super) fn stripped_header(text: &str) -> Result<HeaderName, &'static str> {
    let name = header(text)?;
    if FRAMING.contains(&name) {
        Err("this header belongs to the connection: the gateway writes it itself")
    } else {
        Ok(name)
    }
}

/// The name of a header that upstreams get.
pub(super) fn set_header(text: &str) -> Result<HeaderName, &'static str> {
    let name = stripped_header(text)?;
    // Upstreams that know headers as variables take all signs for one.
    let folded = name.as_str().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    if FACTS.contains(&folded.as_str()) {
        return Err("this header says who calls: the gateway sets it itself");
    }
    Ok(name)
}
