//! The memory that the system lets this process have, and whether password hashes have room in it. Whoever takes more is killed.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use sluice_crypto::hash_pool::HashPoolConfig;
use tracing::warn;

use crate::config::IdentitySettings;

/// Where control groups are found.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// What all the rest takes, at least.
const BESIDES: u64 = 64 << 20;

/// Says in the log if the hashes of a node have no room.
pub(super) fn tell_of_node(identity: &IdentitySettings) {
    let threads = identity.hash_pool.threads.unwrap_or_else(|| HashPoolConfig::default().threads);
    tell(identity, threads);
}

/// The same of a worker.
pub(super) fn tell_of_worker(identity: &IdentitySettings) {
    let own = identity.hardening.threads.or(identity.hash_pool.threads);
    tell(identity, own.unwrap_or_else(|| HashPoolConfig::default().threads));
}

fn tell(identity: &IdentitySettings, threads: NonZeroUsize) {
    let hashes = needed(threads, identity.password_hash.params.memory_kib());
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if let Some(limit) = least_limit(&groups, Path::new(CONTROL_GROUPS))
        && is_too_low(limit, hashes)
    {
        warn!(
            limit,
            threads = threads.get(),
            needed = hashes.saturating_add(BESIDES),
            "password hashes take more memory than this process may have, and the system kills it when all threads hash: raise the limit, \
             or lower identity.hash_pool.threads or identity.password_hash.memory"
        );
    }
}

/// What so many hashes take at once, in bytes.
fn needed(threads: NonZeroUsize, memory_kib: u32) -> u64 {
    let threads = u64::try_from(threads.get()).unwrap_or(u64::MAX);
    threads.saturating_mul(u64::from(memory_kib)).saturating_mul(1024)
}

fn is_too_low(limit: u64, hashes: u64) -> bool {
    limit < hashes.saturating_add(BESIDES)
}

/// The least limit of the control groups of a process, in bytes: those that `/proc/self/cgroup` names, of either version (cgroups(7)). None if
/// there is none, or it cannot be told.
fn least_limit(groups: &str, mounted_at: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?);
        if controllers.is_empty() {
            limit_of(group, mounted_at, "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            limit_of(group, &mounted_at.join("memory"), "memory.limit_in_bytes")
        } else {
            None
        }
    });
    limits.min()
}

/// The least of a group and those that it is in, as far as they are seen from here: in a container its own is often the root.
fn limit_of(group: &str, root: &Path, file: &str) -> Option<u64> {
    let group = root.join(group.trim_start_matches('/'));
    let groups = group.ancestors().take_while(|group| group.starts_with(root));
    let limit = |group: &Path| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok();
    groups.filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Control groups with these files.
    fn control_groups(files: &[(&str, &str)]) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, limit) in files {
            let file = directory.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{limit}\n")).unwrap();
        }
        directory
    }

    #[test]
    fn the_least_limit_counts_of_a_group_and_those_that_it_is_in() {
        let groups = control_groups(&[
            ("sluice.slice/memory.max", "1073741824"),
            ("sluice.slice/node.service/memory.max", "max"),
        ]);
        let limit = |of| least_limit(of, groups.path());
        assert_eq!(limit("0::/sluice.slice/node.service\n"), Some(1 << 30));
        assert_eq!(limit("0::/other.service\n"), None);
        assert_eq!(limit(""), None);
    }

    /// What the host calls the group is not there.
    #[test]
    fn in_a_container_the_root_is_its_group() {
        let groups = control_groups(&[("memory.max", "536870912")]);
        assert_eq!(least_limit("0::/\n", groups.path()), Some(512 << 20));
        assert_eq!(least_limit("0::/../../docker/1a2b\n", groups.path()), Some(512 << 20));
        let groups = control_groups(&[("memory/memory.limit_in_bytes", "268435456")]);
        let named = "5:cpu,cpuacct:/docker/1a2b\n4:memory:/docker/1a2b\n0::/\n";
        assert_eq!(least_limit(named, groups.path()), Some(256 << 20));
    }

    #[test]
    fn a_limit_without_room_for_all_threads_and_the_rest_is_too_low() {
        let hashes = needed(NonZeroUsize::new(4).unwrap(), 65_536);
        assert_eq!(hashes, 256 << 20);
        assert!(is_too_low(256 << 20, hashes));
        assert!(!is_too_low(1 << 30, hashes));
    }
}
