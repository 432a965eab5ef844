//! Redeems codes: a compare-and-swap; whoever loses it is told why by the row itself, in the same transaction.

use sluice_commit::StoreError;
use sluice_oauth::grant::{RedeemCode, Redemption, SecondTime};

use super::{key_of, stored};
use crate::error::SqliteError;
use crate::row;
use crate::writer::{Kind, Write};

const REDEEM_CODE: &str = include_str!("redeem_code.sql");
const REDEEM_CODE_WITH_CLAIMS: &str = include_str!("redeem_code_with_claims.sql");

/// A redemption, and the claims that it brings as they are stored.
pub(crate) struct Redeeming {
    redeem: RedeemCode,
    claims: Option<String>,
}

impl Redeeming {
    pub(super) fn new(redeem: RedeemCode) -> Result<Self, StoreError> {
        let claims = redeem.claims.as_deref().map(row::encode_claims).transpose()?;
        Ok(Self { redeem, claims })
    }
}

/// Redeems codes.
pub(crate) struct Redeem;

impl Kind for Redeem {
    type Op = Redeeming;
    type Out = Redemption;

    fn key(op: &Redeeming) -> u64 {
        key_of(op.redeem.grant)
    }

    fn write(write: &mut Write<'_>, op: &Redeeming) -> Result<Redemption, SqliteError> {
        let Redeeming { redeem, claims } = op;
        let (grant, attempt) = (redeem.grant.as_bytes(), redeem.attempt.as_bytes());
        let (now, expires_at) = (redeem.now.as_millis(), redeem.expires_at.as_millis());
        let refreshable_until = redeem.refreshable_until.as_millis();
        let mut redeemed = match claims {
            None => {
                let values = (grant, attempt, now, expires_at, refreshable_until);
                write.updated("oauth_grant", REDEEM_CODE, values, stored::grant)?
            }
            Some(claims) => {
                let values = (grant, attempt, now, expires_at, refreshable_until, claims);
                write.updated("oauth_grant", REDEEM_CODE_WITH_CLAIMS, values, stored::grant)?
            }
        };
        match redeemed.pop() {
            Some(grant) => Ok(Redemption::Redeemed(Box::new(grant))),
            None => not_redeemed(write, redeem),
        }
    }
}

fn not_redeemed(write: &mut Write<'_>, op: &RedeemCode) -> Result<Redemption, SqliteError> {
    let Some(examined) = stored::examine(write, op.grant, op.now)? else { return Ok(Redemption::Unknown) };
    if examined.is_revoked {
        return Ok(Redemption::Revoked);
    }
    if examined.grant.attempt == op.attempt {
        return Ok(Redemption::Redeemed(Box::new(examined.grant)));
    }
    if op.second_time == SecondTime::IsRefused {
        return Ok(Redemption::Refused);
    }
    stored::punish(write, &examined.grant, (op.now, op.marker_expires_at))?;
    Ok(Redemption::Replayed)
}
