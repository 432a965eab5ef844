//! Mail that cannot be sent now: it is kept, tried again, and in the end seen by an operator.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, SmtpServer, SmtpStep, TestSluice};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use super::people::{ALICE, Api, BOB, node, node_after, node_on, shows};
use super::postbox::{self, sends_to, to, token};
use crate::both_stores::on_both_stores;

on_both_stores! {
    a_mail_arrives_although_the_server_was_down_and_the_node_restarted,
    a_server_that_has_a_bad_day_is_asked_again,
    a_mail_that_is_refused_for_good_is_a_dead_letter_and_delays_nobody,
    a_mail_whose_code_is_too_old_is_not_sent_any_more,
    a_mail_server_that_says_nothing_holds_up_no_node_that_stops_and_the_mail_goes_out_later,
    a_node_that_stops_hears_what_became_of_a_mail_that_the_server_has,
}

const WAITING: &str = r#"sluice_mail_outbox{state="waiting"}"#;
const DEAD: &str = r#"sluice_mail_outbox{state="dead"}"#;
const SENT: &str = r#"sluice_mail_deliveries_total{outcome="sent"}"#;
/// What stopping takes at most: three seconds of grace, and the rest of it on a busy machine. The mail server has 30.
const HELD_UP: Duration = Duration::from_secs(20);
/// Longer than the grace.
const PATIENT: Duration = Duration::from_secs(4);
const FAILED: &str = r#"sluice_mail_deliveries_total{outcome="failed"}"#;

async fn shows_all(sluice: &TestSluice, expected: [(&str, u32); 4]) {
    for (name, count) in expected {
        shows(sluice, name, count).await;
    }
}

/// Where nobody answers.
async fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("smtp://{}?starttls=never", listener.local_addr().unwrap())
}

async fn a_mail_arrives_although_the_server_was_down_and_the_node_restarted(backend: Backend) {
    let sluice = node(backend, &sends_to(&nowhere().await)).await;
    Api::of(&sluice).register(ALICE).await;
    shows_all(&sluice, [(FAILED, 1), (WAITING, 1), (SENT, 0), (DEAD, 0)]).await;
    let smtp = SmtpServer::start().await;
    let sluice = node_after(sluice, &sends_to(&smtp.url())).await;
    shows(&sluice, WAITING, 1).await;
    assert!(smtp.received().is_empty(), "its time has not come");
    // The first try again comes after five seconds and at most a quarter more.
    sluice.advance(Lifetime::secs(7));
    let mail = smtp.wait_for_mail_to(ALICE).await;
    shows_all(&sluice, [(SENT, 1), (WAITING, 0), (FAILED, 0), (DEAD, 0)]).await;
    let confirm = json!({"token": token(&mail)});
    Api::of(&sluice).post("/auth/verification/confirm", confirm).await.is_done(204);
    assert_eq!(smtp.received().len(), 1, "once");
    sluice.node.stop().await;
}

async fn a_server_that_has_a_bad_day_is_asked_again(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let sluice = postbox::node(backend, &smtp, &[]).await;
    smtp.refuse_next_at(SmtpStep::Greeting, 421, 1);
    Api::of(&sluice).register(ALICE).await;
    shows(&sluice, FAILED, 1).await;
    smtp.drop_connections(1);
    sluice.advance(Lifetime::secs(7));
    shows(&sluice, FAILED, 2).await;
    smtp.refuse_next(451, 1);
    sluice.advance(Lifetime::secs(26));
    shows_all(&sluice, [(FAILED, 3), (WAITING, 1), (SENT, 0), (DEAD, 0)]).await;
    sluice.advance(Lifetime::secs(101));
    smtp.wait_for_mail_to(ALICE).await;
    shows_all(&sluice, [(SENT, 1), (WAITING, 0), (FAILED, 3), (DEAD, 0)]).await;
    sluice.node.stop().await;
}

async fn a_mail_that_is_refused_for_good_is_a_dead_letter_and_delays_nobody(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let sluice = postbox::node(backend, &smtp, &[]).await;
    let api = Api::of(&sluice);
    smtp.refuse_next(550, 1);
    api.register(ALICE).await;
    shows_all(&sluice, [(DEAD, 1), (FAILED, 1), (WAITING, 0), (SENT, 0)]).await;
    api.register(BOB).await;
    smtp.wait_for_mail_to(BOB).await;
    sluice.advance(Lifetime::hours(12));
    shows_all(&sluice, [(SENT, 1), (DEAD, 1), (FAILED, 1), (WAITING, 0)]).await;
    assert!(to(&smtp.received(), ALICE).is_empty(), "nobody tries a dead letter again");
    let tokens = api.tokens(ALICE).await;
    api.post_as(&tokens, "/auth/verification", json!(null)).await.is_done(202);
    smtp.wait_for_mail_to(ALICE).await;
    sluice.node.stop().await;
}

