//! Redeeming codes: one compare-and-swap for a batch.

use std::sync::Arc;

use sluice_commit::{CommitFailure, StoreError, Writer};
use sluice_oauth::grant::{Grant, RedeemCode, Redemption, SecondTime};
use sluice_primitives::Timestamp;
use uuid::Uuid;

use super::row::storable_claims;
use super::swap::{Examined, Swap, Swapped, Values, swap};
use super::{Hot, mixed};
use crate::statistics::Kind;

const REDEEM_CODE: &str = include_str!("redeem_code.sql");
const REDEEM_CODE_WITH_CLAIMS: &str = include_str!("redeem_code_with_claims.sql");

/// A redemption, and the claims that it brings as they are stored.
pub(crate) struct Redeeming {
    redeem: RedeemCode,
    claims: Option<String>,
}

impl Redeeming {
    /// One whose claims can be stored.
    pub(crate) fn new(redeem: RedeemCode) -> Result<Self, StoreError> {
        let claims = redeem.claims.as_deref().map(storable_claims).transpose()?;
        Ok(Self { redeem, claims })
    }
}

/// Redeems batches of codes.
pub(crate) struct RedeemCodes(pub(crate) Arc<Hot>);

impl Writer for RedeemCodes {
    type Op = Redeeming;
    type Out = Result<Swapped<Redemption>, StoreError>;

    fn key(op: &Redeeming) -> u64 {
        mixed(op.redeem.grant.as_uuid())
    }

    async fn commit(&mut self, batch: &[Redeeming]) -> Result<Vec<Self::Out>, CommitFailure> {
        swap::<Redeeming>(&self.0, batch).await
    }

    async fn reconnect(&mut self) -> Result<(), sluice_commit::BoxError> {
        self.0.reconnect().await
    }
}

impl Swap for Redeeming {
    const KIND: Kind = Kind::Redemption;
    type Outcome = Redemption;

    fn statement(ops: &[&Self]) -> (&'static str, Values) {
        let uuids = |of: fn(&RedeemCode) -> Uuid| ops.iter().map(|op| of(&op.redeem)).collect::<Vec<_>>();
        let times = |of: fn(&RedeemCode) -> Timestamp| {
            ops.iter().map(|op| of(&op.redeem).as_millis()).collect::<Vec<_>>()
        };
        let mut values: Values = vec![
            Box::new(uuids(|op| op.grant.as_uuid())),
            Box::new(uuids(|op| op.attempt.as_uuid())),
            Box::new(times(|op| op.now)),
            Box::new(times(|op| op.expires_at)),
            Box::new(times(|op| op.refreshable_until)),
        ];
        if ops.iter().all(|op| op.claims.is_none()) {
            return (REDEEM_CODE, values);
        }
        values.push(Box::new(ops.iter().map(|op| op.claims.clone()).collect::<Vec<_>>()));
        (REDEEM_CODE_WITH_CLAIMS, values)
    }

    fn grant(&self) -> Uuid {
        self.redeem.grant.as_uuid()
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
        if grant.expires_at <= self.redeem.now {
            return done(Redemption::Unknown);
        }
        if revoked {
            return done(Redemption::Revoked);
        }
        grant.redeemed_at?;
        if grant.attempt == self.redeem.attempt {
            return done(Redemption::Redeemed(Box::new(grant)));
        }
        if self.redeem.second_time == SecondTime::IsRefused {
            return done(Redemption::Refused);
        }
        let marker_expires_at = self.redeem.marker_expires_at;
        Some(Swapped::Misused { by_me: Redemption::Replayed, before: Redemption::Revoked, marker_expires_at })
    }
}
