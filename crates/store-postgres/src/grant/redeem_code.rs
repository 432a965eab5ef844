//! Redeeming codes: one compare-and-swap for a batch.

use std::sync::Arc;

use sluice_commit::{CommitFailure, StoreError, Writer};
use sluice_oauth::grant::{Grant, RedeemCode, Redemption};
use sluice_primitives::Timestamp;
use uuid::Uuid;

use super::swap::{Examined, Swap, Swapped, Values, swap};
use super::{Hot, mixed};
use crate::statistics::Kind;

const REDEEM_CODE: &str = include_str!("redeem_code.sql");

/// Redeems batches of codes.
pub(crate) struct RedeemCodes(pub(crate) Arc<Hot>);

impl Writer for RedeemCodes {
    type Op = RedeemCode;
    type Out = Result<Swapped<Redemption>, StoreError>;

    fn key(op: &RedeemCode) -> u64 {
        mixed(op.grant.as_uuid())
    }

    async fn commit(&mut self, batch: &[RedeemCode]) -> Result<Vec<Self::Out>, CommitFailure> {
        swap::<RedeemCode>(&self.0, batch).await
    }

    async fn reconnect(&mut self) -> Result<(), sluice_commit::BoxError> {
        self.0.reconnect().await
    }
}

impl Swap for RedeemCode {
    const KIND: Kind = Kind::Redemption;
    type Outcome = Redemption;

    fn statement(ops: &[&Self]) -> (&'static str, Values) {
        let uuids = |of: fn(&Self) -> Uuid| ops.iter().map(|op| of(op)).collect::<Vec<_>>();
        let times = |of: fn(&Self) -> Timestamp| ops.iter().map(|op| of(op).as_millis()).collect::<Vec<_>>();
        let values: Values = vec![
            Box::new(uuids(|op| op.grant.as_uuid())),
            Box::new(uuids(|op| op.attempt.as_uuid())),
            Box::new(times(|op| op.now)),
            Box::new(times(|op| op.expires_at)),
        ];
        (REDEEM_CODE, values)
    }

    fn grant(&self) -> Uuid {
        self.grant.as_uuid()
    }

    fn swapped(grant: Box<Grant>) -> Redemption {
        Redemption::Redeemed(grant)
    }

    fn unknown() -> Redemption {
        Redemption::Unknown
    }

    fn examine(&self, examined: Examined) -> Option<Swapped<Redemption>> {
        let Examined { grant, covered, .. } = examined;
        let revoked = covered || grant.revoked_at.is_some();
        let done = |outcome| Some(Swapped::Done(outcome));
        if grant.expires_at <= self.now {
            return done(Redemption::Unknown);
        }
        if revoked {
            return done(Redemption::Revoked);
        }
        grant.redeemed_at?;
        if grant.attempt == self.attempt {
            return done(Redemption::Redeemed(Box::new(grant)));
        }
        let marker_expires_at = self.marker_expires_at;
        Some(Swapped::Misused { by_me: Redemption::Replayed, before: Redemption::Revoked, marker_expires_at })
    }
}
