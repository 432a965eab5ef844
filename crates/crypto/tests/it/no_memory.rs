//! A system that has no memory for a hash.

use std::env;
use std::num::NonZeroUsize;
use std::process::Command;

use sluice_crypto::hash_pool::{HashPool, HashPoolConfig, PoolBusy, Priority};
use sluice_crypto::password_hash::{Argon2Params, HashMemory};
use sluice_crypto::secret_hash::{StoredSecretHash, verify_slow};
use sluice_primitives::Secret;

/// Needs 1 GiB.
const STORED: &str =
    "$argon2id$v=19$m=1048576,t=1,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHRzYWx0c2FsdHNhbHQ";

/// Set in a process that has little memory.
const SHORT: &str = "SLUICE_TEST_SHORT_OF_MEMORY";
/// How much address space that has, in KiB: enough for all but 1 GiB at once.
const ADDRESS_SPACE: &str = "1000000";

/// Whether this process has no 1 GiB. If it has, the test of this name is done in another one.
fn is_short(test: &str) -> bool {
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

#[tokio::test]
async fn a_client_secret_is_not_wrong_for_want_of_memory() {
    if !is_short("no_memory::a_client_secret_is_not_wrong_for_want_of_memory") {
        return;
    }
    let StoredSecretHash::Slow(stored) = STORED.parse::<StoredSecretHash>().unwrap() else {
        panic!("{STORED}")
    };
    let (threads, max_memory_kib) = (NonZeroUsize::MIN, Argon2Params::MAX_MEMORY_KIB);
    let config = HashPoolConfig { threads, max_memory_kib, ..HashPoolConfig::default() };
    let pool = HashPool::start(&config).unwrap();
    let secret = Secret::new("a secret".to_owned());
    let is_right = move |memory: &mut HashMemory| verify_slow(&stored, &secret, memory).unwrap_or(false);
    assert_eq!(pool.run(Priority::ClientSecret, is_right).await, Err(PoolBusy::NoMemory));
    assert_eq!(pool.metrics().rejected_total(Priority::ClientSecret), 1);
}
