//! One client answers, another never does.

use std::time::Duration;

use parking_lot::Mutex;
use sluice_crypto::Sealer;
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, SessionId};
use sluice_token::jwt::{BelowExt, ScopeClaim};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::super::outbox::LeaseRoom;
use super::*;
use crate::client::fake::{FakeClients, client};
use crate::client::{AccessTokenStrategy, LogoutUri};
use crate::config::{Lifetimes, Pages, PkcePolicy, Policies, ScopeStrategy};
use crate::discovery::Announced;
use crate::keys::fake::FakeKeys;

/// A notice, and whether it is leased.
type Row = (LeasedNotice, bool);

#[derive(Default)]
struct FakeOutbox(Mutex<Vec<Row>>);

impl FakeOutbox {
    fn put(&self, client: &str, count: usize) {
        for _ in 0..count {
            let notice = LogoutNotice {
                uri: format!("https://{client}.example/logout").parse().unwrap(),
                client: client.parse().unwrap(),
                subject: "alice".parse().unwrap(),
                session: SessionId::from_bytes([1; 16]),
            };
            let id = Uuid::from_bytes(random_bytes(&OsRng));
            self.0.lock().push((LeasedNotice { id, notice, attempts: 0 }, false));
        }
    }

    /// How many notices wait for a client, or are under way to it.
    fn left(&self, client: &str) -> usize {
        self.0.lock().iter().filter(|(row, _)| row.notice.client.as_str() == client).count()
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
        for (row, is_leased) in self.0.lock().iter_mut().filter(|(_, is_leased)| !is_leased) {
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
        self.0.lock().retain(|(row, _)| row.id != id);
        Ok(())
    }

    async fn failed(&self, _: Uuid, _: Option<Timestamp>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        Ok((0, 0))
    }

    async fn purge_notices(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// `hangs` never answers.
struct FakeSender;

#[async_trait]
impl LogoutSender for FakeSender {
    async fn send(&self, uri: &Url, _: &str) -> bool {
        if uri.host_str() == Some("hangs.example") {
            std::future::pending::<()>().await;
        }
        true
    }
}

fn config() -> Config {
    let page = || Url::parse("https://op.example/page").unwrap();
    Config {
        issuer: "https://op.example/".parse().unwrap(),
        pages: Pages {
            login: page(),
            registration: page(),
            consent: page(),
            logout: page(),
            device_verification: page(),
            device_success: page(),
            error: None,
            post_logout_redirect: None,
        },
        lifetimes: Lifetimes::default(),
        access_tokens: AccessTokenStrategy::Opaque,
        scopes: ScopeStrategy::default(),
        pkce: PkcePolicy::default(),
        top_level_claims: Vec::new(),
        below_ext: BelowExt::default(),
        not_before: false,
        scope_claim: ScopeClaim::default(),
        default_client_scope: false,
        parked_quota: 1,
        announced: Announced::default(),
        policies: Policies::default(),
    }
}

async fn delivery() -> (Arc<FakeOutbox>, Arc<LogoutDelivery>) {
    let (outbox, rng) = (Arc::new(FakeOutbox::default()), Arc::new(OsRng));
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]));
    let keys = KeyRing::start(Arc::new(FakeKeys::default()), at_rest, rng.clone(), clock.clone());
    let delivery = LogoutDelivery {
        outbox: outbox.clone(),
        sender: Arc::new(FakeSender),
        keys: keys.await.unwrap(),
        clients: Arc::new(ClientDirectory::new(Arc::new(FakeClients::default()), 10)),
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
    let under_way = outbox.0.lock().iter().filter(|(_, is_leased)| *is_leased).count();
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

/// The form of earlier versions, too, which would have been sent to the document.
#[test]
fn a_notice_without_an_address_goes_to_where_its_client_listens_now() {
    let document = "https://app.example/client.json";
    let app = Client {
        backchannel_logout: Some(LogoutUri {
            uri: Url::parse("https://app.example/logout").unwrap(),
            session_required: false,
        }),
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
