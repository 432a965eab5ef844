//! Rotating refresh tokens: one compare-and-swap for a batch; the table of [`Rotation`].

use std::cmp::Ordering;
use std::sync::Arc;

use sluice_commit::{CommitFailure, StoreError, Writer};
use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use sluice_oauth::grant::{Grant, RotateRefresh, Rotation};
use sluice_primitives::Timestamp;
use uuid::Uuid;

use super::row::storable_claims;
use super::swap::{Examined, Swap, Swapped, Values, swap};
use super::{Hot, mixed};
use crate::statistics::Kind;

const ROTATE_REFRESH: &str = include_str!("rotate_refresh.sql");
const ROTATE_REFRESH_WITH_CLAIMS: &str = include_str!("rotate_refresh_with_claims.sql");

/// A rotation, and the claims that it brings as they are stored.
pub(crate) struct Rotating {
    rotate: RotateRefresh,
    claims: Option<String>,
}

impl Rotating {
    /// One whose claims can be stored.
    pub(crate) fn new(rotate: RotateRefresh) -> Result<Self, StoreError> {
        let claims = rotate.claims.as_deref().map(storable_claims).transpose()?;
        Ok(Self { rotate, claims })
    }
}

/// Rotates batches of refresh tokens.
pub(crate) struct RotateRefreshes(pub(crate) Arc<Hot>);

impl Writer for RotateRefreshes {
    type Op = Rotating;
    type Out = Result<Swapped<Rotation>, StoreError>;

    fn key(op: &Rotating) -> u64 {
        mixed(op.rotate.grant.as_uuid())
    }

    async fn commit(&mut self, batch: &[Rotating]) -> Result<Vec<Self::Out>, CommitFailure> {
        swap::<Rotating>(&self.0, batch).await
    }

    async fn reconnect(&mut self) -> Result<(), sluice_commit::BoxError> {
        self.0.reconnect().await
    }
}

impl Swap for Rotating {
    const KIND: Kind = Kind::Rotation;
    type Outcome = Rotation;

    fn statement(ops: &[&Self]) -> (&'static str, Values) {
        let uuids = |of: fn(&RotateRefresh) -> Uuid| ops.iter().map(|op| of(&op.rotate)).collect::<Vec<_>>();
        let times = |of: fn(&RotateRefresh) -> Timestamp| {
            ops.iter().map(|op| of(&op.rotate).as_millis()).collect::<Vec<_>>()
        };
        let presented: Vec<i64> = ops.iter().map(|op| i64::from(op.rotate.presented.0)).collect();
        let mut values: Values = vec![
            Box::new(uuids(|op| op.grant.as_uuid())),
            Box::new(uuids(|op| op.attempt.as_uuid())),
            Box::new(presented),
            Box::new(uuids(|op| Uuid::from_bytes(op.request))),
            Box::new(times(|op| op.now)),
            Box::new(times(|op| op.expires_at)),
            Box::new(LONGEST_ACCESS_TOKEN.as_millis()),
        ];
        if ops.iter().all(|op| op.claims.is_none()) {
            return (ROTATE_REFRESH, values);
        }
        values.push(Box::new(ops.iter().map(|op| op.claims.clone()).collect::<Vec<_>>()));
        (ROTATE_REFRESH_WITH_CLAIMS, values)
    }

    fn grant(&self) -> Uuid {
        self.rotate.grant.as_uuid()
    }

    fn swapped(grant: Box<Grant>) -> Rotation {
        Rotation::Rotated(grant)
    }

    fn unknown() -> Rotation {
        Rotation::Unknown
    }

    fn examine(&self, examined: Examined) -> Option<Swapped<Rotation>> {
        let Examined { grant, request, covered } = examined;
        let rotate = &self.rotate;
        let done = |outcome| Some(Swapped::Done(outcome));
        if grant.expires_at <= rotate.now {
            return done(Rotation::Unknown);
        }
        if covered || grant.revoked_at.is_some() {
            return done(Rotation::Revoked);
        }
        let Some(rotated_at) = grant.rotated_at else { return done(Rotation::Unknown) };
        let behind = match rotate.presented.cmp(&grant.generation) {
            Ordering::Greater => return done(Rotation::Unknown),
            Ordering::Equal => return None,
            Ordering::Less => grant.generation.0 - rotate.presented.0,
        };
        if behind == 1 && grant.attempt == rotate.attempt {
            return done(Rotation::Rotated(Box::new(grant)));
        }
        let same = request == Some(Uuid::from_bytes(rotate.request));
        let in_window = rotate.now.since(rotated_at) < rotate.window;
        match behind {
            1 if in_window && same => done(Rotation::Repeated(Box::new(grant))),
            1 | 2 if in_window => done(Rotation::Stale),
            _ => {
                let marker_expires_at = rotate.marker_expires_at;
                Some(Swapped::Misused {
                    by_me: Rotation::Reused,
                    before: Rotation::Revoked,
                    marker_expires_at,
                })
            }
        }
    }
}
