//! Rows by the million: those that the server made by its API are cloned with other ids and names. This is the only place where the
//! benchmark knows tables, and only some columns of them: the others are copied whatever they are called.

use sluice_private_postgres::disk;

use crate::account::{AccountError, Postgres};
use crate::driver::{Agent, Ask, Failure, Origin};
use crate::error::BenchError;
use crate::target::Target;

/// An id whose order is that of the time (RFC 9562 section 5.7), as the server's own, of a time between `$2` and `$2` + `$3` seconds ago.
const ORDERED_ID: &str = "(lpad(to_hex(((extract(epoch FROM clock_timestamp()) - $2::double precision \
                          - random() * $3::double precision) * 1000)::bigint), 12, '0') || '7' \
                          || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid";
const NOW: &str = "/* sluice bench */ SELECT lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') \
                   || '70008000000000000000'";
const COLUMNS: &str = "/* sluice bench */ SELECT quote_ident(column_name) FROM information_schema.columns \
                       WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position";
/// A grant and a person take so many bytes with indexes and what is left free in their pages, and the log beside them.
const BYTES_EACH: u64 = 2_000;

/// A table, and what differs from row to row: `made` has `id`, `other` (another id), `name` (32 bytes), `number`.
struct Table {
    name: &'static str,
    differs: &'static [(&'static str, &'static str)],
}

const GRANT: Table = Table {
    name: "oauth_grant",
    differs: &[
        ("grant_id", "made.id"),
        ("attempt", "made.other"),
        ("subject", "'person-' || made.number::text"),
        // A row grows after it was inserted, into room that is left for it. One that was inserted as long as it gets would
        // leave holes of its size all over the table, for every later login to be put into another page.
        ("redeemed_at", "NULL"),
        ("rotated_at", "NULL"),
    ],
};
/// Hardened, as most are.
const IDENTITY: Table = Table {
    name: "identity",
    differs: &[
        ("identity_id", "made.id"),
        ("attempt", "made.other"),
        ("login_name", "made.name"),
        ("email", "'bulk-' || made.number::text || '@bulk.example'"),
        ("hardening_due", "NULL"),
    ],
};
const LOGIN_NAME: Table =
    Table { name: "login_name", differs: &[("identity_id", "made.id"), ("name_hash", "made.name")] };

/// Over so long a time, in seconds, all that is loaded was made: a grant lives for weeks.
const AGE: f64 = 30.0 * 24.0 * 3600.0;

/// A part of the time over which rows were made: the `slice`-th of `slices`, the latest being the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) slice: u32,
    pub(super) slices: u32,
}

impl Slice {
    /// How long ago it ended, and how long it was, in seconds.
    fn seconds(self) -> (f64, f64) {
        let length = AGE / f64::from(self.slices);
        (length * f64::from(self.slices.saturating_sub(self.slice + 1)), length)
    }
}

/// What loads.
pub(super) struct Bulk<'a> {
    postgres: &'a Postgres,
    /// The statements, once there is a row of each table to clone.
    statements: Option<[String; 2]>,
}

/// Grants that were made by logins, on their way to places among those that are loaded.
const SET_ASIDE: &str = "sluice_bench_set_aside";

impl<'a> Bulk<'a> {
    pub(super) const fn new(postgres: &'a Postgres) -> Self {
        Self { postgres, statements: None }
    }

    /// Where the database's time is, as an id that is smaller than those of all grants to be made.
    pub(super) async fn now(&self) -> Result<String, BenchError> {
        let row = self.postgres.link().client().query_one(NOW, &[]).await.map_err(AccountError::from)?;
        Ok(row.get(0))
    }

    /// Takes the grants made from `since` on ([`now`](Self::now)) out of the table, for [`load`](Self::load) to put them back among the
    /// clones, an equal part with each of so many slices. They had lain side by side.
    pub(super) async fn set_aside(&self, since: &str, slices: u32) -> Result<(), BenchError> {
        let grants = GRANT.name;
        let steps = format!(
            "/* sluice bench */ CREATE TEMPORARY TABLE {SET_ASIDE} AS \
             SELECT *, ntile({slices}) OVER (ORDER BY random()) - 1 AS slice FROM {grants} WHERE grant_id >= '{since}'::uuid; \
             DELETE FROM {grants} WHERE grant_id >= '{since}'::uuid"
        );
        let link = self.postgres.link();
        let client = link.client();
        client.batch_execute(&steps).await.map_err(AccountError::from)?;
        // What they leave is filled by the first clones.
        client
            .batch_execute(&format!("/* sluice bench */ VACUUM {grants}"))
            .await
            .map_err(AccountError::from)?;
        Ok(())
    }

