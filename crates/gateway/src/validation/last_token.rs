//! What a connection was used with last: its next request brings the same token in nearly all cases.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use sluice_primitives::secret::same_long_bytes;
use zeroize::{Zeroize, Zeroizing};

use super::cache::Verified;
use super::footprint;
use crate::authn::Caller;
use crate::enrichment::headers::Identity;

/// A longer token is not kept, in bytes. Nor is one that says what takes much more memory than its text: there may be as many as
/// connections.
const LONGEST: usize = 4096;
/// Room is made in steps: tokens of one kind differ by a few bytes.
const STEP: usize = 256;

/// The last token of a connection that held, and what it says. Key: the whole token. Bound: one ordinary one, of 4 KiB. Staleness: as that of
/// [`VerdictCache`](super::VerdictCache): whether its issuer counts for a route and has the same keys, and whether the token was revoked or
/// has expired, is asked each time, so nobody empties it. Who finds that another request is looking goes without, and waits for nobody.
#[derive(Default)]
pub struct LastToken(Mutex<Option<Known>>);

struct Known {
    token: Token,
    verified: Verified,
    form: Form,
    /// Whether it came more than once: what is made for further requests is then worth it.
    is_again: bool,
    identity: Option<Arc<Identity>>,
}

/// How a token is told to be authentic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// By opening it.
    Sealed,
    /// By its signature.
    Signed,
}

impl LastToken {
    /// What is known of `token`, if it is the one.
    pub(super) fn find(&self, token: &str) -> Option<(Verified, Form)> {
        let mut last = self.0.try_lock()?;
        let known = last.as_mut().filter(|known| known.token.is(token))?;
        known.is_again = true;
        Some((known.verified.clone(), known.form))
    }

    /// Keeps a token that holds in the place of the one before.
    pub(super) fn keep(&self, token: &str, verified: Verified, form: Form) {
        if token.len() > LONGEST || footprint::weight(&verified.caller) > 1 {
            return;
        }
        let Some(mut last) = self.0.try_lock() else { return };
        let mut kept = last.take().map(|known| known.token).unwrap_or_default();
        kept.become_copy_of(token);
        *last = Some(Known { token: kept, verified, form, is_again: false, identity: None });
    }

    /// The headers that say who `caller` is, if that is whose token came again: made once for all further requests.
    pub(crate) fn identity(&self, caller: &Arc<Caller>) -> Option<Arc<Identity>> {
        let mut last = self.0.try_lock()?;
        let is_its = |known: &&mut Known| known.is_again && Arc::ptr_eq(&known.verified.caller, caller);
        let known = last.as_mut().filter(is_its)?;
        Some(Arc::clone(known.identity.get_or_insert_with(|| Arc::new(Identity::of(caller)))))
    }
}

impl fmt::Debug for LastToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A token, of which nothing is left in memory when it is dropped or another takes its place.
#[derive(Default)]
struct Token {
    room: Zeroizing<Vec<u8>>,
    length: usize,
}

impl Token {
    fn is(&self, token: &str) -> bool {
        self.room.get(..self.length).is_some_and(|own| same_long_bytes(own, token.as_bytes()))
    }

    /// Writes `token` over what is here. Larger room is made anew: to extend it would leave a copy behind.
    fn become_copy_of(&mut self, token: &str) {
        if self.room.len() < token.len() {
            *self = Self { room: Zeroizing::new(vec![0; token.len().next_multiple_of(STEP)]), length: 0 };
        }
        let Some((own, rest)) = self.room.split_at_mut_checked(token.len()) else { return };
        own.copy_from_slice(token.as_bytes());
        if let Some(surplus) = rest.get_mut(..self.length.saturating_sub(token.len())) {
            surplus.zeroize();
        }
        self.length = token.len();
    }
}

#[cfg(test)]
mod tests;
