//! SIGTERM: what is in flight is answered, the process ends well, and the next one goes on where it was.

use std::time::Duration;

use rustix::process::Signal;
use sluice_testkit::Backend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::application::{Application, Failure};
use crate::load::Load;
use crate::process::{DEADLINE, LOOK_EVERY, Site, send, until};

/// The server's own grace for what is in flight.
const DRAIN: Duration = Duration::from_secs(30);
/// The same, and some time for a busy machine.
const GRACE: Duration = Duration::from_secs(30 + 15);
/// So long after it last heard the feed a node says of no token that it holds, and some time.
const STALE_AFTER: Duration = Duration::from_secs(10 + 2);

fn address(url: &Url) -> (String, u16) {
    (url.host_str().unwrap().to_owned(), url.port().unwrap())
}

/// A token request of which the server has read the head and waits for the body.
async fn half_sent(public: &Url, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address(public)).await.unwrap();
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nHost: sluice.test\r\nExpect: 100-continue\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    timeout(DEADLINE, stream.read_exact(&mut go_on)).await.unwrap().unwrap();
    assert_eq!(go_on, *b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

/// What comes until the end of the connection.
async fn rest_of(stream: &mut TcpStream) -> String {
    let mut rest = String::new();
    timeout(DEADLINE, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
    rest
}

async fn stopped_under_load(backend: Backend) {
    let site = Site::fresh(backend).await;
    let process = site.start().await;
    let application = Application::register(&[&process]).await;
    let mut load = Load::start(&application);
    load.more_logins(20).await;
    let body = application.client_credentials_form();
    let mut in_flight = half_sent(&process.public, &body).await;

    process.tell_to_stop();
    let told = Instant::now();
    let public = address(&process.public);
    until("no new connections", async || TcpStream::connect(&public).await.is_err()).await;
    in_flight.write_all(body.as_bytes()).await.unwrap();
    let answer = rest_of(&mut in_flight).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("access_token"), "{answer}");

    let ended = process.ended().await;
    assert_eq!(ended.code(), Some(0));
    assert!(told.elapsed() < GRACE, "stopped after {:?}", told.elapsed());
    let ledger = load.stop().await;
    let tally = application.tally();
    assert!(tally.statuses.keys().all(|status| [200, 201, 302, 303].contains(status)), "{tally:?}");
    let again = site.start().await;
    ledger.check(&application.at(&[&again])).await;
    again.tell_to_stop();
    assert_eq!(again.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_stop_under_load_it_answers_what_is_in_flight_on_sqlite() {
    stopped_under_load(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_stop_under_load_it_answers_what_is_in_flight_on_postgres() {
    stopped_under_load(Backend::Postgres).await;
}

/// It goes on hearing what is revoked: who does not knows too little to answer.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_late_is_answered_too_while_it_stops() {
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let body = Application::register(&[&process]).await.client_credentials_form();
    let mut in_flight = half_sent(&process.public, &body).await;
    process.tell_to_stop();
    let public = address(&process.public);
    until("no new connections", async || TcpStream::connect(&public).await.is_err()).await;
    sleep(STALE_AFTER).await;
    in_flight.write_all(body.as_bytes()).await.unwrap();
    let answer = rest_of(&mut in_flight).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(process.ended().await.code(), Some(0));
}

/// Who tells it again does not want to wait for what is in flight.
#[tokio::test(flavor = "multi_thread")]
async fn told_to_stop_again_it_ends_at_once() {
    let site = Site::fresh(Backend::Sqlite).await;
    let mut process = site.start().await;
    let body = Application::register(&[&process]).await.client_credentials_form();
    let _in_flight = half_sent(&process.public, &body).await;
    process.tell_to_stop();
    let told = Instant::now();
    while process.is_running() {
        process.tell_to_stop();
        sleep(LOOK_EVERY).await;
    }
    let waited = told.elapsed();
    assert!((Duration::from_secs(1)..DRAIN).contains(&waited), "ended after {waited:?}");
    assert_eq!(process.ended().await.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_stopped_answers_nobody() {
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let application = Application::register(&[&process]).await;
    process.tell_to_stop();
    assert_eq!(process.ended().await.code(), Some(0));
    assert_eq!(application.log_in("alice").await, Err(Failure::Lost));
}

/// The kernel has taken their requests, and nobody else knows of them.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_connected_when_it_is_told_to_stop_is_answered() {
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let body = Application::register(&[&process]).await.client_credentials_form();
    process.signal(Signal::STOP);
    let request = format!(
        "POST /oauth2/token HTTP/1.1\r\nHost: sluice.test\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut stream = TcpStream::connect(address(&process.public)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        clients.push(stream);
    }
    process.tell_to_stop();
    process.signal(Signal::CONT);
    for mut stream in clients {
        let answer = rest_of(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("access_token"), "{answer}");
    }
    assert_eq!(process.ended().await.code(), Some(0));
}

/// The default would end it by the signal; of process 1 of a container, such a signal is lost.
#[tokio::test]
async fn told_to_stop_while_it_waits_for_its_database_it_ends_well() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let site = Site::on(format!("postgres://sluice@{address}/sluice?sslmode=disable"));
    for command in [["serve", "all"].as_slice(), &["worker"]] {
        let mut child = site.spawn_with(command);
        let _asked = timeout(DEADLINE, silent.accept()).await.unwrap().unwrap();
        send(&child, Signal::TERM);
        let ended = timeout(DEADLINE, child.wait()).await.unwrap().unwrap();
        assert_eq!(ended.code(), Some(0), "{command:?}: {ended}");
    }
}
