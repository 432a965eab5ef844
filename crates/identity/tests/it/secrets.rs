//! Which secrets the passwords, factors and mails of everybody need.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_crypto::credential::{CredentialKeys, Peppers};
use sluice_crypto::foreign_hash::ForeignHash;
use sluice_crypto::password_hash::{Argon2Params, HashMemory};
use sluice_crypto::{Purpose, SealedBy, Sealer};
use sluice_identity::credential::{MissingSecret, StoredCredentials};
use sluice_identity::factor::{Factor, FactorKind, FactorRepository, SealedFactors};
use sluice_identity::hardening::HardeningRepository;
use sluice_identity::mail::{MailRepository, QueuedMail, SealedMails};
use sluice_identity::resealed::ResealedRows;
use sluice_identity::{Identity, IdentityRepository};
use sluice_primitives::{IdentityId, ManualClock, NetworkId, OsRng, Secret, Timestamp};
use sluice_store_contract::MemoryStore;
use sluice_store_contract::given::{factor, identity, mail, recovery_codes};

use crate::foreign_vectors::VECTORS;

const NOW: Timestamp = Timestamp::from_secs(1_750_000_000);

fn keys(peppers: &[&str], storage: &[&str]) -> CredentialKeys {
    let secrets =
        |texts: &[&str]| texts.iter().map(|text| Secret::new(text.as_bytes().to_vec())).collect::<Vec<_>>();
    let at_rest = Sealer::new(NetworkId::from_bytes([1; 16]), &secrets(storage));
    CredentialKeys::new(Peppers::new(&secrets(peppers)).unwrap(), Arc::new(at_rest))
}

fn everybody(store: &Arc<MemoryStore>, keys: CredentialKeys) -> StoredCredentials {
    StoredCredentials {
        identities: store.clone(),
        keys,
        clock: Arc::new(ManualClock::at(NOW)),
        rng: Arc::new(OsRng),
    }
}

/// Somebody who registered so many seconds ago.
async fn person(store: &MemoryStore, ago: i64, credential: impl FnOnce(IdentityId) -> String) -> Identity {
    let at = Timestamp::from_secs(NOW.as_secs() - ago);
    let id = IdentityId::generate(at, &OsRng);
    let credential = credential(id);
    let hardening = credential.starts_with("p1$");
    let person = Identity { id, credential, hardening, ..identity(&format!("{id}@example.com")) };
    store.register(person.clone().into()).await.unwrap();
    person
}

fn hardened(keys: &CredentialKeys) -> String {
    keys.hardened(b"password", Argon2Params::new(64, 1, 1).unwrap(), [1; 16], &mut HashMemory::new()).unwrap()
}

#[tokio::test]
async fn every_password_is_counted_with_the_secrets_that_it_needs() {
    let store = Arc::new(MemoryStore::new());
    let (old, new) =
        (keys(&["pepper 1"], &["rest 1"]), keys(&["pepper 2", "pepper 1"], &["rest 2", "rest 1"]));
    let foreign = ForeignHash::parse(VECTORS[0].2).unwrap();
    person(&store, 9, |_| hardened(&old)).await;
    person(&store, 8, |id| old.provisional(id, b"password", &OsRng)).await;
    person(&store, 7, |id| new.foreign(id, &foreign, &OsRng)).await;
    person(&store, 6, |_| String::new()).await;
    person(&store, 5, |_| "nonsense".to_owned()).await;
    let ids = new.peppers().ids();
    let found = everybody(&store, new.clone()).count().await.unwrap();
    assert_eq!(found.peppers, BTreeMap::from([(ids[1], 2)]));
    assert_eq!(found.storage, BTreeMap::from([(0, 1), (1, 1)]));
    assert_eq!((found.unopened, found.unreadable, found.none), (0, 1, 1));
    assert_eq!(found.missing(&ids), None);
    assert_eq!(found.missing(&ids[..1]), Some(MissingSecret::Pepper(ids[1])));
    let without = everybody(&store, keys(&["pepper 1"], &["rest 3"])).count().await.unwrap();
    assert_eq!((without.unopened, without.missing(&ids)), (2, Some(MissingSecret::Storage)));
}

