//! That the check notices: it asks a server that remembers what a test tells it, as one would after a crash.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::*;
use crate::crash::{CrashReport, Victim};
use crate::driver::{Entry, Receipt};

const PASSWORD: &str = "a pass phrase";

/// What is left in the database.
#[derive(Debug, Default)]
struct Left {
    /// How many there are of an address.
    people: HashMap<&'static str, usize>,
    /// Those of them whose password is not the one of their registration.
    locked_out: HashSet<&'static str>,
    clients: HashSet<&'static str>,
    /// Tokens that introspection calls active.
    active: HashSet<&'static str>,
    /// Codes and refresh tokens that work when somebody presents them.
    working: HashSet<&'static str>,
}

/// The APIs of a server with that database; what it is asked about is the last thing in path or body.
async fn served(left: Arc<Left>) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: url::Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let left = Arc::clone(&left);
            let service = service_fn(move |request| answer(Arc::clone(&left), request));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Target::at(url)
}

async fn answer(left: Arc<Left>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().to_string();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let body = std::str::from_utf8(&body).unwrap();
    let (status, json) = if let Some(email) = path.strip_prefix("/admin/identities?email=") {
        let people = left.people.get(email.replace("%40", "@").as_str()).copied().unwrap_or_default();
        (200, serde_json::json!(vec!["somebody"; people]))
    } else if let Some(client) = path.strip_prefix("/admin/clients/") {
        (if left.clients.contains(client) { 200 } else { 404 }, serde_json::json!({}))
    } else if path == "/auth/login" {
        let said: serde_json::Value = serde_json::from_str(body).unwrap();
        let (email, password) = (said["email"].as_str().unwrap(), said["password"].as_str().unwrap());
        let gets_in =
            left.people.contains_key(email) && !left.locked_out.contains(email) && password == PASSWORD;
        (if gets_in { 200 } else { 401 }, serde_json::json!({}))
    } else {
        assert_eq!(path, "/admin/oauth2/introspect");
        let token = body.strip_prefix("token=").unwrap();
        (200, serde_json::json!({ "active": left.active.contains(token) }))
    };
    let body = Full::new(Bytes::from(json.to_string()));
    Ok(Response::builder().status(status).body(body).unwrap())
}

/// Presents once more what was used.
struct Presents(Arc<Left>);

#[async_trait(?Send)]
impl Scenario for Presents {
    async fn prepare(&mut self, _target: &Target, _users: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, _agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        Ok(())
    }

    async fn again(&self, _agent: &mut Agent, what: Again<'_>) -> Result<Option<bool>, Failure> {
        let (Again::Code(presented) | Again::RefreshToken(presented) | Again::Rotated(presented)) = what;
        Ok(Some(self.0.working.contains(presented)))
    }
}

/// The report about a ledger and what is left.
async fn report(ledger: Vec<Receipt>, left: Left) -> CrashReport {
    let left = Arc::new(left);
    let target = served(Arc::clone(&left)).await;
    let promises = Promises::of(ledger.into_iter().map(|receipt| Entry { user: 0, receipt }).collect());
    let promises = all(&target, &Presents(left), promises).await.unwrap();
    CrashReport {
        scenario: "login".to_owned(),
        label: "login (ES256)".to_owned(),
        kill: Victim::Both,
        rounds: 1,
        rounds_asked: 1,
        back_after_ms: vec![700],
        operations: 9,
        cut_off: 1,
        wrong: BTreeMap::new(),
        promises,
        settings: Vec::new(),
    }
}

/// The first kind of promise that is broken, and so is the whole.
#[track_caller]
fn broken(report: &CrashReport) -> &Kept {
    let kept = report.promises.iter().find(|kept| !kept.holds());
    let kept = kept.unwrap_or_else(|| panic!("{:?}", report.promises));
    assert!(!report.holds(), "{kept:?}");
    let text = report.text();
    assert!(text.contains("  BROKEN  ") && kept.examples.iter().all(|one| text.contains(one)), "{text}");
    kept
}

fn numbers(kept: &Kept) -> (&str, usize, usize, usize) {
    (&kept.what, kept.promised, kept.lost, kept.twice)
}

fn issued(code: &str, access_token: &str, refresh_token: &str) -> Receipt {
    Receipt::Issued {
        code: code.to_owned(),
        access_token: access_token.to_owned(),
        refresh_token: Some(refresh_token.to_owned()),
    }
}

fn rotated(spent: &str, given: &str) -> Receipt {
    Receipt::Rotated { spent: spent.to_owned(), given: given.to_owned() }
}

fn registered(email: &str) -> Receipt {
    Receipt::Registered { email: email.to_owned(), password: PASSWORD.to_owned() }
}

