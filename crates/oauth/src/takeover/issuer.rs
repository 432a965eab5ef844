//! A trusted issuer of assertions (RFC 7523), with its key, which Hydra seals.

use serde::Deserialize;
use sluice_crypto::hydra::HydraSecrets;
use sluice_crypto::jwk::Jwk;
use sluice_primitives::Timestamp;

use super::columns::{read, time};
use super::source::HydraRow;
use crate::trust::{NewTrust, TrustId, TrustedIssuer, checked};

/// The columns that are looked at, by their names.
#[derive(Deserialize)]
struct Columns {
    id: String,
    issuer: String,
    subject: String,
    #[serde(default)]
    allow_any_subject: bool,
    scope: String,
    expires_at: String,
    keydata: Option<String>,
}

/// The issuer of a row, trusted here from `now` on; its id stays. None if the trust has ended.
///
/// # Errors
/// A sentence that says what stands in its way.
pub(super) fn issuer(
    row: &HydraRow,
    secrets: &HydraSecrets,
    now: Timestamp,
) -> Result<Option<TrustedIssuer>, String> {
    let columns: Columns = read(row)?;
    let expires_at = time(&columns.expires_at).ok_or_else(|| "its end cannot be read".to_owned())?;
    if expires_at.floor_to_secs() <= now {
        return Ok(None);
    }
    let id: TrustId = columns.id.parse().map_err(|_| "its id is no UUID".to_owned())?;
    let sealed = columns.keydata.ok_or_else(|| "its key is not there".to_owned())?;
    let key = secrets.open(&sealed).ok_or_else(|| "its key does not open with these secrets".to_owned())?;
    let jwk: Jwk = serde_json::from_slice(&key).map_err(|_| "its key cannot be read".to_owned())?;
    let asked = NewTrust {
        issuer: columns.issuer,
        subject: columns.subject,
        allow_any_subject: columns.allow_any_subject,
        scope: columns.scope.split('|').filter(|value| !value.is_empty()).map(str::to_owned).collect(),
        jwk,
        expires_at: Some(expires_at),
    };
    checked(asked, now, id).map(Some).map_err(|why| why.to_string())
}
