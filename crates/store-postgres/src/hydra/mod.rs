//! The database of an Ory Hydra 2.x, for who takes over what is in it: one connection, which only reads.

use std::time::Duration;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::takeover::{HydraDatabase, HydraNetwork, HydraRow, HydraTable, Part};
use thiserror::Error;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::connection::{Params, Session, is_yes};
use crate::dsn::{Address, InvalidDsn};
use crate::error::{Failure, column};
use crate::store::dialer;

const NETWORK: &str = include_str!("network.sql");
const IS_VERSION_1: &str = include_str!("is_version_1.sql");
const IS_STANDBY: &str = include_str!("is_standby.sql");
const CLIENTS: &str = include_str!("clients.sql");
const ISSUERS: &str = include_str!("issuers.sql");
const SIGNING_KEYS: &str = include_str!("signing_keys.sql");
const CONSENTS: &str = include_str!("consents.sql");
const OTHER_KEY_SETS: &str = include_str!("other_key_sets.sql");
const CLIENTS_THERE: &str = include_str!("clients_there.sql");
const ISSUERS_THERE: &str = include_str!("issuers_there.sql");
const SIGNING_KEYS_THERE: &str = include_str!("signing_keys_there.sql");
const CONSENTS_THERE: &str = include_str!("consents_there.sql");
const LIVING: &str = include_str!("living.sql");
const LIVING_TOKENS: &str = include_str!("living_tokens.sql");
const TOKEN_PAGE: &str = include_str!("token_page.sql");
const REFRESH_TOKENS: &str = include_str!("refresh_tokens.sql");
/// The server itself refuses whatever would write, and to leave out rows that the role may not see: those would be taken for deleted. Pages come
/// by their key, whatever the statistics say, and are not worth compiling. Said as the connection is opened: what is set on it by a statement stays,
/// and a pooler that gives it to Hydra after each transaction would have that write nothing any more. A server that does not know one of the names lets
/// nobody in: those from PostgreSQL 11 on know these.
const READ_ONLY_AND_WHOLE: &str = "-c default_transaction_read_only=on -c row_security=off -c enable_sort=off -c enable_seqscan=off \
     -c jit=off";
/// Whether that was heard. No statement is prepared for it: it would stay, too.
const IS_READ_ONLY: &str = "SELECT current_setting('default_transaction_read_only') = 'on' AND current_setting('row_security') = 'off'";
/// How long a page may take: the first one of a large table that has no fitting index may take minutes.
const PATIENCE: Duration = Duration::from_mins(10);

/// The database has no tables of a Hydra, or those of a version before 2.0.
#[derive(Debug, Error)]
#[error("this is not the database of an Ory Hydra 2.x: {0}")]
struct NotHydra(Failure);

/// The database is of an earlier version, which knew of no networks.
#[derive(Debug, Error)]
#[error(
    "this is the database of an Ory Hydra 1.x: let one of version 2 migrate a copy of it before (`hydra migrate sql`)"
)]
struct Version1;

/// What stands between passes over what is said as a connection is opened.
#[derive(Debug, Error)]
#[error("what is set for a connection does not reach the server, as behind a pooler: name the server itself")]
struct Unheard;

/// A connection to the database of a Hydra.
pub struct HydraReader {
    session: Session,
}

impl HydraReader {
    /// Connects to the database of a DSN, as Hydra has it.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a DSN that cannot be read; what the server says.
    pub async fn connect(dsn: &str) -> Result<Self, StoreError> {
        let unusable = |cause: InvalidDsn| StoreError::Invalid(format!("the DSN {cause}"));
        let address: Address = dsn.parse().map_err(unusable)?;
        let settings = format!("{READ_ONLY_AND_WHOLE} -c statement_timeout={}", PATIENCE.as_millis());
        let dialer = dialer(&address.into_guest(&settings), PATIENCE)?;
        let session = dialer.dial(None).await.map_err(Failure::into_store_error)?;
        let heard = session.client().simple_query(IS_READ_ONLY).await.map_err(Failure::from);
        if is_yes(&heard.map_err(Failure::into_store_error)?) {
            Ok(Self { session })
        } else {
            Err(StoreError::refused(Unheard))
        }
    }

