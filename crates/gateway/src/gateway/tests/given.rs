//! A gateway whose tokens are words: `alice` is hers, `expired` has, and with `later.` before it an issuer has to be asked.

use std::future::ready;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method};
use http_body_util::BodyExt;
use sluice_crypto::{Sealer, SystemSecret};
use sluice_primitives::{ManualClock, NetworkId, OsRng, Timestamp};
use sluice_token::Confirmation;

use super::*;
use crate::authn::{Caller, given};
use crate::observer::Silent;
use crate::route::host::HostPattern;
use crate::route::pattern::{Match, PathPattern};
use crate::route::{Enrichment, Limit, RoutePolicy, RouteTable, Settings};
use crate::validation::{HolderParts, LastToken, TokenFault};

pub(super) const NOW: Timestamp = Timestamp::from_secs(1_000);
pub(super) const JWKS_PATH: &str = "/.well-known/jwks.json";
pub(super) const REMEMBERED_PROOFS: usize = 4;

/// A gateway, its clock and its countries.
pub(super) struct GivenGateway {
    pub(super) gateway: Gateway,
    pub(super) clock: Arc<ManualClock>,
    pub(super) country: Arc<CountryLookup>,
}

struct Words {
    /// The thumbprint of the key that the token `bound` is bound to.
    key: [u8; 32],
}

impl PolicyValidator for Words {
    fn validate(&self, question: Question<'_>) -> Validated {
        let Question { token, now, .. } = question;
        assert_eq!(now, NOW.max(now));
        match token.strip_prefix("later.") {
            Some(word) => Validated::Later(Box::pin(ready(self.meaning(word)))),
            None => Validated::Now(self.meaning(token)),
        }
    }
}

impl Words {
    fn meaning(&self, word: &str) -> Result<Arc<Caller>, TokenFault> {
        let [subject, client, issuer] = given::endless();
        Ok(Arc::new(match word {
            "endless-subject" => subject,
            "endless-client" => client,
            "endless-issuer" => issuer,
            "alice" => given::alice(Some(serde_json::json!({"email": "alice@example.com"}))),
            "robot" => given::robot(),
            "person" => given::person(),
            "bob" => given::bob(given::bobs_claims()),
            "namesake" => given::namesake(),
            "bound" => given::bound(Confirmation::Jkt(self.key)),
            "certified" => given::bound(Confirmation::X5tS256([5; 32])),
            "expired" => return Err(TokenFault::Expired),
            "early" => return Err(TokenFault::NotYet),
            "revoked" => return Err(TokenFault::Revoked),
            "unreachable" => return Err(TokenFault::Unreachable),
            "busy" => return Err(TokenFault::Busy),
            "stale" => return Err(TokenFault::Stale),
            _ => return Err(TokenFault::NotAuthentic),
        }))
    }
}

fn words(key: [u8; 32]) -> Arc<dyn PolicyValidator> {
    Arc::new(Words { key })
}

fn prefix(path: &str) -> Match {
    Match { hosts: vec![HostPattern::Any], path: PathPattern::prefix(path).unwrap(), methods: Vec::new() }
}