#[tokio::test]
async fn a_sample_tells_how_much_memory_the_hash_takes_that_takes_most() {
    let store = Arc::new(MemoryStore::new());
    let keys = keys(&["pepper"], &["rest"]);
    person(&store, 9, |id| keys.provisional(id, b"password", &OsRng)).await;
    let everybody = everybody(&store, keys.clone());
    assert_eq!(everybody.sample().await.unwrap().most_memory_kib, 0, "it has no hash yet");
    for (ago, memory) in [(8, 64), (7, 256), (6, 128)] {
        let params = Argon2Params::new(memory, 1, 1).unwrap();
        let stored = keys.hardened(b"password", params, [1; 16], &mut HashMemory::new()).unwrap();
        person(&store, ago, |_| stored).await;
    }
    assert_eq!(everybody.sample().await.unwrap().most_memory_kib, 256);
}

#[tokio::test]
async fn a_sample_finds_a_secret_that_was_in_use_for_a_while_years_ago() {
    let store = Arc::new(MemoryStore::new());
    let (old, new) = (keys(&["old"], &["rest"]), keys(&["new"], &["rest"]));
    let (of_old, of_new) = (hardened(&old), hardened(&new));
    for day in 0..2_000 {
        let of_then = if (900..1_000).contains(&day) { &of_old } else { &of_new };
        person(&store, day * 86_400, |_| of_then.clone()).await;
    }
    let found = everybody(&store, new.clone()).sample().await.unwrap();
    assert!(found.peppers.values().sum::<u64>() < 600);
    let missing = found.missing(&new.peppers().ids());
    assert_eq!(missing, Some(MissingSecret::Pepper(old.peppers().ids()[0])));
    let nobody = everybody(&Arc::new(MemoryStore::new()), new).sample().await.unwrap();
    assert_eq!(nobody.missing(&[]), None);
}

#[tokio::test]
async fn what_a_former_secret_sealed_is_sealed_again_and_still_waits_to_be_hardened() {
    let store = Arc::new(MemoryStore::new());
    let (old, both) = (keys(&["pepper"], &["rest 1"]), keys(&["pepper"], &["rest 2", "rest 1"]));
    let new = keys(&["pepper"], &["rest 2"]);
    let foreign = ForeignHash::parse(VECTORS[0].2).unwrap();
    let imported = person(&store, 3, |id| old.foreign(id, &foreign, &OsRng)).await;
    let fresh = person(&store, 2, |id| old.provisional(id, b"password", &OsRng)).await;
    let hashed = person(&store, 1, |_| hardened(&old)).await;
    let lost = person(&store, 0, |id| keys(&["pepper"], &["lost"]).foreign(id, &foreign, &OsRng)).await;
    let done = everybody(&store, both.clone()).reseal().await.unwrap();
    assert_eq!((done.resealed, done.unchanged, done.changed), (2, 0, 0));
    assert_eq!((done.unopened, done.named.as_slice()), (1, [lost.id].as_slice()));
    let stored = |person: &Identity| {
        let (store, id) = (store.clone(), person.id);
        async move { store.find(id).await.unwrap().unwrap() }
    };
    assert!(new.export(imported.id, &stored(&imported).await.credential).is_ok());
    let fresh = stored(&fresh).await;
    assert_eq!(fresh.revision, 1, "codes that were mailed hold on");
    assert!(
        fresh.hardening
            && new
                .harden(
                    fresh.id,
                    &fresh.credential,
                    Argon2Params::new(64, 1, 1).unwrap(),
                    &mut HashMemory::new()
                )
                .is_ok()
    );
    assert_eq!(HardeningRepository::backlog(&*store).await.unwrap().waiting, 1);
    assert_eq!(stored(&hashed).await.credential, hashed.credential);
    let again = everybody(&store, both).reseal().await.unwrap();
    assert_eq!((again.resealed, again.unchanged), (0, 2));
}

