//! Profiles of the running process, on the admin listener when `serve.admin.profiling` is set.
//!
//! `GET /admin/debug/pprof/profile?seconds=10`: CPU, as pprof reads it, or with `format=svg` as a flame graph.
//! The first one makes the profiler's tables, some 300 MB, which stay until the process ends.
//! `GET /admin/debug/pprof/heap`: memory. A build with the feature `heap-profile`, started with
//! `_RJEM_MALLOC_CONF=prof:true`, answers a profile by call stack, as pprof reads it. Otherwise the allocator keeps no record
//! of who allocated what, and the answer is what the kernel knows of the process's memory, as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use pprof::protos::Message;
use pprof::{ProfilerGuard, ProfilerGuardBuilder};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tracing::error;

use super::metrics::ProcessFacts;

const DEFAULT_SECONDS: u64 = 10;
const MAX_SECONDS: u64 = 120;
/// Samples per second of CPU time; odd, so as not to march in step with anything.
const SAMPLES_PER_SECOND: i32 = 99;
/// The same of a profile that is shorter than [`DEFAULT_SECONDS`]: about as many as a kernel's clock has ticks. Of a server that
/// is asked a lot, three samples in four fall into a system call, which is code of libc that no stack is walked from.
const SHORT_SAMPLES_PER_SECOND: i32 = 249;
/// Libraries that a stack is not walked through from: their frames cannot be walked safely within a signal.
const NOT_WALKED: &[&str] = &["libc", "libgcc", "pthread", "vdso"];

/// The routes of profiles. CPU is profiled for one caller at a time.
pub(crate) fn routes() -> Router {
    Router::new()
        .route("/admin/debug/pprof/profile", get(profile))
        .route("/admin/debug/pprof/heap", get(heap))
        .with_state(Arc::new(Semaphore::new(1)))
}

#[derive(Deserialize)]
struct ProfileQuery {
    #[serde(default = "default_seconds")]
    seconds: u64,
    #[serde(default)]
    format: Format,
}

const fn default_seconds() -> u64 {
    DEFAULT_SECONDS
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Pprof,
    Svg,
}

