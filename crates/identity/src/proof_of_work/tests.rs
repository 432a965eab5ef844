use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret};

use super::*;

const BITS: u8 = 10;

fn proof_of_work(registration_bits: u8, login_bits: u8) -> (ProofOfWork, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
    let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(vec![7; 32])]);
    let config = ProofOfWorkConfig { registration_bits, login_bits };
    (ProofOfWork::new(config, Arc::new(sealer), clock.clone(), Arc::new(OsRng)), clock)
}

fn check(work: &ProofOfWork, purpose: PuzzlePurpose, challenge: &str, solution: &str) -> bool {
    work.check(purpose, Some(PuzzleSolution { challenge, solution }))
}

#[test]
fn a_solution_is_taken_once() {
    let (work, _) = proof_of_work(BITS, 0);
    let puzzle = work.issue(PuzzlePurpose::Registration).unwrap();
    let solution = puzzle.solve();
    assert!(check(&work, PuzzlePurpose::Registration, &puzzle.challenge, &solution));
    assert!(!check(&work, PuzzlePurpose::Registration, &puzzle.challenge, &solution));
    let another =
        (solution.parse::<u64>().unwrap() + 1..u64::MAX).map(|number| number.to_string()).find(|solution| {
            zero_bits(PuzzleSolution { challenge: &puzzle.challenge, solution }) >= u32::from(BITS)
        });
    assert!(!check(&work, PuzzlePurpose::Registration, &puzzle.challenge, &another.unwrap()));
}

#[test]
fn what_is_not_solved_is_not_taken_and_may_still_be_solved() {
    let (work, _) = proof_of_work(BITS, 0);
    let puzzle = work.issue(PuzzlePurpose::Registration).unwrap();
    let solution = puzzle.solve();
    assert!(!work.check(PuzzlePurpose::Registration, None));
    let wrong = (0..u64::MAX).map(|number| format!("no{number}")).find(|solution| {
        zero_bits(PuzzleSolution { challenge: &puzzle.challenge, solution }) < u32::from(BITS)
    });
    assert!(!check(&work, PuzzlePurpose::Registration, &puzzle.challenge, &wrong.unwrap()));
    assert!(!check(&work, PuzzlePurpose::Registration, &puzzle.challenge, &"0".repeat(33)));
    assert!(!check(&work, PuzzlePurpose::Registration, "made up", &solution));
    assert!(check(&work, PuzzlePurpose::Registration, &puzzle.challenge, &solution));
}

#[test]
fn a_puzzle_is_good_for_five_minutes_and_for_its_purpose() {
    let (work, clock) = proof_of_work(1, 1);
    let puzzle = work.issue(PuzzlePurpose::Registration).unwrap();
    let solution = puzzle.solve();
    assert!(!check(&work, PuzzlePurpose::Login, &puzzle.challenge, &solution));
    clock.advance(LIFETIME);
    assert!(!check(&work, PuzzlePurpose::Registration, &puzzle.challenge, &solution));
}

#[test]
fn a_puzzle_of_a_page_is_good_for_as_long_as_the_page() {
    let (work, clock) = proof_of_work(1, 1);
    let lifetime = Lifetime::minutes(30);
    let [first, second] = [(); 2].map(|()| work.issue_for(PuzzlePurpose::Login, lifetime).unwrap());
    clock.advance(Lifetime::minutes(29));
    assert!(check(&work, PuzzlePurpose::Login, &first.challenge, &first.solve()));
    clock.advance(Lifetime::minutes(1));
    assert!(!check(&work, PuzzlePurpose::Login, &second.challenge, &second.solve()));
}

#[test]
fn no_puzzle_is_good_for_longer_than_an_hour() {
    let (work, clock) = proof_of_work(1, 1);
    let lifetime = Lifetime::hours(24);
    let [first, second] = [(); 2].map(|()| work.issue_for(PuzzlePurpose::Login, lifetime).unwrap());
    clock.advance(Lifetime::minutes(59));
    assert!(check(&work, PuzzlePurpose::Login, &first.challenge, &first.solve()));
    clock.advance(Lifetime::minutes(1));
    assert!(!check(&work, PuzzlePurpose::Login, &second.challenge, &second.solve()));
}

#[test]
fn a_puzzle_is_used_once_however_many_were_used_before_it() {
    let (work, _) = proof_of_work(1, 1);
    let is_first = |number: usize| work.is_first((number as u128).to_be_bytes());
    assert!((0..2 * CAPACITY).all(is_first));
    let used = 2 * CAPACITY..2 * CAPACITY + 8_000;
    assert!(used.clone().all(is_first));
    assert_eq!(used.filter(|number| is_first(*number)).count(), 0);
}

#[test]
fn nothing_needs_to_be_solved_where_nothing_is_asked_for() {
    let (work, _) = proof_of_work(BITS, 0);
    assert_eq!(work.issue(PuzzlePurpose::Login), None);
    assert!(work.check(PuzzlePurpose::Login, None));
    assert!(check(&work, PuzzlePurpose::Login, "made up", "0"));
}

#[test]
fn an_easier_puzzle_of_before_is_still_taken() {
    let (before, _) = proof_of_work(1, 0);
    let (now, _) = proof_of_work(MOST_BITS, 0);
    let puzzle = before.issue(PuzzlePurpose::Registration).unwrap();
    assert!(check(&now, PuzzlePurpose::Registration, &puzzle.challenge, &puzzle.solve()));
}
