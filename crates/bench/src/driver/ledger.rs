//! What a server has promised by an answer: written down by the users, compared with the database after a crash.

use std::sync::{Mutex, PoisonError};

/// Something that an answer promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    /// Somebody was registered under this address.
    Registered {
        /// The e-mail address.
        email: String,
        /// The password.
        password: String,
    },
    /// A code was redeemed for these tokens.
    Issued {
        /// The code.
        code: String,
        /// The access token.
        access_token: String,
        /// The refresh token, if there is one.
        refresh_token: Option<String>,
    },
    /// A refresh token was exchanged for another.
    Rotated {
        /// The token that was spent.
        spent: String,
        /// The one that was given for it.
        given: String,
    },
    /// A token was revoked.
    Revoked {
        /// The token.
        token: String,
    },
    /// A token was issued, and nobody revoked it.
    LeftAlone {
        /// The token.
        token: String,
    },
    /// A client was created.
    ClientCreated {
        /// Its id.
        id: String,
    },
}

/// Who was promised what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which of the users, or of the people for whom they act.
    pub user: usize,
    /// What was promised.
    pub receipt: Receipt,
}

/// All receipts of a run, in the order in which they came.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Vec<Entry>>);

impl Ledger {
    /// Writes one down.
    pub fn record(&self, user: usize, receipt: Receipt) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Entry { user, receipt });
    }

    /// Takes what was written.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::driver::{Agent, Endpoint, Endpoints};

    #[test]
    fn a_promise_is_written_down_for_whom_it_was_made_to() {
        let public = Endpoint::at("127.0.0.1:9".parse().unwrap());
        let endpoints = Arc::new(Endpoints { public, admin: None, gateway: None });
        let ledger = Arc::new(Ledger::default());
        let agent = Agent::new(1, endpoints, Some(Arc::clone(&ledger)));
        agent.record(|| Receipt::ClientCreated { id: "shop".to_owned() });
        agent.record_for(7, || Receipt::LeftAlone { token: "t".to_owned() });
        assert_eq!(ledger.take().iter().map(|entry| entry.user).collect::<Vec<_>>(), [1, 7]);
        assert!(agent.keeps_ledger());
    }
}
