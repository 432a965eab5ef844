//! A gateway that asks nobody for a token, for load tests beside other proxies:
//!
//! ```sh
//! cargo run --release -p sluice-gateway --example plain_proxy -- 127.0.0.1:8080 http://127.0.0.1:9000 2
//! wrk -t2 -c64 -d10 http://127.0.0.1:8080/
//! ```
//!
//! Where to listen, the upstream, and how many cores (default: all). Requests are routed, judged and told of as they always are.

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use sluice_crypto::{Sealer, SystemSecret};
use sluice_gateway::enrichment::CountryLookup;
use sluice_gateway::limit::RateLimits;
use sluice_gateway::observer::Silent;
use sluice_gateway::proxy::{PlainHttp, ProxyConfig, RunningProxy, Via};
use sluice_gateway::route::{LiveRoutes, file};
use sluice_gateway::validation::{HolderCheck, HolderParts};
use sluice_gateway::{Gateway, GatewayParts, PolicyValidator, Question, TokenFault, Validated};
use sluice_net::{BindAddress, Limits};
use sluice_primitives::{Lifetime, NetworkId, OsRng, SystemClock};
use tokio_util::sync::CancellationToken;

/// No token is any good: none is asked for.
struct NoTokens;

impl PolicyValidator for NoTokens {
    fn validate(&self, _: Question<'_>) -> Validated {
        Validated::Now(Err(TokenFault::NotAuthentic))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(listen), Some(upstream)) = (arguments.next(), arguments.next()) else {
        return Err("usage: plain_proxy LISTEN UPSTREAM [CORES]".into());
    };
    let listen: SocketAddr = listen.parse()?;
    let cores = match arguments.next() {
        Some(cores) => cores.parse()?,
        None => std::thread::available_parallelism()?,
    };
    let shutdown = CancellationToken::new();
    let running =
        RunningProxy::start(config(listen, cores), Arc::new(gateway(&upstream)?), shutdown.clone()).await?;
    println!("listening on {listen} with {cores} threads, for {upstream}");
    tokio::signal::ctrl_c().await?;
    shutdown.cancel();
    running.drained().await;
    Ok(())
}

fn config(listen: SocketAddr, cores: NonZeroUsize) -> ProxyConfig {
    ProxyConfig {
        address: BindAddress::Tcp { host: listen.ip().to_string(), port: listen.port() },
        cores,
        tls: None,
        limits: Limits::default(),
        certificates: sluice_net::ForwardedCertificatePolicy::default(),
        plain_http: PlainHttp::Anybody,
    }
}

fn gateway(upstream: &str) -> Result<Gateway, Box<dyn Error>> {
    let routes = format!(
        "upstreams:\n  backend:\n    servers: [{upstream}]\n\
         routes:\n  - name: all\n    match: {{prefix: /}}\n    upstream: backend\n    auth: none\n"
    );
    let checked = file::read(&routes, Path::new(".")).map_err(|mistakes| format!("{mistakes:?}"))?;
    let clock = Arc::new(SystemClock);
    let sealer = Sealer::new(NetworkId::from_bytes([0; 16]), &[SystemSecret::new(vec![0; 32])]);
    let holder = HolderParts {
        sealer: Arc::new(ArcSwap::from_pointee(sealer)),
        rng: Arc::new(OsRng),
        proof_lifetime: Lifetime::secs(60),
        proof_ahead: Lifetime::secs(15),
        nonce_lifetime: Lifetime::secs(60),
        remembered_proofs: 1_000,
    };
    Ok(Gateway::new(GatewayParts {
        routes: Arc::new(LiveRoutes::new(checked.table)),
        validation: Arc::new(NoTokens),
        holder: Arc::new(HolderCheck::new(holder)),
        limits: Arc::new(RateLimits::new(clock.clone())),
        country: Arc::new(CountryLookup::default()),
        phantom: None,
        via: Via::random(&OsRng),
        observer: Arc::new(Silent),
        clock,
    }))
}
