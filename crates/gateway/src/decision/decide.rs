//! From a question to its answer.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::CACHE_CONTROL;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use sluice_crypto::digest::sha256;
use sluice_net::{ClientAddress, ForwardedCertificatePolicy, client_certificate};

use super::body::DecisionBody;
use super::complaints::Complaints;
use super::endpoint::Endpoint;
use super::envoy::Changes;
use super::judge::Judge;
use super::malformed::Malformed;
use super::original::{self, Original, original};
use crate::authn::{Refusal, Verdict};
use crate::gateway::{Admitted, Judging};
use crate::observer::RequestRecord;
use crate::proxy::tell_of_unreadable;
use crate::route::{AuthMode, Enrichment, Route, RoutePolicy, TokenSources};

/// What is configured about decisions.
#[derive(Debug, Clone)]
pub struct DecisionConfig {
    /// What `/oauth/token_validation` judges by. Default: a token of this installation is required, in `Authorization` or `OAuth-Token`,
    /// and the answer says who calls, and from which country.
    pub validation: Arc<Route>,
    /// Below which path Envoy asks over HTTP, without a slash at the end. Default: `/oauth/ext_authz`.
    pub envoy_prefix: String,
    /// Which asking proxies pass on certificates of clients (RFC 9440), and in which header. Default: none.
    pub certificates: ForwardedCertificatePolicy,
}

impl Default for DecisionConfig {
    fn default() -> Self {
        Self {
            validation: Arc::new(validation_route()),
            envoy_prefix: "/oauth/ext_authz".to_owned(),
            certificates: ForwardedCertificatePolicy::default(),
        }
    }
}

fn validation_route() -> Route {
    let sources =
        TokenSources { header: Some(HeaderName::from_static("oauth-token")), ..TokenSources::default() };
    Route {
        name: "token_validation".into(),
        upstreams: Vec::new(),
        rewrite_prefix: None,
        prefix_segments: 0,
        rewrite_location: false,
        max_body: None,
        total_timeout: None,
        preserve_host: true,
        policy: RoutePolicy { auth: AuthMode::Required, sources, ..RoutePolicy::default() },
        enrichment: Enrichment {
            identity_headers: true,
            country: true,
            forward_token: true,
            ..Enrichment::default()
        },
        limits: Vec::new(),
    }
}

/// Makes decisions.
pub(super) struct Decisions<J> {
    judge: Arc<J>,
    config: DecisionConfig,
    complaints: Complaints,
}

/// A decision, or the way to it.
pub(super) enum Decided {
    Now(Response<DecisionBody>),
    Later(Undecided),
}

/// A question whose verdict has to be waited for.
pub(super) struct Undecided {
    endpoint: Endpoint,
    question: Parts,
    peer: IpAddr,
    verdict: Pin<Box<dyn Future<Output = Admitted> + Send>>,
    started: Instant,
}

impl Undecided {
    /// The answer.
    pub(super) async fn answer<J: Judge>(self, decisions: &Decisions<J>) -> Response<DecisionBody> {
        let admitted = self.verdict.await;
        match decisions.original(self.endpoint, &self.question, self.peer) {
            Ok(original) => {
                decisions.conclude(self.endpoint, &self.question, &original, (admitted, self.started))
            }
            Err(malformed) => decisions.refuse(malformed, self.peer),
        }
    }
}

impl<J: Judge> Decisions<J> {
    pub(super) fn new(judge: Arc<J>, config: DecisionConfig) -> Self {
        Self { judge, config, complaints: Complaints::default() }
    }

    pub(super) fn judge(&self) -> &J {
        &self.judge
    }

    /// Which decision `path` is about.
    pub(super) fn endpoint(&self, path: &str) -> Option<Endpoint> {
        Endpoint::of(path, &self.config.envoy_prefix)
    }

    /// Whether `peer` may ask.
    pub(super) fn may_ask(&self, peer: IpAddr) -> bool {
        peer.is_loopback() || self.judge.trusts(peer)
    }

    /// Decides about a question over HTTP.
    pub(super) fn decide(&self, endpoint: Endpoint, question: Parts, peer: IpAddr) -> Decided {
        let started = Instant::now();
        match self.judging(endpoint, &question, peer) {
            Err(malformed) => Decided::Now(self.refuse(malformed, peer)),
            Ok((original, Judging::Now(admitted))) => {
                Decided::Now(self.conclude(endpoint, &question, &original, (admitted, started)))
            }
            Ok((_, Judging::Later(verdict))) => {
                Decided::Later(Undecided { endpoint, question, peer, verdict, started })
            }
        }
    }

    /// The answer to a question that is none.
    pub(super) fn refuse(&self, malformed: Malformed, peer: IpAddr) -> Response<DecisionBody> {
        let response = malformed.response();
        if malformed.may_be_of_client() {
            tell_of_unreadable(self.judge.observer(), peer.to_canonical(), response.status());
        } else {
            self.complain(&malformed.to_string(), response.status(), peer);
        }
        response
    }