    /// After the last slice.
    pub(super) async fn all_are_back(&self) -> Result<(), BenchError> {
        let drop = format!("/* sluice bench */ DROP TABLE {SET_ASIDE}");
        Ok(self.postgres.link().client().batch_execute(&drop).await.map_err(AccountError::from)?)
    }

    /// So many grants and people more, made in this part of the time.
    pub(super) async fn load(&mut self, target: &Target, rows: u64, slice: Slice) -> Result<(), BenchError> {
        let (rows, link) = (i64::try_from(rows).unwrap_or(i64::MAX), self.postgres.link());
        let client = link.client();
        let (ago, length) = slice.seconds();
        let number = i32::try_from(slice.slice).unwrap_or(i32::MAX);
        let [grants, people] = self.statements(target).await?;
        client.execute(grants, &[&rows, &ago, &length, &number]).await.map_err(AccountError::from)?;
        client.execute(people, &[&rows, &ago, &length]).await.map_err(AccountError::from)?;
        Ok(())
    }

    async fn statements(&mut self, target: &Target) -> Result<&[String; 2], BenchError> {
        if self.statements.is_none() {
            somebody(target).await?;
            let columns = self.columns(&GRANT).await?;
            let grants = format!("{} {}", made(), among_clones(&GRANT, &columns).map_err(Failure::Setup)?);
            let (person, name) = (self.insert(&IDENTITY).await?, self.insert(&LOGIN_NAME).await?);
            let people = format!("{}, person AS ({person}) {name}", made());
            self.statements = Some([grants, people]);
        }
        self.statements.as_ref().ok_or_else(|| Failure::Setup("nothing to load".to_owned()).into())
    }

    /// An insert of clones of the table's first row.
    async fn insert(&self, table: &Table) -> Result<String, BenchError> {
        Ok(insert(table, &self.columns(table).await?).map_err(Failure::Setup)?)
    }

