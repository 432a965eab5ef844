//! The outbox of mails: each is sent by one node at a time, tried again, and never lost silently.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::mail::{LeasedMail, MailRepository, NEVER, QueuedMail};
use sluice_primitives::{AttemptId, Lifetime, OsRng};
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

/// A mail is brought forward if it waits for the time that is named, and no other.
pub async fn a_mail_that_waits_is_brought_forward(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mails = queue(&*store, &[100, 110, 120]).await;
    let bring = async |mail: &QueuedMail, from, to| {
        other.bring_forward(mail.id, given::at(from), given::at(to)).await.unwrap();
    };
    bring(&mails[1], 109, 1).await;
    assert_eq!(lease(&*store, 99, 10).await, []);
    bring(&mails[1], 110, 1).await;
    let leased = lease(&*store, 100, 1).await;
    assert_eq!(leased.iter().map(|leased| leased.id).collect::<Vec<_>>(), [mails[1].id], "before the other");
    bring(&mails[1], 110, 1).await;
    MailRepository::failed(&*store, mails[2].id, None).await.unwrap();
    bring(&mails[2], 120, 1).await;
    let leased = lease(&*store, 129, 10).await;
    assert_eq!(leased.iter().map(|leased| leased.id).collect::<Vec<_>>(), [mails[0].id]);
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (2, 1));
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

/// What is never due is neither leased nor counted.
pub async fn a_mail_that_is_never_due_is_not_sent(fixture: &impl Fixture) {
    let store = fixture.store();
    store.queue(&QueuedMail { due_at: NEVER, ..given::mail(0) }).await.unwrap();
    let mail = queue(&*store, &[0]).await.remove(0);
    assert_eq!(MailRepository::depth(&*fixture.second_node().await).await.unwrap(), (1, 0));
    let leased = lease(&*store, 1_000_000_000, 10).await;
    assert_eq!(leased.iter().map(|leased| leased.id).collect::<Vec<_>>(), [mail.id]);
}

/// What is never due is deleted, and so are dead letters that are old enough; what waits stays, however old.
pub async fn dead_and_undue_mails_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mails = queue(&*store, &[0, 0, 10, 11]).await;
    let undue = [(); 2].map(|()| QueuedMail { due_at: NEVER, ..given::mail(0) });
    for mail in &undue {
        store.queue(mail).await.unwrap();
    }
    for mail in &mails[1..] {
        MailRepository::failed(&*store, mail.id, None).await.unwrap();
    }
    let purge = async |limit| other.purge_mails(given::at(11), limit).await.unwrap();
    assert_eq!([purge(3).await, purge(3).await, purge(3).await], [3, 1, 0]);
    let kept = store.sealed_mails(None, 10).await.unwrap().into_iter().map(|(id, _)| id);
    assert_eq!(sorted(kept), sorted([mails[0].id, mails[3].id]));
}

/// Everything that is sealed is found, in pages, whatever is to become of it.
pub async fn sealed_mails_are_listed_by_id_in_pages(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut mails = queue(&*store, &[0, 100, 5]).await;
    MailRepository::failed(&*store, mails[0].id, None).await.unwrap();
    mails.sort_unstable_by_key(|mail| mail.id);
    let expected: Vec<_> = mails.into_iter().map(|mail| (mail.id, mail.sealed)).collect();
    let reader = fixture.second_node().await;
    assert_eq!(reader.sealed_mails(None, 2).await.unwrap(), expected[..2]);
    assert_eq!(reader.sealed_mails(Some(expected[1].0), 2).await.unwrap(), expected[2..]);
    assert_eq!(reader.sealed_mails(Some(expected[2].0), 2).await.unwrap(), []);
}

/// What is sealed of a mail is replaced if it is still the same, and nothing else of it.
pub async fn a_mail_is_sealed_again_if_it_is_unchanged(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mail = queue(&*store, &[10]).await.remove(0);
    assert!(!other.reseal_mail(mail.id, "another", "new").await.unwrap());
    assert!(other.reseal_mail(mail.id, &mail.sealed, "new").await.unwrap());
    assert!(!other.reseal_mail(mail.id, &mail.sealed, "newer").await.unwrap());
    assert!(!other.reseal_mail(given::mail(0).id, "new", "newer").await.unwrap());
    let refused = other.reseal_mail(mail.id, "new", "with \0 inside").await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(lease(&*store, 9, 10).await, []);
    let expected = LeasedMail { id: mail.id, sealed: "new".to_owned(), attempts: 0 };
    assert_eq!(lease(&*store, 10, 10).await, [expected]);
}

/// A mail is deleted if what is sealed of it is still the same, a dead one too, and no other.
pub async fn a_mail_is_dropped_if_it_is_unchanged(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mails = queue(&*store, &[10, 10, 10]).await;
    MailRepository::failed(&*store, mails[0].id, None).await.unwrap();
    for mail in &mails[..2] {
        other.drop_mail(mail.id, "another").await.unwrap();
    }
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (2, 1));
    for mail in &mails[..2] {
        other.drop_mail(mail.id, &mail.sealed).await.unwrap();
        other.drop_mail(mail.id, &mail.sealed).await.unwrap();
    }
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (1, 0));
    assert_eq!(lease(&*store, 10, 10).await[0].id, mails[2].id);
}

/// Of the mails that wait the oldest is told, whenever it is due next: not of those that are dead, or never sent.
pub async fn the_oldest_mail_tells_when_it_was_queued_however_often_it_was_tried(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(store.oldest_mail().await.unwrap(), None);
    let queued_at = |second| {
        let id = AttemptId::generate(given::at(second), &OsRng).as_uuid();
        QueuedMail { id, ..given::mail(second) }
    };
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
