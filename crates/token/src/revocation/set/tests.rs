use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::claims::{Extra, Origin, RareClaims, TokenId};

/// When this process will have run for longer than any token holds here.
fn much_later() -> Instant {
    Instant::now() + Duration::from_hours(24)
}

#[test]
fn consents_of_a_subject_are_told_apart_by_when_they_were_accepted() {
    let (alice, bob): (Subject, Subject) = ("alice".parse().unwrap(), "bob".parse().unwrap());
    let set = RevocationSet::default();
    let at = Timestamp::from_secs(50);
    let target = Target::SubjectConsents(alice.clone());
    set.apply(&Marker { target, at, expires_at: Timestamp::from_secs(90) });
    let client: ClientId = "shop".parse().unwrap();
    let covers = |subject: Option<&Subject>, consented_at| {
        set.covers_grant(&Facts {
            grant: GrantId::from_bytes([1; 16]),
            client: &client,
            subject,
            session: None,
            authenticated_at: Timestamp::from_secs(0),
            consented_at: Timestamp::from_secs(consented_at),
        })
    };
    assert!(covers(Some(&alice), 49) && covers(Some(&alice), 50));
    assert!(!covers(Some(&alice), 51), "a consent after the revocation holds");
    assert!(!covers(Some(&bob), 49) && !covers(None, 49));
    set.forget_expired(Timestamp::from_secs(90), much_later());
    assert!(!covers(Some(&alice), 49));
}

#[test]
fn a_session_of_no_grant_ends_by_itself_and_with_its_subject() {
    let session = SessionId::from_bytes([1; 16]);
    let alice: Subject = "alice".parse().unwrap();
    let ends = |target: Target, authenticated_at: i64| {
        let set = RevocationSet::default();
        set.apply(&Marker { target, at: Timestamp::from_secs(50), expires_at: Timestamp::NEVER });
        set.covers_session(session, &alice, Timestamp::from_secs(authenticated_at))
    };
    let of_alice = || Target::Subject("alice".parse().unwrap());
    assert!(ends(Target::Session(session), 49) && ends(Target::Session(session), 51));
    assert!(ends(of_alice(), 50) && !ends(of_alice(), 51));
    assert!(!ends(Target::Session(SessionId::from_bytes([2; 16])), 49));
    assert!(!ends(Target::Subject("bob".parse().unwrap()), 49));
    assert!(!ends(Target::SubjectConsents("alice".parse().unwrap()), 49));
}

fn exchanged() -> AccessTokenClaims {
    let client = |name: &str| name.parse::<ClientId>().unwrap();
    let origin = |name: &str, token: u8, consented_at| Origin {
        client: client(name),
        token: TokenId::from_bytes([token; 16]),
        consented_at: Timestamp::from_secs(consented_at),
    };
    AccessTokenClaims {
        id: TokenId::from_bytes([3; 16]),
        grant: GrantId::from_bytes([1; 16]),
        client: client("billing"),
        subject: Some("alice".parse().unwrap()),
        session: None,
        scope: "profile".parse().unwrap(),
        audience: Vec::new(),
        issued_at: Timestamp::from_secs(30),
        expires_at: Timestamp::from_secs(90),
        authenticated_at: Timestamp::from_secs(10),
        consented_at: Timestamp::from_secs(30),
        extra: Extra::None,
        userinfo: Extra::None,
        rare: RareClaims {
            origins: vec![origin("shop", 1, 10), origin("cart", 2, 20)],
            ..RareClaims::default()
        },
    }
}

