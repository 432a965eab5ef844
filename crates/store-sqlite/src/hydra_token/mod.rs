//! Refresh tokens that a Hydra issued, on SQLite.

use async_trait::async_trait;
use rusqlite::params;
use sluice_commit::StoreError;
use sluice_oauth::takeover::{HydraNetwork, HydraToken, HydraTokenRepository, TokenGrant, TokenMac};
use sluice_primitives::{GrantId, SessionId, Timestamp};

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

const IMPORT_GRANT: &str = include_str!("import_grant.sql");
const IMPORT: &str = include_str!("import.sql");
const IS_KNOWN: &str = include_str!("is_known.sql");
const FIND: &str = include_str!("find.sql");
const PAGE: &str = include_str!("page.sql");
const IS_UNUSED: &str = include_str!("is_unused.sql");
const FORGET: &str = include_str!("forget.sql");
const IS_THERE: &str = include_str!("is_there.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

/// A token with all that needs no connection done.
struct NewToken {
    token: HydraToken,
    audience: String,
    claims: String,
}

impl NewToken {
    fn new(token: HydraToken) -> Result<Self, StoreError> {
        row::check("scope", token.grant.scope.as_str())?;
        Ok(Self {
            audience: row::encode_list("audience", token.grant.audience.as_slice())?,
            claims: row::encode_claims(&token.grant.claims)?,
            token,
        })
    }

    /// Stores the token and its grant; how many tokens were written.
    fn import(&self, write: &mut Write<'_>) -> Result<usize, SqliteError> {
        let Self { token: HydraToken { mac, grant, expires_at, network }, audience, claims } = self;
        let values = params![
            grant.id.as_bytes(),
            grant.client.as_str(),
            grant.subject.as_str(),
            grant.session.map(|session: SessionId| *session.as_bytes()),
            grant.scope.as_str(),
            audience,
            claims,
            grant.authenticated_at.as_millis(),
            grant.consented_at.as_millis(),
            grant.expires_at.as_millis(),
            grant.redeemed_at.map(Timestamp::as_millis),
            grant.rotated_at.map(Timestamp::as_millis),
            grant.attempt.as_bytes(),
        ];
        write.insert("oauth_grant", IMPORT_GRANT, values)?;
        let values = params![mac, grant.id.as_bytes(), expires_at.as_millis(), network.as_bytes()];
        write.insert("hydra_token", IMPORT, values)
    }
}

#[async_trait]
impl HydraTokenRepository for SqliteStore {
    async fn import_tokens(&self, tokens: Vec<HydraToken>) -> Result<u64, StoreError> {
        let tokens = tokens.into_iter().map(NewToken::new).collect::<Result<Vec<_>, _>>()?;
        self.write(move |write| {
            let mut written = 0;
            for token in &tokens {
                written += token.import(write)?;
            }
            Ok(row::count(written))
        })
        .await
    }

    async fn known_tokens(&self, macs: Vec<TokenMac>) -> Result<Vec<TokenMac>, StoreError> {
        self.read(move |read| {
            let mut known = Vec::new();
            for mac in &macs {
                if read.row(IS_KNOWN, [mac], |_| Ok(()))?.is_some() {
                    known.push(*mac);
                }
            }
            Ok(known)
        })
        .await
    }

    async fn find_token(&self, mac: TokenMac, now: Timestamp) -> Result<Option<TokenGrant>, StoreError> {
        self.read(move |read| {
            read.row(FIND, (mac, now.as_millis()), |row| {
                Ok(TokenGrant {
                    grant: GrantId::from_bytes(row.get(0)?),
                    client: row::parsed(row, 1)?,
                    expires_at: row::time(row, 2)?,
                })
            })
        })
        .await
    }

    async fn token_page(
        &self,
        network: HydraNetwork,
        after: Option<TokenMac>,
        limit: u32,
    ) -> Result<Vec<TokenMac>, StoreError> {
        self.read(move |read| {
            let after: &[u8] = after.as_ref().map(TokenMac::as_slice).unwrap_or_default();
            read.rows(PAGE, params![network.as_bytes(), after, limit], |row| Ok(row.get(0)?))
        })
        .await
    }

    async fn forget_tokens(&self, macs: Vec<TokenMac>) -> Result<u64, StoreError> {
        self.write(move |write| {
            let mut unused = 0;
            for mac in &macs {
                unused += usize::from(write.row(IS_UNUSED, [mac], |_| Ok(()))?.is_some());
                write.delete("hydra_token", FORGET, [mac])?;
            }
            Ok(row::count(unused))
        })
        .await
    }

    async fn purge_tokens(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(move |write| {
            if write.row(IS_THERE, [], |_| Ok(()))?.is_none() {
                return Ok(0);
            }
            Ok(row::count(write.delete("hydra_token", PURGE_EXPIRED, (now.as_millis(), limit))?))
        })
        .await
    }
}
