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
use super::connect::{Wire, connect};
use super::health::Server;
use super::shared::SharedUpstream;

/// Good or bad answers in a row.
#[derive(Debug, Clone, Copy, Default)]
struct Streak {
    well: bool,
    length: u32,
}

/// Begins to ask the servers of `upstream`, if it wants that, until it is gone.
pub(super) fn begin(upstream: &Arc<SharedUpstream>) {
    if let Some(health) = upstream.config.active_health.clone() {
        tokio::spawn(run(Arc::downgrade(upstream), health));
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
        let wire = connect(upstream, server).await.ok()?;
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
