//! Mails on their way from the outbox to the letterbox.

#![expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_crypto::Purpose;
use sluice_identity::mail::{
    CodeMail, LeasedMail, MailFate, MailRepository, Message, MessageKind, QueuedMail,
};
use sluice_primitives::{Clock, Lifetime, Timestamp};
use sluice_store_contract::MemoryStore;
use tokio::task::yield_now;
use tokio::time::timeout;
use uuid::Uuid;

use super::services::{ALICE, AT_ONCE, BOB, Services, network};

fn deleted() -> Message {
    Message { to: ALICE.to_owned(), kind: MessageKind::AccountDeleted }
}

async fn queue(services: &Services) -> Uuid {
    services.account.mails.as_ref().unwrap().queue(&deleted()).await.unwrap()
}

#[tokio::test]
async fn a_mail_arrives_once() {
    let services = Services::new().await;
    let id = queue(&services).await;
    let mail = services.mail().await;
    assert_eq!((mail.id, mail.to.as_str()), (id, ALICE));
    assert_eq!(mail.subject, "Your account at Example was deleted");
    assert!(services.new_mails().await.is_empty());
    let metrics = &services.delivery.metrics;
    assert_eq!(
        (metrics.sent_total(), metrics.failed_total(), metrics.waiting(), metrics.dead()),
        (1, 0, 0, 0)
    );
}

#[tokio::test]
async fn a_mail_that_was_not_taken_is_tried_again_later_and_then_given_up() {
    let services = Services::new().await;
    queue(&services).await;
    *services.letterbox.refuses.lock() = Some(MailFate::Deferred);
    let mut rounds = 0;
    while services.delivery.metrics.dead() == 0 {
        assert_eq!(services.delivery.run(|| true).await.unwrap(), 1);
        assert_eq!(services.delivery.run(|| true).await.unwrap(), 0, "tried again at once");
        services.clock.advance(Lifetime::hours(5));
        rounds += 1;
    }
    assert_eq!((rounds, services.delivery.metrics.failed_total()), (12, 12));
    *services.letterbox.refuses.lock() = None;
    assert!(services.new_mails().await.is_empty());
}

#[tokio::test]
async fn a_mail_that_makes_the_program_panic_takes_no_other_with_it_and_is_a_dead_letter_in_the_end() {
    let services = Services::new().await;
    let outbox = services.account.mails.as_ref().unwrap();
    *services.letterbox.panics_at.lock() = Some(BOB);
    outbox.queue(&Message { to: BOB.to_owned(), kind: MessageKind::AccountDeleted }).await.unwrap();
    let mut rounds = 0;
    while services.delivery.metrics.dead() == 0 {
        queue(&services).await;
        assert_eq!(services.delivery.run(|| true).await.unwrap(), 2);
        services.clock.advance(Lifetime::hours(5));
        rounds += 1;
    }
    let metrics = &services.delivery.metrics;
    assert_eq!((rounds, metrics.failed_total(), metrics.sent_total()), (12, 12, 12));
    *services.letterbox.panics_at.lock() = None;
    assert!(services.new_mails().await.iter().all(|mail| mail.to == ALICE));
}

#[tokio::test]
async fn a_mail_that_was_not_tried_before_the_node_stopped_is_sent_by_another_and_lost_no_attempt() {
    let services = Services::new().await;
    let id = queue(&services).await;
    services.delivery.stop();
    assert_eq!(services.delivery.run(|| false).await.unwrap(), 1);
    assert_eq!((services.delivery.metrics.failed_total(), services.delivery.metrics.sent_total()), (0, 0));
    *services.letterbox.refuses.lock() = None;
    assert!(services.new_mails().await.is_empty(), "its lease goes on");
    services.clock.advance(Lifetime::secs(121));
    let leased = services.store.lease(services.clock.now(), Lifetime::ZERO, 1).await.unwrap();
    assert_eq!((leased[0].id, leased[0].attempts), (id, 0));
    assert_eq!(services.mail().await.id, id);
}

#[tokio::test]
async fn the_first_retries_come_soon_and_never_before_their_time() {
    let services = Services::new().await;
    queue(&services).await;
    *services.letterbox.refuses.lock() = Some(MailFate::Deferred);
    for millis in [5_000, 20_000, 80_000, 320_000] {
        assert_eq!(services.delivery.run(|| true).await.unwrap(), 1);
        services.clock.advance(Lifetime::millis(millis - 1));
        assert_eq!(services.delivery.run(|| true).await.unwrap(), 0, "before {millis} ms");
        services.clock.advance(Lifetime::millis(millis / 4 + 1));
    }
    *services.letterbox.refuses.lock() = None;
    assert_eq!(services.new_mails().await.len(), 1);
}

