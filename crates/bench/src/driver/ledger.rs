//! What a server has promised by an answer: written down by the users, compared with the database after a crash.

use std::sync::{Mutex, PoisonError};

/// Something that an answer promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    /// Somebody was registered under this address.
    Registered {
        /// The e-mail address.
        email: String,
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
    /// A client was created.
    ClientCreated {
        /// Its id.
        id: String,
    },
}

/// Who was promised what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which of the users.
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
