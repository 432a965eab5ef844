//! The clients of what is listed: each is looked up once, and none hides another or holds up the list.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_protocol::ClientId;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::listing::ConsentEntry;
use crate::client::{Client, ClientDirectory};

/// How many documents are asked for at once.
const AT_ONCE: usize = 32;
/// For how long it is looked whether there is room for one for which there was none.
const LOOKS: Duration = Duration::from_secs(2);
/// When there may be room for it.
const ANOTHER_LOOK: Duration = Duration::from_millis(200);
/// Behind how many pages documents are asked for at once.
const LATE_PAGES: usize = 8;
/// For how long behind each.
const LATE: Duration = Duration::from_secs(10);

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

/// What became of the search for a client.
type Answer = (Result<Option<Arc<Client>>, StoreError>, ClientId);

/// Documents that a page did not wait for. They are asked for behind it, and at hand for the next one. Behind so many pages at
/// once; what was asked for behind others ends with them. It ends when this is dropped.
#[derive(Default)]
pub struct LateDocuments(Mutex<JoinSet<()>>);

impl LateDocuments {
    fn wait_for<F>(&self, mut answers: FuturesUnordered<F>)
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let mut pages = self.0.lock();
        while pages.try_join_next().is_some() {}
        if pages.len() < LATE_PAGES {
            // The directory keeps what comes.
            let all = async move { while answers.next().await.is_some() {} };
            pages.spawn(async move {
                let _ = timeout(LATE, all).await;
            });
        }
    }
}

/// The clients of these entries. A document that is not at hand is asked for, with all others that are not, and waited for `until`
/// then.
pub(super) async fn grantees(
    entries: &[ConsentEntry],
    clients: &Arc<ClientDirectory>,
    (late, until): (&LateDocuments, Instant),
) -> Result<HashMap<ClientId, Grantee>, StoreError> {
    let (mut grantees, asked) = at_hand(entries, clients).await?;
    let turns = Arc::new(Semaphore::new(AT_ONCE));
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
    timeout_at(until, all).await.unwrap_or(Ok(()))?;
    if !answers.is_empty() {
        late.wait_for(answers);
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
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use sluice_primitives::Timestamp;
    use sluice_protocol::{Audience, Scope};

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

    /// How long the pages of these tests wait.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// The clients of these entries, on a page of its own.
    async fn on_a_page(
        entries: &[ConsentEntry],
        clients: ClientDirectory,
    ) -> Result<HashMap<ClientId, Grantee>, StoreError> {
        let late = LateDocuments::default();
        grantees(entries, &Arc::new(clients), (&late, Instant::now() + PATIENCE)).await
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
        let found = on_a_page(&["gone", "shop", "gone", "shop", "gone"].map(entry), clients).await.unwrap();
        assert_eq!((found.len(), registered.reads()), (2, 2));
        assert!(of(&found, "shop").client().is_some());
        assert!(matches!(of(&found, "gone"), Grantee::Gone));
    }

    /// Its host may show the document to its users, and none to this server, while nobody takes away what it was granted.
    #[tokio::test]
    async fn a_client_cannot_hide_by_its_document() {
        let (clients, id) = (directory_of_empty_hosts(Arc::default()), "https://app.example/client.json");
        let found = on_a_page(&[entry(id)], clients).await.unwrap();
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
        on_a_page(&entries, clients).await.unwrap();
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
        let found = on_a_page(&entries, clients).await.unwrap();
        assert!(began.elapsed() < 2 * PATIENCE, "{:?}", began.elapsed());
        assert!(of(&found, "shop").client().is_some());
        assert!((0..40).all(|number| matches!(of(&found, &silent(number)), Grantee::Unreachable)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_page_does_not_wait_for_is_asked_for_behind_it() {
        let asked = Arc::new(AtomicUsize::new(0));
        let (clients, late) = (Arc::new(directory_of_slow_hosts(asked.clone())), LateDocuments::default());
        let entries: Vec<_> =
            (0..15).map(|number| entry(&format!("https://app.example/{number}.json"))).collect();
        let began = Instant::now();
        grantees(&entries, &clients, (&late, began + Duration::from_millis(50))).await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
        assert_eq!(asked.load(Ordering::SeqCst), 4, "of a host at once");
        sleep(LOOKS).await;
        assert_eq!(asked.load(Ordering::SeqCst), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn documents_are_asked_for_behind_so_many_pages_at_once_and_not_for_long() {
        let (clients, late) = (Arc::new(directory_of_silent_hosts(Arc::default())), LateDocuments::default());
        for number in 0..3 * LATE_PAGES {
            let entries = [entry(&format!("https://host-{number}.example/client.json"))];
            grantees(&entries, &clients, (&late, Instant::now())).await.unwrap();
        }
        assert_eq!(late.0.lock().len(), LATE_PAGES);
        sleep(2 * LATE).await;
        while late.0.lock().try_join_next().is_some() {}
        assert!(late.0.lock().is_empty());
    }
}