#[test]
fn an_exchanged_token_ends_with_each_of_its_origins_and_by_itself() {
    let client = |name: &str| name.parse::<ClientId>().unwrap();
    let ends = |target: Target, at: i64| {
        let set = RevocationSet::default();
        set.apply(&Marker { target, at: Timestamp::from_secs(at), expires_at: Timestamp::NEVER });
        set.holds(&exchanged())
    };
    assert!(ends(Target::Grant(GrantId::from_bytes([1; 16])), 40), "the grant");
    assert!(ends(Target::Grant(TokenId::from_bytes([3; 16]).as_grant()), 40), "the token alone");
    assert!(ends(Target::Grant(TokenId::from_bytes([2; 16]).as_grant()), 40), "the one in between");
    assert!(!ends(Target::Grant(TokenId::from_bytes([4; 16]).as_grant()), 40), "another one");
    assert!(ends(Target::Client(client("shop")), 40) && ends(Target::Client(client("cart")), 40));
    assert!(ends(Target::SubjectClient("alice".parse().unwrap(), client("shop")), 40));
    assert!(ends(Target::SubjectConsents("alice".parse().unwrap()), 15), "of the first consent");
    assert!(!ends(Target::Client(client("billing")), 25), "what the client lost before the exchange");
    assert!(ends(Target::Client(client("billing")), 30));
}

#[test]
fn a_token_of_a_grant_ends_alone_where_only_it_is_revoked() {
    let of_grant = |id: u8| AccessTokenClaims {
        id: TokenId::from_bytes([id; 16]),
        rare: RareClaims::default(),
        ..exchanged()
    };
    let set = RevocationSet::default();
    let target = Target::Grant(of_grant(3).id.as_grant());
    set.apply(&Marker { target, at: Timestamp::from_secs(40), expires_at: Timestamp::NEVER });
    assert!(set.holds(&of_grant(3)) && !set.holds(&of_grant(4)));
    let of_a_client = AccessTokenClaims { subject: None, ..of_grant(3) };
    assert!(!set.holds(&of_a_client), "it has a grant of its own, by which alone it is looked for");
}

/// The set as one would write it first.
#[derive(Default)]
struct Model(HashMap<Target, (i64, i64)>);

impl Model {
    fn apply(&mut self, marker: &Marker) {
        let entry = self.0.entry(marker.target.clone()).or_insert((i64::MIN, i64::MIN));
        entry.0 = entry.0.max(marker.at.as_millis());
        entry.1 = entry.1.max(marker.expires_at.as_millis());
    }

    fn covers(&self, facts: &Facts<'_>) -> bool {
        let any = |target: Target| self.0.contains_key(&target);
        let since =
            |target: Target, at: Timestamp| self.0.get(&target).is_some_and(|(to, _)| at.as_millis() <= *to);
        any(Target::Grant(facts.grant))
            || facts.session.is_some_and(|session| any(Target::Session(session)))
            || since(Target::Client(facts.client.clone()), facts.consented_at)
            || facts.subject.is_some_and(|subject| {
                let with_client = Target::SubjectClient(subject.clone(), facts.client.clone());
                since(Target::Subject(subject.clone()), facts.authenticated_at)
                    || since(with_client, facts.consented_at)
                    || since(Target::SubjectConsents(subject.clone()), facts.consented_at)
            })
    }
}

const NAMES: [&str; 4] = ["a", "b", "ab", "c"];

fn target() -> impl Strategy<Value = Target> {
    (1..=6_i16, 0..4_usize, 0..4_usize).prop_map(|(kind, one, other)| {
        let (subject, client) = (NAMES[one].parse().unwrap(), NAMES[other].parse().unwrap());
        let id = [u8::try_from(one).unwrap(); 16];
        match kind {
            1 => Target::Grant(GrantId::from_bytes(id)),
            2 => Target::Session(SessionId::from_bytes(id)),
            3 => Target::Subject(subject),
            4 => Target::SubjectClient(subject, client),
            5 => Target::Client(client),
            _ => Target::SubjectConsents(subject),
        }
    })
}

fn marker() -> impl Strategy<Value = Marker> {
    let seconds = |most: i64| (0..most).prop_map(Timestamp::from_secs);
    (target(), seconds(20), seconds(20)).prop_map(|(target, at, expires_at)| Marker {
        target,
        at,
        expires_at,
    })
}

