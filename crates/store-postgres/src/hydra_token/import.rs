//! Importing tokens, each with its grant: one statement for all that come together.

use sluice_commit::StoreError;
use sluice_oauth::grant::Grant;
use sluice_oauth::takeover::HydraToken;
use sluice_primitives::{SessionId, Timestamp};
use uuid::Uuid;

use crate::PostgresStore;
use crate::grant::row::storable_claims;
use crate::storable;

const IMPORT: &str = include_str!("import.sql");

/// Stores them; how many tokens were not there.
pub(super) async fn import(store: &PostgresStore, tokens: &[HydraToken]) -> Result<u64, StoreError> {
    let (mut audiences, mut claims) = (Vec::with_capacity(tokens.len()), Vec::with_capacity(tokens.len()));
    for HydraToken { grant, .. } in tokens {
        let audience = storable::list(grant.audience.as_slice());
        storable::text("the scope of a grant", grant.scope.as_str())?;
        storable::each("the audience of a grant", grant.audience.as_slice())?;
        storable::text("the audience of a grant", &audience)?;
        storable::texts(&[("the name of a subject", grant.claims.shown_subject.as_deref())])?;
        audiences.push(audience);
        claims.push(storable_claims(&grant.claims)?);
    }
    let texts = |of: fn(&Grant) -> &str| tokens.iter().map(|token| of(&token.grant)).collect::<Vec<_>>();
    let times = |of: fn(&HydraToken) -> Timestamp| -> Vec<i64> {
        tokens.iter().map(|token| of(token).as_millis()).collect()
    };
    let maybe = |of: fn(&Grant) -> Option<Timestamp>| -> Vec<Option<i64>> {
        tokens.iter().map(|token| of(&token.grant).map(Timestamp::as_millis)).collect()
    };
    let macs: Vec<&[u8]> = tokens.iter().map(|token| token.mac.as_slice()).collect();
    let ids: Vec<Uuid> = tokens.iter().map(|token| token.grant.id.as_uuid()).collect();
    let sessions: Vec<Option<Uuid>> =
        tokens.iter().map(|token| token.grant.session.map(SessionId::as_uuid)).collect();
    let attempts: Vec<Uuid> = tokens.iter().map(|token| token.grant.attempt.as_uuid()).collect();
    let clients = texts(|grant| grant.client.as_str());
    let subjects = texts(|grant| grant.subject.as_str());
    let scopes = texts(|grant| grant.scope.as_str());
    let authenticated = times(|token| token.grant.authenticated_at);
    let consented = times(|token| token.grant.consented_at);
    let grants_end = times(|token| token.grant.expires_at);
    let tokens_end = times(|token| token.expires_at);
    let networks: Vec<Uuid> = tokens.iter().map(|token| token.network.as_uuid()).collect();
    let redeemed = maybe(|grant| grant.redeemed_at);
    let rotated = maybe(|grant| grant.rotated_at);
    let imported = store
        .write(
            IMPORT,
            &[
                &macs,
                &ids,
                &clients,
                &subjects,
                &sessions,
                &scopes,
                &audiences,
                &claims,
                &authenticated,
                &consented,
                &grants_end,
                &redeemed,
                &rotated,
                &attempts,
                &tokens_end,
                &networks,
            ],
        )
        .await?;
    Ok(imported.len() as u64)
}
