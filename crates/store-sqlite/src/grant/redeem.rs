//! Redeems codes: a compare-and-swap; whoever loses it is told why by the row itself, in the same transaction.

use sluice_oauth::grant::{RedeemCode, Redemption};

use super::{key_of, stored};
use crate::error::SqliteError;
use crate::writer::{Kind, Write};

const REDEEM_CODE: &str = include_str!("redeem_code.sql");

/// Redeems codes.
pub(crate) struct Redeem;

impl Kind for Redeem {
    type Op = RedeemCode;
    type Out = Redemption;

    fn key(op: &RedeemCode) -> u64 {
        key_of(op.grant)
    }

    fn write(write: &mut Write<'_>, op: &RedeemCode) -> Result<Redemption, SqliteError> {
        let values =
            (op.grant.as_bytes(), op.attempt.as_bytes(), op.now.as_millis(), op.expires_at.as_millis());
        match write.updated("oauth_grant", REDEEM_CODE, values, stored::grant)?.pop() {
            Some(grant) => Ok(Redemption::Redeemed(Box::new(grant))),
            None => not_redeemed(write, op),
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
    stored::punish(write, &examined.grant, (op.now, op.marker_expires_at))?;
    Ok(Redemption::Replayed)
}
