//! `sluice calibrate`: what a password hash may cost on this machine.
//!
//! What is configured is measured too, and said beside the proposal. All threads hash at once, as they do when everybody logs in: then they share memory bandwidth and caches, and a hash takes
//! longer than one alone does.

mod measure;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::{Value, json};
use sluice_crypto::password_hash::{Argon2Params, PasswordHashError};

use super::fail;
use crate::cli::{Answer, CalibrateCommand, Console, Exit};
use crate::config::{self, HashPoolSettings};
use measure::{Measured, measure};

/// What is tried with one pass, in MiB. The first is the least that OWASP recommends for one pass.
const MEMORY_MIB: [u32; 9] = [46, 64, 96, 128, 192, 256, 384, 512, 1024];
/// The least that OWASP recommends at all, with its passes.
const SMALLEST: (u32, u32) = (19, 2);
/// Of each hash. The lanes of one hash are computed one after the other, so that they cost nothing here.
const LANES: u32 = 4;
/// More passes than this are of less use than memory.
const MOST_PASSES: u32 = 8;
/// Fewer than these are one.
const FEWEST_PASSES: u32 = 2;
/// How long one is measured, after a first hash.
const SPAN: Duration = Duration::from_millis(1500);

const HEADER: &[&str] = &["MEMORY", "PASSES", "LANES", "ONE HASH", "HASHES/S", "FITS"];

/// Measures, and prints what was measured and what is proposed.
pub(crate) async fn run(
    command: CalibrateCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let (configured, pool) = match config::load_hashing(&command.configuration.sources(environment)) {
        Ok((hash, pool, warnings)) => {
            console.warn(&warnings);
            (hash.params, pool)
        }
        Err(error) => {
            console.warn(error.warnings());
            console.say(&error.to_string());
            return Exit::Failure;
        }
    };
    let (output, limits) = (command.output, Limits::of(&command, &pool));
    if !output.is_quiet {
        console.say(&format!("measuring with {} threads, for some seconds …", limits.threads));
    }
    let work = move || calibrate(limits, configured, |params| measure(params, limits.threads, SPAN));
    let calibrated = match tokio::task::spawn_blocking(work).await {
        Ok(Ok(calibrated)) => calibrated,
        Ok(Err(error)) => return fail(console, &error),
        Err(error) => return fail(console, &error),
    };
    let printed = output.print(&calibrated.answer(limits), console.out);
    let exit = console.printed(printed);
    match calibrated.yaml(limits) {
        None => Exit::Failure,
        Some(yaml) if exit == Exit::Success && output.is_for_people() => console.print(&yaml),
        Some(_) => exit,
    }
}

/// What a hash must keep to.
#[derive(Clone, Copy)]
struct Limits {
    /// Of one hash, while all threads hash.
    target: Duration,
    /// Of all threads.
    memory_kib: u32,
    threads: NonZeroUsize,
    /// Of one hash, by the configuration.
    pool_memory_kib: u32,
}

/// What was measured, and what is proposed of it.
struct Calibrated {
    measured: Vec<Measured>,
    configured: Configured,
    /// `None`: even the least that is recommended takes too long, or too much memory.
    proposed: Option<Measured>,
}

/// What a hash costs by the configuration.
struct Configured {
    params: Argon2Params,
    /// `None`: threads together have not the memory for it.
    measured: Option<Measured>,
}

impl Limits {
    fn of(command: &CalibrateCommand, pool: &HashPoolSettings) -> Self {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            target: Duration::from_millis(command.target_ms.into()),
            memory_kib: command.max_memory,
            threads: command.threads.or(pool.threads).unwrap_or_else(cores),
            pool_memory_kib: pool.max_memory_kib,
        }
    }

    /// Whether all threads have the memory for it.
    fn has_memory_for(&self, params: Argon2Params) -> bool {
        let threads = u64::try_from(self.threads.get()).unwrap_or(u64::MAX);
        u64::from(params.memory_kib()).saturating_mul(threads) <= u64::from(self.memory_kib)
    }

    fn has_time_for(&self, measured: &Measured) -> bool {
        measured.one_hash <= self.target
    }
}

/// Memory first, which costs an attacker most: as much as fits with one pass. If time is left then, passes, as many as are measured to
/// fit.
fn calibrate(
    limits: Limits,
    configured: Argon2Params,
    mut measure: impl FnMut(Argon2Params) -> Result<Measured, PasswordHashError>,
) -> Result<Calibrated, PasswordHashError> {
    let mut measured = Vec::new();
    for mib in MEMORY_MIB {
        let params = Argon2Params::new(mib * 1024, 1, LANES)?;
        if !limits.has_memory_for(params) {
            break;
        }
        measured.push(measure(params)?);
        if measured.last().is_some_and(|last| !limits.has_time_for(last)) {
            break;
        }
    }
    let mut proposed = measured.iter().rev().find(|one| limits.has_time_for(one)).copied();
    let mut further = match &proposed {
        Some(best) => with_more_passes(best, limits),
        None => Argon2Params::new(SMALLEST.0 * 1024, SMALLEST.1, 1).ok(),
    };
    while let Some(params) = further.filter(|params| limits.has_memory_for(*params)) {
        let last = measure(params)?;
        measured.push(last);
        if limits.has_time_for(&last) {
            proposed = Some(last);
            break;
        }
        further = with_fewer_passes(&last, limits);
    }
    let of_configured = match measured.iter().find(|one| one.params == configured).copied() {
        None if limits.has_memory_for(configured) => Some(measure(configured)?),
        measured => measured,
    };
    let configured = Configured { params: configured, measured: of_configured };
    Ok(Calibrated { measured, configured, proposed })
}

