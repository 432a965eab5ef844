//! All that a client sends on one connection to the gateway: through its listener, its parser and its writer, to a server that keeps every byte.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use sluice_gateway::proxy::upstream::UpstreamConfig;
use sluice_gateway::proxy::{Fault, PlainHttp, ProxyConfig, RunningProxy, Traffic, Via};
use sluice_gateway::route::{RouteTable, file};
use sluice_gateway::{Admitted, Asked, Judging, Observer, Refusal, RequestRecord, Verdict};
use sluice_net::{BindAddress, ClientAddress, ForwardedCertificatePolicy, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::strict_reader;

/// Longer than anything here takes: an input that takes so long was not brought to an end.
const AT_MOST: Duration = Duration::from_secs(8);
/// What every request is answered, whatever its method.
const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Whatever a client sends, the server gets requests that can be read in one way only, and none that was not judged. Gives how many came whole.
pub fn run(input: &[u8]) -> usize {
    let upstream = upstream();
    let runtime = Builder::new_current_thread().enable_all().build().expect("there is room for a runtime");
    let passed = runtime.block_on(async { timeout(AT_MOST, pass(&upstream, input)).await });
    let (wires, told) = passed.expect("the gateway came to no end").expect("there are sockets");
    let mut whole = 0;
    for bytes in wires {
        let wire =
            strict_reader::read(&bytes).unwrap_or_else(|why| panic!("{why}: {}", bytes.escape_ascii()));
        for request in wire.whole.iter().chain(&wire.begun) {
            let path = request.target.split('?').next().unwrap_or_default();
            assert!(told.was_judged(&request.method, path), "nobody judged {request:?}");
        }
        whole += wire.whole.len();
    }
    // One that was whole may be left by its client before its answer is there.
    let answered = told.answered.load(Ordering::SeqCst);
    assert!(answered <= whole, "of {answered} requests that were answered {whole} came whole");
    whole
}

/// The server's socket, which one input has for itself at a time.
fn upstream() -> MutexGuard<'static, TcpListener> {
    static SOCKET: OnceLock<Mutex<TcpListener>> = OnceLock::new();
    let socket = SOCKET.get_or_init(|| {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
        socket.set_nonblocking(true).expect("it is a socket");
        Mutex::new(socket)
    });
    socket.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a gateway, sends it `input`, reads all that it answers and stops it. Gives what the server got, connection by connection.
async fn pass(upstream: &TcpListener, input: &[u8]) -> io::Result<(Vec<Vec<u8>>, Arc<Told>)> {
    let ended = CancellationToken::new();
    let listener = tokio::net::TcpListener::from_std(upstream.try_clone()?)?;
    let server = tokio::spawn(serve(listener, ended.clone()));
    let told = Arc::new(Told::of(upstream.local_addr()?));
    let (shutdown, path) = (CancellationToken::new(), socket_path());
    let config = ProxyConfig {
        address: BindAddress::Unix { path: path.clone(), owner: None, group: None, mode: 0o600 },
        cores: NonZeroUsize::MIN,
        tls: None,
        limits: Limits { drain_grace: AT_MOST, idle_grace: Duration::ZERO, ..Limits::default() },
        certificates: ForwardedCertificatePolicy::default(),
        plain_http: PlainHttp::Anybody,
    };
    let running = RunningProxy::start(config, told.clone(), shutdown.clone()).await;
    let running = running.map_err(io::Error::other)?;
    say(&path, input).await?;
    shutdown.cancel();
    running.drained().await;
    ended.cancel();
    let mut connections = server.await?;
    // Those that nobody has taken up.
    while let Ok((stream, _)) = upstream.accept() {
        stream.set_nonblocking(true)?;
        connections.spawn(keep(TcpStream::from_std(stream)?));
    }
    Ok((connections.join_all().await, told))
}

/// A path that no other gateway listens at.
fn socket_path() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("sluice-fuzz-{}-{number}.sock", process::id()))
}

/// Sends all of it, and reads until the gateway has nothing more to say.
async fn say(path: &Path, input: &[u8]) -> io::Result<()> {
    let mut client = UnixStream::connect(path).await?;
    let (mut reading, mut writing) = client.split();
    let sending = async {
        // The gateway may have ended the connection by then.
        let _ = writing.write_all(input).await;
        let _ = writing.shutdown().await;
    };
    let mut answers = Vec::new();
    let _ = tokio::join!(sending, reading.read_to_end(&mut answers));
    Ok(())
}

