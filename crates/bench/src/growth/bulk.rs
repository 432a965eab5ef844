//! Rows by the million: those that the server made by its API are cloned with other ids and names. This is the only place where the
//! benchmark knows tables, and only some columns of them: the others are copied whatever they are called.

use std::sync::Arc;

use sluice_private_postgres::disk;

use super::work::Logins;
use crate::account::{AccountError, Postgres};
use crate::driver::{Agent, Ask, Failure, Origin};
use crate::error::BenchError;
use crate::inside::{Inside, RefreshTokens};
use crate::target::Target;

/// An id whose order is that of the time (RFC 9562 section 5.7), as the server's own, of a time between `$2` and `$2` + `$3` seconds ago.
const ORDERED_ID: &str = "(lpad(to_hex(((extract(epoch FROM clock_timestamp()) - $2::double precision \
                          - random() * $3::double precision) * 1000)::bigint), 12, '0') || '7' \
                          || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid";
const COLUMNS: &str = "/* sluice bench */ SELECT quote_ident(column_name) FROM information_schema.columns \
                       WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position";
/// A grant and a person take so many bytes with indexes and what is left free in their pages, and the log beside them.
const BYTES_EACH: u64 = 2_000;

/// A table, and what differs from row to row: `made` has `id`, `other` (another id), `name` (32 bytes), `number`, and `turn`, from 1 on.
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
        // leave holes of its size all over the table, for every later login to be put into another page. So no more are as if their
        // code had been redeemed than are to be refreshed, the first `$4`: shuffled later, and each of an id of its own.
        ("redeemed_at", "CASE WHEN made.turn <= $4::bigint THEN template.redeemed_at END"),
        ("rotated_at", "CASE WHEN made.turn <= $4::bigint THEN template.rotated_at END"),
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

    /// How many of so many are made in it.
    pub(super) fn share(self, of: u64) -> u64 {
        let until = |slice: u32| u128::from(of) * u128::from(slice) / u128::from(self.slices.max(1));
        let share = until(self.slice + 1).saturating_sub(until(self.slice));
        u64::try_from(share).unwrap_or(of)
    }
}

/// What loads.
pub(super) struct Bulk<'a> {
    postgres: &'a Postgres,
    inside: &'a dyn Inside,
    logins: Arc<Logins>,
    /// Once there is a row of each table to clone.
    templates: Option<Templates>,
}

/// What is cloned.
struct Templates {
    /// The statements for grants and for people.
    statements: [String; 2],
    /// The grant of a login, and tokens of its clones.
    tokens: Box<dyn RefreshTokens>,
}

impl<'a> Bulk<'a> {
    pub(super) const fn new(postgres: &'a Postgres, inside: &'a dyn Inside, logins: Arc<Logins>) -> Self {
        Self { postgres, inside, logins, templates: None }
    }

    /// Whose logins are cloned.
    pub(super) const fn logins(&self) -> &Arc<Logins> {
        &self.logins
    }

    /// So many grants and people more, made in this part of the time; the refresh tokens of so many of the grants, drawn from all.
    pub(super) async fn load(
        &mut self,
        target: &Target,
        (rows, refreshed): (u64, u64),
        slice: Slice,
    ) -> Result<Vec<String>, BenchError> {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let (rows, refreshed, link) = (number(rows), number(refreshed), self.postgres.link());
        let client = link.client();
        let (ago, length) = slice.seconds();
        let Templates { statements: [grants, people], tokens } = self.templates(target).await?;
        let drawn = client
            .query(grants, &[&rows, &ago, &length, &refreshed, &tokens.grant()])
            .await
            .map_err(AccountError::from)?;
        client.execute(people, &[&rows, &ago, &length]).await.map_err(AccountError::from)?;
        let token = |id: String| tokens.of(&id).ok_or_else(|| unsealed(&format!("{id} is no grant")));
        Ok(drawn.iter().map(|row| token(row.get(0))).collect::<Result<_, _>>()?)
    }

    async fn templates(&mut self, target: &Target) -> Result<&Templates, BenchError> {
        if self.templates.is_none() {
            somebody(target).await?;
            let tokens = self.tokens(target).await?;
            let placed = among_clones(&GRANT, &self.columns(&GRANT).await?).map_err(Failure::Setup)?;
            let grants = format!("{}, {placed}", made());
            let (person, name) = (self.insert(&IDENTITY).await?, self.insert(&LOGIN_NAME).await?);
            let people = format!("{}, person AS ({person}) {name}", made());
            self.templates = Some(Templates { statements: [grants, people], tokens });
        }
        self.templates.as_ref().ok_or_else(|| Failure::Setup("nothing to load".to_owned()).into())
    }

    /// Tokens like that of a login.
    async fn tokens(&self, target: &Target) -> Result<Box<dyn RefreshTokens>, BenchError> {
        let issued = self.logins.one(&mut Agent::new(0, Arc::clone(&target.endpoints), None)).await?;
        let server = target.started_server().ok_or_else(|| unsealed("the server was not started here"))?;
        let tokens = self.inside.refresh_tokens(&server, &issued).await;
        Ok(tokens.map_err(|why| unsealed(&why))?)
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

fn unsealed(why: &str) -> Failure {
    Failure::Setup(format!("grants that are loaded have no refresh tokens: {why}"))
}

fn made() -> String {
    format!(
        "/* sluice bench */ WITH drawn AS MATERIALIZED (SELECT {ORDERED_ID} AS id, gen_random_uuid() AS other, \
         (random() * 1e7)::bigint AS number, turn FROM generate_series(1, $1::bigint) AS turn), \
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

/// Clones of grant `$5`, shuffled; the ids of those that can be refreshed.
fn among_clones(table: &Table, columns: &[String]) -> Result<String, String> {
    let (name, values) = (table.name, values(table, columns)?.join(", "));
    let columns = columns.join(", ");
    Ok(format!(
        "placed AS (INSERT INTO {name} ({columns}) SELECT {values} FROM made \
         CROSS JOIN (SELECT * FROM {name} WHERE grant_id = $5::text::uuid) AS template ORDER BY random() \
         RETURNING grant_id, rotated_at) SELECT grant_id::text FROM placed WHERE rotated_at IS NOT NULL"
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
    fn grants_are_clones_of_one_and_shuffled_and_those_to_be_refreshed_are_told() {
        let table = Table { name: "coin", differs: &[("grant_id", "made.id")] };
        let sql = among_clones(&table, &columns(&["grant_id", "year"])).unwrap();
        assert_eq!(
            sql,
            "placed AS (INSERT INTO coin (grant_id, year) SELECT made.id, template.year FROM made \
             CROSS JOIN (SELECT * FROM coin WHERE grant_id = $5::text::uuid) AS template ORDER BY random() \
             RETURNING grant_id, rotated_at) SELECT grant_id::text FROM placed WHERE rotated_at IS NOT NULL"
        );
    }

    #[test]
    fn slices_share_all_there_is() {
        for of in [0, 1, 39, 400, 10_000_001] {
            let shares: Vec<_> = (0..40).map(|slice| Slice { slice, slices: 40 }.share(of)).collect();
            assert_eq!(shares.iter().sum::<u64>(), of);
            assert!(shares.iter().all(|share| share.abs_diff(of / 40) <= 1), "{shares:?}");
        }
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
