//! Statistics: how many write statements were executed, how many transactions they were, how many rows they carried.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of one kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteCount {
    /// Statements executed, those repeated after a lost connection included.
    pub statements: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Rows written; of [`StoreStatistics::others`] those asked for, whether or not they were written.
    pub rows: u64,
}

/// Counts of all writes since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreStatistics {
    /// Grants inserted at final consent.
    pub grant_inserts: WriteCount,
    /// Codes redeemed.
    pub redemptions: WriteCount,
    /// Refresh tokens rotated.
    pub rotations: WriteCount,
    /// Identities registered.
    pub registrations: WriteCount,
    /// Everything else that was asked for.
    pub others: WriteCount,
    /// What the store's owner does by itself, whether or not there is anything to do: leases, purges, sweeps.
    pub upkeep: WriteCount,
}

impl StoreStatistics {
    /// All kinds together, but upkeep.
    pub const fn total(&self) -> WriteCount {
        let mut total = self.others;
        let kinds = [&self.grant_inserts, &self.redemptions, &self.rotations, &self.registrations];
        let [inserts, redemptions, rotations, registrations] = kinds;
        total.statements +=
            inserts.statements + redemptions.statements + rotations.statements + registrations.statements;
        total.commits += inserts.commits + redemptions.commits + rotations.commits + registrations.commits;
        total.rows += inserts.rows + redemptions.rows + rotations.rows + registrations.rows;
        total
    }
}

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    GrantInsert,
    Redemption,
    Rotation,
    Registration,
    Other,
    Upkeep,
}

/// The counters behind [`StoreStatistics`].
#[derive(Debug, Default)]
pub(crate) struct Counters([Counter; 6]);

#[derive(Debug, Default)]
struct Counter {
    statements: AtomicU64,
    commits: AtomicU64,
    rows: AtomicU64,
}

impl Counters {
    /// Counts one committed transaction.
    pub(crate) fn count(&self, kind: Kind, statements: usize, rows: usize) {
        let counter = self.of(kind);
        counter.commits.fetch_add(1, Relaxed);
        counter.statements.fetch_add(statements as u64, Relaxed);
        counter.rows.fetch_add(rows as u64, Relaxed);
    }

    /// The counts at this moment.
    pub(crate) fn snapshot(&self) -> StoreStatistics {
        let of = |kind| {
            let Counter { statements, commits, rows } = self.of(kind);
            WriteCount {
                statements: statements.load(Relaxed),
                commits: commits.load(Relaxed),
                rows: rows.load(Relaxed),
            }
        };
        StoreStatistics {
            grant_inserts: of(Kind::GrantInsert),
            redemptions: of(Kind::Redemption),
            rotations: of(Kind::Rotation),
            registrations: of(Kind::Registration),
            others: of(Kind::Other),
            upkeep: of(Kind::Upkeep),
        }
    }

    const fn of(&self, kind: Kind) -> &Counter {
        let [insert, redeem, rotate, register, other, upkeep] = &self.0;
        match kind {
            Kind::GrantInsert => insert,
            Kind::Redemption => redeem,
            Kind::Rotation => rotate,
            Kind::Registration => register,
            Kind::Other => other,
            Kind::Upkeep => upkeep,
        }
    }
}
