//! Parked flows: whoever parks many has them counted once a second, and holds up nobody who signs out.

use std::sync::Arc;

use sluice_oauth::flow::{ParkedFlow, ParkedFlowRepository};
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_primitives::{Lifetime, ManualClock};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};

use crate::fixture::{PostgresFixture, connection, options};
use crate::late_commit::somebody_waits;

fn flow(number: u8) -> ParkedFlow {
    ParkedFlow { handle: [number; 16], sealed: "sealed".to_owned(), expires_at: given::at(60) }
}

#[tokio::test]
async fn parked_flows_are_not_counted_for_each_other() {
    let fixture = PostgresFixture::start().await;
    let clock = Arc::new(ManualClock::at(given::at(0)));
    let store = PostgresStore::connect(fixture.dsn(), StoreOptions { clock: clock.clone(), ..options() });
    let store = store.await.unwrap();
    assert!(store.park(flow(1), 100).await.unwrap());
    let many = "INSERT INTO parked_flow SELECT gen_random_uuid(), 'sealed', 0 FROM generate_series(1, 10000)";
    connection(fixture.dsn()).await.batch_execute(many).await.unwrap();
    for number in 2..=100 {
        assert!(store.park(flow(number), 100).await.unwrap(), "there are {number}, as far as it knows");
    }
    assert!(!store.park(flow(101), 100).await.unwrap());
    clock.advance(Lifetime::secs(1));
    assert!(!store.park(flow(101), 10_100).await.unwrap(), "all are counted");
    assert!(store.park(flow(101), 10_101).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_is_parked_while_a_sign_out_waits() {
    let fixture = PostgresFixture::start().await;
    let (lock, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    lock.batch_execute("BEGIN; LOCK TABLE node IN EXCLUSIVE MODE").await.unwrap();
    let store = fixture.store();
    let ending = tokio::spawn({
        let store = store.clone();
        async move {
            let session = EndSessions::One(given::session_id());
            LoginSessionRepository::end(&*store, session, given::at(20), given::at(9000), Vec::new()).await
        }
    });
    somebody_waits(&watching).await;
    assert!(store.park(flow(1), 10).await.unwrap());
    lock.batch_execute("COMMIT").await.unwrap();
    assert_eq!(ending.await.unwrap().unwrap(), []);
}
