//! Server, worker and PostgreSQL are killed while people register and are hardened: nothing answered is lost, no credential
//! is hardened twice or never, everybody who was answered logs in.

use super::crowd::{Dice, seed};
use super::soak_seconds;
use super::trial::Trial;
use super::victim::Victim;

/// Requests of a short trial.
const SHORT: usize = 2_000;
/// Requests of each of the long trials for a second of the whole soak.
const LONG_FOR_SECOND: usize = 30;
const LONG_TRIALS: usize = 10;
const LONG_KILLS: usize = 6;
const VICTIMS: [Victim; 3] = [Victim::Server, Victim::Worker, Victim::Postgres];

async fn short(victim: Victim) {
    Trial { victim, seed: seed(), requests: SHORT, kills: 2 }.run().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_answered_is_lost_when_the_server_is_killed_while_people_register() {
    short(Victim::Server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_credential_is_lost_or_hardened_twice_when_a_worker_is_killed() {
    short(Victim::Worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_answered_is_lost_when_postgres_is_killed_while_people_register() {
    short(Victim::Postgres).await;
}

/// Ten long trials in `make soak`; a trial of moderate length otherwise, of a victim that chance picks.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_killed_again_and_again_nothing_answered_is_lost() {
    let seed = seed();
    let (trials, requests, kills) = match soak_seconds() {
        Some(seconds) => (LONG_TRIALS, seconds * LONG_FOR_SECOND, LONG_KILLS),
        None => (1, SHORT, 3),
    };
    let first = Dice::new(seed).below(VICTIMS.len());
    for trial in 0..trials {
        let victim = VICTIMS[(first + trial) % VICTIMS.len()];
        let seed = seed.wrapping_add(u64::try_from(trial).unwrap());
        println!("trial {} of {trials}", trial + 1);
        Trial { victim, seed, requests, kills }.run().await;
    }
}
