//! What the records of a file get from where they come from: ids, and attempts by which they are known again.

use sluice_crypto::digest::sha256;
use sluice_primitives::{AttemptId, IdentityId, Timestamp};

use crate::identity::Identity;

/// What all lines of a file have in common.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub(super) digest: [u8; 32],
    pub(super) began_at: Timestamp,
}

impl Origin {
    /// The attempt of a line: whoever imports the line again makes the same one, and so knows its own work.
    pub(super) fn attempt(&self, line: u64) -> AttemptId {
        let derived = self.derive(b"attempt", line);
        AttemptId::from_uuid(uuid::Builder::from_custom_bytes(derived).into_uuid())
    }

    /// The id of a line that says none.
    pub(super) fn id(&self, line: u64, at: Timestamp) -> IdentityId {
        let [random @ .., _, _, _, _, _, _] = self.derive(b"identity", line);
        let millis = u64::try_from(at.as_millis()).unwrap_or(0);
        IdentityId::from_uuid(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// Whether an id was made up for this line, whenever that was: an import from the start has another beginning.
    pub(super) fn made_up(&self, line: u64, id: IdentityId) -> bool {
        self.id(line, id.made_at()) == id
    }

    /// Whether a record has a time that this import alone gives.
    pub(super) fn dated(&self, record: &Identity) -> bool {
        record.created_at == self.began_at || record.email_verified_at == Some(self.began_at)
    }

    fn derive(&self, role: &[u8], line: u64) -> [u8; 16] {
        let [derived @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
            sha256(&[b"import/".as_slice(), role, &self.digest, &line.to_be_bytes()].concat());
        derived
    }
}
