//! A running listener, and clients that speak to it byte by byte.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_net::{BindAddress, Drained, Limits, Listener, LocalAddress, TlsAcceptorHandle, serve};
use sluice_primitives::{Clock, SystemClock, Timestamp};
use sluice_testkit::Captured;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything here may take: a test that waits so long has failed.
pub(crate) const AT_MOST: Duration = Duration::from_secs(20);
pub(crate) const GET: &str = "GET / HTTP/1.1\r\nhost: sluice\r\n\r\n";

/// Certificates are verified by the machine's clock, so they are made by it.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: CancellationToken,
    pub(crate) serving: JoinHandle<Drained>,
}

impl Running {
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub(crate) async fn stop(self) -> Drained {
        self.shutdown.cancel();
        in_time(self.serving).await.unwrap()
    }
}

pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(AT_MOST, future).await.unwrap()
}

/// The lines that have this text in them, as soon as there are so many.
pub(crate) async fn logged(log: &Captured, text: &str, count: usize) -> Vec<String> {
    in_time(async {
        loop {
            let lines = log.lines(text);
            if lines.len() >= count {
                return lines;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
}

pub(crate) async fn listener(accept_loops: usize) -> Listener {
    let address = BindAddress::Tcp { host: "127.0.0.1".into(), port: 0 };
    Listener::bind(&address, NonZeroUsize::new(accept_loops).unwrap()).await.unwrap()
}

pub(crate) async fn running(router: Router, limits: Limits) -> Running {
    running_with(listener(1).await, None, router, limits)
}

pub(crate) async fn running_tls(tls: TlsAcceptorHandle, router: Router, limits: Limits) -> Running {
    running_with(listener(1).await, Some(tls), router, limits)
}

pub(crate) fn running_with(
    listener: Listener,
    tls: Option<TlsAcceptorHandle>,
    router: Router,
    limits: Limits,
) -> Running {
    let LocalAddress::Tcp(address) = *listener.local_address() else { panic!("not TCP") };
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(serve(listener, tls, router, None, shutdown.clone(), limits));
    Running { address, shutdown, serving }
}

/// Writes; a peer that hung up is noticed when reading.
pub(crate) async fn say(stream: &mut (impl AsyncWrite + Unpin), bytes: &str) {
    let _ = stream.write_all(bytes.as_bytes()).await;
}

/// Reads one answer whose end is `end`, or up to the end of the stream.
pub(crate) async fn answer_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut answer = Vec::new();
    let mut chunk = [0; 1024];
    in_time(async {
        loop {
            let read = stream.read(&mut chunk).await.unwrap_or(0);
            answer.extend(chunk.iter().take(read));
            if read == 0 || answer.ends_with(end.as_bytes()) {
                return;
            }
        }
    })
    .await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Whether the other end hangs up without another byte.
pub(crate) async fn is_closed(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    in_time(stream.read(&mut [0; 16])).await.unwrap_or(0) == 0
}

pub(crate) fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let lines = lines
        .iter()
        .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    let mut headers = HeaderMap::new();
    lines.for_each(|(name, value)| {
        headers.append(name, value);
    });
    headers
}
