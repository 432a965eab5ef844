use std::net::IpAddr;

use super::*;

const ALICE: LoginNameHash = [1; 32];
const BOB: LoginNameHash = [2; 32];
const START: Timestamp = Timestamp::from_secs(1_000_000);

fn lockout() -> Lockout {
    Lockout::new(&LockoutConfig::default())
}

fn network(n: u32) -> Network {
    IpAddr::from(n.to_be_bytes()).into()
}

fn from(account: LoginNameHash, network: Network) -> Guesser {
    Guesser { account, network: Some(network), standing: Standing::Stranger }
}

#[test]
fn delays_grow_and_have_an_end() {
    let backoff = LockoutConfig::default().pair;
    let seconds = |failures| backoff.delay(failures).as_secs();
    assert_eq!([0, 5, 6, 7, 8, 11].map(seconds), [0, 0, 1, 2, 4, 32]);
    assert_eq!([12, 37, 38, 1000, u32::MAX].map(seconds), [60; 5]);
}

#[test]
fn failures_at_one_account_slow_down_that_account_from_that_network_only() {
    let lockout = lockout();
    for _ in 0..6 {
        assert!(lockout.guess(from(ALICE, network(1)), START).is_ok());
    }
    assert_eq!(lockout.guess(from(ALICE, network(1)), START).err(), Some(Lifetime::secs(1)));
    assert!(lockout.guess(from(ALICE, network(2)), START).is_ok());
    assert!(lockout.guess(from(BOB, network(1)), START).is_ok());
    assert!(lockout.guess(from(ALICE, network(1)), START + Lifetime::secs(1)).is_ok());
}

#[test]
fn an_attempt_that_comes_too_early_costs_nothing() {
    let lockout = lockout();
    while lockout.guess(from(ALICE, network(1)), START).is_ok() {}
    for _ in 0..1000 {
        assert_eq!(lockout.guess(from(ALICE, network(1)), START).err(), Some(Lifetime::secs(1)));
    }
    assert!(lockout.guess(from(BOB, network(1)), START).is_ok());
}

#[test]
fn strangers_who_guess_do_not_keep_the_owner_out() {
    let lockout = lockout();
    let guess = lockout.guess(from(ALICE, network(0)), START).ok().unwrap();
    lockout.was_right(&guess);
    for n in 1..=1000 {
        let _ = lockout.guess(from(ALICE, network(n)), START);
    }
    assert!(lockout.guess(from(ALICE, network(1001)), START).is_err());
    assert!(lockout.guess(from(ALICE, network(0)), START).is_ok());
    assert!(lockout.guess(from(ALICE, network(1001)), START + Lifetime::secs(5)).is_ok());
}

#[test]
fn a_neighbour_who_guesses_all_the_time_keeps_out_nobody_who_is_known() {
    let lockout = lockout();
    let guess = lockout.guess(from(BOB, network(1)), START).ok().unwrap();
    lockout.was_right(&guess);
    let mut now = START;
    for n in 0..=255 {
        now = now + Lifetime::secs(5);
        for _ in 0..60 {
            let _ = lockout.guess(from([n; 32], network(1)), now);
            let _ = lockout.guess(from(ALICE, network(1)), now);
        }
    }
    assert!(lockout.guess(from([3; 32], network(1)), now).is_err());
    assert!(lockout.guess(from(ALICE, network(1)), now).is_err());
    let alice_at_home = Guesser { standing: Standing::KnownBrowser, ..from(ALICE, network(1)) };
    assert!(lockout.guess(alice_at_home, now).is_ok());
    assert!(lockout.guess(from([BOB[0] + 1; 32], network(2)), now).is_ok());
}

#[test]
fn a_known_browser_may_not_guess_for_ever_either() {
    let lockout = lockout();
    let thief = Guesser { standing: Standing::KnownBrowser, ..from(ALICE, network(1)) };
    assert_eq!((0..100).take_while(|_| lockout.guess(thief, START).is_ok()).count(), 6);
}

#[test]
fn a_cookie_that_is_taken_to_many_networks_gives_no_more_guesses() {
    let lockout = lockout();
    let thief = |n| Guesser { standing: Standing::KnownBrowser, ..from(ALICE, network(n)) };
    assert_eq!((0..100).filter(|n| lockout.guess(thief(*n), START).is_ok()).count(), 6);
}

