//! People from files and into files.

use std::collections::BTreeSet;
use std::io;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_crypto::credential::{Attempt, CredentialKeys, Peppers, StoredCredential, Verified};
use sluice_crypto::password_hash::{Argon2Params, HashMemory};
use sluice_identity::identity::{IdentityChange, IdentityDirectory, IdentityFilter};
use sluice_identity::transfer::{
    Exporter, ImportConfig, ImportError, ImportFile, ImportFileError, ImportProgress, ImportWatcher,
    ImportedCounts, Importer, RejectedLine,
};
use sluice_identity::{Identity, IdentityRepository, IdentityStatus};
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};
use sluice_store_contract::{Interrupted, Interruption, MemoryStore, given};
use tokio::sync::Notify;

use crate::foreign_vectors::VECTORS;

const NOW: Timestamp = Timestamp::from_secs(1_750_000_000);
const NETWORK: NetworkId = NetworkId::from_bytes([1; 16]);

/// What was told of an import.
#[derive(Default)]
struct Told {
    rejected: Vec<String>,
    offset: u64,
}

impl ImportWatcher for Told {
    fn rejected(&mut self, lines: &[RejectedLine]) -> io::Result<()> {
        self.rejected.extend(lines.iter().map(|line| format!("{}: {}", line.line, line.rejection)));
        Ok(())
    }

