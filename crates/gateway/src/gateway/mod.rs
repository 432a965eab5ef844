//! The gateway: from a request to a verdict. What is done with it is `proxy`'s and `decision`'s.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::authn::{Asked, Refusal, Verdict};
use crate::observer::Observer;
use crate::route::Route;

/// What a gateway is made of.
pub struct GatewayParts {
    /// Who hears of requests.
    pub observer: Arc<dyn Observer>,
}

/// Judges requests.
pub struct Gateway {
    parts: GatewayParts,
}

/// A request that fell under a route, and what was said about it.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// The route; `None` if no route is for it.
    pub route: Option<Arc<Route>>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A verdict, or the way to it.
pub enum Judging {
    /// Known from memory: the ordinary case.
    Now(Admitted),
    /// To be waited for: an issuer is asked.
    Later(Pin<Box<dyn Future<Output = Admitted> + Send>>),
}

impl Gateway {
    /// The gateway.
    pub const fn new(parts: GatewayParts) -> Self {
        Self { parts }
    }

    /// Who hears of requests.
    pub fn observer(&self) -> &dyn Observer {
        &*self.parts.observer
    }

    /// Finds the route of a request and judges it.
    pub fn judge(&self, asked: &Asked<'_>) -> Judging {
        let _ = asked;
        Judging::Now(Admitted { route: None, verdict: Verdict::Refused(Refusal::NoRoute) })
    }
}
