//! Which lines are done with. Outcomes come in any order; what is counted and told is in the order of the lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::line::LineError;

/// Why a line became no record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Rejection {
    /// It is not as it must be.
    #[error(transparent)]
    Invalid(#[from] LineError),
    /// Another identity has the address: one that was there, or of another line.
    #[error("email: the address belongs to another identity")]
    Duplicate,
    /// Another identity has the id.
    #[error("id: the id belongs to another identity")]
    IdTaken,
    /// The store cannot hold it.
    #[error("the record cannot be stored: {0}")]
    Refused(String),
}

impl Rejection {
    /// The field that is to blame, if it is one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid(error) => error.field.as_deref(),
            Self::Duplicate => Some(super::fields::EMAIL),
            Self::IdTaken => Some(super::fields::ID),
            Self::Refused(_) => None,
        }
    }

    /// What is wrong, without the field.
    pub fn reason(&self) -> String {
        match self {
            Self::Invalid(error) => error.fault.to_string(),
            Self::Duplicate => "the address belongs to another identity".to_owned(),
            Self::IdTaken => "the id belongs to another identity".to_owned(),
            Self::Refused(_) => self.to_string(),
        }
    }
}

/// A line that became no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedLine {
    /// Which, counted from 1.
    pub line: u64,
    /// Why.
    pub rejection: Rejection,
}

/// How many lines became what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportedCounts {
    /// All of them, empty ones too.
    pub lines: u64,
    /// Records that are there now, by this import.
    pub imported: u64,
    /// Addresses and ids that were taken.
    pub duplicates: u64,
    /// Lines with something wrong.
    pub invalid: u64,
    /// Of those that are imported: lines that say of an address that it was verified which is taken for verified of no line.
    #[serde(default)]
    pub disbelieved: u64,
}

impl ImportedCounts {
    /// Lines that became no record although they are not empty.
    pub const fn rejected(&self) -> u64 {
        self.duplicates + self.invalid
    }
}

/// What became of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineOutcome {
    /// It is empty.
    Empty,
    /// There is a record.
    Imported {
        /// Whether the line says of its address what is not believed.
        is_disbelieved: bool,
    },
    /// There is none.
    Rejected(Rejection),
}

/// A line whose outcome is known.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) number: u64,
    pub(super) end: u64,
    pub(super) outcome: LineOutcome,
}

/// Lines up to which every outcome is known, and those beyond them.
pub(super) struct Frontier {
    pub(super) counts: ImportedCounts,
    /// Where the last counted line ends, in bytes.
    pub(super) offset: u64,
    beyond: BTreeMap<u64, Settled>,
}

impl Frontier {
    /// Goes on behind what was counted before.
    pub(super) const fn new(counts: ImportedCounts) -> Self {
        Self { counts, offset: 0, beyond: BTreeMap::new() }
    }

    /// Takes an outcome; the lines that were rejected among those that are counted now.
    pub(super) fn settle(&mut self, settled: Settled) -> Vec<RejectedLine> {
        self.beyond.insert(settled.number, settled);
        let mut rejected = Vec::new();
        while let Some(next) = self.beyond.remove(&(self.counts.lines + 1)) {
            self.counts.lines = next.number;
            self.offset = next.end;
            match next.outcome {
                LineOutcome::Empty => {}
                LineOutcome::Imported { is_disbelieved } => {
                    self.counts.imported += 1;
                    self.counts.disbelieved += u64::from(is_disbelieved);
                }
                LineOutcome::Rejected(rejection) => {
                    match rejection {
                        Rejection::Duplicate | Rejection::IdTaken => self.counts.duplicates += 1,
                        Rejection::Invalid(_) | Rejection::Refused(_) => self.counts.invalid += 1,
                    }
                    rejected.push(RejectedLine { line: next.number, rejection });
                }
            }
        }
        rejected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(number: u64, outcome: LineOutcome) -> Settled {
        Settled { number, end: number * 10, outcome }
    }

    #[test]
    fn a_line_counts_when_all_before_it_do() {
        let mut frontier = Frontier::new(ImportedCounts::default());
        let taken = || LineOutcome::Rejected(Rejection::Duplicate);
        assert_eq!(frontier.settle(settled(3, taken())), []);
        assert_eq!(frontier.settle(settled(2, LineOutcome::Imported { is_disbelieved: true })), []);
        assert_eq!((frontier.counts, frontier.offset), (ImportedCounts::default(), 0));
        assert_eq!(frontier.settle(settled(4, LineOutcome::Empty)), []);
        let rejected = frontier.settle(settled(1, LineOutcome::Imported { is_disbelieved: false }));
        assert_eq!(rejected, [RejectedLine { line: 3, rejection: Rejection::Duplicate }]);
        let counts = ImportedCounts { lines: 4, imported: 2, duplicates: 1, invalid: 0, disbelieved: 1 };
        assert_eq!((frontier.counts, frontier.offset), (counts, 40));
    }
}
