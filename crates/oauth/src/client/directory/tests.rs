use super::*;
use crate::client::fake::FakeClients;
use crate::client::registration::{ClientMetadata, RegistrationRules, register};
use sluice_primitives::Timestamp;

fn client(name: &str) -> Client {
    let metadata = ClientMetadata { client_name: name.to_owned(), ..ClientMetadata::default() };
    let id = "app".parse().unwrap();
    register(id, metadata, &RegistrationRules::default(), Timestamp::from_secs(1)).unwrap()
}

fn directory() -> (Arc<FakeClients>, Arc<ClientDirectory>, ClientId) {
    let repo = Arc::new(FakeClients::default());
    repo.put(client("old"));
    let directory = Arc::new(ClientDirectory::new(repo.clone(), 100));
    (repo, directory, "app".parse().unwrap())
}

async fn name(directory: &ClientDirectory, id: &ClientId) -> String {
    directory.find(id).await.unwrap().unwrap().name.clone()
}

#[tokio::test]
async fn a_client_is_read_from_the_store_once() {
    let (repo, directory, id) = directory();
    for _ in 0..3 {
        assert_eq!(name(&directory, &id).await, "old");
    }
    assert_eq!(repo.reads(), 1);
}

#[tokio::test]
async fn a_forgotten_client_is_read_again() {
    let (repo, directory, id) = directory();
    assert_eq!(name(&directory, &id).await, "old");
    repo.put(client("new"));
    directory.forget(&id);
    assert_eq!(name(&directory, &id).await, "new");
}

#[tokio::test]
async fn who_must_not_wait_is_told_what_memory_knows() {
    let (repo, directory, id) = directory();
    assert!(directory.in_memory(&id).is_none());
    assert_eq!(repo.reads(), 0);
    assert_eq!(name(&directory, &id).await, "old");
    assert_eq!(directory.in_memory(&id).unwrap().name, "old");
    directory.forget(&id);
    assert!(directory.in_memory(&id).is_none());
    assert_eq!(repo.reads(), 1);
}

#[tokio::test]
async fn an_unknown_client_is_not_remembered() {
    let (repo, directory, _) = directory();
    let id = "later".parse().unwrap();
    assert!(directory.find(&id).await.unwrap().is_none());
    repo.put(Client { id: id.clone(), ..client("later") });
    assert_eq!(name(&directory, &id).await, "later");
}

#[tokio::test]
async fn a_slow_lookup_does_not_put_back_what_was_forgotten_meanwhile() {
    let (repo, directory, id) = directory();
    repo.gate.forget_permits(usize::MAX >> 3);
    let slow = {
        let (directory, id) = (directory.clone(), id.clone());
        tokio::spawn(async move { name(&directory, &id).await })
    };
    while repo.reads() == 0 {
        tokio::task::yield_now().await;
    }
    repo.put(client("new"));
    directory.forget(&id);
    repo.gate.add_permits(10);
    assert_eq!(slow.await.unwrap(), "old"); // it asked before the change
    assert_eq!(name(&directory, &id).await, "new");
}

#[tokio::test]
async fn who_asks_after_the_change_never_shares_an_older_lookup() {
    let (repo, directory, id) = directory();
    repo.gate.forget_permits(usize::MAX >> 3);
    let ask = || {
        let (directory, id) = (directory.clone(), id.clone());
        tokio::spawn(async move { name(&directory, &id).await })
    };
    let slow = ask();
    while repo.reads() == 0 {
        tokio::task::yield_now().await;
    }
    repo.put(client("new"));
    directory.forget(&id);
    let later = ask();
    repo.gate.add_permits(10);
    assert_eq!(later.await.unwrap(), "new");
    assert_eq!(slow.await.unwrap(), "old");
    assert_eq!(name(&directory, &id).await, "new");
}

#[tokio::test]
async fn those_who_ask_at_once_share_one_read() {
    let (repo, directory, id) = directory();
    let asked: Vec<_> = (0..32)
        .map(|_| {
            let (directory, id) = (directory.clone(), id.clone());
            tokio::spawn(async move { name(&directory, &id).await })
        })
        .collect();
    for one in asked {
        assert_eq!(one.await.unwrap(), "old");
    }
    assert_eq!(repo.reads(), 1);
}

#[tokio::test]
async fn clients_are_counted_once_in_a_generation() {
    let (repo, directory, id) = directory();
    assert_eq!(directory.count().await.unwrap(), 1);
    repo.put(Client { id: "other".parse().unwrap(), ..client("other") });
    assert_eq!(directory.count().await.unwrap(), 1, "not heard of yet");
    directory.forget(&id);
    assert_eq!(directory.count().await.unwrap(), 2);
    repo.put(Client { id: "third".parse().unwrap(), ..client("third") });
    directory.forget_all();
    assert_eq!(directory.count().await.unwrap(), 3);
}
