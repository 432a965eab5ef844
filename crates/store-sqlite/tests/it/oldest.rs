//! Since when mails and logout notices wait.

use sluice_identity::mail::{MailRepository, NEVER, QueuedMail};
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_oauth::logout::{LeaseRoom, LogoutNotice, OutboxRepository};
use sluice_primitives::{AttemptId, Lifetime, OsRng};
use sluice_store_contract::{Fixture, given};

use crate::fixture::SqliteFixture;

/// A mail that was queued at this second, and is due then.
fn queued_at(second: i64) -> QueuedMail {
    let id = AttemptId::generate(given::at(second), &OsRng).as_uuid();
    QueuedMail { id, ..given::mail(second) }
}

#[tokio::test]
async fn the_oldest_mail_that_waits_tells_when_it_was_queued_however_often_it_was_tried() {
    let fixture = SqliteFixture::start().await;
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
    let fixture = SqliteFixture::start().await;
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