#[tokio::test]
async fn what_is_all_there_and_was_used_once_holds() {
    let ledger = vec![
        registered("a@x.test"),
        Receipt::ClientCreated { id: "shop".to_owned() },
        Receipt::Revoked { token: "revoked".to_owned() },
        Receipt::LeftAlone { token: "alone".to_owned() },
        issued("code", "access", "first"),
        rotated("r0", "r1"),
        rotated("r1", "r2"),
    ];
    let left = Left {
        people: HashMap::from([("a@x.test", 1)]),
        clients: HashSet::from(["shop"]),
        active: HashSet::from(["access", "first", "r2", "alone"]),
        working: HashSet::from(["first", "r2"]),
        ..Left::default()
    };
    let report = report(ledger, left).await;
    assert_eq!(report.promises.len(), 7, "{:?}", report.promises);
    assert!(report.holds() && !report.text().contains("BROKEN"), "{}", report.text());
}

#[tokio::test]
async fn somebody_who_registered_and_is_not_there_is_lost_and_named() {
    let ledger = vec![registered("a@x.test"), registered("b@x.test")];
    let report = report(ledger, Left { people: HashMap::from([("a@x.test", 1)]), ..Left::default() }).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("people registered", 2, 1, 0));
    assert_eq!(kept.examples, ["lost: b@x.test"]);
}

#[tokio::test]
async fn somebody_who_is_there_two_times_is_named() {
    let left = Left { people: HashMap::from([("a@x.test", 2)]), ..Left::default() };
    let report = report(vec![registered("a@x.test")], left).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("people registered", 1, 0, 1));
    assert_eq!(kept.examples, ["twice: a@x.test"]);
}

#[tokio::test]
async fn a_client_that_is_not_there_is_lost_and_named() {
    let report = report(vec![Receipt::ClientCreated { id: "shop".to_owned() }], Left::default()).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("clients made", 1, 1, 0));
    assert_eq!(kept.examples, ["lost: shop"]);
}

#[tokio::test]
async fn tokens_that_do_not_hold_any_more_are_lost() {
    let ledger = || vec![issued("code", "access", "refresh")];
    let active = |active: &[&'static str]| active.iter().copied().collect::<HashSet<_>>();
    for left in [
        Left { active: active(&["refresh"]), working: HashSet::from(["refresh"]), ..Left::default() },
        Left { active: active(&["access"]), working: HashSet::from(["refresh"]), ..Left::default() },
        Left { active: active(&["access", "refresh"]), ..Left::default() },
    ] {
        let report = report(ledger(), left).await;
        let kept = broken(&report);
        assert_eq!(numbers(kept), ("codes redeemed", 1, 1, 0));
        assert_eq!(kept.examples, ["lost: code"]);
    }
}

#[tokio::test]
async fn a_code_that_works_once_more_is_named() {
    let left = Left {
        active: HashSet::from(["access", "refresh"]),
        working: HashSet::from(["refresh", "code"]),
        ..Left::default()
    };
    let report = report(vec![issued("code", "access", "refresh")], left).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("codes redeemed", 1, 0, 1));
    assert_eq!(kept.examples, ["twice: code"]);
}

/// Nothing in the database tells: both pairs hold.
#[tokio::test]
async fn a_code_that_two_answers_were_given_for_is_named() {
    let left = Left {
        active: HashSet::from(["a1", "r1", "a2", "r2"]),
        working: HashSet::from(["r1", "r2"]),
        ..Left::default()
    };
    let report = report(vec![issued("code", "a1", "r1"), issued("code", "a2", "r2")], left).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("codes redeemed", 2, 0, 1));
    assert_eq!(kept.examples, ["twice: code"]);
}

/// Of `r0` for `r1` and `r1` for `r2`, where these are left.
async fn report_on_a_chain(active: &[&'static str], working: &[&'static str]) -> CrashReport {
    let [active, working] = [active, working].map(|tokens| tokens.iter().copied().collect());
    report(vec![rotated("r0", "r1"), rotated("r1", "r2")], Left { active, working, ..Left::default() }).await
}

#[tokio::test]
async fn a_refresh_token_that_was_given_and_does_not_work_is_lost() {
    for report in [report_on_a_chain(&[], &["r2"]).await, report_on_a_chain(&["r2"], &[]).await] {
        let kept = broken(&report);
        assert_eq!(numbers(kept), ("chains of rotated refresh tokens", 1, 1, 0));
        assert_eq!(kept.examples, ["lost: r2"]);
    }
}

