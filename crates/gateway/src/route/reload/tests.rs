use std::fs;

use http::Method;
use ipnet::IpNet;
use mmdb_writer::{Value as Record, Writer};
use sluice_primitives::{Lifetime, ManualClock};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::*;
use crate::route::Unrouted;

const LONG: Duration = Duration::from_secs(20);

struct World {
    directory: TempDir,
    clock: Arc<ManualClock>,
    file: Arc<RoutesFile>,
}

impl World {
    fn with(path: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("routes.yaml"), routes(path)).unwrap();
        Self::of(directory)
    }

    fn of(directory: TempDir) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1000)));
        let file = RoutesFile::open(directory.path().join("routes.yaml"), clock.clone()).unwrap();
        Self { directory, clock, file: Arc::new(file) }
    }

    fn write(&self, text: &str) {
        fs::write(self.directory.path().join("routes.yaml"), text).unwrap();
    }

    fn serves(&self, path: &str) -> bool {
        let table = self.file.routes().load();
        match table.find(&Method::GET, "localhost", path) {
            Ok(_) => true,
            Err(unrouted) => {
                assert_eq!(unrouted, Unrouted::NoRoute);
                false
            }
        }
    }

    /// Follows the file while `change` is made, until a new table is in force.
    async fn follow(&self, change: impl FnOnce()) {
        let shutdown = CancellationToken::new();
        let mut generations = self.file.routes().subscribe();
        let following = tokio::spawn(self.file.clone().follow(shutdown.clone()));
        tokio::task::yield_now().await;
        change();
        timeout(LONG, generations.changed()).await.unwrap().unwrap();
        shutdown.cancel();
        timeout(LONG, following).await.unwrap().unwrap();
    }
}

fn routes(path: &str) -> String {
    format!("routes: [{{name: only, match: {{prefix: {path}}}, auth: none}}]")
}

#[test]
fn a_new_file_replaces_the_routes_at_once() {
    let world = World::with("/old");
    world.write(&routes("/new"));
    world.clock.advance(Lifetime::secs(5));
    assert_eq!(world.file.reload().unwrap(), Reloaded::Replaced);
    assert!(world.serves("/new") && !world.serves("/old"));
    assert_eq!(world.file.routes().generation(), 2);
    assert_eq!(
        world.file.state(),
        RoutesState { loaded_at: Timestamp::from_secs(1005), error: None, failures: 0 }
    );
}

#[test]
fn a_file_with_countries_comes_into_force_and_goes_with_the_routes_that_name_it() {
    let world = World::with("/old");
    let mut writer = Writer::new("Test-Country");
    let record = Record::map([("country", Record::map([("iso_code", Record::from("CZ"))]))]);
    writer.insert_value("192.0.2.0/24".parse::<IpNet>().unwrap(), record).unwrap();
    let countries = writer.to_bytes().unwrap();
    let country = || world.file.country().country("192.0.2.1".parse().unwrap());
    let put = |bytes: &[u8]| fs::write(world.directory.path().join("country.mmdb"), bytes).unwrap();
    assert_eq!(country(), None);
    put(&countries);
    world.write(&format!("country_database: country.mmdb\n{}", routes("/new")));
    world.file.reload().unwrap();
    assert_eq!(country().unwrap(), "CZ");
    put(b"no database");
    assert!(matches!(world.file.reload(), Err(RoutesError::Mistaken { .. })));
    assert_eq!(country().unwrap(), "CZ", "the old one stays");
    let failures = world.file.state().failures;
    assert_eq!(world.file.read_again(false).unwrap(), Reloaded::Unchanged, "it is half written still");
    put(&countries);
    assert_eq!(world.file.read_again(false).unwrap(), Reloaded::Replaced, "now it is whole");
    let state = world.file.state();
    assert_eq!((state.error, state.failures), (None, failures));
    world.write(&routes("/new"));
    world.file.reload().unwrap();
    assert_eq!(country(), None);
}

#[test]
fn a_bad_file_leaves_the_old_routes_and_says_why() {
    let world = World::with("/old");
    world.write("routes: [{name: only, match: {prefix: new}}, {name: only}]");
    world.clock.advance(Lifetime::secs(5));
    let error = world.file.reload().unwrap_err();
    assert!(
        matches!(error, RoutesError::Mistaken { ref source, .. } if source.iter().count() == 2),
        "{error:?}"
    );
    assert!(world.serves("/old"));
    let state = world.file.state();
    assert_eq!((state.loaded_at, state.failures), (Timestamp::from_secs(1000), 1));
    let why = state.error.unwrap();
    assert!(
        why.contains(
            "routes[0] (only).match.prefix: must begin with a slash; routes[1] (only).match: is missing"
        ),
        "{why}"
    );
}

