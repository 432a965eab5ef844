//! A gateway between clients and servers that speak byte by byte.

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use http_body_util::Full;
use parking_lot::Mutex;
use sluice_gateway::proxy::upstream::{
    Breaker, ServerConfig, Timeouts, UpstreamConfig, UpstreamProtocol, UpstreamTls,
};
use sluice_gateway::proxy::{Fault, PlainHttp, ProxyConfig, RunningProxy, Traffic, Via};
use sluice_gateway::route::{AuthMode, BalancedUpstream, Enrichment, RoutePolicy};
use sluice_gateway::{Admitted, Asked, Judging, Observer, Refusal, RequestRecord, Route, Verdict};
use sluice_net::{
    BindAddress, ClientAddress, Drained, ForwardedCertificatePolicy, Limits, LocalAddress, TlsAcceptorHandle,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Longer than anything here may take: a test that waits so long has failed.
pub(crate) const AT_MOST: Duration = Duration::from_secs(30);
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
/// What the gateway calls itself to servers, on routes whose `enrichment.via` is set: by default none says it here.
pub(crate) const PSEUDONYM: &str = "gateway";
/// Less of an answer than it says.
pub(crate) const HALF: &str = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf";
pub(crate) const GET: &str = "GET / HTTP/1.1\r\nhost: api.example\r\n\r\n";

pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(AT_MOST, future).await.expect("took too long")
}

/// A record, as far as tests look at it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) path: String,
    pub(crate) protocol: Option<Version>,
    pub(crate) host: String,
    pub(crate) client: IpAddr,
    pub(crate) status: Option<StatusCode>,
    /// How long the bodies of request and answer are.
    pub(crate) lengths: (Option<u64>, Option<u64>),
    pub(crate) verdict: &'static str,
    pub(crate) request_id: Option<String>,
    pub(crate) upstream: Option<String>,
    pub(crate) retries: u8,
    pub(crate) is_beyond_budget: bool,
    pub(crate) fault: Option<&'static str>,
}

/// One route for everything.
pub(crate) struct OneRoute {
    /// With the number of its file.
    route: Mutex<(u64, Arc<Route>)>,
    refusal: Option<Refusal>,
    judged_after: Duration,
    trusts: bool,
    via: Via,
    told: mpsc::UnboundedSender<Told>,
    faults: mpsc::UnboundedSender<(String, Fault)>,
    broken: mpsc::UnboundedSender<(String, &'static str)>,
}

impl Observer for OneRoute {
    fn request(&self, record: &RequestRecord<'_>) {
        let _ = self.told.send(Told {
            path: record.path.to_owned(),
            protocol: record.protocol,
            host: record.host.to_owned(),
            client: record.client,
            status: record.status,
            lengths: (record.request_bytes, record.response_bytes),
            verdict: record.verdict,
            request_id: record.request_id.map(str::to_owned),
            upstream: record.upstream.map(str::to_owned),
            retries: record.retries,
            is_beyond_budget: record.is_beyond_budget,
            fault: record.fault,
        });
    }

    fn fault(&self, route: &str, fault: Fault) {
        let _ = self.faults.send((route.to_owned(), fault));
    }

    fn broken_answer(&self, route: &str, fault: &'static str) {
        let _ = self.broken.send((route.to_owned(), fault));
    }
}

impl Traffic for OneRoute {
    fn trusts(&self, _: IpAddr) -> bool {
        self.trusts
    }

    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let said = headers.get("x-forwarded-for").and_then(|line| line.to_str().ok()?.parse().ok());
        ClientAddress::named(said.unwrap_or(peer))
    }

    fn metadata(&self, asked: &Asked<'_>) -> Option<Response<Full<Bytes>>> {
        (asked.path == "/document").then(|| Response::new(Full::from("a document")))
    }

    fn judge(&self, _: &Asked<'_>) -> Judging {
        let mut admitted = Admitted::refused(Some(self.route.lock().1.clone()), Refusal::NoRoute);
        admitted.verdict = self.refusal.clone().map_or(Verdict::Anonymous, Verdict::Refused);
        if self.judged_after.is_zero() {
            return Judging::Now(admitted);
        }
        let asking = tokio::time::sleep(self.judged_after);
        Judging::Later(Box::pin(asking.map(|()| admitted)))
    }

    fn methods(&self, _: &str, path: &str) -> Option<HeaderValue> {
        (path != "/all").then(|| HeaderValue::from_static("GET, HEAD, OPTIONS"))
    }

    fn refuse(&self, _: &Admitted) -> Response<Full<Bytes>> {
        Response::builder().status(StatusCode::UNAUTHORIZED).body(Full::from("refused")).unwrap()
    }

