//! Several requests on one connection: each is its own token's, and is judged by what is known when it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_crypto::jws::VerifiedJws;
use sluice_crypto::{Sealer, SystemSecret};
use sluice_gateway::proxy::RunningProxy;
use sluice_gateway::route::LiveRoutes;
use sluice_gateway::validation::{Freshness, LocalParts, OwnKeys, Validation, ValidationParts};
use sluice_net::{FetchPolicy, Fetcher, LocalAddress};
use sluice_primitives::{Clock, GrantId, Lifetime, NetworkId, OsRng, SystemClock, Timestamp};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::{AccessTokenClaims, Marker, RevocationSet, Target, TokenId, sealed};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::given::*;
use super::whole::{config, gateway_of, routes};

/// Those of sealed tokens alone, which may change.
#[derive(Default)]
struct SealedOnly {
    generation: AtomicU64,
}

impl OwnKeys for SealedOnly {
    fn verify_jwt(&self, _: &str) -> Option<VerifiedJws> {
        None
    }

    fn verify_paseto(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    fn longest_access_token(&self) -> Lifetime {
        Lifetime::hours(2)
    }

    fn longest_person_token(&self) -> Lifetime {
        Lifetime::hours(2)
    }

    fn is_issuer(&self, _: &str) -> bool {
        false
    }
}

/// Revocations are heard as they happen.
struct AtOnce;

impl Freshness for AtOnce {
    fn age(&self, _: Timestamp) -> Lifetime {
        Lifetime::ZERO
    }
}

fn sealer(secret: u8) -> Sealer {
    Sealer::new(NetworkId::from_bytes([4; 16]), &[SystemSecret::new(vec![secret; 32])])
}

/// The grant of the token for somebody.
fn grant(subject: &str) -> GrantId {
    GrantId::from_bytes([subject.as_bytes()[0]; 16])
}

/// A gateway that takes sealed tokens, and an upstream behind it.
struct Installation {
    file: String,
    live: Arc<LiveRoutes>,
    sealer: Arc<ArcSwap<Sealer>>,
    keys: Arc<SealedOnly>,
    revocations: Arc<RevocationSet>,
    running: RunningProxy,
    seen: mpsc::UnboundedReceiver<Message>,
    shutdown: CancellationToken,
}

impl Installation {
    async fn start() -> Self {
        let (backend, seen) = Backend::bind().await.recording();
        let file = format!(
            "upstreams: {{app: {{servers: [\"http://{backend}\"]}}}}\n\
             routes: [{{name: all, match: {{prefix: /}}, upstream: app}}]\n"
        );
        let sealer = Arc::new(ArcSwap::from_pointee(sealer(1)));
        let (keys, revocations) = (Arc::new(SealedOnly::default()), Arc::new(RevocationSet::default()));
        let local = LocalParts {
            sealer: sealer.clone(),
            keys: keys.clone(),
            revocations: revocations.clone(),
            freshness: Arc::new(AtOnce),
            max_age: Lifetime::secs(10),
            authority: None,
        };
        let parts = ValidationParts {
            local: Some(local),
            fetcher: Arc::new(Fetcher::new(FetchPolicy::default()).unwrap()),
            runtime: Handle::current(),
            clock: Arc::new(SystemClock),
            cache_entries: std::num::NonZeroUsize::MIN,
        };
        let live = Arc::new(LiveRoutes::new(routes(&file)));
        let gateway = gateway_of(live.clone(), Arc::new(Validation::new(parts, &[])));
        let shutdown = CancellationToken::new();
        let running = RunningProxy::start(config(), Arc::new(gateway), shutdown.clone()).await.unwrap();
        Self { file, live, sealer, keys, revocations, running, seen, shutdown }
    }