#[tokio::test]
async fn a_mail_that_was_refused_for_good_is_a_dead_letter_at_once() {
    let services = Services::new().await;
    queue(&services).await;
    *services.letterbox.refuses.lock() = Some(MailFate::Refused);
    services.delivery.run(|| true).await.unwrap();
    assert_eq!((services.delivery.metrics.dead(), services.delivery.metrics.waiting()), (1, 0));
}

#[tokio::test]
async fn a_mail_of_a_later_version_waits_for_a_node_that_understands_it() {
    let services = Services::new().await;
    let queue = services.account.mails.as_ref().unwrap();
    let sealed = queue.sealer.seal(Purpose::Mail, &[0xff; 32], &*queue.rng);
    services.store.queue(&QueuedMail { sealed, ..queue.sealed(&deleted()) }).await.unwrap();
    assert_eq!(services.delivery.run(|| true).await.unwrap(), 1);
    let metrics = &services.delivery.metrics;
    assert_eq!((metrics.failed_total(), metrics.waiting(), metrics.dead()), (1, 1, 0));
}

#[tokio::test]
async fn a_code_that_would_arrive_too_late_is_not_sent() {
    let (services, alice, _) = Services::with_alice().await;
    services.account.begin_recovery(&alice.email, network()).await.unwrap();
    *services.letterbox.refuses.lock() = Some(MailFate::Deferred);
    for _ in 0..5 {
        services.delivery.run(|| true).await.unwrap();
        services.clock.advance(Lifetime::minutes(8));
    }
    assert_eq!((services.delivery.metrics.dead(), services.delivery.metrics.waiting()), (1, 0));
}

#[tokio::test]
async fn a_code_that_waited_for_too_long_is_not_sent_at_all() {
    let (services, alice, _) = Services::with_alice().await;
    services.account.begin_recovery(&alice.email, network()).await.unwrap();
    services.clock.advance(Lifetime::hours(3));
    assert!(services.new_mails().await.is_empty());
    assert_eq!((services.delivery.metrics.dead(), services.delivery.metrics.waiting()), (1, 0));
}

#[tokio::test]
async fn all_that_is_due_is_sent_and_no_more_at_once_than_the_transport_carries() {
    let services = Services::new().await;
    for _ in 0..10 {
        queue(&services).await;
    }
    assert_eq!(services.delivery.run(|| true).await.unwrap(), 10);
    assert_eq!(services.new_mails().await.len(), 10);
    assert_eq!(services.letterbox.most_at_once.load(SeqCst), AT_ONCE);
    assert_eq!((services.delivery.metrics.sent_total(), services.delivery.metrics.waiting()), (10, 0));
}

#[tokio::test]
async fn a_node_that_ends_sends_what_it_has_taken_and_leaves_the_rest() {
    let services = Services::new().await;
    for _ in 0..10 {
        queue(&services).await;
    }
    assert_eq!(services.delivery.run(|| false).await.unwrap(), AT_ONCE as usize);
    assert_eq!(services.delivery.metrics.waiting(), 10 - u64::from(AT_ONCE));
}

/// What is written to who registers, with a code that is good for as long as one may be.
fn verify() -> MessageKind {
    MessageKind::VerifyEmail(CodeMail { code: String::new(), link: String::new(), minutes: 7 * 24 * 60 })
}

#[tokio::test]
async fn a_run_of_many_mails_tells_how_many_are_left() {
    let services = Services::new().await;
    for _ in 0..40 * AT_ONCE {
        queue(&services).await;
    }
    let (metrics, seen) = (Arc::clone(&services.delivery.metrics), Mutex::new(Vec::new()));
    let looks = || {
        seen.lock().push(metrics.waiting());
        true
    };
    services.delivery.run(looks).await.unwrap();
    let mut seen = seen.into_inner();
    seen.dedup();
    assert_eq!(seen, [40, 8].map(|rounds| u64::from(rounds * AT_ONCE)));
    assert_eq!(metrics.waiting(), 0);
}

#[tokio::test]
async fn what_waits_and_what_is_dead_is_known_while_a_mail_server_hangs() {
    let services = Services::new().await;
    let dead = queue(&services).await;
    services.store.failed(dead, None).await.unwrap();
    queue(&services).await;
    services.letterbox.hangs.store(true, SeqCst);
    let metrics = &services.delivery.metrics;
    let known = async {
        while (metrics.waiting(), metrics.dead()) != (1, 1) {
            yield_now().await;
        }
    };
    tokio::select! {
        ended = services.delivery.run(|| true) => panic!("{ended:?}"),
        known = timeout(Duration::from_secs(20), known) => known.unwrap(),
    }
}

/// An outbox that nobody can count.
struct Uncounted(Arc<MemoryStore>);