#[test]
fn where_everybody_is_one_network_strangers_do_not_keep_the_owner_out_and_still_do_not_guess_for_ever() {
    let lockout = lockout();
    let anywhere = |account| Guesser { account, network: None, standing: Standing::Stranger };
    let guess = lockout.guess(anywhere(ALICE), START).ok().unwrap();
    lockout.was_right(&guess);
    assert_eq!((0..1000).filter(|_| lockout.guess(anywhere(ALICE), START).is_ok()).count(), 51);
    assert_eq!(lockout.guess(anywhere(ALICE), START).err(), Some(Lifetime::secs(1)));
    let at_home = Guesser { standing: Standing::KnownBrowser, ..anywhere(ALICE) };
    assert!(lockout.guess(at_home, START).is_ok());
    for n in 3..=255 {
        assert!(lockout.guess(anywhere([n; 32]), START).is_ok(), "the others are not slowed down");
    }
}

#[test]
fn a_network_that_is_told_to_be_familiar_does_not_wait_for_strangers_elsewhere() {
    let lockout = lockout();
    for n in 1..=1000 {
        let _ = lockout.guess(from(ALICE, network(n)), START);
    }
    assert!(lockout.guess(from(ALICE, network(0)), START).is_err());
    lockout.is_familiar(&ALICE, network(0));
    assert!(lockout.guess(from(ALICE, network(0)), START).is_ok());
}

#[test]
fn a_clock_that_is_set_back_makes_nobody_wait_longer_than_the_delay() {
    let lockout = lockout();
    for _ in 0..6 {
        assert!(lockout.guess(from(ALICE, network(1)), START).is_ok());
    }
    let earlier = START - Lifetime::hours(24);
    assert_eq!(lockout.guess(from(ALICE, network(1)), earlier).err(), Some(Lifetime::secs(1)));
    assert!(lockout.guess(from(ALICE, network(1)), earlier + Lifetime::secs(1)).is_ok());
}

#[test]
fn one_network_that_tries_many_accounts_is_slowed_down() {
    let lockout = lockout();
    let tried = (0..=255).take_while(|n| lockout.guess(from([*n; 32], network(1)), START).is_ok()).count();
    assert_eq!(tried, 51);
    assert!(lockout.guess(from(ALICE, network(2)), START).is_ok());
}

/// How many accounts one network can guess at at once.
fn at_once(lockout: &Lockout, accounts: std::ops::RangeInclusive<u8>, now: Timestamp) -> usize {
    accounts.take_while(|n| lockout.guess(from([*n; 32], network(1)), now).is_ok()).count()
}

#[test]
fn a_network_where_passwords_are_mistyped_all_day_is_not_slowed_down() {
    let lockout = lockout();
    let mut now = START;
    for n in 1..=200 {
        now = now + Lifetime::secs(30);
        assert!(lockout.guess(from([n; 32], network(1)), now).is_ok());
    }
    assert_eq!(at_once(&lockout, 201..=255, now), 50);
}

#[test]
fn failures_fade_at_their_pace_however_often_one_fails() {
    let lockout = lockout();
    let mut now = START;
    for n in 1..=40 {
        assert!(lockout.guess(from([n; 32], network(1)), now).is_ok());
        now = now + Lifetime::secs(9);
    }
    // The last was after 351 s: 19 of 18 s each.
    assert_eq!(at_once(&lockout, 41..=255, now - Lifetime::secs(9)), 51 - (40 - 19));
}

/// The failures of a network that was attacked for so long that it waits as long as any, and when the last was.
fn attacked() -> (Failures<Network>, Timestamp) {
    let failures = Failures::new(LockoutConfig::default().network);
    let mut now = START;
    for _ in 0..10_000 {
        now = now + Lifetime::secs(5);
        assert!(failures.count(&network(1), now).is_ok());
    }
    assert_eq!(failures.count(&network(1), now).err(), Some(Lifetime::secs(5)));
    (failures, now)
}

#[test]
fn a_network_does_not_pay_for_a_long_attack_when_it_is_over() {
    let (failures, over) = attacked();
    let now = over + Lifetime::secs(90);
    assert!(failures.count(&network(1), now).is_ok());
    assert!(failures.count(&network(1), now).is_ok(), "it waits no more");
}

#[test]
fn whoever_attacks_does_not_buy_guesses_with_an_account_of_his_own() {
    let (failures, last) = attacked();
    let now = last + Lifetime::secs(5);
    for _ in 0..100 {
        let right = failures.count(&network(1), now).ok().unwrap();
        failures.give_back(&network(1), right);
    }
    assert!(failures.count(&network(1), now).is_ok());
    assert_eq!(failures.count(&network(1), now).err(), Some(Lifetime::secs(5)));
}

#[test]
fn what_was_right_or_never_looked_at_costs_nothing() {
    let lockout = lockout();
    for n in 0..1000 {
        let guess = lockout.guess(from(ALICE, network(1)), START).ok().unwrap();
        if n % 2 == 0 { lockout.was_right(&guess) } else { lockout.was_none(&guess) }
    }
}

