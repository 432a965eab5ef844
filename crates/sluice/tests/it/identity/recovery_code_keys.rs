//! Recovery codes name the secret that hashed them: nothing moves them, so it has to be known who needs it.

use std::sync::Arc;

use sluice_testkit::{Backend, Database};

use super::admin_credentials::enrol;
use super::people::{ALICE, Api, BOB, node, node_after};
use crate::both_stores::on_both_stores;
use crate::program::run;

on_both_stores!(recovery_codes_are_counted_by_the_secret_that_hashed_them);

const OLD: &str = "the-system-secret-of-last-year";
const BOTH: &str = "the-system-secret-of-this-year,the-system-secret-of-last-year";
const NEW: &str = "the-system-secret-of-this-year";

/// What `sluice secrets status` prints of recovery codes.
fn status(database: &Database, secrets: &str) -> String {
    let (dsn, secrets) = (format!("dsn={}", database.dsn), format!("secrets.system={secrets}"));
    let ended = run(&["secrets", "status", "--dev", "--set", &dsn, "--set", &secrets], &[]);
    assert!(ended.success, "{}", ended.stderr);
    let lines = ended.stdout.lines().filter(|line| line.starts_with("recovery codes"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

async fn recovery_codes_are_counted_by_the_secret_that_hashed_them(backend: Backend) {
    let before = node(backend, &[("secrets.system", OLD)]).await;
    let api = Api::of(&before);
    api.register(ALICE).await;
    enrol(&before, &api.tokens(ALICE).await).await;
    let after = node_after(before, &[("secrets.system", BOTH)]).await;
    let api = Api::of(&after);
    api.register(BOB).await;
    enrol(&after, &api.tokens(BOB).await).await;
    let database = Arc::clone(&after.database);
    after.node.stop().await;
    let both = status(&database, BOTH);
    for line in [
        "recovery codes   10 hashed with secrets.system #1, which hashes\n",
        "recovery codes   10 hashed with secrets.system #2, and lost with it\n",
    ] {
        assert!(both.contains(line), "{line} in {both}");
    }
    let new = status(&database, NEW);
    assert_eq!(new.lines().count(), 2, "{new}");
    assert!(new.contains("of a secret that is not configured, and refused\n"), "{new}");
}
