//! One client answers, another never does.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use sluice_crypto::Sealer;
use sluice_primitives::{AttemptId, ManualClock, NetworkId, OsRng, Secret, SessionId};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::super::outbox::LeaseRoom;
use super::*;
use crate::client::Encryption;
use crate::client::fake::{FakeClients, client, directory_of_silent_hosts};
use crate::client_auth::{ClientKeys, FetchedKeySet, KeySetSource, KeysNotFetched};
use crate::config::fake::config;
use crate::keys::fake::FakeKeys;

/// A notice, and whether it is leased.
type Row = (LeasedNotice, bool);

#[derive(Default)]
struct FakeOutbox {
    rows: Mutex<Vec<Row>>,
    /// Until when notices were put off. They are leased for as long as a test lasts.
    postponed: Mutex<Vec<Timestamp>>,
    /// Set: nobody can count them.
    is_uncounted: AtomicBool,
}

impl FakeOutbox {
    fn put(&self, client: &str, count: usize) {
        for _ in 0..count {
            self.put_one(client, format!("https://{client}.example/logout").parse().unwrap(), NOW);
        }
    }

    /// Puts a notice that waits since `made_at`.
    fn put_one(&self, client: &str, uri: Url, made_at: Timestamp) {
        let notice = LogoutNotice {
            uri,
            client: client.parse().unwrap(),
            subject: "alice".parse().unwrap(),
            session: SessionId::from_bytes([1; 16]),
        };
        let id = AttemptId::generate(made_at, &OsRng).as_uuid();
        self.rows.lock().push((LeasedNotice { id, notice, attempts: 0 }, false));
    }

    /// How many notices wait for a client, or are under way to it.
    fn left(&self, client: &str) -> usize {
        self.rows.lock().iter().filter(|(row, _)| row.notice.client.as_str() == client).count()
    }
}

#[async_trait]
impl OutboxRepository for FakeOutbox {
    async fn lease(
        &self,
        _: Timestamp,
        _: Lifetime,
        room: LeaseRoom,
    ) -> Result<Vec<LeasedNotice>, StoreError> {
        let (mut under_way, mut leased) = (room.under_way, Vec::new());
        for (row, is_leased) in self.rows.lock().iter_mut().filter(|(_, is_leased)| !is_leased) {
            let taken = under_way.iter().filter(|client| **client == row.notice.client).count();
            if leased.len() < room.notices as usize && taken < room.of_a_client as usize {
                *is_leased = true;
                under_way.push(row.notice.client.clone());
                leased.push(row.clone());
            }
        }
        Ok(leased)
    }

    async fn delivered(&self, id: Uuid) -> Result<(), StoreError> {
        self.rows.lock().retain(|(row, _)| row.id != id);
        Ok(())
    }

    async fn failed(&self, id: Uuid, _: Option<Timestamp>) -> Result<(), StoreError> {
        for (row, _) in self.rows.lock().iter_mut().filter(|(row, _)| row.id == id) {
            row.attempts += 1;
        }
        Ok(())
    }

    async fn postponed(&self, _: Uuid, until: Timestamp) -> Result<(), StoreError> {
        self.postponed.lock().push(until);
        Ok(())
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        if self.is_uncounted.load(Relaxed) { Err(StoreError::Unavailable(None)) } else { Ok((0, 0)) }
    }