    fn progress(&mut self, progress: &ImportProgress) {
        self.offset = progress.offset;
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A store that writes one last record and never answers again.
struct Dying {
    begun: AtomicI64,
    left: AtomicI64,
    dead: Notify,
}

impl Dying {
    /// After so many records.
    fn after(records: i64) -> Self {
        Self { begun: AtomicI64::new(records), left: AtomicI64::new(records), dead: Notify::new() }
    }
}

#[async_trait]
impl Interruption for Dying {
    async fn before_register(&self) -> Result<(), StoreError> {
        if self.begun.fetch_sub(1, Ordering::Relaxed) < 0 {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn after_register(&self) -> Result<(), StoreError> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.dead.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// A store that has room for so many more records, and then can still be read.
struct Filling(AtomicI64);

#[async_trait]
impl Interruption for Filling {
    async fn before_register(&self) -> Result<(), StoreError> {
        let room = self.0.fetch_sub(1, Ordering::Relaxed);
        let full = || StoreError::refused(io::Error::other("no space is left"));
        if room <= 0 { Err(full()) } else { Ok(()) }
    }
}

/// A store that cannot do the first thing that it is asked.
struct BusyOnce(AtomicBool);

#[async_trait]
impl Interruption for BusyOnce {
    async fn before_register(&self) -> Result<(), StoreError> {
        if self.0.swap(false, Ordering::Relaxed) { Err(StoreError::Busy) } else { Ok(()) }
    }
}

fn keys(pepper: &str) -> CredentialKeys {
    let secret = |text: &str| vec![Secret::new(text.as_bytes().to_vec())];
    let at_rest = Sealer::new(NETWORK, &secret("at rest"));
    CredentialKeys::new(Peppers::new(&secret(pepper)).unwrap(), Arc::new(at_rest))
}

fn importer(identities: Arc<dyn IdentityRepository>) -> Importer {
    Importer {
        identities,
        keys: keys("pepper"),
        max_memory_kib: 64 * 1024,
        clock: Arc::new(ManualClock::at(NOW)),
        rng: Arc::new(OsRng),
        config: ImportConfig {
            in_flight: NonZeroUsize::new(7).unwrap(),
            threads: NonZeroUsize::new(2).unwrap(),
            save_every: NonZeroU64::new(10).unwrap(),
        },
    }
}

fn file(lines: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.ndjson");
    std::fs::write(&path, lines).unwrap();
    (directory, path)
}

async fn import(importer: &Importer, path: &Path) -> (ImportedCounts, Told) {
    let mut told = Told::default();
    let mut file = ImportFile::open(path, NETWORK, false, NOW).unwrap();
    let counts = importer.run(&mut file, &mut told, std::future::pending()).await.unwrap();
    (counts, told)
}

async fn everybody(store: &MemoryStore) -> Vec<Identity> {
    store.list(&IdentityFilter { limit: 100_000, ..IdentityFilter::default() }).await.unwrap().identities
}

fn line(email: &str, more: &str) -> String {
    format!("{{\"email\": \"{email}\"{more}}}\n")
}

/// Whether the password opens the account, and what replaces its credential then.
fn login(keys: &CredentialKeys, identity: &Identity, password: &str) -> Verified {
    let stored = StoredCredential::parse(&identity.credential).unwrap();
    let attempt =
        Attempt { owner: Some(identity.id), stored: Some(&stored), password: password.as_bytes(), raw: None };
    let params = Argon2Params::new(64, 1, 1).unwrap();
    keys.verify(&attempt, params, [7; 16], &mut HashMemory::new()).unwrap()
}

#[tokio::test]
async fn a_hash_that_no_login_could_compute_is_rejected() {
    let mut memory = HashMemory::new();
    let hardened = keys("pepper").hardened(b"x", Argon2Params::new(64, 1, 1).unwrap(), [7; 16], &mut memory);
    let scrypt = "$scrypt$ln=14,r=8,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHRzYWx0c2FsdHNhbHQ";
    let lines: String = [scrypt, &hardened.unwrap()]
        .iter()
        .enumerate()
        .map(|(number, hash)| {
            line(&format!("p{number}@example.com"), &format!(", \"password_hash\": \"{hash}\""))
        })
        .collect();
    for (max_memory_kib, imported) in [(16 * 1024, 2), (16 * 1024 - 1, 1), (63, 0)] {
        let (_directory, path) = file(&lines);
        let importer = Importer { max_memory_kib, ..importer(Arc::new(MemoryStore::new())) };
        let (counts, told) = import(&importer, &path).await;
        assert_eq!((counts.imported, counts.invalid), (imported, 2 - imported), "{max_memory_kib}");
        let is_memory = |line: &String| line.contains("needs more memory");
        assert!(told.rejected.iter().all(is_memory), "{:?}", told.rejected);
    }
}

#[tokio::test]
async fn people_with_hashes_of_every_scheme_log_in_and_are_upgraded() {
    let store = Arc::new(MemoryStore::new());
    let hash = |hash: &str| format!(", \"password_hash\": {}", serde_json::Value::from(hash));
    let lines: String = VECTORS
        .iter()
        .enumerate()
        .map(|(n, (_, _, foreign))| line(&format!("p{n}@example.com"), &hash(foreign)))
        .collect();
    let (_directory, path) = file(&lines);
    let importer = importer(store.clone());
    let (counts, told) = import(&importer, &path).await;
    assert_eq!(told.rejected, [""; 0]);
    assert_eq!(counts.imported, VECTORS.len() as u64);
    let people = everybody(&store).await;
    for (n, (scheme, password, foreign)) in VECTORS.iter().enumerate() {
        let email = format!("p{n}@example.com");
        let person = people.iter().find(|person| person.email == email).unwrap();
        assert!(!person.credential.contains(foreign), "{scheme}: a foreign hash lies open");
        assert!(matches!(login(&importer.keys, person, "another"), Verified::Wrong), "{scheme}");
        let Verified::Right { replacement } = login(&importer.keys, person, password) else {
            panic!("{scheme}: the password is not accepted")
        };
        assert!(replacement.unwrap().starts_with("h1$"), "{scheme}");
    }
}

#[tokio::test]
async fn what_a_line_says_is_what_the_record_says() {
    let store = Arc::new(MemoryStore::new());
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    let more = format!(
        ", \"id\": \"{id}\", \"username\": \"Ada\", \"email_verified\": true, \"status\": \"disabled\", \
         \"created_at\": \"2024-01-01T00:00:00Z\""
    );
    let (_directory, path) = file(&(line("Ada@Example.com", &more) + "\r\n" + &line("bob@example.com", "")));
    import(&importer(store.clone()), &path).await;
    let people = everybody(&store).await;
    let ada = people.iter().find(|person| person.email == "ada@example.com").unwrap();
    assert_eq!((ada.id.to_string().as_str(), ada.username.as_str(), ada.revision), (id, "Ada", 1));
    assert_eq!((ada.status, ada.email_verified_at), (IdentityStatus::Disabled, Some(NOW)));
    assert_eq!(ada.created_at, Timestamp::from_secs(1_704_067_200));
    let bob = people.iter().find(|person| person.email == "bob@example.com").unwrap();
    assert_eq!((bob.id.made_at(), bob.created_at, bob.email_verified_at), (NOW, NOW, None));
    assert!(bob.credential.is_empty() && !bob.hardening);
}

#[tokio::test]
async fn a_bad_line_is_told_and_does_not_stop_the_others() {
    let store = Arc::new(MemoryStore::new());
    let salt = "AAAAAAAAAAAAAAAAAAAAAA";
    let elsewhere = format!(", \"password_hash\": \"h1$0badcafe$argon2id$v=19$m=64,t=1,p=1${salt}${salt}\"");
    let lines = [
        line("a@example.com", ""),
        line("a", ""),
        line("A@example.com", ""),
        "\n".to_owned(),
        "x".repeat(70_000) + "\n",
        line("b@example.com", &elsewhere),
        "{\"email\": \"c@example.com\"}".to_owned(),
    ];
    let (_directory, path) = file(&lines.concat());
    let (counts, told) = import(&importer(store.clone()), &path).await;
    let expected = [
        "2: email: the e-mail address is malformed",
        "3: email: the address belongs to another identity",
        "5: the line is longer than 64 KiB",
        "6: password_hash: the credential was made with the pepper 0badcafe, which is not known here",
    ];
    assert_eq!(told.rejected, expected);
    assert_eq!(counts, ImportedCounts { lines: 7, imported: 2, duplicates: 1, invalid: 3, disbelieved: 0 });
    assert_eq!(told.offset, std::fs::metadata(&path).unwrap().len());
    assert_eq!(everybody(&store).await.len(), 2);
}

#[tokio::test]
async fn nobody_registered_at_a_time_that_is_yet_to_come() {
    let store = Arc::new(MemoryStore::new());
    let at = |time: &str| format!(", \"created_at\": \"{time}\"");
    // It is 15:06:40.
    let lines = [
        line("a@example.com", &at("2025-06-15T15:11:40Z")),
        line("b@example.com", &at("2025-06-15T15:11:41Z")),
        line("c@example.com", &at("2125-06-15T15:06:40Z")),
    ];
    let (_directory, path) = file(&lines.concat());
    let (counts, told) = import(&importer(store.clone()), &path).await;
    assert_eq!((counts.imported, counts.invalid), (1, 2));
    let expected = ["2: created_at: must not be in the future", "3: created_at: must not be in the future"];
    assert_eq!(told.rejected, expected);
}

#[tokio::test]
async fn lines_that_say_verified_of_an_address_that_nobody_is_given_are_counted() {
    let store = Arc::new(MemoryStore::new());
    let verified = ", \"email_verified\": true";
    let lines =
        [line("a%b@example.com", verified), line("c@example.com", verified), line("d%e@example.com", "")];
    let (_directory, path) = file(&lines.concat());
    let (counts, _) = import(&importer(store.clone()), &path).await;
    assert_eq!((counts.imported, counts.disbelieved), (3, 1));
    let people = everybody(&store).await;
    let verified = people.iter().filter(|person| person.email_verified_at.is_some());
    assert_eq!(verified.map(|person| person.email.as_str()).collect::<Vec<_>>(), ["c@example.com"]);
    assert_eq!(ImportFile::open(&path, NETWORK, false, NOW).unwrap().counts(), counts, "it is kept");
}

#[tokio::test]
async fn a_byte_order_mark_is_passed_over_before_the_first_line_only() {
    let store = Arc::new(MemoryStore::new());
    // As long as a line may be, without the mark.
    let long = line("a@example.com", "");
    let padding = " ".repeat(64 * 1024 + 1 - long.len());
    let (first, second) = (long.replace('\n', &format!("{padding}\n")), line("b@example.com", ""));
    let (_directory, path) = file(&format!("\u{feff}{first}{second}\u{feff}{second}"));
    let (counts, told) = import(&importer(store.clone()), &path).await;
    assert_eq!(counts, ImportedCounts { lines: 3, imported: 2, duplicates: 0, invalid: 1, disbelieved: 0 });
    assert!(told.rejected[0].starts_with("3: the line is no JSON object"), "{:?}", told.rejected);
    assert_eq!(told.offset, std::fs::metadata(&path).unwrap().len());
    let (_directory, path) = file(&format!("\u{feff}{}", first.replace('\n', " \n")));
    let (_, told) = import(&importer(store), &path).await;
    assert_eq!(told.rejected, ["1: the line is longer than 64 KiB"]);
}

#[tokio::test]
async fn an_import_that_was_killed_goes_on_and_imports_everybody_once() {
    let store = Arc::new(MemoryStore::new());
    let lines: String = (0..300)
        .map(|n| if n % 50 == 9 { "nonsense\n".to_owned() } else { line(&format!("p{n}@example.com"), "") })
        .collect();
    let (_directory, path) = file(&lines);
    for until in [1, 23, 60, 41] {
        let dying = Arc::new(Interrupted { store: store.clone(), by: Dying::after(until) });
        let importer = importer(dying.clone());
        let (mut told, mut file) = (Told::default(), ImportFile::open(&path, NETWORK, false, NOW).unwrap());
        tokio::select! {
            _ = importer.run(&mut file, &mut told, std::future::pending()) => panic!("the import ended"),
            () = dying.by.dead.notified() => {}
        }
    }
    assert!(everybody(&store).await.len() < 294);
    let (counts, _) = import(&importer(store.clone()), &path).await;
    assert_eq!(
        counts,
        ImportedCounts { lines: 300, imported: 294, duplicates: 0, invalid: 6, disbelieved: 0 }
    );
    let people = everybody(&store).await;
    let emails: BTreeSet<&str> = people.iter().map(|person| person.email.as_str()).collect();
    assert_eq!((people.len(), emails.len()), (294, 294));
}

#[tokio::test]
async fn an_import_stops_when_the_store_takes_no_more_and_goes_on_there() {
    let store = Arc::new(MemoryStore::new());
    let lines: String = (0..100).map(|n| line(&format!("p{n}@example.com"), "")).collect();
    let (_directory, path) = file(&lines);
    let filling = importer(Arc::new(Interrupted { store: store.clone(), by: Filling(AtomicI64::new(40)) }));
    let (mut told, mut file) = (Told::default(), ImportFile::open(&path, NETWORK, false, NOW).unwrap());
    let stopped = filling.run(&mut file, &mut told, std::future::pending()).await;
    assert!(matches!(stopped, Err(ImportError::Store(StoreError::Refused(_)))), "{stopped:?}");
    assert_eq!(told.rejected, [""; 0], "no line is to blame");
    drop(file);
    let again = ImportFile::open(&path, NETWORK, false, NOW).unwrap();
    assert!(again.counts().lines <= 40 && !again.is_finished(), "{:?}", again.counts());
    drop(again);
    let (counts, _) = import(&importer(store.clone()), &path).await;
    assert_eq!(
        counts,
        ImportedCounts { lines: 100, imported: 100, duplicates: 0, invalid: 0, disbelieved: 0 }
    );
    assert_eq!(everybody(&store).await.len(), 100);
}

#[tokio::test]
async fn an_import_that_is_told_to_stop_keeps_what_it_did() {
    let store = Arc::new(MemoryStore::new());
    let lines: String = (0..1000).map(|n| line(&format!("p{n}@example.com"), "")).collect();
    let (_directory, path) = file(&lines);
    let (mut told, mut file) = (Told::default(), ImportFile::open(&path, NETWORK, false, NOW).unwrap());
    let counts = importer(store.clone()).run(&mut file, &mut told, std::future::ready(())).await.unwrap();
    assert!(counts.lines < 1000);
    drop(file);
    let again = ImportFile::open(&path, NETWORK, false, NOW).unwrap();
    assert!(again.counts() == counts && !again.is_finished());
    drop(again);
    let (counts, _) = import(&importer(store), &path).await;
    assert_eq!(counts.imported, 1000);
    assert!(ImportFile::open(&path, NETWORK, false, NOW).unwrap().is_finished());
}

#[tokio::test]
async fn a_file_that_was_cut_off_meanwhile_is_not_finished() {
    let lines: Vec<String> = (0..50).map(|n| line(&format!("p{n}@example.com"), "")).collect();
    let (_directory, path) = file(&lines.concat());
    let mut file = ImportFile::open(&path, NETWORK, false, NOW).unwrap();
    std::fs::write(&path, lines[..30].concat()).unwrap();
    let (store, mut told) = (Arc::new(MemoryStore::new()), Told::default());
    let stopped = importer(store).run(&mut file, &mut told, std::future::pending()).await;
    let is_other = matches!(stopped, Err(ImportError::File(ImportFileError::OtherFile { .. })));
    assert!(is_other && !file.is_finished(), "{stopped:?}");
}

#[tokio::test]
async fn the_same_file_again_from_the_start_makes_no_duplicates() {
    let store = Arc::new(MemoryStore::new());
    let (_directory, path) = file(&(line("a@example.com", "") + &line("b@example.com", "")));
    import(&importer(store.clone()), &path).await;
    let mut file = ImportFile::open(&path, NETWORK, true, Timestamp::from_secs(9)).unwrap();
    let mut told = Told::default();
    let counts = importer(store.clone()).run(&mut file, &mut told, std::future::pending()).await.unwrap();
    assert_eq!((counts.imported, counts.duplicates), (2, 0));
    assert_eq!(everybody(&store).await.len(), 2);
}

/// Gives everybody another username, as an administrator does.
async fn rename_everybody(store: &MemoryStore) {
    for person in everybody(store).await {
        let username = Some("Somebody else".to_owned());
        given::changed(store, &IdentityChange { username, ..given::change(&person, 20) }).await;
    }
}

/// A line that names its id, and says all that is made up otherwise.
fn named_line(email: &str) -> String {
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    line(
        email,
        &format!(", \"id\": \"{id}\", \"email_verified\": true, \"created_at\": \"2024-01-01T00:00:00Z\""),
    )
}

#[tokio::test]
async fn lines_that_are_done_again_are_no_duplicates_if_their_records_were_changed() {
    let store = Arc::new(MemoryStore::new());
    let importer = importer(store.clone());
    let (directory, path) =
        file(&(line("ada@example.com", "") + &line("bob@example.com", "") + &named_line("eve@example.com")));
    drop(ImportFile::open(&path, NETWORK, false, NOW).unwrap());
    let state = directory.path().join("people.ndjson.sluice-import");
    let begun = std::fs::read(&state).unwrap();
    import(&importer, &path).await;
    rename_everybody(&store).await;
    let people = everybody(&store).await;
    let ada = people.iter().find(|person| person.email == "ada@example.com").unwrap();
    let moved = IdentityChange { email: given::new_email("ada@example.org"), ..given::change(ada, 30) };
    given::changed(&*store, &moved).await;
    let (_elsewhere, another) = file(&line("ada@example.com", ", \"username\": \"Another\""));
    assert_eq!(import(&importer, &another).await.0.imported, 1, "somebody else took the address");
    std::fs::write(&state, begun).unwrap();
    let (counts, told) = import(&importer, &path).await;
    assert_eq!(told.rejected, [""; 0]);
    assert_eq!(counts, ImportedCounts { lines: 3, imported: 3, duplicates: 0, invalid: 0, disbelieved: 0 });
    assert_eq!(everybody(&store).await.len(), 4);
}

#[tokio::test]
async fn the_first_of_two_lines_with_one_address_counts_though_the_store_takes_it_later() {
    let store = Arc::new(MemoryStore::new());
    let first = line("ada@example.com", ", \"username\": \"First\"");
    let second = line("Ada@example.com", ", \"username\": \"Second\"");
    let (_directory, path) = file(&(first + &second));
    let busy = Interrupted { store: store.clone(), by: BusyOnce(AtomicBool::new(true)) };
    let (counts, told) = import(&importer(Arc::new(busy)), &path).await;
    assert_eq!(told.rejected, ["2: email: the address belongs to another identity"]);
    assert_eq!(counts, ImportedCounts { lines: 2, imported: 1, duplicates: 1, invalid: 0, disbelieved: 0 });
    assert_eq!(everybody(&store).await[0].username, "First");
}

#[tokio::test]
async fn the_first_of_two_lines_with_one_id_counts_though_the_store_takes_it_later() {
    let store = Arc::new(MemoryStore::new());
    let (_directory, path) = file(&(named_line("first@example.com") + &named_line("second@example.com")));
    let busy = Interrupted { store: store.clone(), by: BusyOnce(AtomicBool::new(true)) };
    let (counts, told) = import(&importer(Arc::new(busy)), &path).await;
    assert_eq!(told.rejected, ["2: id: the id belongs to another identity"]);
    assert_eq!(counts, ImportedCounts { lines: 2, imported: 1, duplicates: 1, invalid: 0, disbelieved: 0 });
    assert_eq!(everybody(&store).await[0].email, "first@example.com");
}

/// Each waits for the one before it: the second for the id, the third for the address, the fourth for the id.
#[tokio::test]
async fn a_line_that_waits_for_its_address_leaves_its_id_to_no_later_line() {
    let store = Arc::new(MemoryStore::new());
    let id = |last: u8| format!(", \"id\": \"01890a5d-ac96-774b-bcce-b302099a805{last}\"");
    let lines = [
        line("ada@example.com", &id(1)),
        line("bob@example.com", &id(1)),
        line("bob@example.com", &id(2)),
        line("eve@example.com", &id(2)),
    ];
    let (_directory, path) = file(&lines.concat());
    let busy = Interrupted { store: store.clone(), by: BusyOnce(AtomicBool::new(true)) };
    let (_, told) = import(&importer(Arc::new(busy)), &path).await;
    let expected = ["2: id: the id belongs to another identity", "4: id: the id belongs to another identity"];
    assert_eq!(told.rejected, expected);
    let people = everybody(&store).await;
    let emails: Vec<&str> = people.iter().map(|person| person.email.as_str()).collect();
    assert_eq!(emails, ["ada@example.com", "bob@example.com"]);
}

/// Its hash, which may be another, is in no record: somebody must hear of that.
#[tokio::test]
async fn a_line_that_repeats_the_id_of_another_is_a_duplicate() {
    let store = Arc::new(MemoryStore::new());
    let (_directory, path) = file(&named_line("eve@example.com").repeat(2));
    let (counts, told) = import(&importer(store.clone()), &path).await;
    assert_eq!(counts, ImportedCounts { lines: 2, imported: 1, duplicates: 1, invalid: 0, disbelieved: 0 });
    assert_eq!((told.rejected.len(), everybody(&store).await.len()), (1, 1));
}

#[tokio::test]
async fn a_file_from_the_start_knows_records_that_were_changed_but_not_those_that_were_there_before() {
    let store = Arc::new(MemoryStore::new());
    let importer = importer(store.clone());
    let (_directory, path) = file(&(line("ada@example.com", "") + &line("bob@example.com", "")));
    import(&importer, &path).await;
    let (_elsewhere, named) = file(&named_line("eve@example.com"));
    import(&importer, &named).await;
    rename_everybody(&store).await;
    for (path, (imported, duplicates)) in [(&path, (2, 0)), (&named, (0, 1))] {
        let (mut told, mut file) =
            (Told::default(), ImportFile::open(path, NETWORK, true, Timestamp::from_secs(9)).unwrap());
        let counts = importer.run(&mut file, &mut told, std::future::pending()).await.unwrap();
        assert_eq!((counts.imported, counts.duplicates), (imported, duplicates), "{:?}", told.rejected);
    }
    assert_eq!(everybody(&store).await.len(), 3);
}

#[tokio::test]
async fn what_is_exported_can_be_imported_where_the_pepper_is_known() {
    let (store, other) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
    let (here, params) = (importer(store.clone()), Argon2Params::new(64, 1, 1).unwrap());
    let (_, password, bcrypt) = VECTORS.iter().find(|(scheme, ..)| *scheme == "bcrypt").unwrap();
    let hash = format!(", \"password_hash\": \"{bcrypt}\"");
    let lines = ["foreign", "hardened", "provisional", "none"];
    let lines =
        lines.map(|name| line(&format!("{name}@example.com"), if name == "foreign" { &hash } else { "" }));
    let (directory, path) = file(&lines.concat());
    import(&here, &path).await;
    for person in everybody(&store).await {
        let hardened = here.keys.hardened(b"a password", params, [3; 16], &mut HashMemory::new()).unwrap();
        let new = match person.email.as_str() {
            "hardened@example.com" => hardened,
            "provisional@example.com" => here.keys.provisional(person.id, b"a password", &OsRng),
            _ => continue,
        };
        assert!(store.replace_credential(person.id, "", &new).await.unwrap());
    }
    let exporter = Exporter { identities: store.clone(), keys: here.keys.clone() };
    let mut out = Vec::new();
    let exported = exporter.run(&mut out, &mut |_| {}).await.unwrap();
    assert_eq!((exported.identities, exported.provisional, exported.unreadable), (4, 1, 0));
    let path = directory.path().join("export.ndjson");
    std::fs::write(&path, out).unwrap();
    let (counts, told) = import(&importer(other.clone()), &path).await;
    assert_eq!((counts.imported, told.rejected.as_slice()), (4, [].as_slice()));
    let (mut before, mut after) = (everybody(&store).await, everybody(&other).await);
    for people in [&mut before, &mut after] {
        people.sort_by(|a, b| a.email.cmp(&b.email));
    }
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.id, &before.email, before.created_at), (after.id, &after.email, after.created_at));
    }
    assert!(matches!(login(&here.keys, &after[0], password), Verified::Right { .. }));
    assert!(matches!(login(&here.keys, &after[1], "a password"), Verified::Right { .. }));
    let unknown = Importer { keys: keys("another pepper"), ..importer(Arc::new(MemoryStore::new())) };
    std::fs::remove_file(directory.path().join("export.ndjson.sluice-import")).unwrap();
    let (counts, _) = import(&unknown, &path).await;
    assert_eq!((counts.imported, counts.invalid), (3, 1));
}
