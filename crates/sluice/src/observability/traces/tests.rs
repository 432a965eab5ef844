use axum::Router;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use http::HeaderMap;
use opentelemetry_http::HttpClient;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::Instrument;
use tracing::instrument::WithSubscriber;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

use super::super::captured::Captured;
use super::*;
use crate::config::SecretString;

type Received = (HeaderMap, Bytes);

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

async fn collector() -> (Url, UnboundedReceiver<Received>) {
    async fn receive(State(received): State<UnboundedSender<Received>>, headers: HeaderMap, body: Bytes) {
        received.send((headers, body)).unwrap();
    }
    let (sender, receiver) = unbounded_channel();
    let router = Router::new().route("/v1/traces", post(receive)).with_state(sender);
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move { axum::serve(socket, router).await });
    (url, receiver)
}

fn settings(endpoint: Url, sampling_ratio: f64) -> TracingSettings {
    let authorization_header = Some(SecretString::new("Bearer collector".to_owned()));
    TracingSettings {
        service_name: "sluice-test".to_owned(),
        deployment_environment: Some("staging".to_owned()),
        otlp: Some(OtlpSettings { endpoint, authorization_header, sampling_ratio }),
    }
}

async fn trace_a_request(traces: &Traces, traceparent: Option<&str>) {
    let mut request = Request::get("/admin/clients/a").body(()).unwrap();
    if let Some(traceparent) = traceparent {
        request.headers_mut().insert("traceparent", traceparent.parse().unwrap());
    }
    let answering = async {
        let span = request_span("abc-1", &request, Some("/admin/clients/{id}"));
        async {}.instrument(span.clone()).await;
        describe_response(&span, StatusCode::OK);
    };
    answering.with_subscriber(Registry::default().with(traces.layer())).await;
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|window| window == text)
}

fn trace_id() -> Vec<u8> {
    TRACE
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_callers_trace_is_continued_and_sent_before_the_end() {
    let (url, mut received) = collector().await;
    let traces = Traces::start(&settings(url, 0.0)).unwrap().unwrap();
    trace_a_request(&traces, Some(&format!("00-{TRACE}-b7ad6b7169203331-01"))).await;
    traces.shutdown().await;
    let (headers, body) = received.recv().await.unwrap();
    assert_eq!(headers["authorization"], "Bearer collector");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    for text in [b"sluice-test".as_slice(), b"staging", b"GET /admin/clients/{id}", b"http.route"] {
        assert!(contains(&body, text), "{}", String::from_utf8_lossy(text));
    }
    assert!(contains(&body, &trace_id()));
    // The name is the span's own, not an attribute of one called "request".
    assert!(!contains(&body, b"otel.name") && !contains(&body, b"otel.kind"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_trace_that_the_caller_did_not_sample_is_not_sent() {
    let (url, mut received) = collector().await;
    let traces = Traces::start(&settings(url, 1.0)).unwrap().unwrap();
    trace_a_request(&traces, Some(&format!("00-{TRACE}-b7ad6b7169203331-00"))).await;
    traces.shutdown().await;
    assert!(received.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_caller_the_configured_share_is_sampled() {
    let (url, mut received) = collector().await;
    for (share, sent) in [(0.0, false), (1.0, true)] {
        let traces = Traces::start(&settings(url.clone(), share)).unwrap().unwrap();
        trace_a_request(&traces, None).await;
        traces.shutdown().await;
        assert_eq!(received.try_recv().is_ok(), sent, "{share}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn lines_of_a_request_say_which_trace_it_is() {
    let (url, _received) = collector().await;
    let traces = Traces::start(&settings(url, 1.0)).unwrap().unwrap();
    let written = Captured::default();
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(written.clone());
    let answering = async {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let request = Request::get("/").header("traceparent", parent).body(()).unwrap();
        let span = request_span("abc-1", &request, None);
        async { tracing::info!("answered") }.instrument(span).await;
    };
    answering.with_subscriber(Registry::default().with(traces.layer()).with(lines)).await;
    traces.shutdown().await;
    let line: serde_json::Value = serde_json::from_str(&written.text()).unwrap();
    assert_eq!((&line["span"]["request.id"], &line["span"]["trace.id"]), (&"abc-1".into(), &TRACE.into()));
}

/// Nobody listens at port 1.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn why_a_request_came_to_nothing_is_kept_without_its_address() {
    let cause = LastCause::default();
    let collector = collector::Collector::new(cause.clone()).unwrap();
    let request = Request::post("http://127.0.0.1:1/v1/traces").body(Bytes::new()).unwrap();
    assert!(HttpClient::send_bytes(&collector, request).await.is_err());
    let told = cause.take().expect("a cause");
    assert!(told.contains("Connection refused") && !told.contains("v1/traces"), "{told}");
    assert_eq!(cause.take(), None);
}

/// One that takes connections and answers nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_end_waits_three_seconds_for_a_collector_that_hangs() {
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap()).parse().unwrap();
    let traces = Traces::start(&settings(url, 1.0)).unwrap().unwrap();
    trace_a_request(&traces, None).await;
    let began = std::time::Instant::now();
    traces.shutdown().await;
    assert!((3..5).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

#[tokio::test]
async fn nothing_is_started_without_a_collector() {
    let none = TracingSettings { otlp: None, ..settings("http://127.0.0.1:1".parse().unwrap(), 1.0) };
    assert!(Traces::start(&none).unwrap().is_none());
}

#[test]
fn the_path_of_traces_is_added_once() {
    for (endpoint, expected) in [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("http://collector:4318/", "http://collector:4318/v1/traces"),
        ("http://collector/otlp", "http://collector/otlp/v1/traces"),
        ("http://collector/v1/traces", "http://collector/v1/traces"),
    ] {
        assert_eq!(traces_url(&endpoint.parse().unwrap()), expected);
    }
}
