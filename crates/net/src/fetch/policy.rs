//! Where outbound requests may go, and how much they may take.

use std::path::PathBuf;
use std::time::Duration;

use url::{Host, Url};

use super::UrlPattern;
use super::public_address::is_public;
use super::resolver::is_this_machine;

/// A name that always means this machine (RFC 6761 §6.3).
pub(super) const LOCALHOST: &str = "localhost";

/// A resolver asks its second name server after five seconds. A call may be given more time than its policy says.
const LEAST_FOR_A_CONNECTION: Duration = Duration::from_millis(7_500);

/// Where outbound requests may go, and how much they may take.
#[derive(Debug, Clone)]
pub struct FetchPolicy {
    /// Whether addresses that are not public may be reached by every URL. Default: no. The opposite of Hydra's
    /// `clients.http.disallow_private_ip_ranges`.
    pub allow_private: bool,
    /// URLs that may reach any address (Hydra's `clients.http.private_ip_exception_urls`). Default: none.
    pub exempt_urls: Vec<UrlPattern>,
    /// Hosts that may be reached at any address and port, in lower case. Default: none.
    pub exempt_hosts: Vec<String>,
    /// Redirects followed by a `GET`, each checked like the first URL: 0 to 3, default 0.
    pub max_redirects: u8,
    /// The most bytes of a body. Default: 256 KiB.
    pub max_body_bytes: usize,
    /// The time for all of it, redirects and body included. Default: 5 s.
    pub timeout: Duration,
    /// The time for a connection: name, TCP and TLS. The addresses of a name, those of IPv4 and those of IPv6 each, share it evenly: one
    /// where nobody answers leaves time for the next. Default: three quarters of `timeout`, and 7.5 s at least.
    pub connect_timeout: Option<Duration>,
    /// Connections kept open to one host when nobody uses them. Default: 4.
    pub idle_per_host: usize,
    /// After so long a silence it is asked whether anybody is at the other end of a connection over HTTP/2 on which a call waits, and as long
    /// is waited for an answer; then the connection goes. Default: nobody asks.
    pub http2_keep_alive: Option<Duration>,
    /// A PEM file of certificates to trust besides those of the system. Default: none.
    pub extra_ca_file: Option<PathBuf>,
}

impl Default for FetchPolicy {
    fn default() -> Self {
        Self {
            allow_private: false,
            exempt_urls: Vec::new(),
            exempt_hosts: Vec::new(),
            max_redirects: 0,
            max_body_bytes: 256 * 1024,
            timeout: Duration::from_secs(5),
            connect_timeout: None,
            idle_per_host: 4,
            http2_keep_alive: None,
            extra_ca_file: None,
        }
    }
}

impl FetchPolicy {
    /// The time for a connection.
    pub(super) fn connecting(&self) -> Duration {
        self.connect_timeout.unwrap_or_else(|| (self.timeout * 3 / 4).max(LEAST_FOR_A_CONNECTION))
    }

    /// Whether `url` may reach any address.
    pub(super) fn exempts(&self, url: &Url) -> bool {
        self.allow_private
            || url.host_str().is_some_and(|host| self.exempt_hosts.iter().any(|exempt| exempt == host))
            || self.exempt_urls.iter().any(|pattern| pattern.matches(url))
    }

    /// Whether requests to `url` are refused by what it says alone: it names an address that is not public, or this machine. What a name server
    /// says of another name is known when it is asked.
    pub fn refuses_by_its_text(&self, url: &Url) -> bool {
        let is_inner = match url.host() {
            Some(Host::Ipv4(address)) => !is_public(address.into()),
            Some(Host::Ipv6(address)) => !is_public(address.into()),
            Some(Host::Domain(name)) => is_this_machine(name),
            None => false,
        };
        is_inner && !self.exempts(url)
    }

    /// Whether `url` may be plain http although https is demanded: it stays on this machine.
    pub(super) fn exempts_from_https(&self, url: &Url) -> bool {
        let is_loopback = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == LOCALHOST,
            None => false,
        };
        is_loopback && self.exempts(url)
    }
}
