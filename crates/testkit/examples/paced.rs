//! Load at a fixed pace, whether it is answered or not (an open loop): a request is late from the moment it was due, not from
//! the moment there was time to send it.
//!
//! `paced <host:port> <requests a second> <seconds> <connections> <path> <content type> <body>`; each `{n}` of path and body
//! becomes a number of its own. Prints how many were answered how, and how late the answers were.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

type Failure = Box<dyn Error + Send + Sync>;

/// What is sent, and how fast.
struct Plan {
    host: String,
    rate: f64,
    seconds: f64,
    path: String,
    content_type: String,
    body: String,
    next: AtomicU64,
    start: Instant,
}

/// What came back, by status, and how late.
#[derive(Default)]
struct Seen {
    statuses: BTreeMap<u16, u64>,
    late: Vec<Duration>,
}

fn plan() -> Result<(Plan, usize), Failure> {
    let mut said = std::env::args().skip(1);
    let mut next = |what: &str| said.next().ok_or_else(|| format!("{what}?"));
    let (host, rate) = (next("host:port")?, next("requests a second")?.parse()?);
    let (seconds, connections) = (next("seconds")?.parse()?, next("connections")?.parse()?);
    let (path, content_type, body) = (next("path")?, next("content type")?, next("body")?);
    let (next, start) = (AtomicU64::new(0), Instant::now() + Duration::from_millis(200));
    Ok((Plan { host, rate, seconds, path, content_type, body, next, start }, connections))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (plan, connections) = plan()?;
    let (plan, mut all, mut tasks) = (Arc::new(plan), Seen::default(), JoinSet::new());
    for _ in 0..connections {
        tasks.spawn(send(Arc::clone(&plan)));
    }
    while let Some(seen) = tasks.join_next().await {
        let seen = seen??;
        all.late.extend(seen.late);
        for (status, count) in seen.statuses {
            *all.statuses.entry(status).or_default() += count;
        }
    }
    all.late.sort_unstable();
    let quantile = |part: usize| all.late.get(all.late.len() * part / 1000).copied().unwrap_or_default();
    let (p50, p99, p999) = (quantile(500), quantile(990), quantile(999));
    println!("{} answers {:?}: p50 {p50:.2?}, p99 {p99:.2?}, p99.9 {p999:.2?}", all.late.len(), all.statuses);
    Ok(())
}

/// One connection: takes whichever request is due next.
async fn send(plan: Arc<Plan>) -> Result<Seen, Failure> {
    let stream = TcpStream::connect(&plan.host).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut seen = Seen::default();
    loop {
        let number = plan.next.fetch_add(1, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
        let after = number as f64 / plan.rate;
        if after >= plan.seconds {
            return Ok(seen);
        }
        let due = plan.start + Duration::from_secs_f64(after);
        sleep_until(due).await;
        let status = one(&mut sender, &plan, number).await?;
        seen.late.push(due.elapsed());
        *seen.statuses.entry(status).or_default() += 1;
    }
}

async fn one(sender: &mut SendRequest<Full<Bytes>>, plan: &Plan, number: u64) -> Result<u16, Failure> {
    let with_number = |text: &str| text.replace("{n}", &format!("{number:08}"));
    let request = Request::post(with_number(&plan.path))
        .header("host", plan.host.as_str())
        .header("content-type", plan.content_type.as_str())
        .body(Full::from(with_number(&plan.body)))?;
    sender.ready().await?;
    let answer = sender.send_request(request).await?;
    let status = answer.status().as_u16();
    answer.into_body().collect().await?;
    Ok(status)
}