/// The same with as many passes as there is time for, and as may be with so much memory, if that is more than one.
fn with_more_passes(best: &Measured, limits: Limits) -> Option<Argon2Params> {
    let memory = best.params.memory_kib();
    let most = Argon2Params::MAX_WORK_KIB.checked_div(memory)?.min(MOST_PASSES);
    let passes = limits.target.as_micros().checked_div(best.one_hash.as_micros())?;
    let passes = u32::try_from(passes).unwrap_or(u32::MAX).min(most);
    let params = Argon2Params::new(memory, passes, LANES).ok()?;
    (passes > 1).then_some(params)
}

/// The same with as many passes as there is time for by this measurement, which there was not for these; at least two.
fn with_fewer_passes(last: &Measured, limits: Limits) -> Option<Argon2Params> {
    let passes = last.params.passes();
    if passes <= FEWEST_PASSES {
        return None;
    }
    let in_time = u128::from(passes) * limits.target.as_micros();
    let in_time = in_time.checked_div(last.one_hash.as_micros()).unwrap_or_default();
    let fewer = u32::try_from(in_time).unwrap_or(u32::MAX).clamp(FEWEST_PASSES, passes - 1);
    Argon2Params::new(last.params.memory_kib(), fewer, LANES).ok()
}

impl Calibrated {
    fn answer(&self, limits: Limits) -> Answer {
        let rows = self.measured.iter().map(|one| cells(one, limits)).collect();
        let measured: Vec<Value> = self.measured.iter().map(|one| json_of(one, limits)).collect();
        let json = json!({
            "threads": limits.threads,
            "target_ms": millis(limits.target),
            "max_memory_kib": limits.memory_kib,
            "measured": measured,
            "configured": self.configured.json(limits),
            "proposed": self.proposed.as_ref().map(|best| configuration(best, limits)),
            "logins_per_second": self.proposed.map(|best| rate(best.hashes_per_second)),
            "hardenings_per_second": self.proposed.map(|best| rate(best.hashes_per_second)),
        });
        let answer = Answer::list(HEADER, rows, json).with_footer("CONFIGURED", self.configured.told(limits));
        match &self.proposed {
            None => answer.with_footer(
                "PROPOSED",
                "nothing: even the least that is recommended does not fit; allow more time or memory"
                    .to_owned(),
            ),
            Some(best) => answer
                .with_footer("LOGINS/S", rate(best.hashes_per_second))
                .with_footer("HARDENINGS/S", rate(best.hashes_per_second)),
        }
    }

    /// What goes into the configuration.
    fn yaml(&self, limits: Limits) -> Option<String> {
        let params = self.proposed?.params;
        let (memory, passes, lanes) = (params.memory_kib(), params.passes(), params.lanes());
        let pool = pool_memory(params, limits).map(|memory| {
            format!("  hash_pool:\n    max_memory: {memory}  # KiB for each thread, at least\n")
        });
        Some(format!(
            "\n# Logins go before hardening, which has what they leave.\nidentity:\n  password_hash:\n    \
             memory: {memory}  # KiB\n    passes: {passes}\n    lanes: {lanes}\n{}",
            pool.unwrap_or_default()
        ))
    }
}

impl Configured {
    fn json(&self, limits: Limits) -> Value {
        json!({
            "memory": self.params.memory_kib(),
            "passes": self.params.passes(),
            "lanes": self.params.lanes(),
            "one_hash_ms": self.measured.map(|one| millis(one.one_hash)),
            "hashes_per_second": self.measured.map(|one| rate(one.hashes_per_second)),
            "fits": self.measured.is_some_and(|one| limits.has_time_for(&one)),
        })
    }

    fn told(&self, limits: Limits) -> String {
        let (memory, passes, lanes) = (self.params.memory_kib(), self.params.passes(), self.params.lanes());
        let told = match &self.measured {
            None => "not measured: all threads together need more than --max-memory for it".to_owned(),
            Some(one) => {
                let fits = if limits.has_time_for(one) { "fits" } else { "does not fit" };
                format!("{} ms, {} hashes/s, {fits}", millis(one.one_hash), rate(one.hashes_per_second))
            }
        };
        format!("memory {memory} KiB, passes {passes}, lanes {lanes}: {told}")
    }
}

fn cells(one: &Measured, limits: Limits) -> Vec<String> {
    let fits = if limits.has_time_for(one) { "yes" } else { "no" };
    vec![
        format!("{} MiB", one.params.memory_kib() / 1024),
        one.params.passes().to_string(),
        one.params.lanes().to_string(),
        format!("{} ms", millis(one.one_hash)),
        rate(one.hashes_per_second),
        fits.to_owned(),
    ]
}

fn json_of(one: &Measured, limits: Limits) -> Value {
    json!({
        "memory": one.params.memory_kib(),
        "passes": one.params.passes(),
        "lanes": one.params.lanes(),
        "one_hash_ms": millis(one.one_hash),
        "hashes_per_second": rate(one.hashes_per_second),
        "fits": limits.has_time_for(one),
    })
}

fn configuration(best: &Measured, limits: Limits) -> Value {
    let params = best.params;
    let hash = json!({ "memory": params.memory_kib(), "passes": params.passes(), "lanes": params.lanes() });
    match pool_memory(params, limits) {
        Some(memory) => {
            json!({ "identity": { "password_hash": hash, "hash_pool": { "max_memory": memory } } })
        }
        None => json!({ "identity": { "password_hash": hash } }),
    }
}

/// What a thread of the hash pool must be allowed to have, in KiB, if that is more than it may have by now.
fn pool_memory(params: Argon2Params, limits: Limits) -> Option<u32> {
    let memory = params.memory_kib();
    (memory > limits.pool_memory_kib).then_some(memory)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn rate(per_second: f64) -> String {
    format!("{per_second:.1}")
}

#[cfg(test)]
mod tests;
