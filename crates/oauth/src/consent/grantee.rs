//! The clients of what is listed: each is looked up once, and none hides another or holds up the list.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sluice_commit::StoreError;
use sluice_protocol::ClientId;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};

use super::late_documents::{Answer, LateDocuments, View};
use super::listing::ConsentEntry;
use crate::client::{Client, ClientDirectory};

/// For how long it is looked whether there is room for one for which there was none.
const LOOKS: Duration = Duration::from_secs(2);
/// When there may be room for it.
const ANOTHER_LOOK: Duration = Duration::from_millis(200);

/// The client of something that is listed.
#[derive(Debug, Clone)]
pub enum Grantee {
    /// It is there.
    Known(Arc<Client>),
    /// No document describes it now, or none that can be had: it may come back, and what it was granted is there.
    Unreachable,
    /// It was deleted.
    Gone,
}

impl Grantee {
    /// The client, as far as it is known.
    pub fn client(&self) -> Option<&Client> {
        match self {
            Self::Known(client) => Some(client),
            Self::Unreachable | Self::Gone => None,
        }
    }
}

/// The clients of these entries. A document that is not at hand is asked for, with all others that are not, and waited for as long as the
/// `view` waits.
pub(super) async fn grantees(
    entries: &[ConsentEntry],
    clients: &Arc<ClientDirectory>,
    late: &LateDocuments,
    view: &View<'_>,
) -> Result<HashMap<ClientId, Grantee>, StoreError> {
    let (mut grantees, asked) = at_hand(entries, clients).await?;
    if asked.is_empty() {
        return Ok(grantees);
    }
    let turns = late.turns(view);
    let look = |id| look_up(id, Arc::clone(clients), Arc::clone(&turns));
    let mut answers: FuturesUnordered<_> = asked.into_iter().map(look).collect();
    let all = async {
        while let Some((found, id)) = answers.next().await {
            match found {
                Ok(Some(client)) => {
                    grantees.insert(id, Grantee::Known(client));
                }
                Ok(None) => {}
                Err(why) if why.is_temporary() => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    };
    // Who is late is as one that cannot be had.
    timeout_at(view.until, all).await.unwrap_or(Ok(()))?;
    if !answers.is_empty() {
        late.wait_for(view, answers);
    }
    Ok(grantees)
}

/// What is known of the clients of these entries, and those whose documents are to be asked for.
async fn at_hand(
    entries: &[ConsentEntry],
    clients: &ClientDirectory,
) -> Result<(HashMap<ClientId, Grantee>, Vec<ClientId>), StoreError> {
    let (mut grantees, mut asked) = (HashMap::new(), Vec::new());
    for ConsentEntry { client: id, .. } in entries {
        if grantees.contains_key(id) {
            continue;
        }
        let grantee = match clients.find_at_hand(id).await? {
            Some(client) => Grantee::Known(client),
            None if clients.may_describe(id) => {
                asked.push(id.clone());
                Grantee::Unreachable
            }
            None => Grantee::Gone,
        };
        grantees.insert(id.clone(), grantee);
    }
    Ok((grantees, asked))
}

/// Asks for the document of a client when it is its turn.
async fn look_up(id: ClientId, clients: Arc<ClientDirectory>, turns: Arc<Semaphore>) -> Answer {
    let began = Instant::now();
    loop {
        let turn = turns.acquire().await;
        let found = clients.find(&id).await;
        drop(turn);
        if !matches!(found, Err(StoreError::Busy)) || began.elapsed() >= LOOKS {
            return (found, id);
        }
        // Its host is asked for others: the places are few. Meanwhile it is the turn of other hosts.
        sleep(ANOTHER_LOOK).await;
    }
}

#[cfg(test)]
mod tests;
