//! The group commit as a caller meets it: a poisoned row, a full queue, a deadline.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use sluice_commit::StoreError;
use sluice_oauth::grant::{Grant, GrantRepository, Insertion, Redemption};

use crate::{Fixture, Limits, given};

/// Of a load of writes that commit together, the one that the engine refuses fails alone.
pub async fn a_poisoned_row_fails_alone(fixture: &impl Fixture) {
    let store = fixture.store();
    let grants: Vec<Grant> = (0..32).map(|_| given::grant()).collect();
    fixture.poison(grants[13].id).await;
    let stall = fixture.stall().await;
    let inserts = join_all(grants.iter().map(|grant| given::insert(&*store, grant)));
    let release = async { drop(stall) };
    let (outcomes, ()) = tokio::join!(inserts, release);
    for (place, outcome) in outcomes.into_iter().enumerate() {
        let stored = GrantRepository::find(&*store, grants[place].id).await.unwrap();
        if place == 13 {
            assert!(matches!(outcome, Err(StoreError::Fault(_))), "{outcome:?}");
            assert_eq!(stored, None);
        } else {
            assert_eq!(outcome.unwrap(), Insertion::Inserted);
            assert_eq!(stored.as_ref(), Some(&grants[place]));
        }
    }
}

/// A write that finds the queue full is told so at once, and nothing of it is written.
pub async fn a_full_queue_turns_away_at_once_and_writes_nothing(fixture: &impl Fixture) {
    let limits = Limits { deadline: Duration::from_secs(30), depth: 4 };
    let store = fixture.node_with(limits).await;
    let stall = fixture.stall().await;
    let grants: Vec<Grant> = (0..64).map(|_| given::grant()).collect();
    let mut inserts: FuturesUnordered<_> =
        grants.iter().map(|grant| async { (grant.id, given::insert(&*store, grant).await) }).collect();
    let (grant, first) = inserts.next().await.unwrap();
    assert!(matches!(first, Err(StoreError::Busy)), "{first:?}");
    drop(stall);
    let mut outcomes = vec![(grant, first)];
    outcomes.extend(inserts.collect::<Vec<_>>().await);
    for (grant, outcome) in outcomes {
        let stored = GrantRepository::find(&*store, grant).await.unwrap().is_some();
        match outcome {
            Ok(insertion) => assert_eq!((insertion, stored), (Insertion::Inserted, true)),
            Err(error) => {
                assert!(matches!(error, StoreError::Busy) && !stored, "{error:?}, stored: {stored}");
            }
        }
    }
}

/// A write that cannot be committed is answered at its deadline; a retry by its attempt is a success, whether or not it
/// was written after all.
pub async fn a_write_is_answered_at_its_deadline_and_can_be_retried(fixture: &impl Fixture) {
    let impatient =
        fixture.node_with(Limits { deadline: Duration::from_millis(50), ..Limits::default() }).await;
    let patient = fixture.store();
    let (fresh, stored) = (given::grant(), given::inserted(&*patient, given::grant()).await);
    let redeem = given::redeem(stored.id, 20);
    let stall = fixture.stall().await;
    let (insertion, redemption) =
        tokio::join!(given::insert(&*impatient, &fresh), impatient.redeem_code(redeem.clone()));
    assert!(matches!(insertion, Err(StoreError::Unavailable(_))), "{insertion:?}");
    assert!(matches!(redemption, Err(StoreError::Unavailable(_))), "{redemption:?}");
    drop(stall);
    assert_eq!(given::insert(&*patient, &fresh).await.unwrap(), Insertion::Inserted);
    assert!(matches!(patient.redeem_code(redeem).await.unwrap(), Redemption::Redeemed(_)));
}
