//! What it costs to open a token and to ask whether it was revoked, and what a million markers weigh.
//!
//! `cargo run --release -p sluice-token --example token_cost`

use std::hint::black_box;
use std::time::{Duration, Instant};

use sluice_crypto::{Purpose, Sealer, SystemSecret};
use sluice_primitives::{GrantId, Lifetime, NetworkId, OsRng, SessionId, Timestamp};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::{AccessTokenClaims, Marker, RevocationSet, Target, TokenId, sealed};

const TOKENS: u32 = 10_000;
const MARKERS: u32 = 1_000_000;
const ROUNDS: u32 = 500_000;
const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[SystemSecret::new(b"a secret".to_vec())]);
    let all = (0..TOKENS).map(claims).collect::<Result<Vec<_>, _>>()?;
    let tokens: Vec<_> = all.iter().map(|claims| sealed::write(claims, &sealer, &OsRng)).collect();
    println!("a sealed token has {} characters", tokens.first().map_or(0, String::len));
    let value = sealer.seal(Purpose::AccessToken, &[7; 200], &OsRng);
    cost("to open a sealed value of 200 bytes", &[value], |value| {
        sealer.open_in(Purpose::AccessToken, value, &mut [0; 512]).is_ok()
    });
    cost("to read a sealed token", &tokens, |token| sealed::read(token, &sealer).is_ok());
    for (label, kinds) in
        [("no markers", 0), ("a million markers for grants", 1), ("a million of six kinds", 6)]
    {
        let set = RevocationSet::default();
        for number in (0..MARKERS).filter(|_| kinds > 0) {
            set.apply(&marker(number, kinds)?);
        }
        println!("{label}: {} bytes", set.memory());
        cost("to ask whether a token was revoked", &all, |claims| set.holds(claims));
        cost("to read a token and ask", &tokens, |token| {
            sealed::read(token, &sealer).is_ok_and(|claims| set.holds(&claims))
        });
        let began = Instant::now();
        set.forget_expired(
            NOW + Lifetime::minutes(1),
            std::time::Instant::now() + std::time::Duration::from_hours(1),
        );
        println!("  {:>9.3?} to forget what has expired, {} left", began.elapsed(), set.len());
    }
    Ok(())
}

/// Prints the least of some averages: the others were disturbed.
fn cost<T>(label: &str, items: &[T], mut work: impl FnMut(&T) -> bool) {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        for item in items.iter().cycle().take(ROUNDS as usize) {
            black_box(work(black_box(item)));
        }
        least = least.min(began.elapsed());
    }
    println!("  {:>9.1?} {label}", least / ROUNDS);
}

fn id(first: u8, number: u32) -> [u8; 16] {
    let mut id = [first; 16];
    for (to, from) in id.iter_mut().skip(12).zip(number.to_be_bytes()) {
        *to = from;
    }
    id
}

fn claims(number: u32) -> Result<AccessTokenClaims, Box<dyn std::error::Error>> {
    Ok(AccessTokenClaims {
        id: TokenId::from_bytes(id(1, number)),
        grant: GrantId::from_bytes(id(2, number)),
        client: "0b9a7b1e-2f2b-4b6a-9d15-7d0f6c1a2b3c".parse()?,
        subject: Some(format!("5f9a7b1e-2f2b-4b6a-9d15-{number:012x}").parse()?),
        session: Some(SessionId::from_bytes(id(3, number))),
        scope: "openid offline_access profile".parse()?,
        audience: vec!["https://api.example".to_owned()],
        issued_at: NOW,
        expires_at: NOW + Lifetime::hours(1),
        authenticated_at: NOW,
        consented_at: NOW,
        extra: Extra::None,
        userinfo: Extra::None,
        rare: RareClaims::default(),
    })
}

fn marker(number: u32, kinds: u32) -> Result<Marker, Box<dyn std::error::Error>> {
    let name = format!("somebody-{number}");
    let target = match number % kinds {
        0 => Target::Grant(GrantId::from_bytes(id(9, number))),
        1 => Target::Session(SessionId::from_bytes(id(9, number))),
        2 => Target::Subject(name.parse()?),
        3 => Target::SubjectClient(name.parse()?, "shop".parse()?),
        4 => Target::Client(name.parse()?),
        _ => Target::SubjectConsents(name.parse()?),
    };
    Ok(Marker { target, at: NOW, expires_at: NOW + Lifetime::secs(number % 3_600) })
}
