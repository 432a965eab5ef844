//! Since when mails and logout notices wait.

use std::num::NonZeroUsize;
use std::sync::Arc;

use sluice_identity::mail::{MailRepository, NEVER, QueuedMail};
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_oauth::logout::{LeaseRoom, LogoutNotice, OutboxRepository};
use sluice_primitives::{AttemptId, Lifetime, OsRng};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};

use crate::fixture::{PostgresFixture, connection, options};
use crate::late_commit::somebody_waits;

/// A mail that was queued at this second, and is due then.
fn queued_at(second: i64) -> QueuedMail {
    let id = AttemptId::generate(given::at(second), &OsRng).as_uuid();
    QueuedMail { id, ..given::mail(second) }
}

#[tokio::test]
async fn the_oldest_mail_that_waits_tells_when_it_was_queued_however_often_it_was_tried() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    assert_eq!(store.oldest_mail().await.unwrap(), None);
    let [decoy, dead, oldest, younger] = [5, 10, 20, 30].map(queued_at);
    for mail in [&QueuedMail { due_at: NEVER, ..decoy }, &dead, &oldest, &younger] {
        store.queue(mail).await.unwrap();
    }
    MailRepository::failed(&*store, dead.id, None).await.unwrap();
    MailRepository::failed(&*store, oldest.id, Some(given::at(900))).await.unwrap();
    assert_eq!(store.oldest_mail().await.unwrap(), Some(given::at(20)));
    store.sent(oldest.id).await.unwrap();
    assert_eq!(store.oldest_mail().await.unwrap(), Some(given::at(30)));
}

#[tokio::test]
async fn the_oldest_notice_that_waits_tells_when_its_session_ended() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    assert_eq!(store.oldest_notice().await.unwrap(), None);
    for second in [20, 10] {
        let session = given::session_id();
        let notice = LogoutNotice {
            uri: "https://shop.example/logout".parse().unwrap(),
            client: given::client_id("shop"),
            subject: given::subject("alice"),
            session,
        };
        store.end(EndSessions::One(session), given::at(second), given::at(9000), vec![notice]).await.unwrap();
    }
    assert_eq!(store.oldest_notice().await.unwrap(), Some(given::at(10)));
    let room = LeaseRoom { notices: 1, of_a_client: 1, under_way: Vec::new() };
    let leased = OutboxRepository::lease(&*store, given::at(30), Lifetime::secs(30), room).await.unwrap();
    assert_eq!(leased[0].made_at(), given::at(10));
    OutboxRepository::failed(&*store, leased[0].id, None).await.unwrap();
    assert_eq!(store.oldest_notice().await.unwrap(), Some(given::at(20)));
}

/// Behind it on the same connection they would wait as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_waits_for_nobody_who_looks_what_waits() {
    let fixture = PostgresFixture::start().await;
    let options = StoreOptions { readers: NonZeroUsize::MIN, ..options() };
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), options).await.unwrap());
    let (stall, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    stall.batch_execute("BEGIN; LOCK TABLE mail, outbox IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let looking = tokio::spawn({
        let store = store.clone();
        async move {
            let oldest = async { tokio::join!(store.oldest_mail(), store.oldest_notice()) };
            let depth =
                async { tokio::join!(MailRepository::depth(&*store), OutboxRepository::depth(&*store)) };
            let ((mail, notice), (mails, notices)) = tokio::join!(oldest, depth);
            assert_eq!((mail.unwrap(), notice.unwrap()), (None, None));
            assert_eq!((mails.unwrap(), notices.unwrap()), ((0, 0), (0, 0)));
        }
    });
    somebody_waits(&watching).await;
    assert_eq!(GrantRepository::find(&*store, given::grant_id()).await.unwrap(), None);
    assert!(!looking.is_finished());
    stall.batch_execute("COMMIT").await.unwrap();
    looking.await.unwrap();
}
