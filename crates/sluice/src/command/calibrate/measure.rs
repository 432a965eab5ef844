//! How many hashes a second this machine computes.

use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use sluice_crypto::password_hash::{Argon2Params, HashMemory, PasswordHashError, hash};

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) params: Argon2Params,
    /// Of all threads.
    pub(super) hashes_per_second: f64,
    /// How long one hash takes while all threads hash.
    pub(super) one_hash: Duration,
}

/// Hashes on all threads at once, for so long and at least once each.
pub(super) fn measure(
    params: Argon2Params,
    threads: NonZeroUsize,
    span: Duration,
) -> Result<Measured, PasswordHashError> {
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.get()).map(|_| scope.spawn(move || work(params, span))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(Err(PasswordHashError::Failed))).collect()
    });
    let rates = results.into_iter().collect::<Result<Vec<f64>, _>>()?;
    let hashes_per_second: f64 = rates.iter().sum();
    let count = u32::try_from(threads.get()).unwrap_or(u32::MAX);
    let one_hash = Duration::try_from_secs_f64(f64::from(count) / hashes_per_second).unwrap_or(Duration::MAX);
    Ok(Measured { params, hashes_per_second, one_hash })
}

/// How many hashes a second one thread computes, while the others do too. The first hash, which asks for the memory, does
/// not count.
fn work(params: Argon2Params, span: Duration) -> Result<f64, PasswordHashError> {
    let mut memory = HashMemory::new();
    let mut once =
        || hash(params, b"correct horse battery staple", b"calibration salt", &mut memory).map(drop);
    once()?;
    let (began, mut hashes) = (Instant::now(), 0_u32);
    while hashes == 0 || began.elapsed() < span {
        once()?;
        hashes += 1;
    }
    Ok(f64::from(hashes) / began.elapsed().as_secs_f64())
}
