//! What may be used once: in few statements.

use futures_util::future::join_all;
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_store_contract::{Fixture, given};

use crate::fixture::PostgresFixture;

/// Also where it was used before, or is of two kinds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn things_that_are_spent_together_share_statements() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let things: Vec<([u8; 32], ReplayKind)> = (0..1000)
        .map(|_| given::random_hash())
        .flat_map(|hash| [(hash, ReplayKind::DpopProof), (hash, ReplayKind::ClientAssertion)])
        .collect();
    for is_first in [true, false] {
        let before = store.statistics().others;
        let spend =
            |(hash, kind): &([u8; 32], ReplayKind)| store.spend(*kind, *hash, given::at(20), given::at(60));
        let outcomes = join_all(things.iter().map(spend)).await;
        assert!(outcomes.into_iter().all(|spent| spent.unwrap() == is_first));
        let others = store.statistics().others;
        assert_eq!(others.rows - before.rows, 2000);
        let statements = others.statements - before.statements;
        assert!(statements < 200 && statements == others.commits - before.commits, "{others:?}");
    }
}
