//! Who comes to register: one after the other, as the seed says. Of a hundred requests five are repeated by the same person
//! and one is nonsense.

use sluice_primitives::OsRng;
use sluice_primitives::rng::{SeededRng, random_bytes};

/// A repeated request is one of so many before it, so that both are often in flight together.
const REPEATED_WITHIN: usize = 64;

/// Chance that can be had again.
pub(super) struct Dice(SeededRng);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(SeededRng::new(seed))
    }

    /// A number below `end`.
    pub(super) fn below(&self, end: usize) -> usize {
        let drawn = u64::from_le_bytes(random_bytes(&self.0));
        usize::try_from(drawn % u64::try_from(end).unwrap()).unwrap()
    }
}

/// A seed: that of the environment (`CROWD_SEED`), which repeats a run, or a new one.
pub(super) fn seed() -> u64 {
    match std::env::var("CROWD_SEED") {
        Ok(said) => said.parse().expect("CROWD_SEED is a number"),
        Err(_) => u64::from_le_bytes(random_bytes(&OsRng)),
    }
}

/// What is sent to `POST /auth/register`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// The person of this number registers, perhaps not for the first time.
    Person(usize),
    /// What nobody can register with.
    Nonsense(Nonsense),
}

/// What can be wrong with a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nonsense {
    NoAddress,
    LongAddress,
    ShortPassword,
    NulInUsername,
}

impl Nonsense {
    const ALL: [Self; 4] = [Self::NoAddress, Self::LongAddress, Self::ShortPassword, Self::NulInUsername];

    /// The field that is wrong.
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::NoAddress | Self::LongAddress => "email",
            Self::ShortPassword => "password",
            Self::NulInUsername => "username",
        }
    }
}

/// What is typed into the form.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub(super) email: String,
    pub(super) username: String,
    pub(super) password: String,
}

/// Everybody who comes.
pub(super) struct Crowd {
    dice: Dice,
    people: usize,
}

impl Crowd {
    pub(super) const fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), people: 0 }
    }

    /// The next request.
    pub(super) fn next(&mut self) -> Request {
        match self.dice.below(100) {
            0 => Request::Nonsense(Nonsense::ALL[self.dice.below(Nonsense::ALL.len())]),
            1..=5 if self.people > 0 => {
                let back = self.dice.below(self.people.min(REPEATED_WITHIN));
                Request::Person(self.people - 1 - back)
            }
            _ => {
                self.people += 1;
                Request::Person(self.people - 1)
            }
        }
    }

    /// What is sent with a request.
    pub(super) fn form(seed: u64, request: Request) -> Form {
        let form = Self::of(seed, 0);
        match request {
            Request::Person(number) => Self::of(seed, number),
            Request::Nonsense(Nonsense::NoAddress) => Form { email: "nobody".to_owned(), ..form },
            Request::Nonsense(Nonsense::LongAddress) => {
                Form { email: format!("nobody@{}.example", "far.".repeat(80)), ..form }
            }
            Request::Nonsense(Nonsense::ShortPassword) => {
                Form { email: format!("hasty@{seed:x}.example"), password: "1234567".to_owned(), ..form }
            }
            Request::Nonsense(Nonsense::NulInUsername) => {
                Form { email: format!("nul@{seed:x}.example"), username: "a\0b".to_owned(), ..form }
            }
        }
    }

    /// The form of a person.
    pub(super) fn of(seed: u64, number: usize) -> Form {
        Form {
            email: format!("person-{number}@{seed:x}.example"),
            username: format!("Person {number}"),
            password: format!("pass phrase {number} of {seed:x}"),
        }
    }
}
