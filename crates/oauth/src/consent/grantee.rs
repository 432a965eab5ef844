//! The clients of what is listed: each is looked up once, and none hides another or holds up the list.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sluice_commit::StoreError;
use sluice_protocol::ClientId;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::listing::ConsentEntry;
use crate::client::{Client, ClientDirectory};

/// How many documents are asked for at once.
const AT_ONCE: usize = 32;
/// How long all of them are waited for together.
const PATIENCE: Duration = Duration::from_secs(2);
/// When there may be room for one for which there was none.
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

/// The clients of these entries. A document that is not at hand is asked for, with all others that are not, and for as long as
/// a page can wait.
pub(super) async fn grantees(
    entries: &[ConsentEntry],
    clients: &ClientDirectory,
) -> Result<HashMap<ClientId, Grantee>, StoreError> {
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
    let turns = &Semaphore::new(AT_ONCE);
    let look_up = |id: ClientId| async move {
        loop {
            let turn = turns.acquire().await;
            let found = clients.find(&id).await;
            drop(turn);
            if !matches!(found, Err(StoreError::Busy)) {
                return (found, id);
            }
            // Its host is asked for others: the places are few. Meanwhile it is the turn of other hosts.
            sleep(ANOTHER_LOOK).await;
        }
    };
    let mut answers: FuturesUnordered<_> = asked.into_iter().map(look_up).collect();
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
    timeout(PATIENCE, all).await.unwrap_or(Ok(()))?;
    Ok(grantees)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use sluice_primitives::Timestamp;
    use sluice_protocol::{Audience, Scope};
    use tokio::time::Instant;

    use super::*;
    use crate::client::fake::{
        self, FakeClients, directory_of_empty_hosts, directory_of_silent_hosts, directory_of_slow_hosts,
    };
    use crate::grant::GrantClaims;

    fn entry(client: &str) -> ConsentEntry {
        ConsentEntry {
            id: String::new(),
            flow: None,
            subject: "alice".parse().unwrap(),
            client: client.parse().unwrap(),
            session: None,
            scope: Scope::default(),
            audience: Audience::default(),
            claims: GrantClaims::default(),
            decided_at: Timestamp::from_secs(1_000_000),
        }
    }

    fn of<'a>(found: &'a HashMap<ClientId, Grantee>, client: &str) -> &'a Grantee {
        let client: ClientId = client.parse().unwrap();
        &found[&client]
    }

    #[tokio::test]
    async fn each_client_is_looked_up_once() {
        let registered = Arc::new(FakeClients::default());
        registered.put(fake::client("shop"));
        let clients = directory_of_silent_hosts(registered.clone());
        let found = grantees(&["gone", "shop", "gone", "shop", "gone"].map(entry), &clients).await.unwrap();
        assert_eq!((found.len(), registered.reads()), (2, 2));
        assert!(of(&found, "shop").client().is_some());
        assert!(matches!(of(&found, "gone"), Grantee::Gone));
    }

    /// Its host may show the document to its users, and none to this server, while nobody takes away what it was granted.
    #[tokio::test]
    async fn a_client_cannot_hide_by_its_document() {
        let (clients, id) = (directory_of_empty_hosts(Arc::default()), "https://app.example/client.json");
        let found = grantees(&[entry(id)], &clients).await.unwrap();
        assert!(matches!(of(&found, id), Grantee::Unreachable));
    }

    #[tokio::test(start_paused = true)]
    async fn all_clients_of_a_host_are_asked_for_however_few_it_is_asked_for_at_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let clients = directory_of_slow_hosts(asked.clone());
        let of = |host: &'static str, count: usize| {
            (0..count).map(move |number| entry(&format!("https://{host}.example/{number}.json")))
        };
        let entries: Vec<_> = of("silent", 100).chain(of("app", 15)).collect();
        grantees(&entries, &clients).await.unwrap();
        assert_eq!(
            asked.load(Ordering::SeqCst),
            15,
            "a host that does not answer keeps no other from being asked"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_that_do_not_answer_are_waited_for_together_and_not_for_long() {
        let registered = Arc::new(FakeClients::default());
        registered.put(fake::client("shop"));
        let clients = directory_of_silent_hosts(registered);
        let silent = |number: usize| format!("https://app.example/{}.json", number % 40);
        let entries: Vec<_> = (0..100).map(|number| entry(&silent(number))).chain([entry("shop")]).collect();
        let began = Instant::now();
        let found = grantees(&entries, &clients).await.unwrap();
        assert!(began.elapsed() < 2 * PATIENCE, "{:?}", began.elapsed());
        assert!(of(&found, "shop").client().is_some());
        assert!((0..40).all(|number| matches!(of(&found, &silent(number)), Grantee::Unreachable)));
    }
}