#[tokio::test]
async fn passwords_that_need_a_lost_secret_are_taken_away_and_no_others() {
    let store = Arc::new(MemoryStore::new());
    let (lost, new) = (keys(&["lost"], &["lost"]), keys(&["new"], &["new"]));
    let foreign = ForeignHash::parse(VECTORS[0].2).unwrap();
    let gone = [
        person(&store, 9, |_| hardened(&lost)).await,
        person(&store, 8, |id| lost.provisional(id, b"password", &OsRng)).await,
        person(&store, 7, |id| lost.foreign(id, &foreign, &OsRng)).await,
        // It opens, and names a pepper that is lost.
        person(&store, 6, |id| keys(&["lost"], &["new"]).provisional(id, b"password", &OsRng)).await,
    ];
    let kept = [
        person(&store, 5, |_| hardened(&new)).await,
        person(&store, 4, |id| new.provisional(id, b"password", &OsRng)).await,
        person(&store, 3, |_| String::new()).await,
        person(&store, 2, |_| "nonsense".to_owned()).await,
    ];
    let all = everybody(&store, new);
    assert_eq!(all.lost().await.unwrap(), 4);
    let done = all.abandon().await.unwrap();
    assert_eq!((done.abandoned, done.changed), (4, 0));
    for before in gone {
        let after = store.find(before.id).await.unwrap().unwrap();
        assert_eq!((after.credential.as_str(), after.hardening), ("", false));
        assert_eq!((after.username.as_str(), after.revision), ("", 2), "nobody verified the address");
    }
    for before in kept {
        let after = store.find(before.id).await.unwrap().unwrap();
        assert_eq!((after.credential, after.revision), (before.credential, 1));
    }
    assert_eq!(all.lost().await.unwrap(), 0);
    assert_eq!(all.abandon().await.unwrap().abandoned, 0);
    assert_eq!(HardeningRepository::backlog(&*store).await.unwrap().waiting, 1);
}

fn at_rest(secrets: &[&str]) -> Arc<Sealer> {
    let secrets: Vec<_> = secrets.iter().map(|text| Secret::new(text.as_bytes().to_vec())).collect();
    Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets))
}

fn factors(store: &Arc<MemoryStore>, secrets: &[&str]) -> SealedFactors {
    SealedFactors { factors: store.clone(), at_rest: at_rest(secrets), rng: Arc::new(OsRng) }
}

fn mails(store: &Arc<MemoryStore>, secrets: &[&str]) -> SealedMails {
    SealedMails { outbox: store.clone(), at_rest: at_rest(secrets), rng: Arc::new(OsRng) }
}

#[tokio::test]
async fn factors_are_sealed_again_and_stay_what_they_are() {
    let store = Arc::new(MemoryStore::new());
    let alice = person(&store, 0, |_| String::new()).await.id;
    let kinds = [FactorKind::Totp, FactorKind::Passkey, FactorKind::Totp];
    let sealed = [
        at_rest(&["old"]).seal(Purpose::TotpSecret, b"secret", &OsRng),
        at_rest(&["old"]).seal(Purpose::Passkey, b"passkey", &OsRng),
        at_rest(&["lost"]).seal(Purpose::TotpSecret, b"lost", &OsRng),
    ];
    for (number, (kind, sealed)) in kinds.into_iter().zip(sealed).enumerate() {
        let factor = Factor { kind, sealed, ..factor(alice, i64::try_from(number).unwrap()) };
        store.add(&factor, 1, None, None).await.unwrap();
    }
    assert!(store.replace_recovery_codes(alice, 1, recovery_codes(&[[1; 32], [2; 32]]), None).await.unwrap());
    let before = store.of_identity(alice).await.unwrap();
    let both = factors(&store, &["new", "old"]);
    assert_eq!(
        both.count().await.unwrap(),
        BTreeMap::from([(SealedBy::Unknown, 1), (SealedBy::Known(1), 2)])
    );
    assert_eq!(both.recovery_codes().await.unwrap(), BTreeMap::from([(Some(7), 2)]));
    let done = both.reseal().await.unwrap();
    assert_eq!(done, ResealedRows { resealed: 2, unopened: 1, ..ResealedRows::default() });
    assert_eq!(
        both.count().await.unwrap(),
        BTreeMap::from([(SealedBy::Unknown, 1), (SealedBy::Known(0), 2)])
    );
    let after = store.of_identity(alice).await.unwrap();
    let new = at_rest(&["new"]);
    assert_eq!(new.open(Purpose::TotpSecret, &after[0].sealed).unwrap(), b"secret");
    assert_eq!(new.open(Purpose::Passkey, &after[1].sealed).unwrap(), b"passkey");
    assert_eq!(after[2], before[2], "what nothing opens is left as it is");
    let but_sealed = |factors: Vec<Factor>| -> Vec<_> {
        factors.into_iter().map(|factor| Factor { sealed: String::new(), ..factor }).collect()
    };
    assert_eq!(but_sealed(after), but_sealed(before));
    assert_eq!(both.reseal().await.unwrap().unchanged, 2);
}

