//! The book: what everybody was told, and whether it is so.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::crowd::{Crowd, Nonsense, Request};
use super::door::{Door, LogIn, Told};
use super::rows::Row;

/// How many log in at the same time: fewer than one network may have in flight without delay.
const AT_ONCE: usize = 32;
/// How many strangers try to log in: fewer than make one network wait.
const STRANGERS: usize = 10;

/// What everybody was told.
pub(super) struct Book {
    seed: u64,
    people: BTreeMap<usize, Vec<Told>>,
    nonsense: Vec<(Nonsense, Told)>,
    /// How long it took until all had come.
    pub(super) took: Duration,
}

impl Book {
    pub(super) const fn of(seed: u64) -> Self {
        Self { seed, people: BTreeMap::new(), nonsense: Vec::new(), took: Duration::ZERO }
    }

    /// Writes down what somebody was told. Whether they try again: every second person who was not answered.
    pub(super) fn write(&mut self, request: Request, told: Told) -> bool {
        match request {
            Request::Person(number) => {
                let tries_again = told == Told::Unknown && number.is_multiple_of(2);
                self.people.entry(number).or_default().push(told);
                tries_again
            }
            Request::Nonsense(nonsense) => {
                self.nonsense.push((nonsense, told));
                false
            }
        }
    }

    /// How many were told so.
    pub(super) fn count(&self, is: impl Fn(&Told) -> bool) -> usize {
        let people = self.people.values().flatten();
        people.chain(self.nonsense.iter().map(|(_, told)| told)).filter(|told| is(told)).count()
    }

    /// How many were told that they are registered.
    pub(super) fn created(&self) -> usize {
        self.count(|told| matches!(told, Told::Created(_)))
    }

    /// How many were told nothing.
    pub(super) fn unknown(&self) -> usize {
        self.count(|told| *told == Told::Unknown)
    }

    /// Holds it against what is stored.
    pub(super) fn check(&self, rows: &HashMap<String, Row>) {
        let mut stored = 0;
        for (number, told) in &self.people {
            let row = rows.get(&Crowd::of(self.seed, *number).email);
            stored += usize::from(row.is_some());
            check_person(told, row).unwrap_or_else(|wrong| panic!("person {number}: {wrong}; told {told:?}"));
        }
        assert_eq!(stored, rows.len(), "records of people who were never there");
        for (nonsense, told) in &self.nonsense {
            let expected = Told::Invalid(nonsense.field().to_owned());
            assert!(*told == expected || *told == Told::Unknown, "{nonsense:?} was told {told:?}");
        }
    }

    /// Everybody who has a record logs in; whoever has none does not.
    pub(super) async fn check_logins(&self, door: &Door, rows: &HashMap<String, Row>) {
        let has_record = |number: &usize| rows.contains_key(&Crowd::of(self.seed, *number).email);
        let (people, mut strangers): (Vec<usize>, Vec<usize>) =
            self.people.keys().partition(|n| has_record(n));
        strangers.truncate(STRANGERS);
        self.log_in(door, &people, rows).await;
        self.log_in(door, &strangers, rows).await;
    }

    /// These people log in, if they have a record.
    pub(super) async fn log_in(&self, door: &Door, numbers: &[usize], rows: &HashMap<String, Row>) {
        let (places, mut all) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
        for number in numbers {
            let form = Crowd::of(self.seed, *number);
            let expected = if rows.contains_key(&form.email) { LogIn::Welcome } else { LogIn::Refused };
            let place = Arc::clone(&places).acquire_owned().await.expect("a place");
            let (door, number) = (door.clone(), *number);
            all.spawn(async move {
                let told = door.log_in(&form.email, &form.password).await;
                drop(place);
                assert_eq!(told, expected, "person {number} logs in");
            });
        }
        while let Some(ended) = all.join_next().await {
            ended.expect("as expected");
        }
    }
}

/// What is wrong with what one person was told, and what is stored of them.
fn check_person(told: &[Told], row: Option<&Row>) -> Result<(), &'static str> {
    let created: Vec<&String> =
        told.iter().filter_map(|told| if let Told::Created(id) = told { Some(id) } else { None }).collect();
    let unknown = told.contains(&Told::Unknown);
    let expected = |told: &Told| matches!(told, Told::Created(_) | Told::Taken | Told::Unknown);
    match (created.as_slice(), row) {
        _ if !told.iter().all(expected) => Err("an odd answer"),
        ([_, _, ..], _) => Err("registered twice"),
        ([_], None) => Err("answered, and lost"),
        ([id], Some(row)) if **id != row.id => Err("answered with another id"),
        ([], _) if !unknown => Err("nobody was told that it is registered, and everybody was answered"),
        ([], None) if told.contains(&Told::Taken) => Err("said to be taken, and is not there"),
        _ => Ok(()),
    }
}

impl fmt::Display for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = self.people.values().map(Vec::len).sum::<usize>() + self.nonsense.len();
        write!(
            f,
            "seed {}: {requests} requests in {:.1?}, {} registered, {} taken, {} invalid, {} unanswered",
            self.seed,
            self.took,
            self.created(),
            self.count(|told| *told == Told::Taken),
            self.count(|told| matches!(told, Told::Invalid(_))),
            self.unknown(),
        )
    }
}
