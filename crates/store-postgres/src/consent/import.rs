//! Decisions that were made elsewhere: one statement for all that come together.

use sluice_commit::StoreError;
use sluice_oauth::consent::RememberedConsent;

use crate::PostgresStore;
use crate::grant::row::claims_text;
use crate::storable;

const IMPORT: &str = include_str!("import.sql");

/// Remembers them; how many were written.
pub(super) async fn import(
    store: &PostgresStore,
    decisions: &[RememberedConsent],
) -> Result<u64, StoreError> {
    let audiences: Vec<String> =
        decisions.iter().map(|made| storable::list(made.audience.as_slice())).collect();
    let claims: Vec<String> = decisions.iter().map(|made| claims_text(&made.claims)).collect();
    for ((decision, audience), claims) in decisions.iter().zip(&audiences).zip(&claims) {
        storable::text("the scope of a decision", decision.scope.as_str())?;
        storable::each("the audience of a decision", decision.audience.as_slice())?;
        storable::text("the audience of a decision", audience)?;
        storable::text("the claims of a decision", claims)?;
    }
    let texts = |of: fn(&RememberedConsent) -> &str| decisions.iter().map(of).collect::<Vec<_>>();
    let subjects = texts(|made| made.subject.as_str());
    let clients = texts(|made| made.client.as_str());
    let scopes = texts(|made| made.scope.as_str());
    let decided: Vec<i64> = decisions.iter().map(|made| made.decided_at.as_millis()).collect();
    let ends: Vec<i64> = decisions.iter().map(|made| made.expires_at.as_millis()).collect();
    let written =
        store.write(IMPORT, &[&subjects, &clients, &scopes, &audiences, &claims, &decided, &ends]).await?;
    Ok(written.len() as u64)
}