    async fn is_version_1(&self) -> Result<bool, StoreError> {
        let rows = self.ask(IS_VERSION_1, &[]).await?;
        Ok(rows.first().map(|row| column::<bool>(row, 0)).transpose()?.unwrap_or_default())
    }

    async fn ask(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.session.query(sql, params).await.map_err(|failure| {
            if failure.is_unknown_table() || failure.is_unknown_column() {
                StoreError::refused(NotHydra(failure))
            } else {
                failure.into_store_error()
            }
        })
    }
}

#[async_trait]
impl HydraDatabase for HydraReader {
    async fn network(&self) -> Result<Option<HydraNetwork>, StoreError> {
        if self.is_version_1().await? {
            return Err(StoreError::refused(Version1));
        }
        let rows = self.ask(NETWORK, &[]).await?;
        let id = rows.first().map(|row| column::<Uuid>(row, 0)).transpose()?;
        Ok(id.map(HydraNetwork::from_uuid))
    }

    async fn is_standby(&self) -> Result<bool, StoreError> {
        let rows = self.ask(IS_STANDBY, &[]).await?;
        Ok(rows.first().map(|row| column::<bool>(row, 0)).transpose()?.unwrap_or_default())
    }

    async fn page(&self, table: HydraTable, after: &str, limit: u32) -> Result<Vec<HydraRow>, StoreError> {
        let sql = match table {
            HydraTable::Clients => CLIENTS,
            HydraTable::Issuers => ISSUERS,
            HydraTable::SigningKeys => SIGNING_KEYS,
            HydraTable::Consents => CONSENTS,
        };
        rows_of(&self.ask(sql, &[&after, &i64::from(limit)]).await?)
    }

    async fn there(&self, part: Part, ids: Vec<String>) -> Result<Vec<String>, StoreError> {
        let sql = match part {
            Part::SigningKeys => SIGNING_KEYS_THERE,
            Part::Clients => CLIENTS_THERE,
            Part::Issuers => ISSUERS_THERE,
            Part::Consents => CONSENTS_THERE,
            Part::Tokens => LIVING,
        };
        texts_of(&self.ask(sql, &[&ids]).await?)
    }

    async fn other_key_sets(&self, after: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        texts_of(&self.ask(OTHER_KEY_SETS, &[&after, &i64::from(limit)]).await?)
    }

    async fn living_tokens(&self) -> Result<u64, StoreError> {
        let rows = self.ask(LIVING_TOKENS, &[]).await?;
        let Some(row) = rows.first() else { return Ok(0) };
        Ok(u64::try_from(column::<i64>(row, 0)?).unwrap_or_default())
    }

    async fn token_page(&self, after: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        texts_of(&self.ask(TOKEN_PAGE, &[&after, &i64::from(limit)]).await?)
    }

    async fn tokens(&self, signatures: Vec<String>) -> Result<Vec<HydraRow>, StoreError> {
        rows_of(&self.ask(REFRESH_TOKENS, &[&signatures]).await?)
    }
}

/// Rows that have a key and their columns.
fn rows_of(rows: &[Row]) -> Result<Vec<HydraRow>, StoreError> {
    let read = |row: &Row| -> Result<HydraRow, StoreError> {
        Ok(HydraRow { key: column(row, 0)?, columns: column(row, 1)? })
    };
    rows.iter().map(read).collect()
}

/// The texts of rows that have nothing else.
fn texts_of(rows: &[Row]) -> Result<Vec<String>, StoreError> {
    let read = |row: &Row| -> Result<String, StoreError> { Ok(column(row, 0)?) };
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgresql_11_knows_what_is_said_as_the_connection_is_opened() {
        let known = ["default_transaction_read_only", "row_security", "enable_sort", "enable_seqscan", "jit"];
        let said = READ_ONLY_AND_WHOLE.split("-c ").filter_map(|setting| setting.split_once('='));
        assert_eq!(said.map(|(name, _)| name).collect::<Vec<_>>(), known);
    }
}
