//! Indexes of a migration, made before it while nodes run: `CREATE INDEX CONCURRENTLY` waits for others and keeps nobody from writing, but is no
//! part of a transaction. The migration then finds them.
//!
//! One that was broken off stays, `INVALID`: it is kept up to date, used by nobody, and has the name. It is dropped and made anew, unless
//! somebody is just making it.

use tokio_postgres::Client;

use super::PATIENCE;
use crate::error::Failure;
use crate::retry::Tries;

/// Of tables that are there already: a migration that makes a table makes its indexes with it, and does not ask whether they exist.
const MADE_BY: &str = "CREATE INDEX IF NOT EXISTS ";
/// One at a time, until the end of the session: two that make indexes of one table would wait for each other. Who waited for it in a
/// statement would be waited for, so it is asked for again and again.
const ALONE: &str = "SELECT pg_try_advisory_lock(hashtextextended('sluice: indexes', 0))";
/// However large the table is and whoever reads in a transaction for hours: what is broken off must begin anew, and nobody waits behind it.
/// `transaction_timeout` is known from PostgreSQL 17 on.
const NO_LIMITS: &str = "SELECT set_config(name, '0', FALSE) FROM pg_settings
    WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')";
/// Whether its table holds nothing, whether the index is valid (null if it is not there), how it is called, and whether an index of the table
/// is being made; of what other roles make it is not known of which table.
const STATE: &str = "SELECT pg_relation_size(t.oid) = 0, i.indisvalid, c.oid::regclass::text, EXISTS (
        SELECT 1 FROM pg_stat_progress_create_index AS p
        WHERE p.datname = current_database() AND COALESCE(p.relid = t.oid, TRUE))
    FROM pg_class AS t
    LEFT JOIN (pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid) ON i.indrelid = t.oid AND c.relname = $2
    WHERE t.oid = to_regclass($1)";

/// An index of a migration.
#[derive(Debug)]
struct Index {
    name: String,
    table: String,
    sql: String,
}

/// What there is of it.
enum State {
    /// It is there, or will be at once: its table is empty.
    Good,
    Missing,
    /// Under this name, quoted where it must be.
    Invalid(String),
}

/// Makes the indexes of the text of a migration that are not there, of tables that hold anything. After each of them `tries` begin anew, also
/// if the next one fails.
///
/// # Errors
/// [`Failure::IndexUnderWay`] if somebody else is at it, and what the server says.
pub(super) async fn make(client: &Client, migration: &str, tries: &mut Tries) -> Result<(), Failure> {
    for index in indexes(migration) {
        if !matches!(index.state(client).await?, State::Good) {
            index.make(client).await?;
            *tries = Tries::at_the_start(PATIENCE);
            client.batch_execute(&format!("SET statement_timeout = {}", PATIENCE.as_millis())).await?;
        }
    }
    Ok(())
}

/// The indexes that a migration makes.
fn indexes(migration: &str) -> Vec<Index> {
    let lines: Vec<&str> = migration.lines().filter(|line| !line.starts_with("--")).collect();
    lines.join("\n").split(';').filter_map(Index::of).collect()
}

impl Index {
    /// The index that a statement makes; none if it does something else.
    fn of(statement: &str) -> Option<Self> {
        let index = statement.trim().strip_prefix(MADE_BY)?;
        let mut words = index.split_whitespace();
        let (name, _on, table) = (words.next()?, words.next()?, words.next()?);
        let sql = format!("CREATE INDEX CONCURRENTLY IF NOT EXISTS {index}");
        Some(Self { name: name.to_owned(), table: table.to_owned(), sql })
    }

    /// Makes it, alone. The session is left without limits.
    async fn make(&self, client: &Client) -> Result<(), Failure> {
        if !client.query_one(ALONE, &[]).await?.try_get::<_, bool>(0)? {
            return Err(Failure::IndexUnderWay);
        }
        client.batch_execute(NO_LIMITS).await?;
        // Whoever was at it until now may have made it.
        if let State::Invalid(name) = self.state(client).await? {
            client.batch_execute(&format!("DROP INDEX CONCURRENTLY {name}")).await?;
        }
        Ok(client.batch_execute(&self.sql).await?)
    }

    async fn state(&self, client: &Client) -> Result<State, Failure> {
        let Some(row) = client.query_opt(STATE, &[&self.table, &self.name]).await? else {
            return Ok(State::Good);
        };
        let (is_empty, is_under_way): (bool, bool) = (row.try_get(0)?, row.try_get(3)?);
        let (is_valid, name): (Option<bool>, Option<String>) = (row.try_get(1)?, row.try_get(2)?);
        match (is_valid, name) {
            (Some(true), _) => Ok(State::Good),
            (None, _) if is_empty => Ok(State::Good),
            _ if is_under_way => Err(Failure::IndexUnderWay),
            (Some(false), Some(name)) => Ok(State::Invalid(name)),
            _ => Ok(State::Missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MIGRATIONS;
    use super::*;

    #[test]
    fn every_index_that_may_be_there_before_is_made_before() {
        let mut names = Vec::new();
        for migration in MIGRATIONS {
            let indexes = indexes(migration.sql);
            assert_eq!(indexes.len(), migration.sql.matches(MADE_BY).count(), "{}", migration.name);
            names.extend(indexes.into_iter().map(|index| (index.table, index.name)));
        }
        let named = |table: &str, name: &str| names.contains(&(table.to_owned(), name.to_owned()));
        assert!(named("oauth_grant", "oauth_grant_time") && named("outbox", "outbox_client"), "{names:?}");
        assert!(named("revocation", "revocation_target_time"), "{names:?}");
    }

    /// The first three make tables, or change those that were empty then.
    #[test]
    fn migrations_of_tables_that_are_in_use_make_no_index_otherwise() {
        for migration in MIGRATIONS.iter().filter(|migration| migration.version > 3) {
            let all = migration.sql.matches("CREATE INDEX").count() + migration.sql.matches("UNIQUE").count();
            assert_eq!(indexes(migration.sql).len(), all, "{}", migration.name);
        }
    }

    #[test]
    fn an_index_is_made_as_its_migration_has_it() {
        let migration =
            "-- One; of two.\nDROP INDEX b;\n\nCREATE INDEX IF NOT EXISTS a ON t (x)\n    WHERE y;\n";
        let made: Vec<_> = indexes(migration).into_iter().map(|index| index.sql).collect();
        assert_eq!(made, ["CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON t (x)\n    WHERE y"]);
    }
}
