//! The steps from a route to a verdict.

use std::net::IpAddr;
use std::sync::Arc;

use sluice_crypto::digest::sha256;
use sluice_primitives::Timestamp;
use tokio::time::timeout;

use super::{Admitted, GatewayParts, Judging};
use crate::authn::extract::{self, Presented, Scheme};
use crate::authn::{Asked, AskedLater, Caller, Page, Refusal, Verdict, cross_site, policy};
use crate::enrichment::headers;
use crate::limit::{Counted, LimitOutcome, Who};
use crate::route::{AuthMode, Preflight, Route};
use crate::validation::{BoxedValidation, Question, TokenFault, Validated};

/// A request with a token, under a route.
struct Case<'a> {
    route: &'a Arc<Route>,
    presented: Presented<'a>,
    asked: Asked<'a>,
}

impl Case<'_> {
    fn refused(&self, refusal: Refusal) -> Admitted {
        let scheme = Some(self.presented.scheme);
        Admitted { scheme, ..Admitted::refused(Some(self.route.clone()), refusal) }
    }
}

/// Judges a request under `route`.
pub(super) fn judge(parts: &Arc<GatewayParts>, route: &Arc<Route>, asked: &Asked<'_>) -> Judging {
    let page = Page::of(&route.policy, asked.headers);
    if page.is_none() {
        return verdict(parts, route, asked);
    }
    match verdict(parts, route, asked) {
        Judging::Now(admitted) => Judging::Now(Admitted { page, ..admitted }),
        Judging::Later(later) => Judging::Later(Box::pin(async move { Admitted { page, ..later.await } })),
    }
}

fn verdict(parts: &Arc<GatewayParts>, route: &Arc<Route>, asked: &Asked<'_>) -> Judging {
    let policy = &route.policy;
    if policy.auth == AuthMode::None || (policy.preflight == Preflight::Pass && asked.is_preflight()) {
        return Judging::Now(anonymous(parts, route, asked.client));
    }
    let presented = match extract::token(asked.headers, &policy.sources) {
        Ok(Some(presented)) => presented,
        Ok(None) if policy.auth == AuthMode::Optional => {
            return Judging::Now(anonymous(parts, route, asked.client));
        }
        Ok(None) => return Judging::Now(Admitted::refused(Some(route.clone()), Refusal::TokenMissing)),
        Err(refusal) => return Judging::Now(Admitted::refused(Some(route.clone()), refusal)),
    };
    if cross_site::is_refused(policy, asked) {
        return Judging::Now(Admitted::refused(Some(route.clone()), Refusal::CrossSite));
    }
    let now = parts.clock.now();
    let case = Case { route, presented, asked: *asked };
    let (token, route_name) = (presented.token, &*route.name);
    let question = Question { token, policy, route: route_name, now, client: asked.client, last: asked.last };
    match parts.validation.validate(question) {
        Validated::Now(outcome) => Judging::Now(conclude(parts, &case, outcome, (now, Counted::default()))),
        // Before anybody is asked: what is asked for a stranger's sake costs others.
        Validated::Later(validation) => match parts.limits.check_address(route, asked.client) {
            Ok(counted) => later(parts, &case, validation, counted),
            Err(outcome) => Judging::Now(limited(case.refused(Refusal::TokenMissing), outcome)),
        },
    }
}

/// The same once an issuer has answered, or the time for all of the exchange is over. The time of day is asked anew: it may have
/// taken a while.
fn later(
    parts: &Arc<GatewayParts>,
    case: &Case<'_>,
    validation: BoxedValidation,
    counted: Counted,
) -> Judging {
    let (parts, route, asked) = (parts.clone(), case.route.clone(), AskedLater::of(&case.asked));
    let (token, scheme): (Box<str>, Scheme) = (case.presented.token.into(), case.presented.scheme);
    Judging::Later(Box::pin(async move {
        let outcome = match route.total_timeout {
            Some(total) => timeout(total, validation).await.unwrap_or(Err(TokenFault::Unreachable)),
            None => validation.await,
        };
        let presented = Presented { token: &token, scheme };
        let case = Case { route: &route, presented, asked: asked.as_asked() };
        conclude(&parts, &case, outcome, (parts.clock.now(), counted))
    }))
}

fn conclude(
    parts: &GatewayParts,
    case: &Case<'_>,
    outcome: Result<Arc<Caller>, TokenFault>,
    (now, counted): (Timestamp, Counted),
) -> Admitted {
    let refused = |refusal| case.refused(refusal);
    let caller = match outcome {
        Ok(caller) => caller,
        Err(fault) => return refused(fault.into()),
    };
    let demands = &case.route.policy;
    let proof = match parts.holder.check(&caller, &case.presented, &case.asked, (demands, now)) {
        Ok(proof) => proof,
        Err(refusal) => return refused(refusal),
    };
    if let Err(refusal) = policy::check(demands, &caller) {
        return refused(refusal);
    }
    if case.route.enrichment.identity_headers && !headers::can_tell(&caller) {
        return refused(Refusal::Untold);
    }
    let who = Who {
        issuer: caller.foreign_issuer(),
        subject: caller.subject(),
        client: caller.client(),
        address: case.asked.client,
    };
    let outcome = parts.limits.check_rest(case.route, &who, counted);
    let passes = !matches!(outcome, LimitOutcome::TooMany(..));
    if let Some(Err(refusal)) = proof.filter(|_| passes).map(|proof| parts.holder.remember(&proof, now)) {
        return refused(refusal);
    }
    let token = case.route.enrichment.phantom.is_some().then(|| sha256(case.presented.token.as_bytes()));
    let last = case.asked.last.filter(|_| case.route.enrichment.identity_headers);
    let identity = last.and_then(|last| last.identity(&caller));
    let (route, scheme) = (Some(case.route.clone()), Some(case.presented.scheme));
    let verdict = Verdict::Caller(caller);
    limited(Admitted { route, verdict, scheme, token, limits: None, page: None, identity }, outcome)
}

/// Nobody calls, and may.
fn anonymous(parts: &GatewayParts, route: &Arc<Route>, client: IpAddr) -> Admitted {
    let outcome = parts.limits.check(route, &Who::at(client));
    let route = Some(route.clone());
    let verdict = Verdict::Anonymous;
    limited(Admitted { verdict, ..Admitted::refused(route, Refusal::TokenMissing) }, outcome)
}

fn limited(admitted: Admitted, outcome: LimitOutcome) -> Admitted {
    match outcome {
        LimitOutcome::Unlimited => admitted,
        LimitOutcome::Allowed(limits) => Admitted { limits: Some(Box::new(limits)), ..admitted },
        LimitOutcome::TooMany(wait, limits) => Admitted {
            verdict: Verdict::Refused(Refusal::TooMany(wait)),
            limits: Some(Box::new(limits)),
            ..admitted
        },
    }
}

impl From<TokenFault> for Refusal {
    fn from(fault: TokenFault) -> Self {
        match fault {
            TokenFault::Unreachable | TokenFault::Stale => Self::Unavailable(fault.reason()),
            TokenFault::Busy => Self::Busy,
            TokenFault::WrongAudience => Self::WrongAudience,
            TokenFault::NotAuthentic
            | TokenFault::TooLong
            | TokenFault::WrongIssuer
            | TokenFault::Expired
            | TokenFault::NotYet
            | TokenFault::Revoked => Self::TokenInvalid(fault.reason()),
        }
    }
}