    /// Says that the proxy at `peer` asks what cannot be answered, and tells of it as of a request that could not be read.
    pub(super) fn complain(&self, reason: &str, status: StatusCode, peer: IpAddr) {
        let peer = peer.to_canonical();
        self.complaints.say(reason, peer);
        tell_of_unreadable(self.judge.observer(), peer, status);
    }

    fn judging<'a>(
        &self,
        endpoint: Endpoint,
        question: &'a Parts,
        peer: IpAddr,
    ) -> Result<(Original<'a>, Judging), Malformed> {
        if !self.may_ask(peer) {
            return Err(Malformed::Stranger);
        }
        let original = self.original(endpoint, question, peer)?;
        let certificate = client_certificate(peer, &question.headers, None, &self.config.certificates)
            .map_err(|_| Malformed::Certificate)?
            .map(|certificate| sha256(&certificate.leaf));
        let asked = original.asked(&question.headers, certificate);
        let judging = match endpoint {
            Endpoint::TokenValidation => self.judge.judge_under(&self.config.validation, &asked),
            _ => self.judge.judge(&asked),
        };
        Ok((original, judging))
    }

    fn original<'a>(
        &self,
        endpoint: Endpoint,
        question: &'a Parts,
        peer: IpAddr,
    ) -> Result<Original<'a>, Malformed> {
        let client = match endpoint {
            Endpoint::TokenValidation => ClientAddress::named(peer),
            _ => self.judge.client(peer, &question.headers),
        };
        original(endpoint, question, client, &self.config.envoy_prefix)
    }

    fn conclude(
        &self,
        endpoint: Endpoint,
        question: &Parts,
        original: &Original<'_>,
        (mut admitted, started): (Admitted, Instant),
    ) -> Response<DecisionBody> {
        if endpoint == Endpoint::TokenValidation {
            demand_scope(&mut admitted, question);
            if let Verdict::Refused(Refusal::Unavailable(why)) = admitted.verdict {
                admitted.verdict = Verdict::Refused(Refusal::AuthoritySilent(why));
            }
        }
        let mut response = match &admitted.verdict {
            Verdict::Refused(_) => self.judge.refuse(&admitted).map(DecisionBody::from),
            Verdict::Anonymous | Verdict::Caller(_) => {
                self.passed(endpoint, question, &admitted, original.client)
            }
        };
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        self.record(original, &admitted, (response.status(), started.elapsed()));
        response
    }

    /// What the upstream is to get, as headers of the answer.
    fn passed(
        &self,
        endpoint: Endpoint,
        question: &Parts,
        admitted: &Admitted,
        client: ClientAddress,
    ) -> Response<DecisionBody> {
        let mut response = Response::new(DecisionBody::default());
        if endpoint == Endpoint::EnvoyHttp {
            Changes::of(&question.headers, |headers| self.judge.enrich(admitted, headers, client))
                .write_to(response.headers_mut());
        } else {
            self.judge.enrich(admitted, response.headers_mut(), client);
        }
        self.judge.announce(admitted, response.headers_mut());
        response
    }

    /// Tells of a decision as of a request: with the status that the asking proxy was told.
    pub(super) fn record(
        &self,
        original: &Original<'_>,
        admitted: &Admitted,
        (status, duration): (StatusCode, Duration),
    ) {
        let caller = match &admitted.verdict {
            Verdict::Caller(caller) => Some(caller),
            Verdict::Anonymous | Verdict::Refused(_) => None,
        };
        self.judge.observer().request(&RequestRecord {
            route: admitted.route.as_ref().map_or("-", |route| &route.name),
            method: &original.method,
            protocol: None,
            path: original.path,
            host: original.host,
            client: original.client.address,
            status: Some(status),
            request_bytes: None,
            response_bytes: None,
            verdict: match &admitted.verdict {
                Verdict::Anonymous => "anonymous",
                Verdict::Caller(_) => "caller",
                Verdict::Refused(refusal) => refusal.reason(),
            },
            request_id: None,
            subject: caller.and_then(|caller| caller.subject()),
            client_id: caller.and_then(|caller| caller.client()),
            upstream: None,
            duration,
            upstream_duration: None,
            retries: 0,
            is_beyond_budget: false,
            fault: None,
        });
    }
}

/// Every word of `OAuth-Scope` must have been granted: what Varnish demands where it knows what a path is worth. One that cannot
/// be read demands what nobody has.
fn demand_scope(admitted: &mut Admitted, question: &Parts) {
    let Verdict::Caller(caller) = &admitted.verdict else { return };
    let wanted = original::one(&question.headers, "oauth-scope").map(Option::unwrap_or_default);
    let suffices = |wanted: &&str| wanted.split_ascii_whitespace().all(|word| caller.has_scope(word));
    if wanted.as_ref().is_ok_and(suffices) {
        return;
    }
    admitted.verdict = Verdict::Refused(Refusal::InsufficientScope);
    if let (Some(route), Ok(wanted)) = (&mut admitted.route, wanted) {
        // The answer says what would do (RFC 6750 §3), in words that a challenge may have.
        let words = wanted.split_ascii_whitespace().filter(|word| !word.contains(['"', '\\']));
        Arc::make_mut(route).policy.scopes.extend(words.map(str::to_owned));
    }
}
