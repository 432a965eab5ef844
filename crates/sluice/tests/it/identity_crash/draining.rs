//! SIGTERM while people register: whoever's request is there is answered, and what they are told is so.

use sluice_testkit::Backend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use super::SMALL_HASH;
use super::crowd::{Crowd, seed};
use super::door::{Door, LogIn};
use super::rows::Rows;
use super::rush::Rush;
use super::until;
use crate::process::{DEADLINE, Site};

/// How many requests are half sent when the server is told to stop.
const IN_FLIGHT: usize = 32;

fn address(url: &Url) -> (String, u16) {
    (url.host_str().unwrap().to_owned(), url.port().unwrap())
}

fn body(seed: u64, number: usize) -> (String, String) {
    let form = Crowd::of(seed, number);
    let json =
        serde_json::json!({ "email": form.email, "username": form.username, "password": form.password });
    (form.email, json.to_string())
}

/// A registration of which the server has read the head and waits for the body.
async fn half_sent(public: &Url, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address(public)).await.unwrap();
    let head = format!(
        "POST /auth/register HTTP/1.1\r\nHost: sluice.test\r\nExpect: 100-continue\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    timeout(DEADLINE, stream.read_exact(&mut go_on)).await.unwrap().unwrap();
    assert_eq!(go_on, *b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_stop_it_answers_registrations_in_flight_and_hardens_on_when_it_is_back() {
    let mut site = Site::fresh(Backend::Postgres).await;
    site.set(SMALL_HASH);
    site.set(&[("identity.hardening.lease", "5s")]);
    let process = site.start().await;
    let (door, seed) = (Door::of(&process), seed());
    let mut rush = Rush::start(&door, seed, 1_000);
    rush.have_come(300).await;
    let late = seed.wrapping_add(1);
    let mut in_flight = Vec::new();
    for number in 0..IN_FLIGHT {
        let (_, body) = body(late, number);
        in_flight.push((half_sent(&process.public, body.len()).await, body));
    }

    process.tell_to_stop();
    let public = address(&process.public);
    until("no new connections", async || TcpStream::connect(&public).await.is_err()).await;
    for (stream, body) in &mut in_flight {
        stream.write_all(body.as_bytes()).await.unwrap();
    }
    for (stream, _) in &mut in_flight {
        let mut answer = String::new();
        timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    }
    assert_eq!(process.ended().await.code(), Some(0));

    let again = site.start().await;
    door.lead_to(&again);
    let book = rush.over().await;
    println!("told to stop: {book}");
    let rows = Rows::of(site.dsn()).await;
    until("all credentials are hardened", async || rows.waiting().await == 0).await;
    let mut stored = rows.everybody().await;
    for number in 0..IN_FLIGHT {
        let (email, _) = body(late, number);
        assert!(stored.remove(&email).is_some(), "answered, and lost");
        assert_eq!(door.log_in(&email, &Crowd::of(late, number).password).await, LogIn::Welcome);
    }
    book.check(&stored);
    book.check_logins(&door, &stored).await;
    again.tell_to_stop();
    assert_eq!(again.ended().await.code(), Some(0));
}
