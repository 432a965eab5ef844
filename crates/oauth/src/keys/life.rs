//! The life of a signing key, told by times alone: a node that missed a change of state signs with the same key as all
//! others.

use sluice_primitives::Timestamp;

use super::repository::KeyState;
use super::rotation::RotationPolicy;

/// Where a signing key is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    /// The state at that time, whatever is stored.
    pub(super) state: KeyState,
    /// Since when, or from when, it signs; none if it was taken out of use.
    pub(super) signs_from: Option<Timestamp>,
    /// When it is deleted, if it has a successor. Counted as if the successor had been announced, which errs on the late
    /// side.
    pub(super) gone_at: Option<Timestamp>,
}

/// From when a key signs, unless a newer one does.
pub(super) fn signs_from(
    state: KeyState,
    created_at: Timestamp,
    policy: &RotationPolicy,
) -> Option<Timestamp> {
    match state {
        KeyState::Active => Some(created_at),
        KeyState::Announced => Some(created_at + policy.announce_for),
        KeyState::Retiring => None,
    }
}

/// The lives of the signing keys of one set and algorithm, newest first: the newest that has been announced for long
/// enough signs, those before it are retiring.
pub(super) fn lives(
    keys: impl IntoIterator<Item = (KeyState, Timestamp)>,
    policy: &RotationPolicy,
    now: Timestamp,
) -> Vec<Life> {
    let mut is_succeeded = false;
    let mut succeeded_at: Option<Timestamp> = None;
    let lives = keys.into_iter().map(|(stored, created_at)| {
        let signs_from = signs_from(stored, created_at, policy);
        let state = match signs_from {
            None => KeyState::Retiring,
            Some(_) if is_succeeded => KeyState::Retiring,
            Some(from) if from <= now => KeyState::Active,
            Some(_) => KeyState::Announced,
        };
        let gone_at = succeeded_at.map(|at| at + policy.retire_after);
        is_succeeded |= state == KeyState::Active;
        let own = created_at + policy.announce_for;
        succeeded_at = Some(succeeded_at.map_or(own, |earliest| earliest.min(own)));
        Life { state, signs_from, gone_at }
    });
    lives.collect()
}

#[cfg(test)]
mod tests {
    use sluice_primitives::Lifetime;

    use super::*;
    use KeyState::{Active, Announced, Retiring};

    const POLICY: RotationPolicy =
        RotationPolicy { every: None, announce_for: Lifetime::secs(10), retire_after: Lifetime::secs(100) };

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn states(keys: &[(KeyState, i64)], now: i64) -> Vec<KeyState> {
        let keys = keys.iter().map(|(state, created)| (*state, at(*created)));
        lives(keys, &POLICY, at(now)).into_iter().map(|life| life.state).collect()
    }

    #[test]
    fn a_successor_signs_when_it_was_announced_for_long_enough() {
        let keys = [(Announced, 50), (Active, 0)];
        assert_eq!(states(&keys, 59), [Announced, Active]);
        assert_eq!(states(&keys, 60), [Active, Retiring]);
    }

    #[test]
    fn written_states_change_nothing_that_times_do_not_say() {
        assert_eq!(states(&[(Active, 50), (Retiring, 0)], 60), [Active, Retiring]);
        assert_eq!(states(&[(Announced, 50), (Active, 0)], 1_000), [Active, Retiring]);
    }

    #[test]
    fn of_two_announced_keys_each_signs_in_its_turn() {
        let keys = [(Announced, 55), (Announced, 50), (Active, 0)];
        assert_eq!(states(&keys, 62), [Announced, Active, Retiring]);
        assert_eq!(states(&keys, 65), [Active, Retiring, Retiring]);
    }

    #[test]
    fn a_key_is_gone_some_time_after_its_first_successor_began_to_sign() {
        let keys = [(Announced, 500), (Announced, 50), (Active, 0)].map(|(state, secs)| (state, at(secs)));
        let gone: Vec<_> = lives(keys, &POLICY, at(600)).into_iter().map(|life| life.gone_at).collect();
        assert_eq!(gone, [None, Some(at(610)), Some(at(160))]);
    }

    #[test]
    fn a_key_that_was_taken_out_of_use_does_not_come_back() {
        assert_eq!(states(&[(Retiring, 50), (Active, 0)], 60), [Retiring, Active]);
        assert_eq!(states(&[(Retiring, 50)], 60), [Retiring]);
    }
}
