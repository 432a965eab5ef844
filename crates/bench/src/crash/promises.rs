//! What a ledger promises, put in order.

use std::collections::{HashMap, HashSet};

use crate::driver::{Entry, Receipt};

/// So many of those who registered are logged in: each costs a slow hash.
const SAMPLE: usize = 64;

/// Somebody who registered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) email: String,
    pub(super) password: String,
}

/// A code that was redeemed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Redeemed {
    pub(super) user: usize,
    pub(super) code: String,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
}

/// Refresh tokens, each given for the one before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) user: usize,
    /// The newest is the last.
    pub(super) tokens: Vec<String>,
}

/// All that was promised.
#[derive(Debug, Default)]
pub(super) struct Promises {
    pub(super) registered: Vec<Registered>,
    pub(super) redeemed: Vec<Redeemed>,
    pub(super) chains: Vec<Chain>,
    pub(super) revoked: Vec<String>,
    pub(super) left_alone: Vec<String>,
    pub(super) clients: Vec<String>,
    /// What the ledger itself says was done twice: a code for two answers, a refresh token for two different successors.
    pub(super) redeemed_twice: Vec<String>,
    pub(super) rotated_twice: Vec<String>,
}

impl Promises {
    pub(super) fn of(entries: Vec<Entry>) -> Self {
        let (mut promises, mut codes) = (Self::default(), HashSet::new());
        let mut rotations = Vec::new();
        for Entry { user, receipt } in entries {
            match receipt {
                Receipt::Registered { email, password } => {
                    promises.registered.push(Registered { email, password });
                }
                Receipt::Revoked { token } => promises.revoked.push(token),
                Receipt::LeftAlone { token } => promises.left_alone.push(token),
                Receipt::ClientCreated { id } => promises.clients.push(id),
                Receipt::Rotated { spent, given } => rotations.push((user, spent, given)),
                Receipt::Issued { code, access_token, refresh_token } => {
                    if !codes.insert(code.clone()) {
                        promises.redeemed_twice.push(code.clone());
                    }
                    promises.redeemed.push(Redeemed { user, code, access_token, refresh_token });
                }
            }
        }
        promises.chain(rotations);
        promises
    }

    /// Some of those who registered, from the first on and evenly.
    pub(super) fn sample(&self) -> Vec<&Registered> {
        let step = self.registered.len().div_ceil(SAMPLE).max(1);
        self.registered.iter().step_by(step).collect()
    }

    fn chain(&mut self, rotations: Vec<(usize, String, String)>) {
        let mut next = HashMap::<String, (usize, String)>::new();
        for (user, spent, given) in rotations {
            match next.get(&spent) {
                // The same pair again: a retry after an answer that was lost.
                Some((_, known)) if *known == given => {}
                Some(_) => self.rotated_twice.push(spent),
                None => drop(next.insert(spent, (user, given))),
            }
        }
        let given: HashSet<_> = next.values().map(|(_, given)| given.clone()).collect();
        let mut heads: Vec<_> = next.keys().filter(|spent| !given.contains(*spent)).cloned().collect();
        heads.sort();
        for head in heads {
            let mut chain = Chain { user: 0, tokens: vec![head.clone()] };
            let mut newest = head;
            while let Some((user, given)) = next.remove(&newest) {
                chain.user = user;
                chain.tokens.push(given.clone());
                newest = given;
            }
            self.chains.push(chain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotated(user: usize, spent: &str, given: &str) -> Entry {
        Entry { user, receipt: Receipt::Rotated { spent: spent.to_owned(), given: given.to_owned() } }
    }

    #[test]
    fn rotations_of_users_become_chains_in_their_order() {
        let promises = Promises::of(vec![rotated(1, "a", "b"), rotated(2, "x", "y"), rotated(1, "b", "c")]);
        let chains: Vec<_> =
            promises.chains.iter().map(|chain| (chain.user, chain.tokens.join(">"))).collect();
        assert_eq!(chains, [(1, "a>b>c".to_owned()), (2, "x>y".to_owned())]);
    }

    #[test]
    fn the_same_pair_again_is_a_retry_and_another_pair_is_twice() {
        let retried = Promises::of(vec![rotated(1, "a", "b"), rotated(1, "a", "b")]);
        assert_eq!((retried.chains.len(), retried.rotated_twice.len()), (1, 0));
        let twice = Promises::of(vec![rotated(1, "a", "b"), rotated(1, "a", "c")]);
        assert_eq!(twice.rotated_twice, ["a"]);
    }

    #[test]
    fn a_sample_is_small_and_begins_with_the_first() {
        let registered = |count: usize| {
            let receipt =
                |number| Receipt::Registered { email: format!("{number}@x.test"), password: "p".to_owned() };
            Promises::of((0..count).map(|number| Entry { user: 0, receipt: receipt(number) }).collect())
        };
        for (count, sampled) in [(0, 0), (1, 1), (64, 64), (65, 33), (6_400, 64)] {
            let promises = registered(count);
            let sample = promises.sample();
            assert_eq!(sample.len(), sampled, "{count}");
            assert_eq!(sample.first().map(|one| one.email.as_str()), (count > 0).then_some("0@x.test"));
        }
    }

    #[test]
    fn a_code_that_was_answered_twice_is_told() {
        let issued = || Entry {
            user: 0,
            receipt: Receipt::Issued {
                code: "c".to_owned(),
                access_token: "t".to_owned(),
                refresh_token: None,
            },
        };
        assert_eq!(Promises::of(vec![issued(), issued()]).redeemed_twice, ["c"]);
    }
}