#[async_trait]
impl MailRepository for Uncounted {
    async fn queue(&self, mail: &QueuedMail) -> Result<(), StoreError> {
        self.0.queue(mail).await
    }

    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedMail>, StoreError> {
        MailRepository::lease(&*self.0, now, lease, limit).await
    }

    async fn sent(&self, id: Uuid) -> Result<(), StoreError> {
        self.0.sent(id).await
    }

    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError> {
        MailRepository::failed(&*self.0, id, next).await
    }

    async fn bring_forward(&self, id: Uuid, from: Timestamp, to: Timestamp) -> Result<(), StoreError> {
        self.0.bring_forward(id, from, to).await
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        Err(StoreError::Unavailable(None))
    }

    async fn oldest_mail(&self) -> Result<Option<Timestamp>, StoreError> {
        self.0.oldest_mail().await
    }

    async fn purge_mails(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.0.purge_mails(before, limit).await
    }

    async fn sealed_mails(&self, after: Option<Uuid>, limit: u32) -> Result<Vec<(Uuid, String)>, StoreError> {
        self.0.sealed_mails(after, limit).await
    }

    async fn reseal_mail(&self, id: Uuid, old: &str, new: &str) -> Result<bool, StoreError> {
        self.0.reseal_mail(id, old, new).await
    }

    async fn drop_mail(&self, id: Uuid, sealed: &str) -> Result<(), StoreError> {
        self.0.drop_mail(id, sealed).await
    }
}

#[tokio::test]
async fn mails_that_cannot_be_counted_are_sent_all_the_same() {
    let mut services = Services::new().await;
    services.delivery.outbox = Arc::new(Uncounted(services.store.clone()));
    queue(&services).await;
    assert_eq!(services.delivery.run(|| true).await.unwrap(), 1);
    assert!(services.letterbox.first().is_some());
}

#[tokio::test]
async fn a_recovery_that_is_tried_again_goes_before_registrations_that_wait_for_longer() {
    let (services, alice, _) = Services::with_alice().await;
    services.account.begin_recovery(&alice.email, network()).await.unwrap();
    *services.letterbox.refuses.lock() = Some(MailFate::Deferred);
    assert_eq!(services.delivery.run(|| false).await.unwrap(), 1);
    *services.letterbox.refuses.lock() = None;
    let queue = services.account.mails.as_ref().unwrap();
    for _ in 0..10 {
        queue.queue(&Message { to: "stranger@example.com".to_owned(), kind: verify() }).await.unwrap();
    }
    assert_eq!(services.delivery.run(|| false).await.unwrap(), AT_ONCE as usize);
    assert_eq!(services.letterbox.first().unwrap().to, "stranger@example.com", "it is not due yet");
    services.clock.advance(Lifetime::secs(7));
    services.delivery.run(|| false).await.unwrap();
    assert_eq!(services.letterbox.nth(AT_ONCE as usize).unwrap().to, alice.email);
}

#[tokio::test]
async fn registrations_do_not_hold_up_a_recovery_and_decoys_hold_up_nobody() {
    let (services, alice, _) = Services::with_alice().await;
    let queue = services.account.mails.as_ref().unwrap();
    let stranger = |kind| Message { to: "stranger@example.com".to_owned(), kind };
    for _ in 0..100 {
        queue.queue(&stranger(MessageKind::Decoy)).await.unwrap();
        queue.queue(&stranger(verify())).await.unwrap();
    }
    services.clock.advance(Lifetime::hours(6 * 24));
    services.account.begin_recovery(&alice.email, network()).await.unwrap();
    assert_eq!(services.delivery.run(|| false).await.unwrap(), AT_ONCE as usize);
    assert_eq!(services.letterbox.first().unwrap().to, alice.email);
    assert_eq!(services.delivery.metrics.waiting(), 101 - u64::from(AT_ONCE), "no decoy among them");
    assert_eq!(services.new_mails().await.len(), 101);
}

#[tokio::test]
async fn what_waits_cannot_be_read_without_the_secret() {
    let (services, alice, _) = Services::with_alice().await;
    services.account.begin_recovery(&alice.email, network()).await.unwrap();
    let leased = services.store.lease(alice.created_at, Lifetime::secs(1), 1).await.unwrap();
    let sealed = &leased[0].sealed;
    assert!(!sealed.contains("alice") && !sealed.contains("example"));
    services.store.failed(leased[0].id, Some(alice.created_at)).await.unwrap();
    let mail = services.mail().await;
    let printed = format!("{mail:?} {:?} {:?}", deleted(), services.delivery);
    assert!(!printed.contains("alice") && !printed.contains(&super::services::code(&mail)), "{printed}");
}
