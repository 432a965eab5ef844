//! A user: connections that are kept, cookies that are not.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::answer::{Answer, query_value};
use super::connection::Connection;
use super::failure::in_words;
use super::patience::Patience;
use super::{Failure, Ledger, Receipt};

/// No answer takes longer.
const LIMIT: Duration = Duration::from_secs(30);
const ORIGINS: usize = 3;
/// How long an address is tried of a host that has several.
const LISTENS_WITHIN: Duration = Duration::from_secs(1);

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// What browsers and applications see.
    Public = 0,
    /// The admin listener.
    Admin = 1,
    /// The gateway.
    Gateway = 2,
}

impl Origin {
    /// Nobody said where it is.
    fn unknown(self) -> Failure {
        Failure::Setup(match self {
            Self::Public => "this needs the public listener: say --public-url".to_owned(),
            Self::Admin => "this needs the admin listener: say --admin-url".to_owned(),
            Self::Gateway => "there is no gateway: say --gateway-url".to_owned(),
        })
    }
}

/// A listener.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host and port, as the `Host` header has them.
    pub host: String,
    /// What every path begins with that is asked for: that of its URL, without a slash at the end.
    pub path: String,
    /// The first address of that host that somebody listens at.
    pub address: SocketAddr,
}

impl Endpoint {
    /// At an address.
    pub fn at(address: SocketAddr) -> Self {
        Self { host: address.to_string(), path: String::new(), address }
    }

    /// Of a URL without TLS. Looks for the address that somebody listens at, if there are several.
    ///
    /// # Errors
    /// [`Failure::Setup`] for another scheme, or a host without address.
    pub fn of(url: &Url) -> Result<Self, Failure> {
        let unusable = |why: &str| Failure::Setup(format!("{url}: {why}"));
        if url.scheme() != "http" {
            return Err(unusable("only http:// is measured, TLS belongs to what is in front"));
        }
        let addresses = url.socket_addrs(|| None).map_err(|_| unusable("the host has no address"))?;
        let address = reachable(&addresses).ok_or_else(|| unusable("the host has no address"))?;
        let host = url.host_str().ok_or_else(|| unusable("no host"))?;
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Self { host, path: url.path().trim_end_matches('/').to_owned(), address })
    }
}

/// `localhost` has two addresses, and a server often only one of them. If nobody listens at any, the first one says so.
fn reachable(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let listens = |address: &&SocketAddr| TcpStream::connect_timeout(address, LISTENS_WITHIN).is_ok();
    match addresses {
        [only] => Some(*only),
        several => several.iter().find(listens).or(several.first()).copied(),
    }
}

/// What is measured, by address.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// What browsers and applications see.
    pub public: Endpoint,
    /// The admin listener, where there is one.
    pub admin: Option<Endpoint>,
    /// The gateway, where there is one.
    pub gateway: Option<Endpoint>,
}

impl Endpoints {
    fn at(&self, origin: Origin) -> Option<&Endpoint> {
        match origin {
            Origin::Public => Some(&self.public),
            Origin::Admin => self.admin.as_ref(),
            Origin::Gateway => self.gateway.as_ref(),
        }
    }
}

