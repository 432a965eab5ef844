//! The refresh chain: the table of [`Rotation`], row by row and on random schedules.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sluice_commit::StoreError;
use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use sluice_oauth::grant::{Generation, Grant, GrantClaims, GrantRepository, RotateRefresh, Rotation};
use sluice_primitives::{AttemptId, GrantId, Lifetime, Timestamp};
use sluice_token::Target;

use crate::refresh_model::{Model, Use, Verdict};
use crate::{Fixture, given};

const OTHER: [u8; 16] = [8; 16];
const SCHEDULES: usize = 96;

async fn rotate(store: &impl GrantRepository, rotate: RotateRefresh) -> Verdict {
    Verdict::from(&store.rotate_refresh(rotate).await.unwrap())
}

/// A grant that was redeemed at second 20 and rotated at the given seconds.
async fn chain(store: &impl GrantRepository, rotations: &[i64]) -> Grant {
    let mut grant = given::redeemed(store, given::grant()).await;
    for now in rotations {
        grant = given::rotated(store, given::rotate(grant.id, grant.generation.0, *now)).await;
    }
    grant
}

/// The current token makes the next generation, in the window of the last rotation or long after.
pub async fn the_current_token_is_rotated(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let redeemed = chain(&*store, &[]).await;
    let first = given::rotated(&*other, given::rotate(redeemed.id, 0, 21)).await;
    let second = given::rotated(&*store, given::rotate(redeemed.id, 1, 90_000)).await;
    assert_eq!((first.generation, second.generation), (Generation(1), Generation(2)));
    assert_eq!(second.rotated_at, Some(given::at(90_000)));
    let expected = Grant { attempt: second.attempt, ..redeemed };
    let expected = Grant { generation: Generation(2), rotated_at: second.rotated_at, ..expected };
    assert_eq!(second, expected);
    assert_eq!(GrantRepository::find(&*other, second.id).await.unwrap(), Some(second));
}

/// A rotation moves the end of the grant on, and back no further than to where every access token of it has ended: earlier ones
/// may have been made to live longer.
pub async fn a_rotation_moves_the_end_of_the_grant(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[]).await;
    let (sooner, last) = (given::at(50_000), given::at(50) + LONGEST_ACCESS_TOKEN);
    let rotations = [
        (30, sooner, grant.expires_at),
        (40, Timestamp::NEVER, Timestamp::NEVER),
        (50, sooner, last),
        (60, sooner, last),
    ];
    for (presented, (now, expires_at, expected)) in (0..).zip(rotations) {
        let rotate = RotateRefresh { expires_at, ..given::rotate(grant.id, presented, now) };
        assert_eq!(given::rotated(&*store, rotate).await.expires_at, expected);
    }
}

/// Two tabs, a lost answer, a retry: the predecessor gets the current pair again, within the window.
pub async fn the_predecessor_repeats_the_current_pair_within_the_window(fixture: &impl Fixture) {
    let store = fixture.store();
    let current = chain(&*store, &[100]).await;
    for now in [100, 129] {
        let repeated =
            fixture.second_node().await.rotate_refresh(given::rotate(current.id, 0, now)).await.unwrap();
        assert_eq!(repeated, Rotation::Repeated(Box::new(current.clone())));
    }
    assert_eq!(given::markers(&*store).await, []);
}

/// A retry that asks for something else is refused, and revokes nothing.
pub async fn the_predecessor_asking_for_something_else_is_stale(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[100]).await;
    let other = RotateRefresh { request: OTHER, ..given::rotate(grant.id, 0, 110) };
    assert_eq!(rotate(&*store, other).await, Verdict::Stale);
    assert_eq!(rotate(&*store, given::rotate(grant.id, 1, 111)).await, Verdict::Rotated);
}

