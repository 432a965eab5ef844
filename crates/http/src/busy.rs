//! Routes that are asked so often that they go around the router: found by their path, answered by the same handlers, without
//! layers between. A request that a layer would have had to look at – one of a browser's script, one without the admin
//! credential – goes the ordinary way.

mod direct;

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sluice_primitives::pinned;

use self::direct::Direct;
use crate::admin_guard::AdminGuard;
use crate::patience::within;
use crate::spelling::Spelling;

/// How long a request of the admin API may take, its body included. A store answers, or gives up, long before.
pub(crate) const LONGEST_REQUEST: Duration = Duration::from_secs(30);

/// What a listener answers.
pub struct Routes {
    /// What goes around the router. All of it is in `rest` too.
    pub busy: Vec<BusyRoute>,
    /// Everything.
    pub rest: Router,
    /// How paths may be spelled besides.
    pub spelling: Spelling,
}

impl From<Router> for Routes {
    fn from(rest: Router) -> Self {
        Self { busy: Vec::new(), rest, spelling: Spelling::Exact }
    }
}

/// A route that goes around the router.
#[derive(Clone)]
pub struct BusyRoute {
    /// Its method.
    pub method: Method,
    /// Its path as the router has it; the last segment may be `{id}`.
    pub path: Box<str>,
    answer: Answer,
    admission: Admission,
}

/// An answer under way.
pub type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

type Answer = Arc<dyn Fn(Request) -> Answering + Send + Sync>;

/// Which requests may go around the router.
#[derive(Clone)]
enum Admission {
    /// Those of no script of a page.
    Public,
    /// Those of no script of a page that the guard of the admin port lets in.
    Admin(AdminGuard),
}

impl BusyRoute {
    /// Whether a request may go this way; its method and path are those of this route.
    pub fn admits(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        !headers.contains_key(ORIGIN)
            && match &self.admission {
                Admission::Public => true,
                Admission::Admin(guard) => guard.admits((&self.method, uri), headers),
            }
    }

    /// The answer to a request that it admits.
    pub fn answer(&self, request: Request) -> Answering {
        (self.answer)(request)
    }
}

/// A route of the public API.
pub(crate) fn public<H, T, S>(method: Method, path: impl Into<Box<str>>, handler: H, state: &S) -> BusyRoute
where
    H: Direct<T, S>,
    S: Clone + Send + Sync + 'static,
{
    let state = state.clone();
    let answer: Answer = Arc::new(move |request| pinned(|| handler.answer(request, state.clone())));
    BusyRoute { method, path: path.into(), answer, admission: Admission::Public }
}

/// A route of the admin API behind `guard`.
pub(crate) fn admin<H, T, S>(
    (method, path): (Method, &str),
    (handler, state): (H, &S),
    guard: &AdminGuard,
) -> BusyRoute
where
    H: Direct<T, S>,
    S: Clone + Send + Sync + 'static,
{
    let state = state.clone();
    let answer: Answer = Arc::new(move |request| {
        let (handler, state) = (handler.clone(), state.clone());
        pinned(move || async move {
            let answering = pin!(handler.answer(request, state));
            kept_by_nobody(bounded(answering).await)
        })
    });
    BusyRoute { method, path: path.into(), answer, admission: Admission::Admin(guard.clone()) }
}

/// However slowly a body comes, a request ends: what waits holds a connection.
pub(crate) async fn bounded(answering: impl Future<Output = Response>) -> Response {
    match within(LONGEST_REQUEST, answering).await {
        Some(response) => response,
        None => (StatusCode::REQUEST_TIMEOUT, [("connection", "close")]).into_response(),
    }
}

/// What the admin port says is about people and secrets, and may have been asked for without a credential: a cache before it would
/// keep it for whoever asks next. Health is of this moment.
pub(crate) fn kept_by_nobody(mut response: Response) -> Response {
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use sluice_primitives::Secret;

    use super::*;

    fn route(admission: Admission) -> BusyRoute {
        let answer: Answer = Arc::new(|_| Box::pin(async { StatusCode::OK.into_response() }));
        BusyRoute { method: Method::GET, path: "/".into(), answer, admission }
    }

    fn open() -> AdminGuard {
        AdminGuard::Open(Arc::default())
    }

    fn is_admitted(route: &BusyRoute, headers: &[(&'static str, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| {
            (name.parse::<http::HeaderName>().unwrap(), value.parse::<http::HeaderValue>().unwrap())
        });
        route.admits(&Uri::from_static("/"), &headers.collect())
    }

    #[test]
    fn what_a_script_of_a_page_asks_goes_through_the_rules_for_other_origins() {
        for admission in [Admission::Public, Admission::Admin(open())] {
            let route = route(admission);
            assert!(is_admitted(&route, &[("accept", "*/*")]));
            assert!(!is_admitted(&route, &[("origin", "https://app.example")]));
        }
    }

    #[test]
    fn what_a_browser_asks_of_the_admin_port_goes_through_its_rules() {
        let admin = route(Admission::Admin(open()));
        assert!(!is_admitted(&admin, &[("sec-fetch-site", "cross-site")]));
        assert!(!is_admitted(&admin, &[("host", "evil.test:4445"), ("accept-language", "en")]));
        assert!(is_admitted(&admin, &[("host", "sluice.example:4445")]));
        assert!(is_admitted(&route(Admission::Public), &[("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn the_credential_of_the_admin_port_is_asked_for_here_too() {
        let tokens = ["opened", "opened next"].map(|token| Secret::new(token.to_owned()));
        let route = route(Admission::Admin(AdminGuard::Credential(Arc::from(tokens))));
        for admitted in ["Bearer opened", "Bearer opened next"] {
            assert!(is_admitted(&route, &[("authorization", admitted)]), "{admitted}");
        }
        for refused in ["Bearer open", "Bearer next", "Bearer ", "Basic opened", "opened"] {
            assert!(!is_admitted(&route, &[("authorization", refused)]), "{refused}");
        }
        assert!(!is_admitted(&route, &[]));
    }
}
