use std::path::PathBuf;

use sluice_primitives::{ManualClock, OsRng};
use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};
use sluice_testkit::Captured;

use super::*;
use crate::app::node::BUILD;
use crate::config::{Mode, Sources, load};

const START: Timestamp = Timestamp::from_secs(1_750_000_000);
const NETWORK: NetworkId = NetworkId::from_bytes([1; 16]);
const SYSTEM: &str = "secrets.system";
const OLD: &str = "the-old-secret-for-tests";
const NEW: &str = "the-new-secret-for-tests";
const DIFFER: &str = "nodes on this database differ in a setting";
const LAST: &str = "this database was last served with another setting";

/// A database, and the time.
struct Given {
    store: Arc<SqliteStore>,
    clock: Arc<ManualClock>,
}

impl Given {
    async fn start() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let options = StoreOptions::new(NodeId::generate(START, &OsRng), clock.clone(), Arc::new(OsRng));
        let store = Arc::new(SqliteStore::open(SqlitePath::Temporary, options).await.unwrap());
        store.migrate_up().await.unwrap();
        Self { store, clock }
    }

    fn node(&self, settings: &[(&str, &str)]) -> Arc<Agreement> {
        let store = Arc::clone(&self.store) as Arc<dyn Repositories>;
        Arc::new(Agreement::new(store, said(settings), (self.clock.clone(), &OsRng)))
    }
}

/// What a node says that has these settings.
fn said(settings: &[(&str, &str)]) -> SharedSettings {
    let (storage, pepper) = ("a-storage-secret-for-tests", "a-pepper-for-tests");
    let mut all = BTreeMap::from([(SYSTEM, OLD), ("secrets.storage", storage), ("secrets.pepper", pepper)]);
    all.extend(settings.iter().copied());
    let sources = Sources {
        files: Vec::new(),
        environment: Vec::new(),
        overrides: all.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        mode: Mode::Development,
        data_dir: PathBuf::from("."),
    };
    let settings = load(&sources).unwrap_or_else(|error| panic!("{error}")).settings;
    let secrets = KeyMaterial::of(&settings.secrets, None, &OsRng).unwrap();
    shared_settings(&settings, &secrets, NETWORK)
}

fn differing(node: &Arc<Agreement>, setting: &str) -> Option<f64> {
    let metrics = Metrics::new(BUILD);
    node.show(&metrics);
    let series = format!("sluice_nodes_that_differ{{setting=\"{setting}\"}} ");
    metrics.encode().lines().find_map(|line| line.strip_prefix(&series)?.parse().ok())
}

#[tokio::test]
async fn nodes_with_other_secrets_say_so_in_their_logs_and_numbers() {
    let (log, _guard) = Captured::begin();
    let given = Given::start().await;
    let (one, other) = (given.node(&[]), given.node(&[(SYSTEM, NEW)]));
    one.round().await;
    assert_eq!((differing(&one, SYSTEM), log.lines(DIFFER).len()), (Some(0.0), 0), "alone");
    other.round().await;
    let told = log.lines(DIFFER);
    let of_secret = told.iter().find(|line| line.contains("secrets.system")).expect("it is named");
    assert!(of_secret.contains("ERROR") && of_secret.contains(&host()), "{of_secret}");
    assert!(of_secret.contains("what is sealed on either does not open on the other"), "{of_secret}");
    assert!(!told.iter().any(|line| line.contains("secrets.storage") || line.contains(OLD)), "{told:?}");
    one.round().await;
    assert_eq!(differing(&one, SYSTEM), Some(1.0));
    assert_eq!(differing(&one, "secrets.storage"), Some(0.0));
    let before = log.lines(DIFFER).len();
    one.round().await;
    assert_eq!(log.lines(DIFFER).len(), before, "not each minute");
}

#[tokio::test]
async fn a_rotation_that_goes_from_node_to_node_is_no_difference() {
    let (log, _guard) = Captured::begin();
    let given = Given::start().await;
    let steps = [OLD, &format!("{OLD},{NEW}"), &format!("{NEW},{OLD}"), NEW];
    for step in steps.windows(2) {
        let nodes = [given.node(&[(SYSTEM, step[0])]), given.node(&[(SYSTEM, step[1])])];
        for node in nodes.iter().chain(&nodes) {
            node.round().await;
        }
        for node in &nodes {
            assert_eq!(differing(node, SYSTEM), Some(0.0), "{step:?}");
            node.leave().await;
        }
    }
    assert_eq!((log.lines(DIFFER).len(), log.lines(LAST).len()), (0, 0), "{}", log.text());
}