    fn enrich(&self, _: &Admitted, headers: &mut HeaderMap, _: ClientAddress) {
        headers.remove("oauth-user-id");
    }

    fn via(&self) -> &Via {
        &self.via
    }

    fn strip(&self, _: &Admitted, trailers: &mut HeaderMap) {
        trailers.remove("configured");
    }

    fn announce(&self, _: &Admitted, answer: &mut HeaderMap) {
        answer.insert("ratelimit", "announced".parse().unwrap());
    }

    fn generation(&self) -> u64 {
        self.route.lock().0
    }

    fn upstreams(&self) -> Vec<Arc<UpstreamConfig>> {
        self.route.lock().1.upstreams.iter().map(|one| one.config.clone()).collect()
    }

    fn observer(&self) -> &dyn Observer {
        self
    }
}

/// What is tried.
pub(crate) struct Setup {
    pub(crate) upstream: UpstreamConfig,
    pub(crate) route: Route,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<TlsAcceptorHandle>,
    pub(crate) plain_http: PlainHttp,
    pub(crate) certificates: ForwardedCertificatePolicy,
    pub(crate) refusal: Option<Refusal>,
    /// How long an issuer is asked about each request.
    pub(crate) judged_after: Duration,
    pub(crate) trusts: bool,
    pub(crate) cores: usize,
}

pub(crate) fn server(address: SocketAddr) -> ServerConfig {
    ServerConfig { host: address.ip().to_string(), port: address.port(), tls: false, weight: NonZeroU32::MIN }
}

fn leading_to(upstream: UpstreamConfig) -> Vec<BalancedUpstream> {
    vec![BalancedUpstream { config: Arc::new(upstream), weight: NonZeroU32::MIN }]
}

impl Setup {
    pub(crate) fn to(servers: &[SocketAddr]) -> Self {
        let upstream = UpstreamConfig {
            name: "backend".into(),
            servers: servers.iter().copied().map(server).collect(),
            protocol: UpstreamProtocol::Http1,
            tls: UpstreamTls::default(),
            timeouts: Timeouts::default(),
            retries: 1,
            retry_budget: None,
            idle_connections: NonZeroUsize::new(64).unwrap(),
            max_head: NonZeroUsize::new(65_535).unwrap(),
            breaker: Breaker::default(),
            passive_health: None,
            active_health: None,
        };
        let route = Route {
            name: "all".into(),
            upstreams: Vec::new(),
            rewrite_prefix: None,
            prefix_segments: 0,
            rewrite_location: false,
            max_body: None,
            total_timeout: None,
            preserve_host: true,
            policy: RoutePolicy { auth: AuthMode::None, ..RoutePolicy::default() },
            enrichment: Enrichment::default(),
            limits: Vec::new(),
        };
        let limits =
            Limits { drain_grace: Duration::from_secs(5), idle_grace: Duration::ZERO, ..Limits::default() };
        Self {
            upstream,
            route,
            limits,
            tls: None,
            plain_http: PlainHttp::Anybody,
            certificates: ForwardedCertificatePolicy::default(),
            refusal: None,
            judged_after: Duration::ZERO,
            trusts: false,
            cores: 1,
        }
    }

    pub(crate) async fn start(self) -> World {
        let (told, records) = mpsc::unbounded_channel();
        let (told_fault, faults) = mpsc::unbounded_channel();
        let (told_broken, broken) = mpsc::unbounded_channel();
        let route = Route { upstreams: leading_to(self.upstream), ..self.route };
        let traffic = Arc::new(OneRoute {
            route: Mutex::new((1, Arc::new(route))),
            refusal: self.refusal,
            judged_after: self.judged_after,
            trusts: self.trusts,
            via: Via::named(PSEUDONYM),
            told,
            faults: told_fault,
            broken: told_broken,
        });
        let shutdown = CancellationToken::new();
        let config = ProxyConfig {
            address: BindAddress::Tcp { host: "127.0.0.1".into(), port: 0 },
            cores: NonZeroUsize::new(self.cores).unwrap(),
            tls: self.tls,
            limits: self.limits,
            certificates: self.certificates,
            plain_http: self.plain_http,
        };
        let running = RunningProxy::start(config, traffic.clone(), shutdown.clone()).await.unwrap();
        let LocalAddress::Tcp(address) = *running.local_address() else { panic!("not TCP") };
        World { address, running, shutdown, traffic, records, faults, broken }
    }
}