    async fn columns(&self, table: &Table) -> Result<Vec<String>, BenchError> {
        let rows =
            self.postgres.link().client().query(COLUMNS, &[&table.name]).await.map_err(AccountError::from)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// What autovacuum would do sooner or later is done now, and not while something is measured.
    pub(super) async fn tidy(&self) -> Result<(), BenchError> {
        for Table { name, .. } in [GRANT, IDENTITY, LOGIN_NAME] {
            let vacuum = format!("/* sluice bench */ VACUUM (ANALYZE) {name}");
            self.postgres.link().client().batch_execute(&vacuum).await.map_err(AccountError::from)?;
        }
        Ok(())
    }
}

fn made() -> String {
    format!(
        "/* sluice bench */ WITH drawn AS MATERIALIZED (SELECT {ORDERED_ID} AS id, gen_random_uuid() AS other, \
         (random() * 1e7)::bigint AS number FROM generate_series(1, $1::bigint)), \
         made AS (SELECT *, sha256(uuid_send(other)) AS name FROM drawn)"
    )
}

fn insert(table: &Table, columns: &[String]) -> Result<String, String> {
    let (name, values) = (table.name, values(table, columns)?.join(", "));
    let columns = columns.join(", ");
    Ok(format!(
        "INSERT INTO {name} ({columns}) SELECT {values} FROM made CROSS JOIN (SELECT * FROM {name} LIMIT 1) AS template"
    ))
}

/// Clones of one that was set aside and those of slice `$4` themselves, shuffled.
fn among_clones(table: &Table, columns: &[String]) -> Result<String, String> {
    let (name, values) = (table.name, values(table, columns)?);
    let named: Vec<_> =
        values.iter().zip(columns).map(|(value, column)| format!("{value} AS {column}")).collect();
    let (named, columns) = (named.join(", "), columns.join(", "));
    Ok(format!(
        "INSERT INTO {name} ({columns}) SELECT {columns} FROM (SELECT {named}, random() AS place FROM made \
         CROSS JOIN (SELECT * FROM {SET_ASIDE} LIMIT 1) AS template \
         UNION ALL SELECT {columns}, random() FROM {SET_ASIDE} WHERE slice = $4::integer) AS placed ORDER BY place"
    ))
}

/// What a clone has in each column.
fn values(table: &Table, columns: &[String]) -> Result<Vec<String>, String> {
    let Table { name, differs } = table;
    if let Some((missing, _)) =
        differs.iter().find(|(column, _)| !columns.iter().any(|known| known == column))
    {
        return Err(format!(
            "this database has no column {missing} in a table {name}: rows cannot be cloned"
        ));
    }
    let value = |column: &String| match differs.iter().find(|(known, _)| known == column) {
        Some((_, value)) => (*value).to_owned(),
        None => format!("template.{column}"),
    };
    Ok(columns.iter().map(value).collect())
}

/// A person to clone.
async fn somebody(target: &Target) -> Result<(), Failure> {
    let mut agent = Agent::new(0, std::sync::Arc::clone(&target.endpoints), None);
    let body =
        r#"{"email":"template@bulk.example","username":"Somebody","password":"pass phrase of a template"}"#;
    agent
        .send(&Ask::json("POST", Origin::Public, "/auth/register", body))
        .await?
        .expect(201, "registration")
        .map(drop)
}

/// Whether the disk has room for so many; a database elsewhere looks after itself.
pub(super) fn check_disk(grants: u64, is_private: bool) -> Result<(), BenchError> {
    const GIB: u64 = 1024 * 1024 * 1024;
    if !is_private {
        return Ok(());
    }
    let folder = disk();
    let found = rustix::fs::statvfs(&folder).map_err(std::io::Error::from)?;
    let (free, needed) =
        (found.f_bavail.saturating_mul(found.f_frsize), grants.saturating_mul(BYTES_EACH) + GIB);
    if free >= needed {
        return Ok(());
    }
    Err(BenchError::from(Failure::Setup(format!(
        "{grants} grants and people take about {} GiB, and {} has {} GiB left: name another folder with TMPDIR, or fewer with --grants",
        needed.div_ceil(GIB),
        folder.display(),
        free / GIB
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_does_not_differ_is_copied_whatever_it_is_called() {
        let sql = insert(&LOGIN_NAME, &columns(&["name_hash", "added_later", "identity_id"])).unwrap();
        assert_eq!(
            sql,
            "INSERT INTO login_name (name_hash, added_later, identity_id) SELECT made.name, template.added_later, made.id \
             FROM made CROSS JOIN (SELECT * FROM login_name LIMIT 1) AS template"
        );
    }

    #[test]
    fn what_was_set_aside_comes_back_as_it_was() {
        let table = Table { name: "coin", differs: &[("id", "made.id")] };
        let sql = among_clones(&table, &columns(&["id", "year"])).unwrap();
        assert_eq!(
            sql,
            "INSERT INTO coin (id, year) SELECT id, year FROM (SELECT made.id AS id, template.year AS year, random() AS place \
             FROM made CROSS JOIN (SELECT * FROM sluice_bench_set_aside LIMIT 1) AS template \
             UNION ALL SELECT id, year, random() FROM sluice_bench_set_aside WHERE slice = $4::integer) AS placed ORDER BY place"
        );
    }

    #[test]
    fn a_database_of_another_shape_is_refused_in_a_sentence() {
        let refused = insert(&LOGIN_NAME, &columns(&["id"])).unwrap_err();
        assert_eq!(
            refused,
            "this database has no column identity_id in a table login_name: rows cannot be cloned"
        );
    }

    #[test]
    fn a_disk_that_is_too_small_is_refused_before_anything_is_loaded() {
        assert!(check_disk(0, true).is_ok());
        let refused = check_disk(u64::MAX / BYTES_EACH / 2, true).unwrap_err().to_string();
        assert!(refused.contains("TMPDIR"), "{refused}");
        assert!(check_disk(u64::MAX, false).is_ok());
    }
}