#[test]
fn a_file_that_is_cut_off_before_its_routes_leaves_the_old_ones() {
    let world = World::with("/old");
    for cut_off in ["", "trusted_proxies: [10.0.0.0/8]\n", "upstreams: {}\nroutes:\n"] {
        world.write(cut_off);
        assert!(matches!(world.file.reload(), Err(RoutesError::Mistaken { .. })), "{cut_off:?}");
        assert!(world.serves("/old"));
    }
    world.write("routes: []");
    assert_eq!(world.file.reload().unwrap(), Reloaded::Replaced);
    assert!(!world.serves("/old"));
}

#[test]
fn a_file_that_is_gone_leaves_the_old_routes_too() {
    let world = World::with("/old");
    fs::remove_file(world.directory.path().join("routes.yaml")).unwrap();
    assert!(matches!(world.file.reload(), Err(RoutesError::Unreadable { .. })));
    assert!(world.serves("/old"));
    world.write(&routes("/new"));
    assert_eq!(world.file.reload().unwrap(), Reloaded::Replaced);
    assert_eq!(world.file.state().error, None);
}

#[test]
fn a_bad_file_is_tried_once_for_each_content() {
    let world = World::with("/old");
    world.write("routes: 1");
    assert!(world.file.read_again(false).is_err());
    assert_eq!(world.file.read_again(false).unwrap(), Reloaded::Unchanged);
    assert_eq!(world.file.state().failures, 1);
    assert!(world.file.state().error.is_some());
}

#[test]
fn a_process_does_not_start_with_a_bad_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("routes.yaml");
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(0)));
    assert!(matches!(RoutesFile::open(path.clone(), clock.clone()), Err(RoutesError::Unreadable { .. })));
    fs::write(&path, "rutes: []").unwrap();
    assert!(matches!(RoutesFile::open(path, clock), Err(RoutesError::Mistaken { .. })));
}

#[test]
fn a_request_ends_under_the_table_it_began_with() {
    let world = World::with("/old");
    let before = world.file.routes().load();
    world.write(&routes("/new"));
    world.file.reload().unwrap();
    assert!(before.find(&Method::GET, "localhost", "/old").is_ok());
    assert!(before.generation() < world.file.routes().load().generation());
}

/// Something else in the directory that is never quiet.
async fn write_on(changed: &Notify) {
    loop {
        changed.notify_one();
        sleep(QUIET / 2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_file_is_read_also_while_something_else_is_written_all_the_time() {
    let (changed, began) = (Notify::new(), Instant::now());
    changed.notify_one();
    settle(&changed).await;
    assert!(began.elapsed() < QUIET * 2, "{:?}", began.elapsed());
    tokio::select! {
        () = settle(&changed) => {}
        () = write_on(&changed) => {}
    }
    let waited = began.elapsed();
    assert!((SETTLED_AFTER..SETTLED_AFTER + QUIET * 2).contains(&waited), "{waited:?}");
}

#[tokio::test]
async fn a_file_that_is_written_is_noticed() {
    let world = World::with("/old");
    world.follow(|| world.write(&routes("/new"))).await;
    assert!(world.serves("/new") && !world.serves("/old"));
}

#[tokio::test]
async fn a_file_that_an_editor_renames_into_place_is_noticed() {
    let world = World::with("/old");
    let change = || {
        let other = world.directory.path().join("routes.yaml.new");
        fs::write(&other, routes("/new")).unwrap();
        fs::rename(other, world.directory.path().join("routes.yaml")).unwrap();
    };
    world.follow(change).await;
    assert!(world.serves("/new"));
}

#[tokio::test]
async fn a_config_map_that_kubernetes_swaps_is_noticed() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for (name, path) in [("v1", "/old"), ("v2", "/new")] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("routes.yaml"), routes(path)).unwrap();
    }
    symlink("v1", at("..data")).unwrap();
    symlink("..data/routes.yaml", at("routes.yaml")).unwrap();
    let world = World::of(directory);
    assert!(world.serves("/old"));
    let change = || {
        let at = |name: &str| world.directory.path().join(name);
        symlink("v2", at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
    };
    world.follow(change).await;
    assert!(world.serves("/new"));
}
