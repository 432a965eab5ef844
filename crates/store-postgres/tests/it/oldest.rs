//! Who looks since when mails and logout notices wait, and how many.

use std::num::NonZeroUsize;
use std::sync::Arc;

use sluice_identity::mail::MailRepository;
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::logout::OutboxRepository;
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};

use crate::fixture::{PostgresFixture, connection, options};
use crate::late_commit::somebody_waits;

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
