//! Open files: whether as many may be had as users have connections.

use std::num::NonZeroUsize;

use procfs::process::{LimitValue, Process};

use crate::error::BenchError;

/// Beside the connections of users: for the database, threads, and what is started.
const BESIDES: usize = 64;

/// Whether so many users may be connected at once, each to so many listeners. Where the limit is not known, they may.
///
/// # Errors
/// [`BenchError::Usage`].
pub(crate) fn check(users: NonZeroUsize, listeners: usize) -> Result<(), BenchError> {
    limit().map_or(Ok(()), |limit| within(users, listeners, limit))
}

/// How many files may be open; `None` if there is no limit, or nobody says.
fn limit() -> Option<u64> {
    let limits = Process::myself().and_then(|own| own.limits()).ok()?;
    match limits.max_open_files.soft_limit {
        LimitValue::Value(limit) => Some(limit),
        LimitValue::Unlimited => None,
    }
}

fn within(users: NonZeroUsize, listeners: usize, limit: u64) -> Result<(), BenchError> {
    let needed = users.get().saturating_mul(listeners).saturating_add(BESIDES);
    if u64::try_from(needed).is_ok_and(|needed| needed <= limit) {
        return Ok(());
    }
    Err(BenchError::Usage(format!(
        "-c {users} needs {needed} open files, and the limit is {limit}: raise it (ulimit -n), or ask for fewer users"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_who_cannot_all_be_connected_are_refused() {
        let users = NonZeroUsize::new(60_000).unwrap();
        let refused = within(users, 2, 20_000).unwrap_err();
        assert!(refused.is_usage());
        assert_eq!(
            refused.to_string(),
            "-c 60000 needs 120064 open files, and the limit is 20000: raise it (ulimit -n), or ask for fewer users"
        );
        assert!(within(users, 2, 120_064).is_ok() && within(users, 2, 120_063).is_err());
        assert!(within(users, 1, 60_064).is_ok());
        assert!(within(NonZeroUsize::MAX, 2, 1 << 30).is_err());
    }

    #[test]
    fn the_limit_of_this_process_is_known() {
        assert!(limit().is_none_or(|limit| limit > 0));
        assert!(check(NonZeroUsize::MIN, 1).is_ok());
    }
}
