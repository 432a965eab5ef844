//! Records become lines, a page at a time.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use jiff::Timestamp as Moment;
use serde::Serialize;
use sluice_commit::StoreError;
use sluice_crypto::credential::{CredentialError, CredentialKeys, ExportedHash};
use sluice_primitives::{IdentityId, Timestamp};
use thiserror::Error;

use crate::identity::{Identity, IdentityDirectory, IdentityFilter};

/// How many records are read at a time.
const PAGE: u32 = 1_000;

/// Why an export stopped.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lines cannot be written.
    #[error("the lines cannot be written")]
    Write(#[from] io::Error),
}

/// What was exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Lines.
    pub identities: u64,
    /// Lines without a hash, because the password is not hardened yet.
    pub provisional: u64,
    /// Lines without a hash, because what is stored does not open with the secrets that are configured.
    pub unreadable: u64,
}

/// Makes lines of records.
pub struct Exporter {
    /// Records.
    pub identities: Arc<dyn IdentityDirectory>,
    /// Open what is sealed.
    pub keys: CredentialKeys,
}

/// A line, as [`super::parse_line`] reads it.
#[derive(Serialize)]
struct Line<'a> {
    id: IdText,
    email: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    password_hash: Option<&'a str>,
    email_verified: bool,
    status: &'static str,
    created_at: Moment,
}

/// An id as text.
struct IdText(IdentityId);

impl Serialize for IdText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Exporter {
    /// Writes a line for every record there is. Those that are registered meanwhile may be among them. `progress` hears
    /// how many were written, also when no more can be.
    ///
    /// # Errors
    /// [`ExportError`] if not all were written.
    pub async fn run(
        &self,
        out: &mut (dyn Write + Send),
        progress: &mut (dyn FnMut(&Exported) + Send),
    ) -> Result<Exported, ExportError> {
        let mut exported = Exported::default();
        let mut filter = IdentityFilter { limit: PAGE, ..IdentityFilter::default() };
        loop {
            let page = self.identities.list(&filter).await?;
            let mut people = page.identities.iter();
            let written = people.try_for_each(|identity| self.write(identity, out, &mut exported));
            progress(&exported);
            written?;
            filter.after = page.next;
            if page.next.is_none() {
                break;
            }
        }
        out.flush()?;
        Ok(exported)
    }

    fn write(
        &self,
        identity: &Identity,
        out: &mut (dyn Write + Send),
        exported: &mut Exported,
    ) -> Result<(), ExportError> {
        let hash = self.hash(identity, exported);
        let line = Line {
            id: IdText(identity.id),
            email: &identity.email,
            username: &identity.username,
            password_hash: hash.as_ref().map(|hash| hash.expose().as_str()),
            email_verified: identity.email_verified_at.is_some(),
            status: identity.status.as_str(),
            created_at: moment(identity.created_at),
        };
        serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        exported.identities += 1;
        Ok(())
    }

    fn hash(&self, identity: &Identity, exported: &mut Exported) -> Option<ExportedHash> {
        match self.keys.export(identity.id, &identity.credential) {
            Ok(hash) => Some(hash),
            Err(CredentialError::NotExportable) => {
                exported.provisional += u64::from(!identity.credential.is_empty());
                None
            }
            Err(_) => {
                exported.unreadable += 1;
                None
            }
        }
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

fn moment(at: Timestamp) -> Moment {
    Moment::from_millisecond(at.as_millis()).unwrap_or_default()
}