async fn a_mail_whose_code_is_too_old_is_not_sent_any_more(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let quiet = ("identity.registration.verify_email", "false");
    let sluice = postbox::node(backend, &smtp, &[quiet]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    smtp.refuse_next(451, 12);
    api.post("/auth/recovery", json!({"email": ALICE})).await.is_done(202);
    // After 5 s, 20 s, 80 s and 320 s, each up to a quarter longer, comes one that would be too late for the code.
    for (failed, seconds) in [(1, 7), (2, 26), (3, 101), (4, 401)] {
        shows_all(&sluice, [(FAILED, failed), (WAITING, 1), (DEAD, 0), (SENT, 0)]).await;
        sluice.advance(Lifetime::secs(seconds));
    }
    shows_all(&sluice, [(DEAD, 1), (WAITING, 0), (SENT, 0), (FAILED, 5)]).await;
    assert!(smtp.received().is_empty());
    sluice.node.stop().await;
}

async fn a_mail_server_that_says_nothing_holds_up_no_node_that_stops_and_the_mail_goes_out_later(
    backend: Backend,
) {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}?starttls=never", silent.local_addr().unwrap());
    let sluice = node(backend, &sends_to(&url)).await;
    Api::of(&sluice).register(ALICE).await;
    let (_connection, _) = silent.accept().await.unwrap();
    let (site, told) = ((Arc::clone(&sluice.database), Arc::clone(&sluice.clock)), Instant::now());
    sluice.node.stop().await;
    let took = told.elapsed();
    assert!(took < HELD_UP, "{took:?}");
    let smtp = SmtpServer::start().await;
    let sluice = node_on(site, &sends_to(&smtp.url())).await;
    shows(&sluice, WAITING, 1).await;
    assert!(smtp.received().is_empty(), "the node that stopped may still have it in hand");
    sluice.advance(Lifetime::secs(121));
    smtp.wait_for_mail_to(ALICE).await;
    shows_all(&sluice, [(SENT, 1), (WAITING, 0), (FAILED, 0), (DEAD, 0)]).await;
    sluice.node.stop().await;
}

/// A mail server that hears a mail to the end of its text, and then thinks about it.
async fn hear_mail(listener: &TcpListener) -> BufStream<TcpStream> {
    let mut stream = BufStream::new(listener.accept().await.unwrap().0);
    let (mut line, mut reply) = (String::new(), "220 here\r\n");
    while !reply.starts_with("354") {
        say(&mut stream, reply).await;
        line.clear();
        stream.read_line(&mut line).await.unwrap();
        reply = if line.starts_with("DATA") { "354 go on\r\n" } else { "250 well\r\n" };
    }
    say(&mut stream, reply).await;
    while line != ".\r\n" {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
    }
    stream
}

async fn say(stream: &mut BufStream<TcpStream>, reply: &str) {
    stream.write_all(reply.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

async fn a_node_that_stops_hears_what_became_of_a_mail_that_the_server_has(backend: Backend) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}?starttls=never", listener.local_addr().unwrap());
    let sluice = node(backend, &sends_to(&url)).await;
    Api::of(&sluice).register(ALICE).await;
    let mut server = hear_mail(&listener).await;
    let site = (Arc::clone(&sluice.database), Arc::clone(&sluice.clock));
    let mut stopping = tokio::spawn(sluice.node.stop());
    assert!(timeout(PATIENT, &mut stopping).await.is_err(), "it waits for the answer");
    say(&mut server, "250 it is mine now\r\n").await;
    stopping.await.unwrap();
    let smtp = SmtpServer::start().await;
    let sluice = node_on(site, &sends_to(&smtp.url())).await;
    sluice.advance(Lifetime::secs(121));
    Api::of(&sluice).register(BOB).await;
    smtp.wait_for_mail_to(BOB).await;
    shows_all(&sluice, [(SENT, 1), (WAITING, 0), (FAILED, 0), (DEAD, 0)]).await;
    assert!(to(&smtp.received(), ALICE).is_empty(), "nobody sends it again");
    sluice.node.stop().await;
}