/// After the window the predecessor is a stolen token.
pub async fn the_predecessor_after_the_window_revokes_the_grant(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[100]).await;
    assert_eq!(rotate(&*store, given::rotate(grant.id, 0, 130)).await, Verdict::Reused);
    let stored = GrantRepository::find(&*store, grant.id).await.unwrap().unwrap();
    assert_eq!((stored.revoked_at, stored.generation), (Some(given::at(130)), Generation(1)));
    assert_eq!(stored.claims, GrantClaims::default());
    let marker = given::markers(&*fixture.second_node().await).await.pop().unwrap();
    assert_eq!((marker.target, marker.at), (Target::Grant(grant.id), given::at(130)));
    assert_eq!(marker.expires_at, given::at(200_000));
    assert_eq!(rotate(&*store, given::rotate(grant.id, 1, 131)).await, Verdict::Revoked);
}

/// A slow sibling whose twin already used the child is refused within the window, and is a thief after it.
pub async fn two_generations_back_is_stale_within_the_window_and_reuse_after(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[100, 110]).await;
    assert_eq!(rotate(&*store, given::rotate(grant.id, 0, 139)).await, Verdict::Stale);
    assert_eq!(rotate(&*store, given::rotate(grant.id, 0, 140)).await, Verdict::Reused);
}

/// Anything older is a stolen token, at any time.
pub async fn an_older_token_revokes_the_grant_at_any_time(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[100, 101, 102]).await;
    assert_eq!(rotate(&*store, given::rotate(grant.id, 0, 102)).await, Verdict::Reused);
    assert!(given::is_marked(&*store, &Target::Grant(grant.id)).await);
}

/// Without a window every predecessor is a stolen token.
pub async fn without_a_window_nothing_is_repeated(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[100]).await;
    let at_once = RotateRefresh { window: Lifetime::ZERO, ..given::rotate(grant.id, 0, 100) };
    assert_eq!(rotate(&*store, at_once).await, Verdict::Reused);
}

/// A retry after a lost answer finds its own work, also after the window.
pub async fn a_rotation_retried_by_its_own_attempt_is_a_success(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[]).await;
    let once = given::rotate(grant.id, 0, 100);
    let first = store.rotate_refresh(once.clone()).await.unwrap();
    let retry = RotateRefresh { now: given::at(500), ..once };
    assert_eq!(fixture.second_node().await.rotate_refresh(retry).await.unwrap(), first);
    assert_eq!(given::markers(&*store).await, []);
}

/// What a hook said is written with the rotation that it was asked about, stays, and is told whoever gets the pair again.
pub async fn a_rotation_brings_the_claims_of_a_hook(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let grant = chain(&*store, &[]).await;
    let bringing = |hook: &str, presented: u32, now: i64| {
        let claims = Some(Box::new(given::replaced_by(hook)));
        RotateRefresh { claims, ..given::rotate(grant.id, presented, now) }
    };
    let once = bringing("first", 0, 100);
    let first = given::rotated(&*other, once.clone()).await;
    assert_eq!(first.claims, given::replaced_by("first"));
    let retried = store.rotate_refresh(once).await.unwrap();
    assert_eq!(retried, Rotation::Rotated(Box::new(first.clone())));
    let repeated = store.rotate_refresh(bringing("repeated", 0, 110)).await.unwrap();
    assert_eq!(repeated, Rotation::Repeated(Box::new(first.clone())));
    let stale = RotateRefresh { request: OTHER, ..bringing("stale", 0, 111) };
    assert_eq!(rotate(&*store, stale).await, Verdict::Stale);
    assert_eq!(given::rotated(&*store, given::rotate(grant.id, 1, 200)).await.claims, first.claims);
    let third = given::rotated(&*store, bringing("third", 2, 300)).await;
    assert_eq!(third.claims, given::replaced_by("third"));
    let stored = async || GrantRepository::find(&*other, grant.id).await.unwrap().unwrap().claims;
    assert_eq!(stored().await, third.claims);
    assert_eq!(rotate(&*store, bringing("reused", 0, 400)).await, Verdict::Reused);
    assert_eq!(stored().await, GrantClaims::default());
}

