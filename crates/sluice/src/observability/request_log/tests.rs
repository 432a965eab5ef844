use axum::Router;
use axum::body::Body;
use axum::routing::get;
use sluice_crypto::hash_pool::{self, HashPool, HashPoolConfig, PoolBusy, Priority};
use sluice_primitives::SeededRng;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tracing::instrument::WithSubscriber;
use tracing_subscriber::layer::SubscriberExt;

use super::super::captured::Captured;
use super::super::metrics::{Build, Metrics};
use super::super::text_lines::{self, TextLayer};
use super::*;

fn events(written: &Captured) -> Vec<serde_json::Value> {
    written.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

struct Logged {
    response: Response<Body>,
    events: Vec<serde_json::Value>,
    metrics: String,
}

fn router() -> Router {
    let failing = async || {
        tracing::error!("the store is away");
        StatusCode::SERVICE_UNAVAILABLE
    };
    let echo = async |request: Request<Body>| request.headers()[X_REQUEST_ID].to_str().unwrap().to_owned();
    Router::new()
        .route("/admin/clients/{id}", get(echo))
        .route("/failing", get(failing))
        .route("/health/alive", get(async || "ok"))
        .route(FEED_PATH, get(async || "news").post(async || StatusCode::UNAUTHORIZED))
}

async fn logged(request: Request<Body>, skip_health: bool) -> Logged {
    let metrics = Metrics::new(Build { version: "", hash: "", time: "" });
    let trusted_proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
    let options =
        RequestLogOptions { listener: "admin", skip_health, traced: false, trusted_proxies, finishing: None };
    let layer = RequestLogLayer::new(options, metrics.http(), Arc::new(SeededRng::new(1)));
    let lines = Captured::default();
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(lines.clone()).finish();
    let response = router().layer(layer).oneshot(request).with_subscriber(subscriber).await.unwrap();
    Logged { response, events: events(&lines), metrics: metrics.encode() }
}

/// Around a listener for everybody, and where its requests are counted.
fn public(finishing: Option<Finishing>) -> (RequestLogLayer, Metrics) {
    let metrics = Metrics::new(Build { version: "", hash: "", time: "" });
    let (listener, trusted_proxies) = ("public", TrustedProxies::default());
    let options =
        RequestLogOptions { listener, skip_health: false, traced: false, trusted_proxies, finishing };
    (RequestLogLayer::new(options, metrics.http(), Arc::new(SeededRng::new(1))), metrics)
}

/// How requests were counted: all labels but those of the build, and how many.
fn counted(metrics: &Metrics) -> Vec<String> {
    let encoded = metrics.encode();
    let requests = encoded.lines().filter(|line| line.starts_with("http_requests_total"));
    requests.map(|line| line.split_once("code=").unwrap().1.to_owned()).collect()
}

fn request(path: &str) -> http::request::Builder {
    let peer = PeerAddress("10.0.0.1:4000".parse().unwrap());
    Request::get(path).extension(peer).header("x-forwarded-for", "203.0.113.9")
}

#[tokio::test]
async fn a_finished_request_is_one_line_without_its_query() {
    let request = request("/admin/clients/alpha?secret=1").header(X_REQUEST_ID, "abc-1");
    let logged = logged(request.body(Body::empty()).unwrap(), false).await;
    let [line] = &logged.events[..] else { panic!("{:?}", logged.events) };
    assert_eq!(line["message"], "request answered");
    assert_eq!(line["http.method"], "GET");
    assert_eq!(line["http.route"], "/admin/clients/{id}");
    assert_eq!(line["http.status"], 200);
    assert_eq!(line["client.address"], "203.0.113.9");
    assert_eq!(line["span"]["request.id"], "abc-1");
    assert!(line["duration.ms"].is_number());
    assert!(!line.to_string().contains("alpha") && !line.to_string().contains("secret"));
}

#[tokio::test]
async fn the_request_id_reaches_the_handler_and_the_answer() {
    let logged = logged(request("/admin/clients/alpha").body(Body::empty()).unwrap(), false).await;
    let id = logged.response.headers()[X_REQUEST_ID].clone();
    let body = http_body_util::BodyExt::collect(logged.response.into_body()).await.unwrap().to_bytes();
    assert_eq!(body, id.as_bytes());
    assert_eq!(logged.events[0]["span"]["request.id"], id.to_str().unwrap());
}

#[tokio::test]
async fn an_error_on_the_way_carries_the_request_id() {
    let request = request("/failing").header(X_REQUEST_ID, "abc-2").body(Body::empty()).unwrap();
    let logged = logged(request, false).await;
    assert_eq!(logged.events[0]["message"], "the store is away");
    assert_eq!(logged.events[0]["span"]["request.id"], "abc-2");
    assert_eq!(logged.events[1]["http.status"], 503);
}

#[tokio::test]
async fn health_checks_stay_out_of_the_log_when_asked_but_are_counted() {
    let quiet = logged(request("/health/alive").body(Body::empty()).unwrap(), true).await;
    assert!(quiet.events.is_empty());
    assert!(quiet.metrics.contains(r#"endpoint="/health/alive"} 1"#), "{}", quiet.metrics);
    let loud = logged(request("/health/alive").body(Body::empty()).unwrap(), false).await;
    assert_eq!(loud.events.len(), 1);
}

#[tokio::test]
async fn that_a_gateway_was_told_of_the_feed_is_counted_and_no_line_but_that_it_was_refused_is() {
    let told = logged(request(FEED_PATH).body(Body::empty()).unwrap(), false).await;
    assert!(told.events.is_empty(), "{:?}", told.events);
    assert!(told.metrics.contains(r#"endpoint="/link/v1/feed"} 1"#), "{}", told.metrics);
    let refused = request(FEED_PATH).method(Method::POST).body(Body::empty()).unwrap();
    let refused = logged(refused, false).await;
    let [line] = &refused.events[..] else { panic!("{:?}", refused.events) };
    assert_eq!(line["message"], "request answered");
    assert_eq!(line["http.status"], 401);
}

#[tokio::test]
async fn a_path_without_a_route_is_logged_and_counted_without_being_named() {
    let logged = logged(request("/.env").body(Body::empty()).unwrap(), false).await;
    assert_eq!(logged.events[0]["http.route"], "-");
    assert_eq!(logged.events[0]["http.status"], 404);
    assert!(logged.metrics.contains(r#"endpoint="{unmatched}"} 1"#), "{}", logged.metrics);
}

#[tokio::test]
async fn a_request_whose_client_went_away_is_logged_and_counted_as_abandoned() {
    let (layer, metrics) = public(None);
    let waiting = Router::new().route("/slow", get(std::future::pending::<()>)).layer(layer);
    let lines = Captured::default();
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(lines.clone()).finish();
    tracing::subscriber::with_default(subscriber, || {
        let mut answering = Box::pin(waiting.oneshot(request("/slow").body(Body::empty()).unwrap()));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(answering.as_mut().poll(&mut context).is_pending());
    });
    assert_eq!(events(&lines)[0]["message"], "request abandoned by its client");
    assert_eq!(counted(&metrics), [r#""0",method="get",endpoint="/slow"} 1"#]);
}

/// What becomes of requests whose clients went away.
struct LeftBehind {
    events: Vec<serde_json::Value>,
    counted: Vec<String>,
}

impl LeftBehind {
    /// The lines with this message.
    fn lines(&self, message: &str) -> Vec<&serde_json::Value> {
        self.events.iter().filter(|line| line["message"] == message).collect()
    }
}

const ANSWERED: &str = "the store has answered";

/// Requests of `method` at `path` whose clients go away before the store has answered, when all is done that will be.
async fn left_behind(method: Method, path: &str, (clients, places): (usize, usize)) -> LeftBehind {
    left_behind_with((method, path), (clients, places), || info!("{ANSWERED}")).await
}

/// The same with handlers that do this once the store has answered.
async fn left_behind_with(
    (method, path): (Method, &str),
    (clients, places): (usize, usize),
    then: fn(),
) -> LeftBehind {
    let tasks = TaskTracker::new();
    let (layer, metrics) = public(Some(Finishing::of_at_most(places, tasks.clone())));
    let store = Arc::new(Notify::new());
    let behind = Arc::clone(&store);
    let handler = move || {
        let behind = Arc::clone(&behind);
        async move {
            behind.notified().await;
            then();
        }
    };
    let router = Router::new().route(path, axum::routing::any(handler)).layer(layer);
    let lines = Captured::default();
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(lines.clone()).finish();
    let _logged = tracing::subscriber::set_default(subscriber);
    for _ in 0..clients {
        let request = Request::builder().method(&method).uri(path).header(X_REQUEST_ID, "abc-3");
        let mut answering = Box::pin(router.clone().oneshot(request.body(Body::empty()).unwrap()));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(answering.as_mut().poll(&mut context).is_pending());
    }
    tasks.close();
    tokio::task::yield_now().await;
    store.notify_waiters();
    tasks.wait().await;
    LeftBehind { events: events(&lines), counted: counted(&metrics) }
}

#[tokio::test]
async fn what_may_change_something_is_worked_on_to_its_end_when_the_client_is_gone() {
    for (method, path) in [(Method::DELETE, "/admin/clients/a"), (Method::GET, "/oauth2/auth")] {
        let left = left_behind(method, path, (1, 1)).await;
        let answered = left.lines(ANSWERED);
        let [line] = &answered[..] else { panic!("{:?}", left.events) };
        assert_eq!(line["span"]["request.id"], "abc-3");
    }
}

#[tokio::test]
async fn what_is_worked_on_when_its_client_is_gone_is_counted_once() {
    let left = left_behind(Method::POST, "/oauth2/token", (3, 2)).await;
    assert_eq!(left.lines(ANSWERED).len(), 2);
    assert_eq!(left.counted, [r#""0",method="post",endpoint="/oauth2/token"} 3"#]);
}

#[tokio::test]
async fn a_panic_after_the_client_has_left_is_an_error_of_that_request() {
    let left = left_behind_with((Method::POST, "/oauth2/token"), (1, 1), || panic!("as handlers do")).await;
    let panicked = left.lines("request panicked after its client had left");
    let [line] = &panicked[..] else { panic!("{:?}", left.events) };
    assert_eq!((&line["level"], &line["span"]["request.id"]), (&"ERROR".into(), &"abc-3".into()));
    assert_eq!(left.counted, [r#""0",method="post",endpoint="/oauth2/token"} 1"#]);
}

#[tokio::test]
async fn what_is_worked_on_for_a_client_that_is_gone_knows_it_and_nobody_else_believes_it() {
    let told = || info!(heard = hash_pool::is_heard(), "{ANSWERED}");
    let left = left_behind_with((Method::POST, "/auth/login"), (1, 1), told).await;
    let answered = left.lines(ANSWERED);
    let [line] = &answered[..] else { panic!("{:?}", left.events) };
    assert_eq!(line["heard"], false);
    assert!(hash_pool::is_heard());
}

#[tokio::test]
async fn a_hash_that_waits_is_given_up_when_its_client_is_gone_and_its_request_ends() {
    let config = HashPoolConfig { threads: std::num::NonZeroUsize::MIN, ..HashPoolConfig::default() };
    let pool = Arc::new(HashPool::start(&config).unwrap());
    let tasks = TaskTracker::new();
    let (layer, _) = public(Some(Finishing::new(tasks.clone())));
    // The only thread is busy until it is told.
    let (told, busy) = std::sync::mpsc::channel::<()>();
    let blocker = pool.run(Priority::Login, move |_| busy.recv().is_err());
    while pool.metrics().busy_threads() == 0 {
        tokio::task::yield_now().await;
    }
    let (hashing, outcome) = (Arc::clone(&pool), Arc::new(std::sync::Mutex::new(None)));
    let heard = Arc::clone(&outcome);
    let handler = move || {
        let (pool, heard) = (Arc::clone(&hashing), Arc::clone(&heard));
        async move {
            let place = pool.reserve(Priority::Login).unwrap();
            let hashed = place.run(|_| ()).await;
            *heard.lock().unwrap() = Some(hashed);
        }
    };
    let router = Router::new().route("/auth/login", axum::routing::post(handler)).layer(layer);
    let mut answering = Box::pin(router.oneshot(Request::post("/auth/login").body(Body::empty()).unwrap()));
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert!(answering.as_mut().poll(&mut context).is_pending());
    drop(answering);
    tasks.close();
    tasks.wait().await;
    assert_eq!(*outcome.lock().unwrap(), Some(Err(PoolBusy::Unheard)));
    drop(told);
    assert_eq!(blocker.await, Ok(true));
    assert_eq!(pool.metrics().done_total(), 1);
}

#[tokio::test]
async fn what_only_reads_ends_with_its_client() {
    let left = left_behind(Method::GET, "/admin/clients", (1, 1)).await;
    assert!(left.lines(ANSWERED).is_empty(), "{:?}", left.events);
}

#[tokio::test]
async fn of_what_is_left_behind_no_more_is_worked_on_than_there_are_places() {
    let left = left_behind(Method::POST, "/oauth2/token", (5, 3)).await;
    assert_eq!(left.lines(ANSWERED).len(), 3);
}

#[tokio::test]
async fn what_has_panicked_is_logged_and_counted_as_that_and_not_worked_on() {
    let tasks = TaskTracker::new();
    let (layer, metrics) = public(Some(Finishing::new(tasks.clone())));
    let polls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&polls);
    let handler = move || {
        let count = Arc::clone(&count);
        std::future::poll_fn(move |_| -> Poll<()> {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            panic!("as handlers do")
        })
    };
    let router = Router::new().route("/oauth2/token", axum::routing::post(handler)).layer(layer);
    let request = Request::post("/oauth2/token").header(X_REQUEST_ID, "abc-4").body(Body::empty()).unwrap();
    let lines = Captured::default();
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(lines.clone()).finish();
    let _logged = tracing::subscriber::set_default(subscriber);
    assert!(tokio::spawn(router.oneshot(request)).await.is_err_and(|ended| ended.is_panic()));
    tasks.close();
    tasks.wait().await;
    assert_eq!(polls.load(std::sync::atomic::Ordering::SeqCst), 1);
    let events = events(&lines);
    let [line] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&line["message"], &line["level"]), (&"request panicked".into(), &"ERROR".into()));
    assert_eq!(
        (&line["http.route"], &line["span"]["request.id"]),
        (&"/oauth2/token".into(), &"abc-4".into())
    );
    assert_eq!(counted(&metrics), [r#""500",method="post",endpoint="/oauth2/token"} 1"#]);
}

/// Without the time, which is as long as another.
fn untimed(written: &Captured) -> String {
    written.text().lines().map(|line| line.get(27..).unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn a_line_that_is_made_by_hand_is_that_of_its_event() {
    let (ours, theirs) = (Captured::default(), Captured::default());
    let log = tracing_subscriber::registry().with(TextLayer(theirs.clone()));
    tracing::subscriber::with_default(log, || {
        let id = Cell::new(Some(HeaderValue::from_static("an-id")));
        let answered = RequestLine {
            listener: "public",
            method: "GET",
            route: "/oauth2/auth",
            status: Some(303),
            duration: Duration::from_nanos(1_234_499),
            client: Some(AddressText::of("2001:db8::7".parse().unwrap())),
            message: "request answered",
        };
        for nanos in [0, 499, 500, 1_000, 99_000, 100_000, 1_000_000, 61_000_000_000, 123_456_789_500] {
            let _entered = (nanos > 500).then(|| current_request::enter(&id));
            let duration = Duration::from_nanos(nanos);
            let abandoned =
                RequestLine { status: None, client: None, method: "X-!#$%&'*+.^_`|~9", duration, ..answered };
            for line in [RequestLine { duration, ..answered }, abandoned] {
                text_lines::put(&ours, (tracing::Level::INFO, line::TARGET), |text| line.write_fields(text));
                log_event(&line);
            }
        }
    });
    assert_eq!(untimed(&ours), untimed(&theirs));
    let first = "INFO sluice::observability::request_log: listener=\"public\" http.method=\"GET\" http.route=\"/oauth2/auth\" \
                 http.status=303 duration.ms=0.0 client.address=2001:db8::7 request answered\n";
    assert!(untimed(&ours).trim_start().starts_with(first), "{}", untimed(&ours));
}

#[test]
fn a_filter_has_the_line_as_it_has_its_event() {
    for (directives, is_wanted) in [
        ("info", true),
        ("warn", false),
        ("warn,sluice=info", true),
        ("warn,sluice::observability=info", true),
        ("info,sluice::observability::request_log=off", false),
        ("warn,[{grant.id}]=info", false),
        ("warn,[{http.route}]=info", true),
        ("info,sluice[{grant.id}]=off", true),
    ] {
        let written = Captured::default();
        let filter = tracing_subscriber::EnvFilter::new(directives);
        let log = tracing_subscriber::registry().with(filter).with(TextLayer(written.clone()));
        tracing::subscriber::with_default(log, || {
            assert_eq!(line::is_wanted(), is_wanted, "{directives}");
            log_event(&RequestLine {
                listener: "public",
                method: "GET",
                route: "-",
                status: None,
                duration: Duration::ZERO,
                client: None,
                message: "request answered",
            });
        });
        assert_eq!(!written.text().is_empty(), is_wanted, "{directives}");
    }
}