/// The body of a request.
#[derive(Debug, Clone, Copy, Default)]
pub enum Body<'a> {
    /// None.
    #[default]
    Empty,
    /// `application/x-www-form-urlencoded`.
    Form(&'a str),
    /// `application/json`.
    Json(&'a str),
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The method.
    pub method: &'static str,
    /// Where it goes.
    pub to: Origin,
    /// Path and query, behind the path of the listener's URL; as a browser that was led there, whole.
    pub path: &'a str,
    /// Headers beside `Host`, `Content-Type`, `Content-Length` and `Cookie`.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: Body<'a>,
    /// Whether cookies are sent and kept, and the path is whole.
    pub as_browser: bool,
}

impl<'a> Ask<'a> {
    /// `GET`.
    pub const fn get(to: Origin, path: &'a str) -> Self {
        Self { method: "GET", to, path, headers: &[], body: Body::Empty, as_browser: false }
    }

    /// `POST` of a form.
    pub const fn form(to: Origin, path: &'a str, body: &'a str) -> Self {
        Self { method: "POST", to, path, headers: &[], body: Body::Form(body), as_browser: false }
    }

    /// Something else, of JSON.
    pub const fn json(method: &'static str, to: Origin, path: &'a str, body: &'a str) -> Self {
        Self { method, to, path, headers: &[], body: Body::Json(body), as_browser: false }
    }

    /// With these headers.
    #[must_use]
    pub const fn with(mut self, headers: &'a [(&'a str, &'a str)]) -> Self {
        self.headers = headers;
        self
    }

    /// With the cookies of the user's browser, which goes where it is led.
    #[must_use]
    pub const fn as_browser(mut self) -> Self {
        self.as_browser = true;
        self
    }
}

/// A user.
pub struct Agent {
    /// Which of them, from 0.
    pub user: usize,
    /// When the operation was due that the user is at; in a closed loop, when it began. `None` before the first of a run.
    pub due: Option<std::time::Instant>,
    endpoints: Arc<Endpoints>,
    connections: [Option<Box<Connection>>; ORIGINS],
    patience: Patience,
    cookies: Vec<(String, String)>,
    request: Vec<u8>,
    ledger: Option<Arc<Ledger>>,
    /// Whether failures say where they were met, and what the server said: that is for preparations, not to be counted.
    explains: bool,
    /// The URL of the last request without its query, if so.
    asked: Option<String>,
}

impl Agent {
    /// A user who has no connection yet.
    pub fn new(user: usize, endpoints: Arc<Endpoints>, ledger: Option<Arc<Ledger>>) -> Self {
        Self {
            user,
            due: None,
            endpoints,
            connections: [const { None }; ORIGINS],
            patience: Patience::new(LIMIT),
            cookies: Vec::new(),
            request: Vec::with_capacity(2048),
            ledger,
            explains: false,
            asked: None,
        }
    }

    /// One whose failures say where they were met, and what the server said.
    #[must_use]
    pub(crate) fn explaining(self) -> Self {
        Self { explains: true, ..self }
    }

    /// Why the URL that the server led to is not what it should be: while something is prepared, with the error in its query.
    pub(crate) fn explain(&self, url: &str, failure: Failure) -> Failure {
        if !self.explains {
            return failure;
        }
        let of = |name| query_value(url, name);
        match in_words(of("error").as_deref(), of("error_description").as_deref()) {
            Some(said) => failure.explained(said),
            None => failure,
        }
    }

    /// A browser that has never been anywhere: no cookies. Connections are kept, as a proxy in front would.
    pub fn forget_cookies(&mut self) {
        self.cookies.clear();
    }

    /// The path of a listener's URL: there a browser begins.
    pub fn base(&self, origin: Origin) -> &str {
        self.endpoints.at(origin).map_or("", |endpoint| endpoint.path.as_str())
    }

    /// Whether what answers promise is written down.
    pub const fn keeps_ledger(&self) -> bool {
        self.ledger.is_some()
    }

    /// Writes down what an answer promised, if somebody keeps the ledger.
    pub fn record(&self, receipt: impl FnOnce() -> Receipt) {
        self.record_for(self.user, receipt);
    }

    /// The same, for somebody who acts by this agent among others.
    pub fn record_for(&self, who: usize, receipt: impl FnOnce() -> Receipt) {
        if let Some(ledger) = &self.ledger {
            ledger.record(who, receipt());
        }
    }

    /// Asks, on the connection of before if it is still there.
    ///
    /// # Errors
    /// [`Failure::Connection`], [`Failure::Malformed`], [`Failure::TimedOut`]; the next request opens another connection.
    pub async fn send(&mut self, ask: &Ask<'_>) -> Result<Answer<'_>, Failure> {
        let endpoints = Arc::clone(&self.endpoints);
        let endpoint = endpoints.at(ask.to).ok_or_else(|| ask.to.unknown())?;
        self.write_request(ask, endpoint);
        if self.explains {
            self.asked = Some(url_of(ask, endpoint));
        }
        let slot = self
            .connections
            .get_mut(ask.to as usize)
            .ok_or_else(|| Failure::Setup("no such origin".to_owned()))?;
        let now = Instant::now();
        let kept = slot.take().filter(|connection| connection.is_open(now));
        let exchange = async {
            let mut connection = match kept {
                Some(open) => open,
                None => Box::new(Connection::open(endpoint.address).await?),
            };
            connection.exchange(&self.request, now).await?;
            Ok::<_, Failure>(connection)
        };
        let exchanged = self.patience.with(now, exchange).await;
        let exchanged = exchanged.unwrap_or(Err(Failure::TimedOut(LIMIT.as_secs())));
        let asked = self.asked.as_deref();
        let connection = exchanged.map_err(|failure| match asked {
            Some(url) => failure.explained(url.to_owned()),
            None => failure,
        })?;
        if ask.as_browser {
            for cookie in &connection.head.cookies {
                keep_cookie(&mut self.cookies, cookie);
            }
        }
        let connection = slot.insert(connection);
        Ok(Answer { head: &connection.head, body: connection.body(), asked })
    }

    fn write_request(&mut self, ask: &Ask<'_>, endpoint: &Endpoint) {
        let base = base_of(ask, endpoint);
        let request = &mut self.request;
        request.clear();
        let mut line =
            |parts: &[&str]| parts.iter().for_each(|part| request.extend_from_slice(part.as_bytes()));
        line(&[ask.method, " ", base, ask.path, " HTTP/1.1\r\nhost: ", &endpoint.host, "\r\n"]);
        for (name, value) in ask.headers {
            line(&[name, ": ", value, "\r\n"]);
        }
        if ask.as_browser && !self.cookies.is_empty() {
            line(&["cookie: "]);
            for (number, (name, value)) in self.cookies.iter().enumerate() {
                line(&[if number == 0 { "" } else { "; " }, name, "=", value]);
            }
            line(&["\r\n"]);
        }
        let (kind, body) = match ask.body {
            Body::Empty => ("", ""),
            Body::Form(body) => ("application/x-www-form-urlencoded", body),
            Body::Json(body) => ("application/json", body),
        };
        if !kind.is_empty() {
            line(&["content-type: ", kind, "\r\ncontent-length: ", &body.len().to_string(), "\r\n"]);
        } else if ask.method != "GET" {
            line(&["content-length: 0\r\n"]);
        }
        line(&["\r\n", body]);
    }
}

/// What its path begins with: a browser's is whole.
const fn base_of<'a>(ask: &Ask<'_>, endpoint: &'a Endpoint) -> &'a str {
    if ask.as_browser { "" } else { endpoint.path.as_str() }
}

/// Without the query, which may be long, and secret.
fn url_of(ask: &Ask<'_>, endpoint: &Endpoint) -> String {
    let path = ask.path.split(['?', '#']).next().unwrap_or_default();
    format!("http://{}{}{path}", endpoint.host, base_of(ask, endpoint))
}

/// Name and value of a `Set-Cookie` header (RFC 6265 section 5.2); its attributes say nothing to a browser that visits one
/// server once.
fn keep_cookie(cookies: &mut Vec<(String, String)>, header: &str) {
    let pair = header.split(';').next().unwrap_or_default();
    let Some((name, value)) = pair.split_once('=') else { return };
    let (name, value) = (name.trim(), value.trim());
    cookies.retain(|(known, _)| known != name);
    if !value.is_empty() {
        cookies.push((name.to_owned(), value.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn of_several_addresses_that_one_counts_at_which_somebody_listens() {
        let listening = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (gone, open) = (listening().local_addr().unwrap(), listening());
        let open_at = open.local_addr().unwrap();
        assert_eq!(reachable(&[gone, open_at]), Some(open_at));
        assert_eq!(reachable(&[gone, gone]), Some(gone), "which says that nobody is there");
        assert_eq!(reachable(&[]), None);
    }

    #[test]
    fn the_error_of_a_url_is_told_while_something_is_prepared() {
        let public = Endpoint::at("127.0.0.1:9".parse().unwrap());
        let agent = Agent::new(0, Arc::new(Endpoints { public, admin: None, gateway: None }), None);
        let url = "http://app/callback?error=invalid_scope&error_description=not+yours&state=s";
        let lacks = || Failure::Incomplete { step: "callback", missing: "code" };
        assert_eq!(agent.explain(url, lacks()).to_string(), "callback: code is missing");
        let agent = agent.explaining();
        let told = agent.explain(url, lacks()).to_string();
        assert_eq!(told, "callback: code is missing (invalid_scope: not yours)");
        assert_eq!(agent.explain("http://app/", lacks()).to_string(), "callback: code is missing");
    }

    #[test]
    fn a_url_may_have_a_path() {
        let path = |url: &str| Endpoint::of(&url.parse().unwrap()).unwrap().path;
        assert_eq!(path("http://127.0.0.1:9/auth/hydra/"), "/auth/hydra");
        assert_eq!([path("http://127.0.0.1:9"), path("http://127.0.0.1:9/")], ["", ""]);
        assert!(Endpoint::of(&"https://127.0.0.1:9/".parse().unwrap()).is_err());
    }
}