/// So many failures are free, and each further one takes as long.
fn backoff(free: u32, secs: u32) -> Backoff {
    let delay = Lifetime::secs(secs);
    Backoff { free, first: delay, longest: delay, forget: Lifetime::hours(1), fading: Fading::Together }
}

/// No failure is free at a pair, one is of a network, any number at an account.
fn strict() -> Lockout {
    Lockout::new(&LockoutConfig { pair: backoff(0, 10), network: backoff(1, 60), account: backoff(1000, 1) })
}

#[test]
fn an_attempt_that_strangers_hold_up_does_not_begin_the_wait_of_its_pair_anew() {
    let patient = LockoutConfig { pair: backoff(0, 60), network: backoff(1, 10), account: backoff(1000, 1) };
    let (lockout, alice) = (Lockout::new(&patient), from(ALICE, network(1)));
    assert!(lockout.guess(alice, START).is_ok());
    assert!(lockout.guess(from(BOB, network(1)), START + Lifetime::secs(55)).is_ok());
    let now = START + Lifetime::secs(60);
    assert_eq!(lockout.guess(alice, now).err(), Some(Lifetime::secs(5)), "for the network");
    assert!(lockout.guess(alice, now + Lifetime::secs(5)).is_ok(), "the wait of the pair is over");
}

#[test]
fn a_network_that_waits_is_not_told_which_accounts_are_known_there() {
    let lockout = lockout();
    lockout.is_familiar(&ALICE, network(1));
    for n in 3..=53 {
        assert!(lockout.guess(from([n; 32], network(1)), START).is_ok());
    }
    for account in [ALICE, BOB] {
        assert_eq!(lockout.guess(from(account, network(1)), START).err(), Some(Lifetime::secs(1)));
    }
    let now = START + Lifetime::secs(1);
    assert!(lockout.guess(from(ALICE, network(1)), now).is_ok(), "it counts as any other");
    assert_eq!(lockout.guess(from(BOB, network(1)), now).err(), Some(Lifetime::secs(2)));
}

#[test]
fn what_was_never_looked_at_makes_nobody_wait() {
    let (lockout, alice) = (strict(), from(ALICE, network(1)));
    lockout.is_familiar(&ALICE, network(1));
    assert!(lockout.guess(alice, START).is_ok());
    let now = START + Lifetime::secs(10);
    for _ in 0..3 {
        lockout.was_none(&lockout.guess(alice, now).ok().unwrap());
    }
    assert!(lockout.guess(alice, now).is_ok());
    assert_eq!(lockout.guess(alice, now).err(), Some(Lifetime::secs(10)), "a failure does");
}

#[test]
fn what_was_right_makes_no_neighbour_wait() {
    let lockout = strict();
    let wrong = |account, now| lockout.guess(from([account; 32], network(1)), now);
    assert!(wrong(3, START).is_ok() && wrong(4, START).is_ok());
    let now = START + Lifetime::secs(60);
    lockout.was_right(&lockout.guess(from(ALICE, network(1)), now).ok().unwrap());
    assert!(wrong(5, now).is_ok());
    assert_eq!(wrong(6, now).err(), Some(Lifetime::secs(60)));
}

#[test]
fn what_is_given_back_late_leaves_the_wait_of_a_later_failure() {
    let (lockout, alice) = (strict(), from(ALICE, network(1)));
    lockout.is_familiar(&ALICE, network(1));
    let slow = lockout.guess(alice, START).ok().unwrap();
    let now = START + Lifetime::secs(10);
    assert!(lockout.guess(alice, now).is_ok());
    lockout.was_none(&slow);
    assert_eq!(lockout.guess(alice, now).err(), Some(Lifetime::secs(10)));
}

#[test]
fn those_who_failed_long_ago_do_not_keep_others_from_being_counted() {
    let failures = Failures::new(LockoutConfig::default().pair);
    for n in 0..50_000 {
        assert!(failures.count(&n, START).is_ok());
    }
    for _ in 0..6 {
        assert!((50_000..54_000).all(|n| failures.count(&n, START).is_ok()));
    }
    assert!((50_000..54_000).all(|n| failures.count(&n, START).is_err()));
}

#[test]
fn networks_that_were_familiar_long_ago_do_not_keep_others_from_becoming_so() {
    let lockout = lockout();
    let all = 2 * u32::try_from(FAMILIAR).unwrap();
    for n in 0..all + 10_000 {
        lockout.is_familiar(&ALICE, network(n));
    }
    let is_familiar = |n| lockout.familiar.get(&lockout.pair_hash(&ALICE, network(n))).is_some();
    assert!((all..all + 10_000).all(is_familiar));
}