    fn token(&self, subject: &str) -> String {
        let now = SystemClock.now();
        let claims = AccessTokenClaims {
            id: TokenId::from_bytes([1; 16]),
            grant: grant(subject),
            client: "shop".parse().unwrap(),
            subject: Some(subject.parse().unwrap()),
            session: None,
            scope: "read".parse().unwrap(),
            audience: Vec::new(),
            issued_at: now,
            expires_at: now + Lifetime::hours(1),
            authenticated_at: now,
            consented_at: now,
            extra: Extra::None,
            userinfo: Extra::None,
            rare: RareClaims::default(),
        };
        sealed::write(&claims, &self.sealer.load(), &OsRng)
    }

    fn revoke(&self, subject: &str) {
        let target = Target::Grant(grant(subject));
        self.revocations.apply(&Marker { target, at: SystemClock.now(), expires_at: Timestamp::NEVER });
    }

    async fn connect(&self) -> TcpStream {
        let LocalAddress::Tcp(address) = *self.running.local_address() else { panic!("not TCP") };
        TcpStream::connect(address).await.unwrap()
    }
}

/// As a bearer of this token, who says who it is of.
fn get(token: &str, subject: &str) -> Request<Empty<Bytes>> {
    let request = Request::get("http://a/x").header("authorization", format!("Bearer {token}"));
    request.header("x-said", subject).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn over_http_2_each_stream_is_its_own_tokens_in_turns_and_at_once() {
    let mut world = Installation::start().await;
    let subjects = ["alice", "bob"];
    let tokens = subjects.map(|subject| world.token(subject));
    let (client, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(world.connect().await)).await.unwrap();
    tokio::spawn(connection);
    let answered = async |places: &[usize]| {
        let streams = places.iter().map(|place| {
            let (mut client, request) = (client.clone(), get(&tokens[*place], subjects[*place]));
            async move { client.send_request(request).await.unwrap().status().as_u16() }
        });
        in_time(join_all(streams)).await
    };
    for places in [&[0][..], &[0], &[0], &[1], &[0], &[1], &[1], &[0, 1, 0, 1, 1, 0, 0, 1]] {
        assert!(answered(places).await.iter().all(|status| *status == 200), "{places:?}");
        for _ in places {
            let seen = in_time(world.seen.recv()).await.unwrap();
            assert_eq!(seen.header("oauth-user-id"), seen.header("x-said"));
            assert_eq!(seen.header("oauth-client-id"), Some("shop"));
        }
    }
    world.revoke("alice");
    assert_eq!(answered(&[0, 1, 1, 0]).await, [401, 200, 200, 401]);
    world.shutdown.cancel();
}

#[tokio::test]
async fn keys_that_are_gone_open_nothing_on_connections_that_were_there_before() {
    let world = Installation::start().await;
    let token = world.token("alice");
    let mut client = Peer::new(world.connect().await);
    let mut status = async || {
        client.say(format!("GET / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n")).await;
        client.answer().await.unwrap().status()
    };
    for _ in 0..3 {
        assert_eq!(status().await, 200);
    }
    world.sealer.store(Arc::new(sealer(2)));
    world.keys.generation.fetch_add(1, Ordering::SeqCst);
    assert_eq!(status().await, 401);
    world.shutdown.cancel();
}

#[tokio::test]
async fn whose_word_counts_is_what_the_file_in_force_says_on_connections_that_were_there_before_it() {
    let mut world = Installation::start().await;
    let token = world.token("alice");
    let request = format!(
        "GET / HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 203.0.113.9\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let mut client = Peer::new(world.connect().await);
    for (trusted, told) in
        [("[]", "127.0.0.1"), ("[127.0.0.0/8]", "203.0.113.9, 127.0.0.1"), ("[10.0.0.0/8]", "127.0.0.1")]
    {
        world.live.replace(routes(&format!("trusted_proxies: {trusted}\n{}", world.file)));
        for _ in 0..2 {
            client.say(&request).await;
            assert_eq!(client.answer().await.unwrap().status(), 200);
            let seen = in_time(world.seen.recv()).await.unwrap();
            assert_eq!(seen.header("x-forwarded-for"), Some(told), "{trusted}");
        }
    }
    world.shutdown.cancel();
}