/// A running gateway.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    running: RunningProxy,
    pub(crate) shutdown: CancellationToken,
    pub(crate) traffic: Arc<OneRoute>,
    records: mpsc::UnboundedReceiver<Told>,
    /// Of attempts that failed, their routes, and what went wrong.
    pub(crate) faults: mpsc::UnboundedReceiver<(String, Fault)>,
    /// Of answers that broke off, their routes, and what went wrong.
    pub(crate) broken: mpsc::UnboundedReceiver<(String, &'static str)>,
}

impl World {
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes on a connection of their own and reads one answer.
    pub(crate) async fn ask(&self, request: &str) -> Message {
        let mut client = Peer::new(self.connect().await);
        client.say(request).await;
        client.answer().await.expect("no answer")
    }

    /// Puts another file in force, in which the upstream has this server.
    pub(crate) fn move_to(&self, address: SocketAddr) {
        let mut current = self.traffic.route.lock();
        let mut route = Route::clone(&current.1);
        let mut config = UpstreamConfig::clone(&route.upstreams[0].config);
        config.servers = vec![server(address)];
        route.upstreams = leading_to(config);
        *current = (current.0 + 1, Arc::new(route));
    }

    pub(crate) async fn told(&mut self) -> Told {
        in_time(self.records.recv()).await.unwrap()
    }

    pub(crate) async fn stop(self) -> Drained {
        self.shutdown.cancel();
        in_time(self.running.drained()).await
    }
}

/// A request or an answer, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

/// One end of a connection.
pub(crate) struct Peer<S = TcpStream> {
    pub(crate) stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub(crate) const fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = in_time(self.stream.write_all(bytes.as_ref())).await;
    }

    /// Reads more; false at the end.
    async fn more(&mut self) -> bool {
        let mut chunk = vec![0; 64 * 1024];
        let read = in_time(self.stream.read(&mut chunk)).await.unwrap_or(0);
        self.buffer.extend(&chunk[..read]);
        read > 0
    }

    /// Reads up to and with `end`.
    pub(crate) async fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                return Some(self.buffer.drain(..at + end.len()).collect());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    pub(crate) async fn head(&mut self) -> Option<String> {
        Some(String::from_utf8(self.until(b"\r\n\r\n").await?).unwrap())
    }

    pub(crate) async fn exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            if !self.more().await {
                return None;
            }
        }
        Some(self.buffer.drain(..length).collect())
    }

    /// What was read beyond what was asked for.
    pub(crate) fn taken(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    /// Reads to the end of the stream.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.buffer)
    }

    /// An answer with a length, in chunks, or with neither and then without a body.
    pub(crate) async fn answer(&mut self) -> Option<Message> {
        let head = self.head().await?;
        self.body_of(head).await
    }

    /// A request, its body in the form in which it came.
    pub(crate) async fn request(&mut self) -> Option<Message> {
        self.answer().await
    }

    pub(crate) async fn body_of(&mut self, head: String) -> Option<Message> {
        let mut message = Message { head, body: Vec::new() };
        if message.header("transfer-encoding").is_some() {
            message.body = self.until(b"0\r\n\r\n").await?;
        } else if let Some(length) = message.header("content-length") {
            message.body = self.exactly(length.parse().unwrap()).await?;
        }
        Some(message)
    }

    pub(crate) async fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !self.more().await
    }
}

/// A server that a test plays itself.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    listener: TcpListener,
}

impl Backend {
    pub(crate) async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { address: listener.local_addr().unwrap(), listener }
    }

    pub(crate) async fn accept(&self) -> Peer {
        Peer::new(in_time(self.listener.accept()).await.unwrap().0)
    }

    /// Serves every connection with `script`.
    pub(crate) fn serve<F>(self, script: impl Fn(Peer, usize) -> F + Send + 'static) -> SocketAddr
    where
        F: Future<Output = ()> + Send + 'static,
    {
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((stream, _)) = self.listener.accept().await else { return };
                tokio::spawn(script(Peer::new(stream), number));
            }
        });
        self.address
    }

    /// Answers every request with [`OK`] and tells of it.
    pub(crate) fn recording(self) -> (SocketAddr, mpsc::UnboundedReceiver<Message>) {
        let (seen, requests) = mpsc::unbounded_channel();
        let address = self.serve(move |mut peer, _| {
            let seen = seen.clone();
            async move {
                while let Some(request) = peer.request().await {
                    let _ = seen.send(request);
                    peer.say(OK).await;
                }
            }
        });
        (address, requests)
    }
}

/// What keeps the addresses of [`nowhere`] from other tests.
static TAKEN: Mutex<Vec<TcpSocket>> = Mutex::new(Vec::new());

/// An address where nobody listens.
pub(crate) fn nowhere() -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    TAKEN.lock().push(socket);
    address
}

pub(crate) const SOON: Duration = Duration::from_millis(60);
