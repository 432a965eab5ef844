//! The clients of what is taken over: each is looked up once.

use std::collections::HashMap;

use sluice_commit::StoreError;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;

use super::import::Takeover;
use super::report::Part;

/// What becomes of something, for its client's sake.
pub(super) enum Fit {
    /// It is of use here.
    Good,
    /// Its client was imported and then deleted here, and does not come back: nor does what belonged to it.
    Gone,
    /// It is of no use here, and this is why.
    Refused(String),
}

/// Where a client is.
#[derive(Debug, Clone, Copy)]
enum Whereabouts {
    /// It is here since then.
    Here(Timestamp),
    /// It was imported, and deleted here.
    DeletedHere,
    /// It was not imported, as far as anybody knows.
    Nowhere,
}

/// What was found out of clients.
#[derive(Default)]
pub(super) struct KnownClients(HashMap<ClientId, Whereabouts>);

impl KnownClients {
    /// Whether a decision about a client holds here.
    pub(super) async fn fit_of_decision(
        &mut self,
        (id, decided_at): (&ClientId, Timestamp),
        takeover: &Takeover,
    ) -> Result<Fit, StoreError> {
        Ok(match self.whereabouts(id, takeover).await? {
            Whereabouts::Here(since) if since > decided_at => {
                Fit::Refused(format!("its client {id} was registered here after that was decided"))
            }
            found => fit(found, id),
        })
    }

    /// Whether what a client was granted is of use here.
    pub(super) async fn fit_of_grant(
        &mut self,
        id: &ClientId,
        takeover: &Takeover,
    ) -> Result<Fit, StoreError> {
        Ok(fit(self.whereabouts(id, takeover).await?, id))
    }

    async fn whereabouts(&mut self, id: &ClientId, takeover: &Takeover) -> Result<Whereabouts, StoreError> {
        if let Some(known) = self.0.get(id) {
            return Ok(*known);
        }
        let found = match takeover.clients.find(id).await? {
            Some(client) => Whereabouts::Here(client.created_at),
            None if was_imported(id, takeover).await? => Whereabouts::DeletedHere,
            None => Whereabouts::Nowhere,
        };
        self.0.insert(id.clone(), found);
        Ok(found)
    }
}

fn fit(client: Whereabouts, id: &ClientId) -> Fit {
    match client {
        Whereabouts::Here(_) => Fit::Good,
        Whereabouts::DeletedHere => Fit::Gone,
        Whereabouts::Nowhere => Fit::Refused(format!("its client {id} is not here")),
    }
}

/// Whether a client has a mark. That of one on its way says nothing: it may never have been here.
async fn was_imported(id: &ClientId, takeover: &Takeover) -> Result<bool, StoreError> {
    let ids = vec![id.as_str().to_owned()];
    let marks = takeover.marks.marks_of(takeover.marks_of_part(Part::Clients), ids).await?;
    Ok(marks.iter().any(|mark| !mark.is_going))
}