/// In one batch, too, each grant gets its own claims, and keeps those that it has if it is brought none.
pub async fn rotations_with_claims_and_without_share_commits(fixture: &impl Fixture) {
    let store = fixture.store();
    let grants = join_all((0..32).map(|_| chain(&*store, &[]))).await;
    let brought = |place: usize| {
        place.is_multiple_of(2).then(|| Box::new(given::replaced_by(&format!("hook {place}"))))
    };
    let stall = fixture.stall().await;
    let rotations = join_all(grants.iter().enumerate().map(|(place, grant)| {
        store.rotate_refresh(RotateRefresh { claims: brought(place), ..given::rotate(grant.id, 0, 100) })
    }));
    let release = async { drop(stall) };
    let (outcomes, ()) = tokio::join!(rotations, release);
    for (place, (outcome, grant)) in outcomes.iter().zip(&grants).enumerate() {
        let Ok(Rotation::Rotated(rotated)) = outcome else { panic!("{outcome:?}") };
        let expected = brought(place).map_or_else(|| grant.claims.clone(), |claims| *claims);
        assert_eq!(rotated.claims, expected);
        assert_eq!(GrantRepository::find(&*store, grant.id).await.unwrap().unwrap().claims, expected);
    }
}

/// Claims that no store can hold are refused, and the token is as good as before.
pub async fn a_rotation_with_claims_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = chain(&*store, &[]).await;
    let too_long = GrantClaims { acr: Some("x".repeat(2 << 20)), ..GrantClaims::default() };
    let claims = Some(Box::new(too_long));
    let refused = store.rotate_refresh(RotateRefresh { claims, ..given::rotate(grant.id, 0, 100) }).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(rotate(&*store, given::rotate(grant.id, 0, 101)).await, Verdict::Rotated);
}

/// Nothing is rotated that is not there, not redeemed, expired, revoked, or from a future that never was, whatever claims are
/// brought.
pub async fn only_a_living_redeemed_grant_is_rotated(fixture: &impl Fixture) {
    let store = fixture.store();
    for claims in given::brought_claims() {
        let used = async |grant: GrantId, presented: u32, now: i64| {
            let rotation = RotateRefresh { claims: claims.clone(), ..given::rotate(grant, presented, now) };
            rotate(&*store, rotation).await
        };
        assert_eq!(used(given::grant_id(), 0, 20).await, Verdict::Unknown);
        let fresh = given::inserted(&*store, given::grant()).await;
        assert_eq!(used(fresh.id, 0, 20).await, Verdict::Unknown);
        let grant = chain(&*store, &[]).await;
        assert_eq!(used(grant.id, 0, 100_000).await, Verdict::Unknown);
        assert_eq!(used(grant.id, 1, 30).await, Verdict::Unknown);
        assert_eq!(used(grant.id, 0, 30).await, Verdict::Rotated);
        store.revoke(grant.id, given::at(31), given::at(9000)).await.unwrap();
        assert_eq!(used(grant.id, 1, 32).await, Verdict::Revoked);
    }
}

