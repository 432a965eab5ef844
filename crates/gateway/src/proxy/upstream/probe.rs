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
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::config::{ActiveHealth, UpstreamProtocol};
use super::connect::{Wire, connect_uncounted};
use super::health::Server;
use super::shared::SharedUpstream;

/// Good or bad answers in a row.
#[derive(Debug, Clone, Copy, Default)]
struct Streak {
    well: bool,
    length: u32,
}

/// Begins to ask the servers of `upstream`, if it wants that, until it has left the file or is gone.
pub(super) fn begin(upstream: &Arc<SharedUpstream>) {
    if let Some(health) = upstream.config.active_health.clone() {
        let (left, asking) = (upstream.left.clone(), run(Arc::downgrade(upstream), health));
        tokio::spawn(async move { left.run_until_cancelled(asking).await });
    }
}

async fn run(upstream: Weak<SharedUpstream>, health: ActiveHealth) {
    let mut ticks = interval(health.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut streaks = Vec::new();
    loop {
        ticks.tick().await;
        let Some(upstream) = upstream.upgrade() else { return };
        streaks.resize(upstream.servers.len(), Streak::default());
        let asked = upstream.servers.iter().map(|server| is_well(&upstream, server, &health));
        for ((well, server), streak) in
            join_all(asked).await.into_iter().zip(&upstream.servers).zip(&mut streaks)
        {
            note(server, streak, well, &health);
        }
    }
}

fn note(server: &Server, streak: &mut Streak, well: bool, health: &ActiveHealth) {
    if streak.well != well {
        *streak = Streak { well, length: 0 };
    }
    streak.length = streak.length.saturating_add(1);
    let needed = if well { health.healthy_after } else { health.unhealthy_after };
    if streak.length >= needed.get() {
        server.probed(well);
    }
}

async fn is_well(upstream: &SharedUpstream, server: &Server, health: &ActiveHealth) -> bool {
    let asking = async {
        let wire = connect_uncounted(upstream, server).await.ok()?;
        ask(wire, upstream.config.protocol, server, &health.path).await
    };
    matches!(timeout(health.timeout, asking).await, Ok(Some(status)) if status.is_success())
}

async fn ask(wire: Wire, protocol: UpstreamProtocol, server: &Server, path: &str) -> Option<StatusCode> {
    let mut request = Request::new(Empty::<Bytes>::new());
    let io = TokioIo::new(wire);
    match protocol {
        UpstreamProtocol::Http1 => {
            *request.uri_mut() = path.parse().ok()?;
            request.headers_mut().insert(HOST, server.host.clone());
            let (mut sender, connection) = http1::handshake(io).await.ok()?;
            answer(sender.send_request(request), connection).await
        }
        UpstreamProtocol::Http2 => {
            let scheme = if server.config.tls { "https" } else { "http" };
            let host = server.host.to_str().ok()?;
            *request.uri_mut() = Uri::try_from(format!("{scheme}://{host}{path}")).ok()?;
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.ok()?;
            answer(sender.send_request(request), connection).await
        }
    }
}

/// The status of the answer that comes while `connection` is driven.
async fn answer<B>(
    asking: impl Future<Output = hyper::Result<http::Response<B>>>,
    connection: impl Future<Output = hyper::Result<()>>,
) -> Option<StatusCode> {
    let never = async {
        let _ = connection.await;
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        answered = asking => answered.ok().map(|answered| answered.status()),
        never = never => match never {},
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroUsize};
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::config::{Breaker, ServerConfig, Timeouts, UpstreamConfig, UpstreamTls};
    use super::*;

    #[tokio::test]
    async fn a_server_is_found_well_while_as_many_connections_to_it_are_being_made_as_may_be() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = ServerConfig { host: "127.0.0.1".into(), port, tls: false, weight: NonZeroU32::MIN };
        let config = UpstreamConfig {
            name: "a".into(),
            servers: vec![server],
            protocol: UpstreamProtocol::Http1,
            tls: UpstreamTls::default(),
            timeouts: Timeouts::default(),
            retries: 0,
            idle_connections: NonZeroUsize::MIN,
            max_head: NonZeroUsize::new(65_535).unwrap(),
            breaker: Breaker { connecting: NonZeroUsize::MIN, ..Breaker::default() },
            passive_health: None,
            active_health: None,
        };
        let upstream = SharedUpstream::new(Arc::new(config), 1, None);
        upstream.servers[0].connecting.store(1, Ordering::Relaxed);
        let answering = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            stream
        });
        let health = ActiveHealth { timeout: Duration::from_secs(30), ..ActiveHealth::at("/health") };
        assert!(is_well(&upstream, &upstream.servers[0], &health).await);
        answering.await.unwrap();
    }
}