impl GivenGateway {
    /// With these routes, by prefix, and the ordinary headers.
    pub(super) fn with(routes: &[(&'static str, RoutePolicy)]) -> Self {
        let routes = routes.iter().map(|(path, policy)| (*path, policy.clone(), given::ordinary()));
        Self::telling(routes.collect(), Settings::default())
    }

    /// With one route that is limited.
    pub(super) fn limited(path: &'static str, limit: Limit) -> Self {
        let mut rule = given::rule(RoutePolicy::default(), given::ordinary());
        rule.limits.push(limit);
        Self::of(RouteTable::new(vec![(prefix(path), rule)], Vec::new(), Settings::default()), words([0; 32]))
    }

    /// With these routes, by prefix, that tell their upstreams so much.
    pub(super) fn telling(routes: Vec<(&'static str, RoutePolicy, Enrichment)>, settings: Settings) -> Self {
        Self::of(table(routes, settings), words([0; 32]))
    }

    /// With one route, and tokens `bound` to this key.
    pub(super) fn bound(policy: RoutePolicy, key: [u8; 32]) -> Self {
        Self::of(table(vec![("/orders", policy, given::ordinary())], Settings::default()), words(key))
    }

    /// With one route, and another way to tell whether tokens hold.
    pub(super) fn validating(validation: Arc<dyn PolicyValidator>) -> Self {
        let route = ("/orders", RoutePolicy::default(), given::ordinary());
        Self::of(table(vec![route], Settings::default()), validation)
    }

    /// The same with a route whose exchanges end after this time.
    pub(super) fn ending_after(total: Duration, validation: Arc<dyn PolicyValidator>) -> Self {
        let mut rule = given::rule(RoutePolicy::default(), given::ordinary());
        rule.total_timeout = Some(total);
        Self::of(
            RouteTable::new(vec![(prefix("/orders"), rule)], Vec::new(), Settings::default()),
            validation,
        )
    }

    fn of(table: RouteTable, validation: Arc<dyn PolicyValidator>) -> Self {
        let clock = Arc::new(ManualClock::at(NOW));
        let country = Arc::new(CountryLookup::default());
        let sealer = Sealer::new(NetworkId::from_bytes([4; 16]), &[SystemSecret::new(vec![7; 32])]);
        let signer = PhantomSigner::generate("https://gateway.example".to_owned(), Arc::new(OsRng)).unwrap();
        let gateway = Gateway::new(GatewayParts {
            routes: Arc::new(LiveRoutes::new(table)),
            validation,
            holder: Arc::new(HolderCheck::new(HolderParts {
                sealer: Arc::new(arc_swap::ArcSwap::from_pointee(sealer)),
                rng: Arc::new(OsRng),
                proof_lifetime: sluice_primitives::Lifetime::secs(60),
                proof_ahead: sluice_primitives::Lifetime::secs(15),
                nonce_lifetime: sluice_primitives::Lifetime::secs(60),
                remembered_proofs: REMEMBERED_PROOFS,
            })),
            limits: Arc::new(RateLimits::new(clock.clone())),
            country: country.clone(),
            phantom: Some(PhantomParts { signer: Arc::new(signer), jwks_path: Some(JWKS_PATH.to_owned()) }),
            via: Via::named("gateway"),
            observer: Arc::new(Silent),
            clock: clock.clone(),
        });
        Self { gateway, clock, country }
    }

    pub(super) fn judging(&self, ask: &Ask) -> Judging {
        self.gateway.judge(&ask.asked())
    }

    pub(super) async fn judge(&self, ask: &Ask) -> Admitted {
        match self.judging(ask) {
            Judging::Now(admitted) => admitted,
            Judging::Later(later) => later.await,
        }
    }

    /// The headers that the upstream gets.
    pub(super) async fn told(&self, ask: &Ask) -> HeaderMap {
        self.told_of(ClientAddress::named(ask.client), ask).await
    }

    /// The headers that it gets where the client is this.
    pub(super) async fn told_of(&self, client: ClientAddress, ask: &Ask) -> HeaderMap {
        let admitted = self.judge(ask).await;
        assert!(!matches!(admitted.verdict, Verdict::Refused(_)), "{:?}", admitted.verdict);
        let mut headers = ask.headers.clone();
        self.gateway.enrich(&admitted, &mut headers, client);
        headers
    }

    pub(super) async fn document(&self, ask: &Ask) -> Option<(u16, String)> {
        let response = self.gateway.metadata(&ask.asked())?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Some((status, String::from_utf8(body.to_vec()).unwrap()))
    }
}

fn table(routes: Vec<(&'static str, RoutePolicy, Enrichment)>, settings: Settings) -> RouteTable {
    let rules = routes.into_iter().map(|(path, policy, enrichment)| {
        let rule = Route { name: path.into(), ..given::rule(policy, enrichment) };
        (prefix(path), rule)
    });
    RouteTable::new(rules.collect(), Vec::new(), settings)
}

/// A request.
pub(super) struct Ask {
    method: Method,
    host: &'static str,
    path: String,
    query: Option<&'static str>,
    headers: HeaderMap,
    has_body: bool,
    client: IpAddr,
    certificate: Option<[u8; 32]>,
    connection: Arc<LastToken>,
}

impl Ask {
    pub(super) fn to(path: &str) -> Self {
        Self {
            method: Method::GET,
            host: "api.example.com",
            path: path.to_owned(),
            query: None,
            headers: HeaderMap::new(),
            has_body: false,
            client: Ipv4Addr::new(192, 0, 2, 1).into(),
            certificate: None,
            connection: Arc::default(),
        }
    }

    /// On a connection that other requests came on, too.
    pub(super) fn on(self, connection: &Arc<LastToken>) -> Self {
        Self { connection: connection.clone(), ..self }
    }

    pub(super) fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// With a body that no header tells of.
    pub(super) fn with_body(self) -> Self {
        Self { has_body: true, ..self }
    }

    pub(super) fn host(self, host: &'static str) -> Self {
        Self { host, ..self }
    }

    pub(super) fn path_suffix(self, suffix: &str) -> Self {
        Self { path: self.path + suffix, ..self }
    }

    pub(super) fn query(self, query: &'static str) -> Self {
        Self { query: Some(query), ..self }
    }

    pub(super) fn from(self, client: &str) -> Self {
        Self { client: client.parse().unwrap(), ..self }
    }

    pub(super) fn certified(self, certificate: [u8; 32]) -> Self {
        Self { certificate: Some(certificate), ..self }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    pub(super) fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            method: &self.method,
            https: true,
            host: self.host,
            path: &self.path,
            query: self.query,
            headers: &self.headers,
            has_body: self.has_body,
            client: self.client,
            certificate: self.certificate,
            last: Some(&self.connection),
        }
    }
}

pub(super) fn refusal(admitted: &Admitted) -> Refusal {
    match &admitted.verdict {
        Verdict::Refused(refusal) => refusal.clone(),
        other => panic!("not refused: {other:?}"),
    }
}

pub(super) fn caller(admitted: &Admitted) -> &Caller {
    match &admitted.verdict {
        Verdict::Caller(caller) => caller,
        other => panic!("nobody: {other:?}"),
    }
}

pub(super) fn anonymous(admitted: &Admitted) -> bool {
    matches!(admitted.verdict, Verdict::Anonymous)
}
