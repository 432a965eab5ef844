//! The outbox of mails: each is sent by one node at a time, tried again, and never lost silently.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::mail::{LeasedMail, MailRepository, QueuedMail};
use sluice_primitives::Lifetime;
use uuid::Uuid;

use crate::{Fixture, given};

const LEASE: Lifetime = Lifetime::secs(30);

/// Queues mails that are due at these seconds.
async fn queue(store: &impl MailRepository, due: &[i64]) -> Vec<QueuedMail> {
    let mails: Vec<_> = due.iter().map(|due| given::mail(*due)).collect();
    for mail in &mails {
        store.queue(mail).await.unwrap();
    }
    mails
}

async fn lease(store: &impl MailRepository, now: i64, limit: u32) -> Vec<LeasedMail> {
    store.lease(given::at(now), LEASE, limit).await.unwrap()
}

fn sorted(ids: impl IntoIterator<Item = Uuid>) -> Vec<Uuid> {
    let mut ids: Vec<_> = ids.into_iter().collect();
    ids.sort_unstable();
    ids
}

/// A mail is leased as it was queued, from its time on.
pub async fn a_queued_mail_is_leased_when_it_is_due(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mail = queue(&*store, &[10]).await.remove(0);
    assert_eq!(lease(&*other, 9, 10).await, []);
    let expected = LeasedMail { id: mail.id, sealed: mail.sealed, attempts: 0 };
    assert_eq!(lease(&*other, 10, 10).await, [expected]);
}

/// A mail that is queued again is not sent again, nor sooner, while it waits.
pub async fn a_mail_is_queued_once(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mail = queue(&*store, &[10]).await.remove(0);
    let again = QueuedMail { sealed: "something else".to_owned(), due_at: given::at(0), ..mail.clone() };
    other.queue(&again).await.unwrap();
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (1, 0));
    assert_eq!(lease(&*store, 9, 10).await, []);
    assert_eq!(lease(&*store, 10, 10).await[0].sealed, mail.sealed);
    other.queue(&again).await.unwrap();
    assert_eq!(lease(&*store, 11, 10).await, []);
}

/// Every mail is given to one node, until its lease has passed.
pub async fn a_leased_mail_is_given_to_nobody_else(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mails = queue(&*store, &[0, 0, 0]).await;
    let mut leased = lease(&*store, 1, 2).await;
    assert_eq!(leased.len(), 2);
    leased.extend(lease(&*other, 2, 10).await);
    assert_eq!(sorted(leased.iter().map(|leased| leased.id)), sorted(mails.iter().map(|mail| mail.id)));
    assert_eq!(lease(&*other, 30, 10).await, []);
    let again = lease(&*other, 31, 10).await;
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|leased| leased.attempts == 0));
}

/// Concurrent leases of two nodes share nothing.
pub async fn concurrent_leases_of_mails_never_overlap(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let mails = queue(&*nodes[0], &[0; 20]).await;
    let mut leased = join_all((0..8).map(|place| lease(&*nodes[place % 2], 1, 4))).await.concat();
    leased.extend(lease(&*nodes[0], 1, 20).await);
    assert_eq!(sorted(leased.iter().map(|leased| leased.id)), sorted(mails.iter().map(|mail| mail.id)));
}

/// What is due longest comes first.
pub async fn the_mail_that_is_due_longest_is_leased_first(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut mails = queue(&*store, &[4, 1, 3, 0, 2]).await;
    mails.sort_unstable_by_key(|mail| mail.due_at);
    for some in mails.chunks(2) {
        let leased = lease(&*store, 10, 2).await;
        assert_eq!(sorted(leased.iter().map(|leased| leased.id)), sorted(some.iter().map(|mail| mail.id)));
    }
}

/// What was taken is not sent again.
pub async fn a_sent_mail_is_gone(fixture: &impl Fixture) {
    let store = fixture.store();
    let mails = queue(&*store, &[0, 0]).await;
    lease(&*store, 1, 10).await;
    store.sent(mails[0].id).await.unwrap();
    store.sent(mails[0].id).await.unwrap();
    assert_eq!(MailRepository::depth(&*fixture.second_node().await).await.unwrap(), (1, 0));
    assert_eq!(lease(&*store, 1000, 10).await[0].id, mails[1].id);
}

/// What was not taken is due again when it was said to be, with one attempt more.
pub async fn a_failed_mail_is_due_again_at_its_time(fixture: &impl Fixture) {
    let store = fixture.store();
    queue(&*store, &[0]).await;
    for (attempts, next) in [(0, 100), (1, 200)] {
        let leased = lease(&*store, next - 100, 10).await;
        assert_eq!(leased[0].attempts, attempts);
        MailRepository::failed(&*store, leased[0].id, Some(given::at(next))).await.unwrap();
        assert_eq!(lease(&*store, next - 1, 10).await, []);
    }
    assert_eq!(lease(&*store, 200, 10).await[0].attempts, 2);
}

/// What is never taken is kept as a dead letter, and counted.
pub async fn a_dead_mail_is_kept_and_not_sent(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (0, 0));
    let mails = queue(&*store, &[0, 0]).await;
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (2, 0));
    MailRepository::failed(&*store, mails[0].id, None).await.unwrap();
    assert_eq!(MailRepository::depth(&*fixture.second_node().await).await.unwrap(), (1, 1));
    let leased: Vec<_> = lease(&*store, 1_000_000, 10).await.into_iter().map(|leased| leased.id).collect();
    assert_eq!(leased, [mails[1].id]);
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_mail_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let mail = QueuedMail { sealed: "with \0 inside".to_owned(), ..given::mail(0) };
    let refused = fixture.store().queue(&mail).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}