#[test]
fn each_setting_that_must_be_alike_is_named_where_it_differs() {
    let pairwise = ("oidc.subject_identifiers.supported_types", "public,pairwise");
    let salt = |salt| [pairwise, ("oidc.subject_identifiers.pairwise.salt", salt)];
    let others = [
        ("urls.self.issuer", vec![("urls.self.issuer", "https://other.example.com/")]),
        ("secrets.cookie", vec![("secrets.cookie", "a-cookie-secret-for-tests")]),
        ("serve.cookies.names.session", vec![("serve.cookies.names.session", "another")]),
        ("ttl.longest_access_token", vec![("ttl.longest_access_token", "24h")]),
        ("identity.factors.required", vec![("identity.factors.required", "always")]),
        ("oidc.subject_identifiers.pairwise.salt", salt("another-salt").to_vec()),
    ];
    let here = said(&salt("a-salt-for-tests"));
    for (setting, settings) in others {
        let mut all = salt("a-salt-for-tests").to_vec();
        all.extend(settings);
        let there = said(&all);
        let differing: Vec<_> = here.differences(&there).map(|one| one.setting).collect();
        assert!(differing.contains(&setting), "{setting}: {differing:?}");
        let text = there.to_text();
        assert!(!text.contains("-salt") && !text.contains("for-tests"), "{text}");
    }
}

#[tokio::test]
async fn a_node_that_is_gone_is_compared_once_and_only_by_what_it_left_behind() {
    let (log, _guard) = Captured::begin();
    let given = Given::start().await;
    let before = given.node(&[]);
    before.round().await;
    before.leave().await;
    let after = given.node(&[(SYSTEM, NEW)]);
    after.round().await;
    let told: Vec<_> = log.lines(LAST).into_iter().filter(|line| line.contains("secrets.system")).collect();
    assert!(told.len() == 1 && told[0].contains("WARN"), "{}", log.text());
    assert!(log.lines(DIFFER).is_empty() && differing(&after, SYSTEM) == Some(0.0), "{}", log.text());
    given.clock.advance(Lifetime::minutes(1));
    after.round().await;
    after.leave().await;
    given.node(&[(SYSTEM, &format!("{OLD},{NEW}"))]).round().await;
    let told = log.lines(LAST).into_iter().filter(|line| line.contains("secrets.system"));
    assert_eq!(told.count(), 1, "{}", log.text());
}

#[tokio::test]
async fn nodes_that_require_second_factors_of_others_say_so_and_one_that_is_alone_does_not() {
    let required = "identity.factors.required";
    let (log, _guard) = Captured::begin();
    let given = Given::start().await;
    let before = given.node(&[]);
    before.round().await;
    before.leave().await;
    let (one, other) = (given.node(&[(required, "always")]), given.node(&[(required, "chosen")]));
    one.round().await;
    assert!(!log.text().contains(required), "what was made before is as good as ever: {}", log.text());
    other.round().await;
    let told = log.lines(DIFFER).into_iter().filter(|line| line.contains(required));
    assert_eq!((told.count(), differing(&other, required)), (1, Some(1.0)), "{}", log.text());
}

/// As after a power failure: nobody has said that it goes.
#[tokio::test]
async fn a_node_that_was_not_seen_for_long_is_no_node() {
    let (log, _guard) = Captured::begin();
    let given = Given::start().await;
    given.node(&[]).round().await;
    given.clock.advance(Lifetime::minutes(4));
    let after = given.node(&[(SYSTEM, NEW)]);
    after.round().await;
    assert!(log.lines(DIFFER).is_empty() && !log.lines(LAST).is_empty(), "{}", log.text());
    assert_eq!(differing(&after, SYSTEM), Some(0.0));
}

#[tokio::test]
async fn that_nodes_agree_again_is_said_once() {
    let (log, _guard) = Captured::begin();
    let given = Given::start().await;
    let (one, other) = (given.node(&[]), given.node(&[(SYSTEM, NEW)]));
    other.round().await;
    one.round().await;
    other.leave().await;
    one.round().await;
    one.round().await;
    assert_eq!(log.lines("have the same settings again").len(), 1, "{}", log.text());
    assert_eq!(differing(&one, SYSTEM), Some(0.0));
}

#[tokio::test]
async fn a_database_that_does_not_answer_keeps_no_node_from_serving() {
    let (log, _guard) = Captured::begin();
    let given = Given::start().await;
    let node = given.node(&[]);
    given.store.shutdown().await;
    node.round().await;
    node.round().await;
    node.leave().await;
    assert_eq!(log.lines("it cannot be found out whether other nodes have the same settings").len(), 1);
}

#[test]
fn of_many_nodes_some_are_named() {
    assert_eq!(named(&["b", "a"]), "a, b");
    assert_eq!(named(&["g", "f", "e", "d", "c", "b", "a"]), "a, b, c, d, e and 2 more");
}
