//! A system that has no memory for a hash.

use std::env;
use std::process::Command;

use sluice_crypto::hash_pool::{PoolBusy, Priority};
use sluice_crypto::password_hash::Argon2Params;
use sluice_identity::{IdentityError, LoginOutcome, Refusal};
use sluice_testkit::Captured;

use super::fake::{Setup, World, attempt};

const ALICE: &str = "alice@example.com";
const NOBODY: &str = "nobody@example.com";
const PASSWORD: &str = "correct horse";
/// Needs 1 GiB.
const SCRYPT: &str = "$scrypt$ln=20,r=8,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHRzYWx0c2FsdHNhbHQ";

/// Set in a process that has little memory.
const SHORT: &str = "SLUICE_TEST_SHORT_OF_MEMORY";
/// How much address space that has, in KiB: enough for all but 1 GiB at once.
const ADDRESS_SPACE: &str = "1000000";

/// Whether this process has no memory for what [`costly`] hashes. If it has, the test of this name is done in another one.
pub(crate) fn is_short(test: &str) -> bool {
    if env::var_os(SHORT).is_some() {
        return true;
    }
    // No other system keeps to such a limit.
    if cfg!(target_os = "linux") {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", ADDRESS_SPACE]);
        shell.arg(env::current_exe().unwrap()).args(["--exact", test]).env(SHORT, "yes");
        let ended = shell.output().unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success() && said.contains("1 passed"), "{said}{wrong}");
    }
    false
}

/// Hashes that need 1 GiB.
pub(crate) fn costly() -> Setup {
    Setup { memory_kib: Argon2Params::MAX_MEMORY_KIB, ..Setup::default() }
}

#[tokio::test]
async fn no_password_is_wrong_for_want_of_memory_and_nothing_tells_who_has_an_account() {
    let this = "no_memory::no_password_is_wrong_for_want_of_memory_and_nothing_tells_who_has_an_account";
    if !is_short(this) {
        return;
    }
    let (log, _guard) = Captured::begin();
    let world = World::with(&costly());
    world.register(ALICE, PASSWORD).await;
    for (email, password) in [(ALICE, PASSWORD), (ALICE, "wrong horse"), (NOBODY, PASSWORD)] {
        let refused = world.login.log_in(attempt(email, password)).await;
        let is_put_off =
            matches!(&refused, Err(error @ IdentityError::Busy(PoolBusy::NoMemory)) if error.is_temporary());
        assert!(is_put_off, "{refused:?}");
    }
    assert_eq!(world.pool.metrics().rejected_total(Priority::Login), 3);
    assert_eq!((world.hashes(), world.hasher.unreadable_total()), (0, 0));
    assert_eq!(log.lines("login refused"), [""; 0]);
}

#[tokio::test]
async fn an_imported_hash_that_finds_no_memory_does_not_end_the_process() {
    if !is_short("no_memory::an_imported_hash_that_finds_no_memory_does_not_end_the_process") {
        return;
    }
    let world = World::new();
    world.register(ALICE, PASSWORD).await;
    world.import(SCRYPT);
    let refused = world.login.log_in(attempt(ALICE, PASSWORD)).await;
    assert!(matches!(refused, Err(IdentityError::Busy(PoolBusy::NoMemory))), "{refused:?}");
    assert_eq!(world.log_in(NOBODY, PASSWORD).await, LoginOutcome::Refused(Refusal::UnknownAccount));
}