/// Takes connections until it has `ended`.
async fn serve(listener: tokio::net::TcpListener, ended: CancellationToken) -> JoinSet<Vec<u8>> {
    let mut connections = JoinSet::new();
    while let Some(Ok((stream, _))) = ended.run_until_cancelled(listener.accept()).await {
        connections.spawn(keep(stream));
    }
    connections
}

/// Keeps all bytes of a connection, and answers each request that is whole; one that waits for it is told to go on.
async fn keep(mut stream: TcpStream) -> Vec<u8> {
    let (mut bytes, mut part) = (Vec::new(), vec![0; 16 * 1024]);
    let (mut answered, mut told_to_go_on) = (0, 0);
    while let Ok(length @ 1..) = stream.read(&mut part).await {
        bytes.extend(part.iter().take(length));
        // What is irregular is found when all is there.
        let Ok(wire) = strict_reader::read(&bytes) else { continue };
        let waits = wire.begun.as_ref().is_some_and(|request| !request.all("expect").is_empty());
        if waits && told_to_go_on <= wire.whole.len() {
            told_to_go_on = wire.whole.len() + 1;
            let _ = stream.write_all(CONTINUE).await;
        }
        while answered < wire.whole.len() {
            answered += 1;
            let _ = stream.write_all(ANSWER).await;
        }
    }
    bytes
}

/// Judges requests, and remembers which they were.
struct Told {
    routes: RouteTable,
    via: Via,
    /// Their methods and paths, until a server has got them.
    judged: Mutex<Vec<(String, String)>>,
    /// How many got the server's answer.
    answered: AtomicUsize,
}

impl Told {
    /// One for whom all requests may go to this server.
    fn of(server: SocketAddr) -> Self {
        let text = format!(
            "upstreams:\n  backend: {{servers: [\"http://{server}\"], retries: 0}}\n\
             routes:\n  - {{name: all, match: {{prefix: /}}, upstream: backend, auth: none}}\n"
        );
        let routes = file::read(&text, Path::new(".")).expect("the routes are right").table;
        let (via, judged, answered) = (Via::named("gateway"), Mutex::default(), AtomicUsize::new(0));
        Self { routes, via, judged, answered }
    }

    fn judged(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request was judged that a server has not got yet; now it has.
    fn was_judged(&self, method: &str, path: &str) -> bool {
        let mut judged = self.judged();
        let place = judged.iter().position(|(judged, of)| judged == method && of == path);
        place.map(|place| judged.swap_remove(place)).is_some()
    }
}

impl Observer for Told {
    fn request(&self, record: &RequestRecord<'_>) {
        let has_answer = record.upstream.is_some() && record.status == Some(StatusCode::NO_CONTENT);
        self.answered.fetch_add(usize::from(has_answer), Ordering::SeqCst);
    }

    fn fault(&self, _: &str, _: Fault) {}

    fn broken_answer(&self, _: &str, _: &'static str) {}
}

impl Traffic for Told {
    fn trusts(&self, _: IpAddr) -> bool {
        false
    }

    fn client(&self, peer: IpAddr, _: &HeaderMap) -> ClientAddress {
        ClientAddress::named(peer)
    }

    fn metadata(&self, _: &Asked<'_>) -> Option<Response<Full<Bytes>>> {
        None
    }

    fn judge(&self, asked: &Asked<'_>) -> Judging {
        let found = self.routes.route(asked).cloned();
        let admitted = match found {
            Err(refusal) => Admitted::refused(None, refusal),
            Ok(route) => {
                self.judged().push((asked.method.to_string(), asked.path.to_owned()));
                let mut admitted = Admitted::refused(Some(route), Refusal::NoRoute);
                admitted.verdict = Verdict::Anonymous;
                admitted
            }
        };
        Judging::Now(admitted)
    }

    fn methods(&self, _: &str, _: &str) -> Option<HeaderValue> {
        None
    }

    fn refuse(&self, _: &Admitted) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::FORBIDDEN;
        response
    }

    fn enrich(&self, _: &Admitted, _: &mut HeaderMap, _: ClientAddress) {}

    fn via(&self) -> &Via {
        &self.via
    }

    fn strip(&self, _: &Admitted, _: &mut HeaderMap) {}

    fn announce(&self, _: &Admitted, _: &mut HeaderMap) {}

    fn generation(&self) -> u64 {
        1
    }

    fn upstreams(&self) -> Vec<Arc<UpstreamConfig>> {
        self.routes.upstreams().to_vec()
    }

    fn observer(&self) -> &dyn Observer {
        self
    }
}
