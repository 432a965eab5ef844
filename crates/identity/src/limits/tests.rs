use std::net::IpAddr;

use sluice_primitives::ManualClock;

use super::*;

const ALICE: LoginNameHash = [1; 32];
const BOB: LoginNameHash = [2; 32];

fn network(n: u32) -> Network {
    IpAddr::from((0xC000_0200 + n).to_be_bytes()).into()
}

fn limits(change: impl FnOnce(&mut LimitsConfig)) -> (Limits, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let mut config = LimitsConfig::default();
    change(&mut config);
    (Limits::new(&config, &(clock.clone() as Arc<dyn Clock>)), clock)
}

#[test]
fn a_network_registers_so_many_people_and_one_more_after_a_while() {
    let (limits, clock) = limits(|config| config.registrations_per_network = Some(Rate::per_hour(60)));
    for _ in 0..60 {
        assert_eq!(limits.check_registration(network(1)), Ok(()));
    }
    assert_eq!(limits.check_registration(network(1)), Err(Lifetime::minutes(1)));
    assert_eq!(limits.check_registration(network(2)), Ok(()));
    clock.advance(Lifetime::secs(59));
    assert_eq!(limits.check_registration(network(1)), Err(Lifetime::secs(1)));
    clock.advance(Lifetime::secs(1));
    assert_eq!(limits.check_registration(network(1)), Ok(()));
    assert!(limits.check_registration(network(1)).is_err());
}

#[test]
fn whoever_waits_as_long_as_told_gets_in() {
    let (limits, clock) = limits(|config| config.logins_per_network = Some(Rate::per_hour(7)));
    while limits.check_login(network(1)).is_ok() {}
    for _ in 0..20 {
        let wait = limits.check_login(network(1)).unwrap_err();
        clock.advance(wait);
        assert_eq!(limits.check_login(network(1)), Ok(()));
    }
}

#[test]
fn an_address_gets_so_many_mails_whoever_asks() {
    let (limits, _) = limits(|config| config.mails_per_address = Some(Rate::per_hour(1)));
    assert_eq!(limits.check_mail(&ALICE, network(1)), Ok(()));
    assert_eq!(limits.check_mail(&ALICE, network(2)), Err(Lifetime::hours(1)));
    assert_eq!(limits.check_mail(&BOB, network(2)), Ok(()));
}

#[test]
fn strangers_who_type_codes_do_not_keep_the_owner_from_it() {
    let (limits, _) = limits(|config| config.codes_per_account = Some(Rate::per_hour(1)));
    assert_eq!(limits.check_code(&ALICE, network(1)), Ok(()));
    assert!(limits.check_code(&ALICE, network(1)).is_err());
    assert_eq!(limits.check_code(&ALICE, network(2)), Ok(()));
}

#[test]
fn loopback_and_what_is_turned_off_are_not_counted() {
    let (limits, _) = limits(|config| {
        config.logins_per_network = None;
        config.registrations_per_network = Some(Rate::per_hour(1));
    });
    let loopback = ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"];
    for address in loopback.map(|text| text.parse::<IpAddr>().unwrap()) {
        for _ in 0..3 {
            assert_eq!(limits.check_registration(address.into()), Ok(()), "{address}");
            assert_eq!(limits.check_code(&ALICE, address.into()), Ok(()));
        }
    }
    for _ in 0..10_000 {
        assert_eq!(limits.check_login(network(1)), Ok(()));
    }
    let elsewhere: IpAddr = "2001:db8::1".parse().unwrap();
    assert_eq!(limits.check_registration(elsewhere.into()), Ok(()));
    assert!(limits.check_registration(elsewhere.into()).is_err());
}

#[test]
fn a_flood_of_networks_needs_no_more_memory_and_frees_nobody_who_keeps_asking() {
    let (limits, _) = limits(|config| config.registrations_per_network = Some(Rate::per_hour(1)));
    assert_eq!(limits.check_registration(network(0)), Ok(()));
    for n in 1..=100_000 {
        assert_eq!(limits.check_registration(network(n)), Ok(()));
        if n % 100 == 0 {
            assert!(limits.check_registration(network(0)).is_err(), "after {n} others");
        }
    }
    let counted = limits.registrations.0.unwrap().into_state_store().0.len();
    assert!(counted <= CAPACITY + CAPACITY / 10, "{counted}");
}
