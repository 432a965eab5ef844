//! Batch: the ops one lane has taken, and the halving that isolates a poisoned row.
//!
//! The batch is cut into pieces, and always the last piece is worked on: it can be answered, shortened or cut again
//! without moving the others. All buffers are reused from batch to batch.

use std::sync::Arc;

use thiserror::Error;
use tokio::time::Instant;

use crate::error::{Cause, SubmitError};
use crate::line::{Pending, Ticket};

/// A writer broke its promise of one outcome per op.
#[derive(Debug, Error)]
#[error("the writer returned {returned} outcomes for {rows} rows")]
struct OutcomeCount {
    returned: usize,
    rows: usize,
}

/// A part of a batch that is written as one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// Where it begins; it ends where the batch does.
    start: usize,
    /// Whether an attempt at it, or at what it was cut from, was lost, and may be committed.
    pub(crate) is_open: bool,
}

/// Ops in the order of their keys, each with its ticket at the same place.
pub(crate) struct Batch<Op, Out> {
    ops: Vec<Op>,
    tickets: Vec<Ticket<Out>>,
    /// The keys of all ops taken, whether or not they are settled yet.
    keys: Vec<u64>,
    /// The pieces not worked on yet: their sizes, and whether they are open.
    pieces: Vec<(usize, bool)>,
}

impl<Op, Out> Batch<Op, Out> {
    pub(crate) fn new() -> Self {
        Self { ops: Vec::new(), tickets: Vec::new(), keys: Vec::new(), pieces: Vec::new() }
    }

    /// Moves what was taken into the batch, sorted by key, as one piece.
    pub(crate) fn fill(&mut self, taken: &mut Vec<Pending<Op, Out>>) {
        taken.sort_unstable_by_key(|pending| pending.key);
        self.pieces.push((taken.len(), false));
        for pending in taken.drain(..) {
            self.keys.push(pending.key);
            self.ops.push(pending.op);
            self.tickets.push(pending.ticket);
        }
    }

    /// The next piece to work on. The one before it must be settled or halved.
    pub(crate) fn next_piece(&mut self) -> Option<Piece> {
        let (size, is_open) = self.pieces.pop()?;
        Some(Piece { start: self.ops.len().saturating_sub(size), is_open })
    }

    /// The ops of a piece.
    pub(crate) fn ops(&self, piece: Piece) -> &[Op] {
        self.ops.get(piece.start..).unwrap_or_default()
    }

    /// Answers each op of a committed piece with its own outcome.
    pub(crate) fn answer(&mut self, piece: Piece, outcomes: Vec<Out>) {
        let rows = self.ops(piece).len();
        if outcomes.len() == rows {
            self.ops.truncate(piece.start);
            for (ticket, outcome) in self.tickets.drain(piece.start..).zip(outcomes) {
                ticket.answer(Ok(outcome));
            }
        } else {
            let cause: Cause = Arc::new(OutcomeCount { returned: outcomes.len(), rows });
            self.fail(piece, &SubmitError::Unavailable(Some(cause)));
        }
    }

    /// Answers every op of a piece with the same error.
    pub(crate) fn fail(&mut self, piece: Piece, error: &SubmitError) {
        self.ops.truncate(piece.start);
        for ticket in self.tickets.drain(piece.start..) {
            ticket.answer(Err(error.clone()));
        }
    }

    /// Cuts a piece that holds a poisoned row in two. False if the row already stands alone.
    pub(crate) fn halve(&mut self, piece: Piece) -> bool {
        let rows = self.ops(piece).len();
        if rows < 2 {
            return false;
        }
        self.pieces.extend([rows / 2, rows - rows / 2].map(|size| (size, piece.is_open)));
        true
    }

    /// Takes the ops whose deadline has passed out of a piece, and answers them. Returns whether any op is left.
    pub(crate) fn expire(&mut self, piece: Piece, now: Instant, cause: &Cause) -> bool {
        let overdue = |ticket: &mut Ticket<Out>| ticket.deadline <= now;
        let mut place = piece.start;
        while let Some(ticket) = self.tickets.get_mut(place) {
            if overdue(ticket) {
                self.ops.remove(place);
                self.tickets.remove(place).answer(Err(SubmitError::Unavailable(Some(cause.clone()))));
            } else {
                place += 1;
            }
        }
        !self.ops(piece).is_empty()
    }

    /// Empties the settled batch and yields the keys it held.
    pub(crate) fn settled(&mut self) -> impl Iterator<Item = u64> {
        self.keys.drain(..)
    }
}
