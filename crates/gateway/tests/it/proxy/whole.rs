//! The data path behind the real gateway, led by a routes file.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use sluice_crypto::{Sealer, SystemSecret};
use sluice_gateway::enrichment::CountryLookup;
use sluice_gateway::limit::RateLimits;
use sluice_gateway::observer::Silent;
use sluice_gateway::proxy::{ProxyConfig, RunningProxy};
use sluice_gateway::route::{LiveRoutes, RoutePolicy, file};
use sluice_gateway::validation::{HolderCheck, HolderParts};
use sluice_gateway::{Gateway, GatewayParts, PolicyValidator, TokenFault, Validated};
use sluice_net::{BindAddress, ForwardedCertificatePolicy, Limits, LocalAddress};
use sluice_primitives::{Lifetime, NetworkId, OsRng, SystemClock, Timestamp};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::given::*;

struct NoTokens;

impl PolicyValidator for NoTokens {
    fn validate(&self, _: &RoutePolicy, token: &str, _: Timestamp) -> Validated {
        let fault = TokenFault::NotAuthentic;
        if token == "later" {
            return Validated::Later(Box::pin(async move {
                tokio::task::yield_now().await;
                Err(fault)
            }));
        }
        Validated::Now(Err(fault))
    }
}

fn gateway(routes: Arc<LiveRoutes>) -> Gateway {
    let clock = Arc::new(SystemClock);
    let holder = HolderParts {
        sealer: Arc::new(Sealer::new(NetworkId::from_bytes([0; 16]), &[SystemSecret::new(vec![0; 32])])),
        rng: Arc::new(OsRng),
        proof_lifetime: Lifetime::secs(60),
        nonce_lifetime: Lifetime::secs(60),
    };
    Gateway::new(GatewayParts {
        routes,
        validation: Arc::new(NoTokens),
        holder: Arc::new(HolderCheck::new(holder)),
        limits: Arc::new(RateLimits::new(clock.clone())),
        country: Arc::new(CountryLookup::default()),
        phantom: None,
        observer: Arc::new(Silent),
        clock,
    })
}

fn routes(text: &str) -> sluice_gateway::RouteTable {
    file::read(text, Path::new(".")).unwrap().table
}

/// The answer to one request.
async fn ask(running: &RunningProxy, request: &str) -> Message {
    let LocalAddress::Tcp(address) = *running.local_address() else { panic!("not TCP") };
    let mut client = Peer::new(TcpStream::connect(address).await.unwrap());
    client.say(request).await;
    client.answer().await.unwrap()
}

#[tokio::test]
async fn a_routes_file_leads_requests_and_a_new_one_leads_them_elsewhere() {
    let (one, mut at_one) = Backend::bind().await.recording();
    let (two, mut at_two) = Backend::bind().await.recording();
    let text = |backend| {
        format!(
            "upstreams:\n  backend: {{servers: [http://{backend}]}}\nroutes:\n  \
             - {{name: guarded, match: {{prefix: /guarded/}}, upstream: backend}}\n  \
             - {{name: open, match: {{prefix: /open/}}, upstream: backend, auth: none, rewrite_prefix: /inner/}}\n"
        )
    };
    let live = Arc::new(LiveRoutes::new(routes(&text(one))));
    let config = ProxyConfig {
        address: BindAddress::Tcp { host: "127.0.0.1".into(), port: 0 },
        cores: NonZeroUsize::new(2).unwrap(),
        tls: None,
        limits: Limits::default(),
        certificates: ForwardedCertificatePolicy::default(),
    };
    let shutdown = CancellationToken::new();
    let traffic = Arc::new(gateway(live.clone()));
    let running = RunningProxy::start(config, traffic, shutdown.clone()).await.unwrap();
    for (path, token, status) in [
        ("/nothing", None, 404),
        ("/open/../guarded/x", None, 400),
        ("/open/%2e%2e/guarded/x", None, 400),
        ("/guarded/x", None, 401),
        ("/guarded/x", Some("forged"), 401),
        ("/guarded/x", Some("later"), 401),
    ] {
        let token = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
        let answer = ask(&running, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n{token}\r\n")).await;
        assert_eq!(answer.status(), status, "{path} {token}");
    }
    assert!(at_one.try_recv().is_err());
    let request = "GET /open/x?y=1 HTTP/1.1\r\nhost: a\r\noauth-user-id: root\r\nOAuth-Anything: 1\r\n\r\n";
    assert_eq!(ask(&running, request).await.status(), 200);
    let seen = at_one.recv().await.unwrap();
    assert_eq!(seen.line(), "GET /inner/x?y=1 HTTP/1.1");
    assert_eq!((seen.header("oauth-user-id"), seen.header("oauth-anything")), (None, None));
    live.replace(routes(&text(two)));
    for _ in 0..8 {
        assert_eq!(ask(&running, request).await.status(), 200);
        assert!(at_two.recv().await.is_some());
    }
    assert!(at_one.try_recv().is_err());
    shutdown.cancel();
    assert_eq!(in_time(running.drained()).await.cut, 0);
}