/// Of many simultaneous uses of one token on two nodes one rotates, and all others get the same pair.
pub async fn simultaneous_uses_of_one_token_share_one_pair(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let grant = chain(&*nodes[0], &[]).await;
    let uses = (0..16).map(|place| nodes[place % 2].rotate_refresh(given::rotate(grant.id, 0, 100)));
    let (mut rotated, mut repeated) = (Vec::new(), Vec::new());
    for outcome in join_all(uses).await {
        match outcome.unwrap() {
            Rotation::Rotated(pair) => rotated.push(pair),
            Rotation::Repeated(pair) => repeated.push(pair),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((rotated.len(), repeated.len()), (1, 15));
    assert!(repeated.iter().all(|pair| *pair == rotated[0]));
}

/// One step of a random schedule.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A token so many generations back (or ahead, below zero) is used, on a node, after some milliseconds.
    Use { back: i64, node: usize, later: u32, other_request: bool },
    /// The last use is sent again by the same attempt, to a node, after some milliseconds.
    Retry { node: usize, later: u32 },
    /// The grant is revoked, on a node.
    Revoke { node: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let window = u32::try_from(given::WINDOW.as_millis()).unwrap_or(u32::MAX);
    let later =
        prop_oneof![Just(0), Just(1), Just(window - 1), Just(window), Just(window + 1), 0..2 * window];
    let back = prop_oneof![6 => Just(0), 4 => Just(1), 2 => Just(2), 1 => Just(3), 1 => Just(-1)];
    prop_oneof![
        16 => (back, 0..2_usize, later, proptest::bool::weighted(0.2))
            .prop_map(|(back, node, later, other_request)| Step::Use { back, node, later, other_request }),
        2 => (0..2_usize, 0..2 * window).prop_map(|(node, later)| Step::Retry { node, later }),
        1 => (0..2_usize).prop_map(|node| Step::Revoke { node }),
    ]
}

/// Whatever is presented to whichever node in whatever order: the store answers as the table says.
pub async fn random_schedules_on_two_nodes_follow_the_table(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let mut runner = TestRunner::deterministic();
    for _ in 0..SCHEDULES {
        let schedule = vec(step(), 1..16).new_tree(&mut runner).unwrap().current();
        let grant = given::redeemed(&*nodes[0], given::grant()).await;
        let mut walk = Walk::from(&grant);
        for (place, step) in schedule.iter().enumerate() {
            let (node, expected) = walk.take(*step);
            if expected.is_none() {
                nodes[node].revoke(grant.id, walk.now, given::at(900_000)).await.unwrap();
                continue;
            }
            let verdict = rotate(&*nodes[node], walk.request()).await;
            assert_eq!(Some(verdict), expected, "step {place} of {schedule:#?}");
        }
        let stored = GrantRepository::find(&*nodes[0], grant.id).await.unwrap().unwrap();
        assert_eq!(stored.generation.0, walk.model.generation, "after {schedule:#?}");
    }
}

/// The model on its way through a schedule.
struct Walk {
    grant: GrantId,
    model: Model,
    now: Timestamp,
    last: Use,
}

impl From<&Grant> for Walk {
    fn from(grant: &Grant) -> Self {
        let now = given::at(20);
        let last =
            Use { presented: 0, request: [0; 16], attempt: given::attempt(), now, window: given::WINDOW };
        Self { grant: grant.id, model: Model::redeemed(now, grant.attempt), now, last }
    }
}

impl Walk {
    /// Which node the step goes to, and what must become of it; nothing for a revocation.
    fn take(&mut self, step: Step) -> (usize, Option<Verdict>) {
        let (node, presented, request, attempt, later) = match step {
            Step::Revoke { node } => {
                self.model.revoke();
                return (node, None);
            }
            Step::Retry { node, later } => {
                (node, self.last.presented, self.last.request, self.last.attempt, later)
            }
            Step::Use { back, node, later, other_request } => {
                let presented = u32::try_from((i64::from(self.model.generation) - back).max(0)).unwrap_or(0);
                let request = if other_request { OTHER } else { [7; 16] };
                (node, presented, request, given::attempt(), later)
            }
        };
        self.now = self.now + Lifetime::millis(later);
        self.last = Use { presented, request, attempt, now: self.now, window: given::WINDOW };
        (node, Some(self.model.apply(self.last)))
    }

    fn request(&self) -> RotateRefresh {
        let Use { presented, request, attempt, now, window } = self.last;
        let attempt: AttemptId = attempt;
        let presented = Generation(presented);
        RotateRefresh {
            grant: self.grant,
            attempt,
            presented,
            request,
            now,
            window,
            expires_at: Timestamp::NEVER,
            marker_expires_at: given::at(9_000_000),
            claims: None,
        }
    }
}
