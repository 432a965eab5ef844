//! Servers that keep every byte of every connection, over HTTP/1.1 and HTTP/2.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use sluice_gateway::proxy::upstream::UpstreamProtocol;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::InspectReader;

use super::given::*;
use super::h2_frames::{DATA, END_STREAM, HEADERS};
use crate::corpus::strict_reader;

pub(super) const BOTH: [UpstreamProtocol; 2] = [UpstreamProtocol::Http1, UpstreamProtocol::Http2];

/// When nothing has come for so long, all has come.
const SETTLED: Duration = Duration::from_millis(40);

/// How a client begins that speaks HTTP/2 (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes, connection by connection.
type Wires = Arc<Mutex<Vec<Vec<u8>>>>;

/// A server that keeps every byte and answers each request with [`OK`], or the like, once it is whole.
pub(super) struct Recorder {
    address: SocketAddr,
    protocol: UpstreamProtocol,
    wires: Wires,
    /// What was read of them over HTTP/2.
    read: Arc<Mutex<Vec<strict_reader::Request>>>,
}

/// What came to a server.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) wires: Vec<Vec<u8>>,
    /// The requests that are whole.
    pub(super) whole: Vec<strict_reader::Request>,
    /// How many of them end on the wires, whoever read them.
    pub(super) ended: usize,
}

impl Recorder {
    pub(super) async fn start(protocol: UpstreamProtocol) -> Self {
        let (wires, read) = (Wires::default(), Arc::default());
        let (kept, known) = (wires.clone(), Arc::clone(&read));
        let address = Backend::bind().await.serve(move |peer, number| {
            let (wires, read) = (kept.clone(), Arc::clone(&known));
            wires.lock().push(Vec::new());
            let stream = InspectReader::new(peer.stream, move |bytes: &[u8]| {
                wires.lock()[number].extend(bytes);
            });
            async move {
                match protocol {
                    UpstreamProtocol::Http1 => answer_http1(stream).await,
                    UpstreamProtocol::Http2 => answer_http2(stream, read).await,
                }
            }
        });
        Self { address, protocol, wires, read }
    }

    /// A gateway before it.
    pub(super) fn setup(&self) -> Setup {
        let mut setup = Setup::to(&[self.address]);
        setup.upstream.protocol = self.protocol;
        setup
    }

    /// All that came, once nothing more does.
    pub(super) async fn settled(&self) -> Came {
        let mut before = self.wires();
        loop {
            tokio::time::sleep(SETTLED).await;
            let wires = self.wires();
            if wires == before {
                return self.came(wires);
            }
            before = wires;
        }
    }

    /// The bytes that came so far.
    pub(super) fn wires(&self) -> Vec<Vec<u8>> {
        self.wires.lock().clone()
    }

    fn came(&self, wires: Vec<Vec<u8>>) -> Came {
        if self.protocol == UpstreamProtocol::Http2 {
            let ended = wires.iter().map(|wire| ended_streams(wire)).sum();
            return Came { ended, whole: self.read.lock().clone(), wires };
        }
        let mut whole = Vec::new();
        for wire in &wires {
            let read =
                strict_reader::read(wire).unwrap_or_else(|why| panic!("{why}: {}", wire.escape_ascii()));
            whole.extend(read.whole);
        }
        Came { ended: whole.len(), whole, wires }
    }
}

async fn answer_http1<S: AsyncRead + AsyncWrite + Unpin>(stream: S) {
    let mut peer = Peer::new(stream);
    while peer.request().await.is_some() {
        peer.say(OK).await;
    }
}

async fn answer_http2<S>(stream: S, read: Arc<Mutex<Vec<strict_reader::Request>>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| keep(request, Arc::clone(&read)));
    let builder = http2::Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// Keeps a request that has an end. Of another the stream is reset.
async fn keep(
    request: Request<Incoming>,
    read: Arc<Mutex<Vec<strict_reader::Request>>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes().to_vec();
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let (method, target) = (parts.method.to_string(), parts.uri.path().to_owned());
    read.lock().push(strict_reader::Request { method, target, headers, body });
    Ok(Response::new(Full::from("ok")))
}

/// How many streams the client has ended (`END_STREAM`).
fn ended_streams(wire: &[u8]) -> usize {
    let mut rest = wire.strip_prefix(PREFACE).unwrap_or_default();
    let mut ended = 0;
    while let [long, longer, longest, kind, flags, _, _, _, _, after @ ..] = rest {
        let length = u32::from_be_bytes([0, *long, *longer, *longest]);
        ended += usize::from(matches!(*kind, DATA | HEADERS) && flags & END_STREAM != 0);
        rest = after.get(usize::try_from(length).unwrap()..).unwrap_or_default();
    }
    ended
}
