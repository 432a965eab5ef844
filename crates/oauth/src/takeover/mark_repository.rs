//! What was imported from a Hydra, as stores remember it: so that a later import takes away here what was taken away there, and does not bring
//! back what was taken away here.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::Timestamp;
use sluice_protocol::{ClientId, Subject};

use super::report::Part;
use super::source::HydraNetwork;

/// Between the two names of an id that has two; neither holds it.
const BETWEEN: char = '\n';

/// What is marked together: of one Hydra, and of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkSet {
    /// Of which Hydra.
    pub network: HydraNetwork,
    /// Of which kind. Tokens have no marks: their own rows tell.
    pub part: Part,
}

/// Something was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// What it is called there: a client or trusted issuer by its id, a decision by client and subject, a key by set and `kid`, these with a line
    /// break between.
    pub id: String,
    /// A time of it, by which it is told from what is made later under the same name: when a client was registered, a decision or key made, or a
    /// trust ends.
    pub at: Timestamp,
    /// When a client was last changed there, by the clock on the wall of Hydra, which may be in any zone: it tells one state there from another, and
    /// says nothing beside a time of this server. Of what is not changed there, `at`; but of a decision that is on its way `at` of the one that was
    /// imported earlier and whose place it is to take, if there is one.
    pub changed_at: Timestamp,
    /// It is on its way: about to be imported, or gone there and being taken away here. Who was interrupted meanwhile goes on; what is there until
    /// then is imported like something new, and what is not is taken away, if it is here. That it is not here says nothing.
    pub is_going: bool,
}

impl Mark {
    /// The mark of something that is not changed there.
    pub const fn new(id: String, at: Timestamp) -> Self {
        Self { id, at, changed_at: at, is_going: false }
    }
}

/// The id of a key.
pub(super) fn key_id(set: &str, kid: &str) -> String {
    format!("{set}{BETWEEN}{kid}")
}

/// The id of a decision.
pub(super) fn decision_id(client: &ClientId, subject: &Subject) -> String {
    format!("{}{BETWEEN}{}", client.as_str(), subject.as_str())
}

/// Such an id on one line, for people.
pub(super) fn in_one_line(id: &str) -> String {
    id.replace(BETWEEN, " ")
}

/// The two names of such an id.
pub(super) fn both_names(id: &str) -> Option<(&str, &str)> {
    id.split_once(BETWEEN)
}

/// Marks of what was imported. Every method is one transaction.
#[async_trait]
pub trait HydraMarkRepository: Send + Sync {
    /// Marks these; a mark with the same id is replaced. Of several with one id the latest counts.
    async fn put_marks(&self, of: MarkSet, marks: Vec<Mark>) -> Result<(), StoreError>;

    /// Which of these are marked, in any order.
    async fn marks_of(&self, of: MarkSet, ids: Vec<String>) -> Result<Vec<Mark>, StoreError>;

    /// At most `limit` marks in an order of their ids, behind this one; from the first if that is empty.
    async fn mark_page(&self, of: MarkSet, after: &str, limit: u32) -> Result<Vec<Mark>, StoreError>;

    /// Takes marks away; how many were there.
    async fn delete_marks(&self, of: MarkSet, ids: Vec<String>) -> Result<u64, StoreError>;
}
