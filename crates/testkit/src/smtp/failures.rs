//! What is to go wrong.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where in the dialogue a refusal happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SmtpStep {
    /// The greeting.
    Greeting,
    /// `AUTH`.
    Login,
    /// `MAIL FROM`.
    Sender,
    /// `RCPT TO`.
    Recipient,
    /// `RCPT TO`, for the sender's sake.
    SenderAtRecipient,
    /// The text, when all of it has arrived.
    Text,
}

#[derive(Debug, Default)]
pub(super) struct Failures {
    refusals: Mutex<HashMap<SmtpStep, (u16, usize)>>,
    drops: AtomicUsize,
    hangs: AtomicBool,
    babbles: AtomicBool,
    babbled: AtomicUsize,
}

impl Failures {
    pub(super) fn refuse_next(&self, step: SmtpStep, code: u16, times: usize) {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).insert(step, (code, times));
    }

    pub(super) fn drop_connections(&self, times: usize) {
        self.drops.store(times, Ordering::SeqCst);
    }

    pub(super) fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::SeqCst);
    }

    pub(super) fn hangs(&self) -> bool {
        self.hangs.load(Ordering::SeqCst)
    }

    pub(super) fn babble(&self) {
        self.babbles.store(true, Ordering::SeqCst);
    }

    pub(super) fn babbles(&self) -> bool {
        self.babbles.load(Ordering::SeqCst)
    }

    pub(super) fn add_babbled(&self, bytes: usize) {
        self.babbled.fetch_add(bytes, Ordering::SeqCst);
    }

    pub(super) fn babbled(&self) -> usize {
        self.babbled.load(Ordering::SeqCst)
    }

    /// The code to refuse with, if this step is to be refused.
    pub(super) fn refusal(&self, step: SmtpStep) -> Option<u16> {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let (code, left) = refusals.get_mut(&step)?;
        *left = left.checked_sub(1)?;
        Some(*code)
    }

    pub(super) fn drops_now(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.drops.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
    }
}
