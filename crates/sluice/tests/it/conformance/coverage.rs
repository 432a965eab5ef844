//! Every module of the conformance plans has a test sentence of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The names of the modules, as the plans have them.
const MODULES: &str = include_str!("modules.txt");
/// Which test shows the behaviour of which module: `module = path::of::test`, one line each, a module as often as needed.
const COVERED: &str = include_str!("covered.txt");

fn modules() -> BTreeSet<&'static str> {
    MODULES.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn covered() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut covered = BTreeMap::<_, Vec<_>>::new();
    for line in COVERED.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (module, test) = line.split_once(" = ").unwrap_or_else(|| panic!("no ` = ` in `{line}`"));
        covered.entry(module).or_default().push(test);
    }
    covered
}

/// The file of a test, and its function: `a::b::c` is `c` in `a/b.rs`.
fn place(test: &str) -> (PathBuf, &str) {
    let (path, function) = test.rsplit_once("::").unwrap_or_else(|| panic!("`{test}` names no file"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    (root.join(format!("{}.rs", path.replace("::", "/"))), function)
}

/// Whether the file has this function, and it is run: by its attribute, or on both stores.
fn is_test(source: &str, function: &str) -> bool {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| line.starts_with(&format!("async fn {function}("))) else {
        return false;
    };
    let has_attribute = at > 0 && lines[at - 1].starts_with("#[tokio::test");
    has_attribute || on_both_stores(source).any(|name| name == function)
}

/// What a file lists in `on_both_stores!`.
fn on_both_stores(source: &str) -> impl Iterator<Item = &str> {
    let lists = source.split("on_both_stores!").skip(1);
    lists
        .flat_map(|rest| rest.split([')', '}']).next().unwrap_or_default().split(','))
        .map(|name| name.trim_matches([' ', '\n', '(', '{']))
}

#[test]
fn every_module_of_the_plans_has_a_test() {
    let covered = covered();
    let missing: Vec<_> = modules().into_iter().filter(|module| !covered.contains_key(module)).collect();
    assert!(missing.is_empty(), "{} modules have no test: {missing:#?}", missing.len());
}

#[test]
fn every_test_that_is_named_exists_and_is_run() {
    let modules = modules();
    let mut sources = BTreeMap::new();
    for (module, tests) in covered() {
        assert!(modules.contains(module), "{module} is no module of the plans");
        for test in tests {
            let (file, function) = place(test);
            let source = sources.entry(file.clone()).or_insert_with(|| {
                std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"))
            });
            assert!(is_test(source, function), "{test} of {module} is no test in {file:?}");
        }
    }
}
