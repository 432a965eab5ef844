use std::net::IpAddr;

use sluice_primitives::{ManualClock, Timestamp};

use super::*;

const ALICE: LoginNameHash = [1; 32];
const BOB: LoginNameHash = [2; 32];

fn network(n: u32) -> Network {
    IpAddr::from((0xC000_0200 + n).to_be_bytes()).into()
}

/// As if all were turned off.
fn nothing_limited(config: &mut LimitsConfig) {
    *config = LimitsConfig {
        registrations_per_network: None,
        logins_per_network: None,
        mails_per_address: None,
        mails_per_network: None,
        codes_per_account: None,
        codes_per_network: None,
        exempt: config.exempt.clone(),
    };
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
fn strangers_who_ask_for_a_verification_do_not_keep_the_owner_from_it() {
    let (limits, _) = limits(|config| config.mails_per_address = Some(Rate::per_hour(1)));
    assert_eq!(limits.check_verification_mail(&ALICE, network(1)), Ok(()));
    assert!(limits.check_verification_mail(&ALICE, network(1)).is_err());
    assert_eq!(limits.check_mail(&ALICE, network(2)), Ok(()), "who is signed in");
    assert_eq!(limits.check_recovery_mail(&ALICE, network(2)), Ok(()));
}

#[test]
fn strangers_who_type_codes_do_not_keep_the_owner_from_it() {
    let (limits, _) = limits(|config| config.codes_per_account = Some(Rate::per_hour(1)));
    assert_eq!(limits.check_code(&ALICE, network(1)), Ok(()));
    assert!(limits.check_code(&ALICE, network(1)).is_err());
    assert_eq!(limits.check_code(&ALICE, network(2)), Ok(()));
}

#[test]
fn codes_of_mails_that_strangers_type_keep_nobody_from_a_second_factor_or_the_end_of_a_recovery() {
    let (limits, _) = limits(|_| ());
    let alice = IdentityId::from_bytes([1; 16]);
    let typed = (0..1000_u32).filter(|n| {
        let account = if n % 2 == 0 { ALICE } else { BOB };
        limits.check_code(&account, network(1)).is_ok()
    });
    assert_eq!(typed.count(), 60);
    assert_eq!(limits.check_factor_code(alice, network(1)), Ok(()));
    assert_eq!(limits.check_recovery(alice, network(1)), Ok(()));
}

#[test]
fn second_factors_of_a_network_of_many_people_are_not_counted_together_and_those_of_one_are() {
    let (limits, _) = limits(|_| ());
    for n in 1..=1000_u128 {
        let person = IdentityId::from_bytes(n.to_be_bytes());
        assert_eq!(limits.check_factor_code(person, network(1)), Ok(()));
        assert_eq!(limits.check_recovery(person, network(1)), Ok(()));
    }
    let first = IdentityId::from_bytes(1_u128.to_be_bytes());
    assert_eq!((0..1000).filter(|_| limits.check_factor_code(first, network(1)).is_ok()).count(), 29);
    assert_eq!((0..1000).filter(|_| limits.check_recovery(first, network(1)).is_ok()).count(), 29);
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
fn a_single_address_of_version_6_is_exempt_and_its_neighbours_are_not() {
    let (limits, _) = limits(|config| {
        config.logins_per_network = Some(Rate::per_hour(1));
        config.exempt = vec!["2001:db8::5/128".parse().unwrap(), "2001:db8:1::/48".parse().unwrap()];
    });
    let of = |text: &str| Network::from(text.parse::<IpAddr>().unwrap());
    for exempt in ["2001:db8::5", "2001:db8:1:7::9"] {
        assert_eq!((0..3).filter(|_| limits.check_login(of(exempt)).is_ok()).count(), 3, "{exempt}");
    }
    assert_eq!(limits.check_login(of("2001:db8::6")), Ok(()));
    assert!(limits.check_login(of("2001:db8::7")).is_err(), "one network");
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
    let counted = limits.registrations.each.0.unwrap().counts.0.len();
    assert!(counted <= CAPACITY + CAPACITY / 10, "{counted}");
}

#[test]
fn networks_that_come_no_more_do_not_keep_new_ones_from_being_counted() {
    let (limits, _) = limits(|config| config.registrations_per_network = Some(Rate::per_hour(1)));
    for n in 0..50_000 {
        assert_eq!(limits.check_registration(network(n)), Ok(()));
    }
    for n in 50_000..54_000 {
        assert_eq!(limits.check_registration(network(n)), Ok(()));
    }
    let again = (50_000..54_000).filter(|n| limits.check_registration(network(*n)).is_ok()).count();
    assert_eq!(again, 0);
}

#[test]
fn a_site_asks_no_more_often_by_being_many_networks() {
    let (limits, _) = limits(|config| config.logins_per_network = Some(Rate::per_hour(2)));
    let of = |text: String| Network::from(text.parse::<IpAddr>().unwrap());
    let asked = (0..1000).filter(|n| limits.check_login(of(format!("2001:db8:0:{n:x}::1"))).is_ok()).count();
    assert_eq!(asked, 32);
    assert_eq!(limits.check_login(of("2001:db8:1::1".to_owned())), Ok(()));
}

#[test]
fn what_a_site_may_not_do_is_not_counted_for_the_network() {
    let (limits, clock) = limits(|config| config.logins_per_network = Some(Rate::per_hour(60)));
    let of = |n: u32| Network::from(format!("2001:db8:1:{n:x}::1").parse::<IpAddr>().unwrap());
    let others = (0..16).flat_map(|n| [n; 60]);
    assert!(others.map(of).all(|other| limits.check_login(other).is_ok()));
    let mine = of(16);
    assert!((0..60).all(|_| limits.check_login(mine).is_err()));
    // Of the site's 960 an hour sixteen come back in a minute, of the network's 60 one.
    clock.advance(Lifetime::minutes(1));
    assert_eq!((0..60).filter(|_| limits.check_login(mine).is_ok()).count(), 16);
}

#[test]
fn who_does_too_much_alone_leaves_the_rest_to_its_site() {
    let (limits, _) = limits(|config| config.registrations_per_network = Some(Rate::per_hour(60)));
    let of = |text: &str| Network::from(text.parse::<IpAddr>().unwrap());
    let allowed = (0..10_000).filter(|_| limits.check_registration(of("2001:db8::1")).is_ok()).count();
    assert_eq!(allowed, 60);
    assert_eq!(limits.check_registration(of("2001:db8:0:1::1")), Ok(()));
}

#[test]
fn an_access_token_changes_a_record_so_often_and_no_more() {
    let (limits, clock) = limits(|_| ());
    let (alice, bob) = (IdentityId::from_bytes([1; 16]), IdentityId::from_bytes([2; 16]));
    assert_eq!((0..100).filter(|_| limits.check_change(alice).is_ok()).count(), 60);
    assert_eq!(limits.check_change(bob), Ok(()));
    clock.advance(Lifetime::minutes(1));
    assert_eq!(limits.check_change(alice), Ok(()));
}

#[test]
fn a_password_without_the_second_factor_that_goes_with_it_is_taken_back() {
    let (limits, _) = limits(|_| ());
    let (alice, bob) = (IdentityId::from_bytes([1; 16]), IdentityId::from_bytes([2; 16]));
    for _ in 0..100 {
        assert_eq!(limits.check_confirmation(alice), Ok(()));
        limits.was_no_confirmation(alice);
    }
    assert_eq!((0..100).filter(|_| limits.check_confirmation(alice).is_ok()).count(), 60);
    assert_eq!(limits.check_confirmation(bob), Ok(()));
}

#[test]
fn where_nothing_is_limited_a_network_still_waits_for_so_many_hashes_and_a_record_is_changed_so_often() {
    let (limits, _) = limits(nothing_limited);
    let alice = IdentityId::from_bytes([1; 16]);
    for _ in 0..1000 {
        assert_eq!(limits.check_registration(network(1)), Ok(()));
        assert_eq!(limits.check_recovery_mail(&ALICE, network(1)), Ok(()));
        assert_eq!(limits.check_code(&ALICE, network(1)), Ok(()));
        assert_eq!(limits.check_factor_code(alice, network(1)), Ok(()));
    }
    let waiting: Vec<_> = (0..100).filter_map(|_| limits.place(network(1), 64).ok()).collect();
    assert_eq!(waiting.len(), 8);
    assert_eq!((0..100).filter(|_| limits.check_change(alice).is_ok()).count(), 60);
}

#[test]
fn a_network_waits_for_so_many_hashes_unless_everybody_may_come_from_there() {
    let (limits, _) = limits(|_| ());
    let waiting: Vec<_> = (0..100).filter_map(|_| limits.place(network(1), 64).ok()).collect();
    assert_eq!(waiting.len(), 8);
    assert_eq!(limits.place(network(1), 64).err(), Some(Lifetime::secs(1)));
    let loopback = || limits.place(IpAddr::from([127, 0, 0, 1]).into(), 64);
    assert_eq!((0..100).filter_map(|_| loopback().ok()).collect::<Vec<_>>().len(), 100);
}
