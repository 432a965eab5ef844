//! What `docs/reference/admin-api.md` lists is what the admin port answers.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use sluice_testkit::{Backend, TestSluice};

use crate::answer::{Answer, http};

const PAGE: &str = include_str!("../../../../docs/reference/admin-api.md");

/// The methods of each path that the page lists.
fn listed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut paths: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for row in PAGE.lines().filter(|line| line.starts_with("| `")) {
        let mut quoted = row.split('`').skip(1).step_by(2);
        let (method, path) = (quoted.next().unwrap(), quoted.next().unwrap());
        assert!(paths.entry(path).or_default().insert(method), "{method} {path} stands twice");
    }
    paths
}

/// A method that no path has is answered with those that it has.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_admin_api_lists_the_methods_of_each_path() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let paths = listed();
    assert!(paths.len() > 30, "{}", paths.len());
    for (path, methods) in paths {
        let asked = sluice.admin.join(&path.replace(['{', '}'], "")).unwrap();
        let answer = Answer::to(http().request(Method::TRACE, asked)).await;
        assert_eq!(answer.status, 405, "{path}");
        let allowed = answer.header("allow").split(',').map(str::trim).filter(|method| *method != "HEAD");
        assert_eq!(allowed.collect::<BTreeSet<_>>(), methods, "{path}");
    }
    sluice.node.stop().await;
}
