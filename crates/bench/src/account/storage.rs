//! What a database holds: rows, and bytes on disk.

use std::fs;
use std::path::Path;

use super::postgres::{Postgres, own};
use super::{AccountError, Accountant};

const BYTES: &str = own!(
    "SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c \
     JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'"
);
const TABLES: &str = own!(
    "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class AS c \
     JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'"
);

/// What a database holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Storage {
    /// Rows of all tables, counted; `None` for SQLite, whose file the server has locked for itself.
    pub rows: Option<u64>,
    /// Tables with their indexes, or the files of SQLite.
    pub bytes: Option<u64>,
}

impl Storage {
    /// Of a target's database. `dsn` as the server has it.
    ///
    /// # Errors
    /// [`AccountError`] if PostgreSQL cannot be asked.
    pub async fn of(accountant: &Accountant, dsn: Option<&str>) -> Result<Self, AccountError> {
        match (accountant.postgres(), dsn.and_then(|dsn| dsn.strip_prefix("sqlite:"))) {
            (Some(postgres), _) => Self::of_postgres(postgres).await,
            (None, Some(file)) => {
                Ok(Self { rows: None, bytes: Some(of_file(Path::new(file.trim_start_matches("//")))) })
            }
            (None, None) => Ok(Self::default()),
        }
    }

    async fn of_postgres(postgres: &Postgres) -> Result<Self, AccountError> {
        let link = postgres.link();
        let client = link.client();
        let bytes: i64 = client.query_one(BYTES, &[]).await?.get(0);
        let mut rows = 0;
        for table in client.query(TABLES, &[]).await? {
            let table: &str = table.get(0);
            let count = format!("/* sluice bench */ SELECT count(*) FROM {table}");
            rows += client.query_one(&count, &[]).await?.get::<_, i64>(0).unsigned_abs();
        }
        Ok(Self { rows: Some(rows), bytes: Some(bytes.unsigned_abs()) })
    }
}

/// With its log and what belongs to that.
fn of_file(file: &Path) -> u64 {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let files = ["", "-wal", "-shm"].map(|end| file.with_file_name(format!("{name}{end}")));
    files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_sqlite_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sluice.db");
        fs::write(&file, [0; 100]).unwrap();
        fs::write(folder.path().join("sluice.db-wal"), [0; 20]).unwrap();
        assert_eq!(of_file(&file), 120);
    }
}