#[derive(Debug, thiserror::Error)]
enum ProfileError {
    #[error("seconds must be between 1 and {MAX_SECONDS}")]
    Seconds,
    #[error("another profile is being taken")]
    Busy,
    #[error("the profiler failed")]
    Profiler(#[from] pprof::Error),
    #[error("the profiler stopped half-way")]
    Stopped(#[from] JoinError),
}

/// `GET /admin/debug/pprof/profile`.
async fn profile(
    State(turn): State<Arc<Semaphore>>,
    Query(query): Query<ProfileQuery>,
) -> Result<Response, ProfileError> {
    if !(1..=MAX_SECONDS).contains(&query.seconds) {
        return Err(ProfileError::Seconds);
    }
    let _turn = turn.try_acquire().map_err(|_| ProfileError::Busy)?;
    let frequency =
        if query.seconds < DEFAULT_SECONDS { SHORT_SAMPLES_PER_SECOND } else { SAMPLES_PER_SECOND };
    let sampling = ProfilerGuardBuilder::default().frequency(frequency).blocklist(NOT_WALKED).build()?;
    tokio::time::sleep(Duration::from_secs(query.seconds)).await;
    let (content_type, disposition, body) =
        spawn_blocking(move || written(&sampling, query.format)).await??;
    Ok(([(CONTENT_TYPE, content_type), (CONTENT_DISPOSITION, disposition)], body).into_response())
}

/// Content type, disposition and body. It looks up the name of every frame, which takes a while.
fn written(
    sampling: &ProfilerGuard<'_>,
    format: Format,
) -> Result<(&'static str, &'static str, Vec<u8>), ProfileError> {
    let report = sampling.report().build()?;
    match format {
        Format::Pprof => {
            let body = report.pprof()?.encode_to_vec();
            Ok(("application/octet-stream", r#"attachment; filename="profile.pb""#, body))
        }
        Format::Svg => {
            let mut body = Vec::new();
            report.flamegraph(&mut body)?;
            // It draws nothing of nothing.
            if body.is_empty() {
                body.extend_from_slice(NO_SAMPLE);
            }
            Ok(("image/svg+xml", "inline", body))
        }
    }
}

/// What is drawn of a process that had nothing to do.
const NO_SAMPLE: &[u8] = br#"<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="600" height="40"><text x="10" y="25">No sample: the process used hardly any CPU meanwhile.</text></svg>
"#;

/// Memory of the process.
#[derive(Serialize)]
struct HeapBody {
    note: &'static str,
    process: ProcessFacts,
    /// `/proc/self/smaps_rollup`, in bytes, by its own names.
    mappings: BTreeMap<String, u64>,
}

const HEAP_NOTE: &str = "The allocator keeps no record of call stacks; this is the memory of the process as the kernel accounts it. A build with the feature heap-profile, started with _RJEM_MALLOC_CONF=prof:true, keeps one.";

/// `GET /admin/debug/pprof/heap`.
async fn heap() -> Response {
    match by_call_stack().await {
        Some(profile) => profile,
        None => by_the_kernel(),
    }
}

/// Who holds memory, sampled by the allocator since the process began; none if it does not sample.
#[cfg(feature = "heap-profile")]
async fn by_call_stack() -> Option<Response> {
    let control = jemalloc_pprof::PROF_CTL.as_ref()?;
    let profile = control.lock().await.dump_pprof();
    Some(match profile {
        Ok(body) => {
            let disposition = r#"attachment; filename="heap.pb.gz""#;
            ([(CONTENT_TYPE, "application/octet-stream"), (CONTENT_DISPOSITION, disposition)], body)
                .into_response()
        }
        Err(cause) => {
            error!(error = %cause, "no heap profile was taken");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    })
}

#[cfg(not(feature = "heap-profile"))]
fn by_call_stack() -> std::future::Ready<Option<Response>> {
    std::future::ready(None)
}

fn by_the_kernel() -> Response {
    let Some(process) = ProcessFacts::read() else {
        return (StatusCode::NOT_IMPLEMENTED, "This system does not tell about processes.").into_response();
    };
    let mappings = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    Json(HeapBody { note: HEAP_NOTE, process, mappings: mappings.lines().filter_map(mapping).collect() })
        .into_response()
}

/// A line such as `Private_Dirty:   5120 kB`.
fn mapping(line: &str) -> Option<(String, u64)> {
    let (name, size) = line.split_once(':')?;
    let kib: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((name.to_owned(), kib * 1024))
}

impl IntoResponse for ProfileError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Seconds => StatusCode::BAD_REQUEST,
            Self::Busy => StatusCode::CONFLICT,
            Self::Profiler(cause) => failed(cause),
            Self::Stopped(cause) => failed(cause),
        };
        (status, format!("{self}\n")).into_response()
    }
}

fn failed(cause: &dyn std::error::Error) -> StatusCode {
    error!(error = %cause, "no profile was taken");
    StatusCode::INTERNAL_SERVER_ERROR
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, Bytes};
    use http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    async fn get_from(router: &Router, path: &str) -> (StatusCode, Bytes) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        (response.status(), response.into_body().collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn a_flame_graph_is_an_svg_and_a_second_profile_waits_for_its_turn() {
        let router = routes();
        let first = get_from(&router, "/admin/debug/pprof/profile?seconds=1&format=svg");
        let second = get_from(&router, "/admin/debug/pprof/profile?seconds=1");
        let ((status, body), (second_status, _)) = tokio::join!(first, second);
        assert_eq!((status, second_status), (StatusCode::OK, StatusCode::CONFLICT));
        assert!(body.starts_with(b"<?xml"), "{body:?}");
    }

    #[tokio::test]
    async fn a_profile_of_unbounded_length_is_refused() {
        for seconds in ["0", "121", "forever"] {
            let path = format!("/admin/debug/pprof/profile?seconds={seconds}");
            assert_eq!(get_from(&routes(), &path).await.0, StatusCode::BAD_REQUEST);
        }
    }

    #[tokio::test]
    async fn the_memory_of_the_process_is_told_by_the_kernel() {
        let (status, body) = get_from(&routes(), "/admin/debug/pprof/heap").await;
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(status, StatusCode::OK);
        assert!(body["process"]["resident_memory_bytes"].as_u64().unwrap() > 0);
        assert!(body["mappings"]["Rss"].as_u64().unwrap() > 0, "{body}");
    }
}