#[tokio::test]
async fn a_refresh_token_that_was_spent_and_holds_or_works_again_is_named() {
    let holds = report_on_a_chain(&["r0", "r2"], &["r2"]).await;
    let works = report_on_a_chain(&["r2"], &["r0", "r2"]).await;
    for report in [holds, works] {
        let kept = broken(&report);
        assert_eq!(numbers(kept), ("chains of rotated refresh tokens", 1, 0, 1));
        assert_eq!(kept.examples, ["twice: r2"]);
    }
}

/// A retry after an answer that was lost gets the same pair.
#[tokio::test]
async fn the_predecessor_of_the_newest_refresh_token_may_work_for_a_while() {
    let left =
        Left { active: HashSet::from(["r1"]), working: HashSet::from(["r0", "r1"]), ..Left::default() };
    assert!(report(vec![rotated("r0", "r1")], left).await.holds());
}

#[tokio::test]
async fn a_refresh_token_that_two_were_given_for_is_named() {
    let left = Left { active: HashSet::from(["r1"]), working: HashSet::from(["r1"]), ..Left::default() };
    let report = report(vec![rotated("r0", "r1"), rotated("r0", "other")], left).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("chains of rotated refresh tokens", 1, 0, 1));
    assert_eq!(kept.examples, ["twice: r0"]);
}

#[tokio::test]
async fn a_token_that_was_revoked_and_holds_again_is_a_revocation_that_was_lost() {
    let left = Left { active: HashSet::from(["revoked"]), ..Left::default() };
    let report = report(vec![Receipt::Revoked { token: "revoked".to_owned() }], left).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("tokens revoked", 1, 1, 0));
    assert_eq!(kept.examples, ["lost: revoked"]);
}

/// What would have revoked everything keeps every promise of a revocation.
#[tokio::test]
async fn a_token_that_nobody_revoked_and_that_does_not_hold_is_lost() {
    let ledger = vec![
        Receipt::Revoked { token: "revoked".to_owned() },
        Receipt::LeftAlone { token: "alone".to_owned() },
    ];
    let report = report(ledger, Left::default()).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("tokens left alone", 1, 1, 0));
    assert_eq!(kept.examples, ["lost: alone"]);
}

#[tokio::test]
async fn somebody_who_is_there_and_does_not_get_in_is_lost() {
    let left = Left {
        people: HashMap::from([("a@x.test", 1), ("b@x.test", 1)]),
        locked_out: HashSet::from(["b@x.test"]),
        ..Left::default()
    };
    let report = report(vec![registered("a@x.test"), registered("b@x.test")], left).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("people of a sample who log in", 2, 1, 0));
    assert_eq!(kept.examples, ["lost: b@x.test"]);
}

#[tokio::test]
async fn a_token_is_not_told_whole_and_not_more_than_a_few_are() {
    let long = "x".repeat(100);
    let ledger = (0..9).map(|number| registered(&format!("{number}{long}"))).collect();
    let report = report(ledger, Left::default()).await;
    let kept = broken(&report);
    assert_eq!(numbers(kept), ("people registered", 9, 9, 0));
    assert_eq!(kept.examples.len(), EXAMPLES);
    assert!(kept.examples.iter().all(|one| one.len() == "lost: ".len() + BEGINNING), "{:?}", kept.examples);
}

/// Each odd turn is answered wrongly, and everybody is told to come again as often as is left.
struct Reads {
    come_again: AtomicU64,
}

#[async_trait(?Send)]
impl Scenario for Reads {
    async fn prepare(&mut self, _target: &Target, _users: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, _agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let left = self.come_again.load(Ordering::Relaxed);
        if left > 0 {
            self.come_again.store(left - 1, Ordering::Relaxed);
            return Err(Failure::Status { step: "userinfo", status: 503 });
        }
        if turn.is_multiple_of(2) { Ok(()) } else { Err(Failure::Status { step: "userinfo", status: 401 }) }
    }
}

/// What is found of so many users.
async fn read_by(users: usize, come_again: u64) -> Kept {
    // Nobody is asked anything there.
    let target = Target::at("http://127.0.0.1:9/".parse().unwrap());
    reads(&target, &Reads { come_again: AtomicU64::new(come_again) }, users).await.unwrap()
}

#[tokio::test]
async fn what_is_read_wrongly_after_the_last_start_is_lost_and_said() {
    let kept = read_by(4, 0).await;
    assert_eq!(numbers(&kept), ("answers as before", 4, 2, 0));
    assert_eq!(kept.examples, ["lost: userinfo: status 401", "lost: userinfo: status 401"]);
}

#[tokio::test]
async fn who_is_told_to_come_again_comes_again_but_not_for_ever() {
    assert!(read_by(1, 1).await.holds());
    let kept = read_by(1, u64::MAX).await;
    assert_eq!(numbers(&kept), ("answers as before", 1, 1, 0));
    assert_eq!(kept.examples, ["lost: userinfo: status 503"]);
}