proptest! {
    #[test]
    fn it_says_what_a_plain_map_of_targets_says(
        markers in proptest::collection::vec(marker(), 0..12),
        asked in proptest::collection::vec((0..4_u8, 0..4_usize, 0..5_usize, 0..5_u8, 0..20_i64, 0..20_i64), 40),
        now in 0..20_i64,
    ) {
        let (set, mut model) = (RevocationSet::default(), Model::default());
        for marker in &markers {
            set.apply(marker);
            model.apply(marker);
        }
        for forgotten in [false, true] {
            if forgotten {
                set.forget_expired(Timestamp::from_secs(now), much_later());
                model.0.retain(|_, (_, expires_at)| *expires_at > now * 1000);
            }
            prop_assert_eq!((set.len(), set.is_empty()), (model.0.len(), model.0.is_empty()));
            for (grant, client, subject, session, authenticated_at, consented_at) in &asked {
                let client = NAMES[*client].parse().unwrap();
                let subject: Option<Subject> = NAMES.get(*subject).map(|name| name.parse().unwrap());
                let facts = Facts {
                    grant: GrantId::from_bytes([*grant; 16]),
                    client: &client,
                    subject: subject.as_ref(),
                    session: (*session < 4).then(|| SessionId::from_bytes([*session; 16])),
                    authenticated_at: Timestamp::from_secs(*authenticated_at),
                    consented_at: Timestamp::from_secs(*consented_at),
                };
                prop_assert_eq!(set.covers_grant(&facts), model.covers(&facts), "{:?}", facts);
            }
        }
    }
}

fn grant(number: u32) -> Marker {
    let mut id = [0; 16];
    id[12..].copy_from_slice(&number.to_be_bytes());
    Marker {
        target: Target::Grant(GrantId::from_bytes(id)),
        at: Timestamp::from_secs(1),
        expires_at: Timestamp::from_secs(i64::from(number % 10)),
    }
}

#[test]
fn many_markers_take_little_memory_and_are_forgotten_bit_by_bit() {
    const MANY: u32 = 100_000;
    let set = RevocationSet::default();
    for number in 0..MANY {
        set.apply(&grant(number));
    }
    assert_eq!(set.len(), MANY as usize);
    assert!(set.memory() <= MANY as usize * 80, "{} bytes", set.memory());
    set.forget_some_expired(Timestamp::from_secs(4), much_later());
    assert!(set.len() > MANY as usize * 9 / 10, "a part of it: {}", set.len());
    for _ in 1..PARTS / PARTS_AT_A_TIME {
        set.forget_some_expired(Timestamp::from_secs(4), much_later());
    }
    assert_eq!(set.len(), MANY as usize / 2);
    set.forget_expired(Timestamp::from_secs(9), much_later());
    assert!(set.is_empty() && set.memory() < 100_000, "{} bytes", set.memory());
}

#[test]
fn a_marker_is_forgotten_when_its_time_has_come_by_both_clocks() {
    let grant = GrantId::from_bytes([7; 16]);
    let at = |secs: i64| Timestamp::from_secs(1_000_000 + secs);
    let in_process = |secs| Instant::now() + Duration::from_secs(secs);
    for (now, moment, holds) in [
        (at(59), in_process(0), true),
        (at(18_000), in_process(30), true),
        (at(-18_000), in_process(18_000), true),
        (at(60), in_process(62), false),
    ] {
        let set = RevocationSet::default();
        set.apply(&Marker { target: Target::Grant(grant), at: at(0), expires_at: at(60) });
        set.forget_expired(now, moment);
        assert_eq!(set.holds_grant(grant), holds, "{now} {moment:?}");
    }
    let set = RevocationSet::default();
    set.apply(&Marker { target: Target::Grant(grant), at: at(0), expires_at: Timestamp::NEVER });
    set.forget_expired(Timestamp::NEVER, in_process(1 << 33));
    assert!(set.holds_grant(grant), "what never expires is never forgotten");
}