#[tokio::test]
async fn mails_are_sealed_again_those_that_were_given_up_too() {
    let store = Arc::new(MemoryStore::new());
    let sealed = |secret: &str| at_rest(&[secret]).seal(Purpose::Mail, b"mail", &OsRng);
    let queued = ["old", "old", "new", "lost"].map(|secret| QueuedMail { sealed: sealed(secret), ..mail(0) });
    for mail in &queued {
        store.queue(mail).await.unwrap();
    }
    MailRepository::failed(&*store, queued[0].id, None).await.unwrap();
    let both = mails(&store, &["new", "old"]);
    assert_eq!(
        both.count().await.unwrap(),
        BTreeMap::from([(SealedBy::Unknown, 1), (SealedBy::Known(0), 1), (SealedBy::Known(1), 2)])
    );
    let done = both.reseal().await.unwrap();
    assert_eq!(done, ResealedRows { resealed: 2, unchanged: 1, unopened: 1, ..ResealedRows::default() });
    assert_eq!(
        mails(&store, &["new"]).count().await.unwrap(),
        BTreeMap::from([(SealedBy::Unknown, 1), (SealedBy::Known(0), 3)])
    );
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (3, 1));
}

#[tokio::test]
async fn a_sample_finds_factors_and_mails_that_a_secret_sealed_for_a_while_years_ago() {
    let store = Arc::new(MemoryStore::new());
    let old = |day: i64| (900..1_000).contains(&day);
    for day in 0..2_000 {
        let secret = if old(day) { ["old"] } else { ["new"] };
        let person = person(&store, day * 86_400, |_| String::new()).await.id;
        let sealed = at_rest(&secret).seal(Purpose::TotpSecret, b"secret", &OsRng);
        store.add(&Factor { sealed, ..factor(person, 0) }, 1, None, None).await.unwrap();
        let sealed = at_rest(&secret).seal(Purpose::Mail, b"mail", &OsRng);
        store.queue(&QueuedMail { id: person.as_uuid(), sealed, ..mail(0) }).await.unwrap();
    }
    let (factors, mails) = (factors(&store, &["new"]), mails(&store, &["new"]));
    for sample in [factors.sample(NOW).await.unwrap(), mails.sample(NOW).await.unwrap()] {
        assert!(sample[&SealedBy::Unknown] > 0 && sample[&SealedBy::Known(0)] > 0, "{sample:?}");
        assert!(sample.values().sum::<u64>() < 600, "{sample:?}");
    }
    let nobody = Arc::new(MemoryStore::new());
    assert!(self::factors(&nobody, &["new"]).sample(NOW).await.unwrap().is_empty());
    assert!(self::mails(&nobody, &["new"]).sample(NOW).await.unwrap().is_empty());
}

#[tokio::test]
async fn factors_and_mails_that_nothing_opens_are_given_up_and_no_others() {
    let store = Arc::new(MemoryStore::new());
    let alice = person(&store, 0, |_| String::new()).await.id;
    for (number, secret) in [(0, "lost"), (1, "new")] {
        let sealed = at_rest(&[secret]).seal(Purpose::TotpSecret, b"secret", &OsRng);
        store.add(&Factor { sealed, ..factor(alice, number) }, 1, None, None).await.unwrap();
        let sealed = at_rest(&[secret]).seal(Purpose::Mail, b"mail", &OsRng);
        store.queue(&QueuedMail { sealed, ..mail(0) }).await.unwrap();
    }
    let (factors, mails) = (factors(&store, &["new"]), mails(&store, &["new"]));
    for given_up in [1, 0] {
        assert_eq!(factors.abandon().await.unwrap(), given_up);
        assert_eq!(mails.abandon().await.unwrap(), given_up);
    }
    let kept = BTreeMap::from([(SealedBy::Known(0), 1)]);
    assert_eq!(factors.count().await.unwrap(), kept);
    assert_eq!(mails.count().await.unwrap(), kept);
}
