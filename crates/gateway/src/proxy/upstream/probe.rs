//! Servers are asked how they are: one task for each upstream that wants it, whatever the number of cores.

use std::convert::Infallible;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::future::join_all;
use http::header::HOST;
use http::{Request, StatusCode, Uri};
use http_body_util::Empty;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_commit::chain;
use thiserror::Error;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::warn;

use super::config::{ActiveHealth, UpstreamProtocol};
use super::connect::{Wire, connect_uncounted};
use super::health::Server;
use super::shared::SharedUpstream;
use crate::proxy::fault::Fault;

/// Why a server is not well. What it answered besides its status is nobody's business.
#[derive(Debug, Error)]
pub(super) enum Ailment {
    /// There is no connection; why not, [`connect_uncounted`] says.
    #[error(transparent)]
    Unreachable(#[from] Fault),
    #[error("it answered with {0}")]
    Status(StatusCode),
    #[error("it did not answer in time")]
    Late,
    #[error("the probe failed")]
    Failed(#[from] hyper::Error),
    #[error("its address and `health.path` make no URL")]
    NoUrl,
}

/// The most characters that are told of why a server is not well: some of them are its own, as what it gives for a reason to end a
/// connection over HTTP/2.
const TOLD: usize = 200;

impl Ailment {
    /// In a sentence for the log.
    pub(super) fn told(&self) -> String {
        let mut told = chain(self);
        if let Some((end, _)) = told.char_indices().nth(TOLD) {
            told.truncate(end);
            told.push('…');
        }
        told
    }
}

/// Good or bad answers in a row.
#[derive(Debug, Clone, Copy, Default)]
struct Streak {
    well: bool,
    length: u32,
}

/// Begins to ask the servers of `upstream`, if it wants that, until it has left the file or is gone.
pub(super) fn begin(upstream: &Arc<SharedUpstream>) {
    if let Some(health) = upstream.config.active_health.clone() {
        let asking = run(Arc::downgrade(upstream), health, are_all_ill(upstream));
        let left = upstream.left.clone();
        tokio::spawn(async move { left.run_until_cancelled(asking).await });
    }
}

async fn run(upstream: Weak<SharedUpstream>, health: ActiveHealth, mut were_all_ill: bool) {
    let mut ticks = interval(health.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut streaks = Vec::new();
    loop {
        ticks.tick().await;
        let Some(upstream) = upstream.upgrade() else { return };
        streaks.resize(upstream.servers.len(), Streak::default());
        let asked = upstream.servers.iter().map(|server| look_at(&upstream, server, &health));
        for ((found, server), streak) in
            join_all(asked).await.into_iter().zip(&upstream.servers).zip(&mut streaks)
        {
            note(server, streak, &found, &health);
        }
        tell_if_all_are_ill(&upstream, &mut were_all_ill);
    }
}

fn are_all_ill(upstream: &SharedUpstream) -> bool {
    upstream.servers.iter().all(|server| server.is_ill())
}

/// Says once that no server is left to be preferred.
fn tell_if_all_are_ill(upstream: &SharedUpstream, were: &mut bool) {
    let are = are_all_ill(upstream);
    if !std::mem::replace(were, are) && are {
        warn!(upstream = %upstream.config.name, "all servers of an upstream are ill: requests go to all of them");
    }
}

fn note(server: &Server, streak: &mut Streak, found: &Result<(), Ailment>, health: &ActiveHealth) {
    let well = found.is_ok();
    if streak.well != well {
        *streak = Streak { well, length: 0 };
    }
    streak.length = streak.length.saturating_add(1);
    let needed = if well { health.healthy_after } else { health.unhealthy_after };
    if streak.length >= needed.get() {
        server.probed(found);
    }
}

async fn look_at(upstream: &SharedUpstream, server: &Server, health: &ActiveHealth) -> Result<(), Ailment> {
    let asking = async {
        let wire = connect_uncounted(upstream, server).await?;
        ask(wire, upstream.config.protocol, server, &health.path).await
    };
    match timeout(health.timeout, asking).await {
        Ok(Ok(status)) if status.is_success() => Ok(()),
        Ok(Ok(status)) => Err(Ailment::Status(status)),
        Ok(Err(why)) => Err(why),
        Err(_) => Err(Ailment::Late),
    }
}

async fn ask(
    wire: Wire,
    protocol: UpstreamProtocol,
    server: &Server,
    path: &str,
) -> Result<StatusCode, Ailment> {
    let mut request = Request::new(Empty::<Bytes>::new());
    let io = TokioIo::new(wire);
    match protocol {
        UpstreamProtocol::Http1 => {
            *request.uri_mut() = path.parse().map_err(|_| Ailment::NoUrl)?;
            request.headers_mut().insert(HOST, server.host.clone());
            let (mut sender, connection) = http1::handshake(io).await?;
            Ok(answer(sender.send_request(request), connection).await?)
        }
        UpstreamProtocol::Http2 => {
            let scheme = if server.config.tls { "https" } else { "http" };
            let host = server.host.to_str().map_err(|_| Ailment::NoUrl)?;
            let url = format!("{scheme}://{host}{path}");
            *request.uri_mut() = Uri::try_from(url).map_err(|_| Ailment::NoUrl)?;
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            Ok(answer(sender.send_request(request), connection).await?)
        }
    }
}

/// The status of the answer that comes while `connection` is driven.
async fn answer<B>(
    asking: impl Future<Output = hyper::Result<http::Response<B>>>,
    connection: impl Future<Output = hyper::Result<()>>,
) -> hyper::Result<StatusCode> {
    let never = async {
        let _ = connection.await;
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        answered = asking => answered.map(|answered| answered.status()),
        never = never => match never {},
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroUsize};
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use sluice_testkit::Captured;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::config::{Breaker, ServerConfig, Timeouts, UpstreamConfig, UpstreamTls};
    use super::super::given;
    use super::*;

    /// An upstream to servers at these ports, of which one may be reached at a time.
    fn upstream(ports: &[u16]) -> SharedUpstream {
        let server = |&port: &u16| ServerConfig {
            host: "127.0.0.1".into(),
            port,
            tls: false,
            weight: NonZeroU32::MIN,
        };
        let config = UpstreamConfig {
            name: "a".into(),
            servers: ports.iter().map(server).collect(),
            protocol: UpstreamProtocol::Http1,
            tls: UpstreamTls::default(),
            timeouts: Timeouts::default(),
            retries: 0,
            retry_budget: None,
            idle_connections: NonZeroUsize::MIN,
            max_head: NonZeroUsize::new(65_535).unwrap(),
            breaker: Breaker { connecting: NonZeroUsize::MIN, ..Breaker::default() },
            passive_health: None,
            active_health: None,
        };
        SharedUpstream::new(Arc::new(config), 1, None)
    }

    /// What is found of the one server of `upstream`, which answers this to a probe and ends the connection.
    async fn found(
        upstream: &SharedUpstream,
        listener: TcpListener,
        said: &'static str,
    ) -> Result<(), Ailment> {
        let answering = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(said.as_bytes()).await.unwrap();
        });
        let health = ActiveHealth { timeout: Duration::from_secs(30), ..ActiveHealth::at("/health") };
        let found = look_at(upstream, &upstream.servers[0], &health).await;
        answering.await.unwrap();
        found
    }

    async fn bound() -> (TcpListener, SharedUpstream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = upstream(&[listener.local_addr().unwrap().port()]);
        (listener, upstream)
    }

    #[tokio::test]
    async fn a_server_is_found_well_while_as_many_connections_to_it_are_being_made_as_may_be() {
        let (listener, upstream) = bound().await;
        upstream.servers[0].connecting.store(1, Ordering::Relaxed);
        found(&upstream, listener, "HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    }

    #[tokio::test]
    async fn why_a_server_is_ill_is_told_without_the_body_of_its_answer() {
        for (said, why) in [
            (
                "HTTP/1.1 503 Down\r\ncontent-length: 6\r\n\r\nsecret",
                "it answered with 503 Service Unavailable",
            ),
            ("no HTTP\r\n\r\n", "the probe failed: "),
            ("", "the probe failed: "),
        ] {
            let (listener, upstream) = bound().await;
            let told = found(&upstream, listener, said).await.unwrap_err().told();
            assert!(told.starts_with(why) && !told.contains("secret"), "{told}");
        }
        let (silent, upstream) = bound().await;
        let health = ActiveHealth { timeout: Duration::from_millis(50), ..ActiveHealth::at("/health") };
        let told = look_at(&upstream, &upstream.servers[0], &health).await;
        assert!(matches!(told, Err(Ailment::Late)), "{told:?}");
        drop(silent);
        let patient = ActiveHealth { timeout: Duration::from_secs(30), ..health };
        let told = look_at(&upstream, &upstream.servers[0], &patient).await;
        assert!(matches!(told, Err(Ailment::Unreachable(Fault::Connect))), "{told:?}");
    }

    /// The server of a connection over HTTP/2 gives this for a reason to end it once it was asked.
    async fn go_away(listener: TcpListener, reason: &[u8]) {
        const HEADERS: u8 = 1;
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
        let mut head = [0_u8; 9];
        while head[3] != HEADERS {
            stream.read_exact(&mut head).await.unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            stream.read_exact(&mut vec![0; usize::try_from(length).unwrap()]).await.unwrap();
        }
        let length = u32::try_from(8 + reason.len()).unwrap().to_be_bytes();
        let settings: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        // Of no stream, the last that was looked at is none, and `ENHANCE_YOUR_CALM`.
        let goaway = [length[1], length[2], length[3], 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];
        stream.write_all(&[&settings[..], &goaway, reason].concat()).await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    #[tokio::test]
    async fn what_a_server_gives_for_a_reason_is_not_told_at_length() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = given::upstream("a", &[listener.local_addr().unwrap().port()]);
        let config = UpstreamConfig { protocol: UpstreamProtocol::Http2, ..config };
        let upstream = SharedUpstream::new(Arc::new(config), 1, None);
        let ending = tokio::spawn(go_away(listener, &[b'x'; 2_000]));
        let health = ActiveHealth { timeout: Duration::from_secs(30), ..ActiveHealth::at("/health") };
        let told = look_at(&upstream, &upstream.servers[0], &health).await.unwrap_err().told();
        assert!(told.starts_with("the probe failed: ") && told.contains("xxx"), "{told}");
        assert!(told.ends_with("x…") && told.chars().count() == TOLD + 1, "{told}");
        ending.abort();
    }

    #[tokio::test]
    async fn that_all_servers_of_an_upstream_are_ill_is_said_once_while_they_are() {
        let (log, _guard) = Captured::begin();
        let (upstream, mut were) = (upstream(&[1, 2]), false);
        for (ill, times) in
            [([true, false], 0), ([true, true], 1), ([true, true], 1), ([false, true], 1), ([true, true], 2)]
        {
            for (server, ill) in upstream.servers.iter().zip(ill) {
                server.probed(&if ill { Err(Ailment::Late) } else { Ok(()) });
            }
            tell_if_all_are_ill(&upstream, &mut were);
            let lines = log.lines("all servers of an upstream are ill");
            assert_eq!(lines.len(), times, "{ill:?}");
            assert!(
                lines.iter().all(|line| line.contains("WARN") && line.contains("upstream=a")),
                "{lines:?}"
            );
        }
    }
}
