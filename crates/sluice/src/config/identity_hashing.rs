//! `identity.password_hash`, `identity.hash_pool`, `identity.hardening`: what a password hash costs, where it is computed
//! and when.

use std::num::NonZeroUsize;
use std::time::Duration;

use sluice_crypto::password_hash::Argon2Params;

use super::key::{Key, Kind};
use super::reader::Reader;

const MEMORY: &str = "identity.password_hash.memory";
const POOL_MEMORY: &str = "identity.hash_pool.max_memory";

/// As many as there may be of threads.
const THREADS: Kind = Kind::Integer { min: 1, max: 1024 };
const SHORTEST_LEASE: Duration = Duration::from_secs(5);
const LONGEST_LEASE: Duration = Duration::from_hours(1);
const SHORTEST_POLL: Duration = Duration::from_millis(10);
const LONGEST_POLL: Duration = Duration::from_mins(1);

pub(super) const PASSWORD_HASH_KEYS: &[Key] = &[
    Key::own(
        "memory",
        Kind::Integer { min: 8, max: 1_048_576 },
        "The memory of one Argon2id hash (RFC 9106), in KiB; 8 for each lane at least. `sluice calibrate` measures and \
         proposes all three.",
    )
    .with_default("65536"),
    Key::own(
        "passes",
        Kind::Integer { min: 1, max: 64 },
        "How often the memory is gone over; memory times passes is 4 GiB at most.",
    )
    .with_default("1"),
    Key::own("lanes", Kind::Integer { min: 1, max: 64 }, "How many lanes the memory is split into.")
        .with_default("4"),
];

pub(super) const HASH_POOL_KEYS: &[Key] = &[
    Key::own("threads", THREADS, "How many threads hash; by default one for each CPU."),
    Key::own(
        "max_memory",
        Kind::Integer { min: 8, max: 1_048_576 },
        "The memory that one hash may need, in KiB; a stored one that needs more cannot be verified. All threads \
         together need so much each, at most.",
    )
    .with_default("262144"),
];

pub(super) const HARDENING_KEYS: &[Key] = &[
    Key::own(
        "enabled",
        Kind::Boolean,
        "Whether `serve` hardens the passwords of those who registered; if not, start `sluice worker`.",
    )
    .with_default("true"),
    Key::own(
        "threads",
        THREADS,
        "How many are hardened at a time, which is what hardening takes of the CPU, in cores; by default one for each.",
    ),
    Key::own("batch", Kind::Integer { min: 1, max: 10_000 }, "How many are taken, and stored, at once.")
        .with_default("32"),
    Key::own(
        "lease",
        Kind::Duration,
        "How long no other worker takes what one has taken; more than a batch needs, from 5s to 1h.",
    )
    .with_default("60s"),
    Key::own(
        "poll",
        Kind::Duration,
        "How often it is looked for work when there is none, and how long a hash waits to be stored with others; from \
         10ms to 1m.",
    )
    .with_default("1s"),
    Key::own(
        "max_connections",
        Kind::Integer { min: 2, max: 1_000 },
        "How many connections to PostgreSQL `sluice worker` may have open.",
    )
    .with_default("2"),
];

/// What a password hash costs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PasswordHashSettings {
    /// Default: 64 MiB, 1 pass, 4 lanes; not more than the hash pool allows one hash.
    pub(crate) params: Argon2Params,
}

/// Where slow hashes are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashPoolSettings {
    /// Default: as many as there are CPUs.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Of one hash. Default: 256 MiB.
    pub(crate) max_memory_kib: u32,
}

/// How provisional credentials are hardened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HardeningSettings {
    /// Whether `serve` does it. Default: yes.
    pub(crate) enabled: bool,
    /// Default: as many as there are CPUs.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Default: 32.
    pub(crate) batch: u32,
    /// Default: 60 s; from 5 s to 1 h.
    pub(crate) lease: Duration,
    /// Default: 1 s; from 10 ms to 1 min.
    pub(crate) poll: Duration,
    /// Of a worker of its own. Default: 2.
    pub(crate) max_connections: u32,
}

pub(super) fn read_pool(reader: &mut Reader<'_>) -> HashPoolSettings {
    HashPoolSettings {
        threads: reader.integer("identity.hash_pool.threads").and_then(NonZeroUsize::new),
        max_memory_kib: reader.integer(POOL_MEMORY).unwrap_or_default(),
    }
}

pub(super) fn read_hash(reader: &mut Reader<'_>, pool: &HashPoolSettings) -> PasswordHashSettings {
    let problems = reader.problem_count();
    let memory: u32 = reader.integer(MEMORY).unwrap_or_default();
    let passes = reader.integer("identity.password_hash.passes").unwrap_or_default();
    let lanes = reader.integer("identity.password_hash.lanes").unwrap_or_default();
    let params = Argon2Params::new(memory, passes, lanes);
    if reader.problem_count() == problems {
        if params.is_err() {
            reader.refuse(MEMORY, "must be 8 KiB for each lane at least, and 4 GiB at most over all passes");
        } else if memory > pool.max_memory_kib {
            reader.refuse(MEMORY, format!("must not be more than {POOL_MEMORY}"));
        }
    }
    PasswordHashSettings { params: params.unwrap_or_default() }
}

pub(super) fn read_hardening(reader: &mut Reader<'_>) -> HardeningSettings {
    HardeningSettings {
        enabled: reader.boolean("identity.hardening.enabled"),
        threads: reader.integer("identity.hardening.threads").and_then(NonZeroUsize::new),
        batch: reader.integer("identity.hardening.batch").unwrap_or_default(),
        lease: reader.duration_within("identity.hardening.lease", SHORTEST_LEASE..=LONGEST_LEASE),
        poll: reader.duration_within("identity.hardening.poll", SHORTEST_POLL..=LONGEST_POLL),
        max_connections: reader.integer("identity.hardening.max_connections").unwrap_or_default(),
    }
}