    async fn oldest_notice(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    async fn purge_notices(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// `hangs` never answers, `refuses` does not take it, and the host of `unasked` is not looked up.
struct FakeSender;

#[async_trait]
impl LogoutSender for FakeSender {
    async fn send(&self, uri: &Url, _: &str) -> Result<(), NotTaken> {
        match uri.host_str() {
            Some("hangs.example") => std::future::pending().await,
            Some("refuses.example") => Err(NotTaken::Answered(StatusCode::BAD_REQUEST)),
            Some("unasked.example") => Err(NotTaken::Fetch(FetchError::Busy)),
            _ => Ok(()),
        }
    }
}

/// No client's `jwks_uri` answers.
struct NoKeys;

#[async_trait]
impl KeySetSource for NoKeys {
    async fn fetch(&self, _: &Url) -> Result<FetchedKeySet, KeysNotFetched> {
        Err(KeysNotFetched::NotThere("nobody answers".to_owned()))
    }
}

const NOW: Timestamp = Timestamp::from_secs(1_000_000);

async fn delivery() -> (Arc<FakeOutbox>, Arc<LogoutDelivery>) {
    delivery_to(ClientDirectory::new(Arc::new(FakeClients::default()), 10)).await
}

async fn delivery_to(clients: ClientDirectory) -> (Arc<FakeOutbox>, Arc<LogoutDelivery>) {
    let (outbox, rng) = (Arc::new(FakeOutbox::default()), Arc::new(OsRng));
    let clock = Arc::new(ManualClock::at(NOW));
    let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]));
    let keys = KeyRing::start(Arc::new(FakeKeys::default()), at_rest, rng.clone(), clock.clone());
    let encryption = ClientEncryption::new(Arc::new(ClientKeys::new(Arc::new(NoKeys))), clock.clone());
    let delivery = LogoutDelivery {
        outbox: outbox.clone(),
        sender: Arc::new(FakeSender),
        keys: keys.await.unwrap(),
        encryption: Arc::new(encryption),
        clients: Arc::new(clients),
        config: Arc::new(config()),
        metrics: Arc::new(DeliveryMetrics::default()),
        clock,
        rng,
    };
    (outbox, Arc::new(delivery))
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_holds_up_nobody_else() {
    let (outbox, delivery) = delivery().await;
    outbox.put("hangs", 20);
    outbox.put("answers", 100);
    let running = timeout(Duration::from_secs(3), delivery.run(|| true));
    assert!(running.await.is_err(), "one of them hangs");
    assert_eq!((outbox.left("answers"), outbox.left("hangs")), (0, 20));
    let under_way = outbox.rows.lock().iter().filter(|(_, is_leased)| *is_leased).count();
    assert_eq!(under_way, 8, "of a client at once");
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_a_client_hangs_is_delivered() {
    let (outbox, delivery) = delivery().await;
    outbox.put("hangs", 1);
    let late = async {
        sleep(Duration::from_mins(1)).await;
        outbox.put("answers", 1);
        sleep(Duration::from_secs(3)).await;
    };
    tokio::select! {
        ended = delivery.run(|| true) => panic!("one of them hangs: {ended:?}"),
        () = late => {}
    }
    assert_eq!(outbox.left("answers"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_when_all_is_delivered_or_when_it_is_to_stop() {
    let (outbox, delivery) = delivery().await;
    outbox.put("answers", 100);
    assert_eq!(delivery.run(|| true).await.unwrap(), 100);
    assert_eq!(outbox.left("answers"), 0);
    outbox.put("answers", 1);
    assert_eq!(delivery.run(|| false).await.unwrap(), 0);
    assert_eq!(outbox.left("answers"), 1);
}

#[tokio::test(start_paused = true)]
async fn notices_that_cannot_be_counted_are_delivered_all_the_same() {
    let (outbox, delivery) = delivery().await;
    outbox.is_uncounted.store(true, Relaxed);
    outbox.put("answers", 100);
    assert_eq!(delivery.run(|| true).await.unwrap(), 100);
    assert_eq!(outbox.left("answers"), 0);
}

/// Tries six notices of this age, for clients whose documents are at one host. Four documents of a host are asked for at once, and
/// this host does not answer.
async fn tried_at_a_silent_host(age: Lifetime) -> (Arc<FakeOutbox>, Arc<LogoutDelivery>) {
    let (outbox, delivery) = delivery_to(directory_of_silent_hosts(Arc::default())).await;
    for number in 0..6 {
        let client = format!("https://app.example/{number}.json");
        let uri = LogoutNotice::described(&client.parse().unwrap()).unwrap();
        outbox.put_one(&client, uri, NOW - age);
    }
    let running = timeout(Duration::from_secs(3), delivery.run(|| true));
    assert!(running.await.is_err(), "four of them wait for their documents");
    (outbox, delivery)
}

/// How many notices failed, and were counted so.
fn failed(outbox: &FakeOutbox, delivery: &LogoutDelivery) -> (usize, u64) {
    let tried = outbox.rows.lock().iter().filter(|(row, _)| row.attempts > 0).count();
    (tried, delivery.metrics.failed.get())
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_finds_no_place_at_its_host_is_put_off_the_longer_it_waits_and_was_no_attempt() {
    for (age, wait) in [(0, 10), (60, 15), (1200, 300), (3600, 900), (86_400, 900)] {
        let (outbox, delivery) = tried_at_a_silent_host(Lifetime::secs(age)).await;
        let (postponed, wait) = (outbox.postponed.lock().clone(), Lifetime::secs(wait));
        assert_eq!(postponed.len(), 2);
        let expected = NOW + wait..NOW + wait + Lifetime::millis(MOST_MORE);
        assert!(postponed.iter().all(|until| expected.contains(until)), "{age} s: {postponed:?}");
        assert_eq!(failed(&outbox, &delivery), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_notice_whose_host_was_not_looked_up_is_put_off_and_one_that_was_refused_has_failed() {
    let (outbox, delivery) = delivery().await;
    outbox.put("unasked", 1);
    outbox.put("refuses", 1);
    assert_eq!(delivery.run(|| true).await.unwrap(), 2);
    assert_eq!(outbox.postponed.lock().len(), 1);
    assert_eq!(failed(&outbox, &delivery), (1, 1));
    assert_eq!(chain(&NotTaken::Answered(StatusCode::BAD_REQUEST)), "it was answered with 400 Bad Request");
    assert_eq!(chain(&NotTaken::Fetch(FetchError::PrivateAddress)), "the host has no public address");
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_has_found_no_place_for_a_day_has_failed() {
    let (outbox, delivery) = tried_at_a_silent_host(Lifetime::secs(86_401)).await;
    assert_eq!(outbox.postponed.lock().len(), 0);
    assert_eq!(failed(&outbox, &delivery), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_not_sent_in_plain_text_while_the_keys_of_its_client_cannot_be_fetched() {
    let mut app = client("app");
    app.jwks_uri = Some("https://app.example/jwks".parse().unwrap());
    let clients = FakeClients::default();
    clients.put(app.clone());
    app.id = "encrypted".parse().unwrap();
    app.formats.id_token_encryption =
        Some(Encryption { alg: "RSA-OAEP-256".to_owned(), enc: "A128GCM".to_owned() });
    clients.put(app);
    let (outbox, delivery) = delivery_to(ClientDirectory::new(Arc::new(clients), 10)).await;
    outbox.put("app", 1);
    outbox.put("encrypted", 1);
    assert_eq!(delivery.run(|| true).await.unwrap(), 2);
    assert_eq!((outbox.left("app"), outbox.left("encrypted")), (0, 1));
    assert_eq!(failed(&outbox, &delivery), (1, 1));
}

/// It would travel less guarded than it was asked for.
#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_and_had_asked_for_encrypted_tokens_is_sent_none() {
    let (outbox, delivery) = delivery().await;
    let app = Url::parse("https://app.example/logout").unwrap();
    outbox.put_one("plain", app.clone(), NOW);
    outbox.put_one("encrypted", LogoutNotice::for_encrypted(app), NOW);
    assert_eq!(delivery.run(|| true).await.unwrap(), 2);
    assert_eq!((outbox.left("plain"), outbox.left("encrypted")), (0, 0));
    assert_eq!(delivery.metrics.delivered.get(), 1);
}

/// The form of earlier versions, too, which would have been sent to the document.
#[test]
fn a_notice_without_an_address_goes_to_where_its_client_listens_now() {
    let document = "https://app.example/client.json";
    let app = Client {
        backchannel_logout: Some("https://app.example/logout".parse().unwrap()),
        ..client(document)
    };
    let stand_in = LogoutNotice::described(&app.id).unwrap();
    assert_eq!(stand_in.as_str(), "described:https://app.example/client.json");
    let notice = |uri: Url| LogoutNotice {
        uri,
        client: app.id.clone(),
        subject: "alice".parse().unwrap(),
        session: SessionId::from_bytes([1; 16]),
    };
    for uri in [stand_in, Url::parse(document).unwrap()] {
        let found = address(&notice(uri.clone()), Some(&app));
        assert_eq!(found.unwrap().as_str(), "https://app.example/logout");
        assert_eq!(address(&notice(uri), None), None);
    }
    let elsewhere = Url::parse("https://elsewhere.example/logout").unwrap();
    assert_eq!(address(&notice(elsewhere.clone()), Some(&app)), Some(elsewhere));
    assert!(LogoutNotice::described(&"app".parse().unwrap()).is_err());
}
