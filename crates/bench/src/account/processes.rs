//! CPU of processes from `/proc`: user and system time.

use std::collections::HashMap;
use std::time::Duration;

use procfs::process::{Process, Stat, all_processes};
use procfs::{ProcResult, ticks_per_second};

/// A child that ends while it is read would be missed, or counted twice: then all is read again.
const ATTEMPTS: usize = 5;
/// Of a second.
const NANOSECONDS: u64 = 1_000_000_000;

/// Of processes with all below them, and all below them that have ended. `None` if one of them is not here.
pub(crate) fn trees(pids: &[u32]) -> Option<Duration> {
    if pids.is_empty() {
        return None;
    }
    pids.iter().map(|pid| stable_cpu(*pid)).sum()
}

/// Those that are below none of the others, each once: what is below a process counts with it.
pub(crate) fn roots(pids: &[u32]) -> Vec<u32> {
    let mut pids = pids.to_vec();
    pids.sort_unstable();
    pids.dedup();
    let trees: Vec<_> = pids.iter().map(|pid| tree(*pid)).collect();
    let below = |pid: u32| {
        let of_others = pids.iter().zip(&trees).filter(|(other, _)| **other != pid);
        of_others.flat_map(|(_, members)| members).any(|member| u32::try_from(*member) == Ok(pid))
    };
    pids.iter().copied().filter(|pid| !below(*pid)).collect()
}

fn stable_cpu(pid: u32) -> Option<Duration> {
    let mut members = tree(pid);
    let mut sum = None;
    for _ in 0..ATTEMPTS {
        let stats: Vec<_> = members.iter().filter_map(|pid| stat(*pid)).collect();
        if stats.is_empty() {
            return None;
        }
        sum = Some(stats.iter().map(with_the_ended).sum());
        let again = tree(pid);
        if stats.len() == members.len() && again == members {
            break;
        }
        members = again;
    }
    sum
}

/// Of this process, without its children.
pub(crate) fn own() -> ProcResult<Duration> {
    Ok(alone(&Process::myself()?.stat()?))
}

/// Of one process, without its children.
pub(crate) fn one(pid: i32) -> Option<Duration> {
    stat(pid).as_ref().map(alone)
}

/// A process and all below it, in order.
pub(crate) fn tree(pid: u32) -> Vec<i32> {
    let Ok(root) = i32::try_from(pid) else { return Vec::new() };
    let mut children = HashMap::<i32, Vec<i32>>::new();
    for stat in all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok()) {
        children.entry(stat.ppid).or_default().push(stat.pid);
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// The process above another, if both are named so.
pub(crate) fn parent_named(pid: i32, name: &str) -> Option<u32> {
    let own = stat(pid).filter(|stat| stat.comm == name)?;
    let parent = stat(own.ppid).filter(|stat| stat.comm == name)?;
    u32::try_from(parent.pid).ok()
}

fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

fn alone(stat: &Stat) -> Duration {
    ticks(stat.utime + stat.stime)
}

fn with_the_ended(stat: &Stat) -> Duration {
    alone(stat) + ticks(u64::try_from(stat.cutime + stat.cstime).unwrap_or_default())
}

fn ticks(ticks: u64) -> Duration {
    Duration::from_nanos(ticks.saturating_mul(NANOSECONDS / ticks_per_second()))
}

/// What user and system time are counted in, each by itself.
pub(super) fn tick() -> Duration {
    ticks(1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn busy(script: &str) -> std::process::Child {
        Command::new("sh").args(["-c", script]).spawn().unwrap()
    }

    #[test]
    fn a_child_that_has_ended_still_counts() {
        let before = trees(&[std::process::id()]).unwrap();
        let status = busy("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done").wait().unwrap();
        assert!(status.success());
        assert!(trees(&[std::process::id()]).unwrap() > before);
    }

    #[test]
    fn a_process_that_is_not_here_has_no_cpu() {
        let mut child = busy("exit 0");
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(trees(&[pid]), None);
        assert_eq!(trees(&[]), None);
    }

    #[test]
    fn a_tree_begins_with_its_root_and_has_its_children() {
        let mut child = busy("cat");
        let members = tree(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(members.first().copied(), i32::try_from(std::process::id()).ok());
        assert!(members.contains(&i32::try_from(child.id()).unwrap()));
    }

    #[test]
    fn a_process_below_another_does_not_count_beside_it() {
        let mut child = busy("cat");
        let own = std::process::id();
        let counted = [roots(&[child.id(), own, child.id()]), roots(&[child.id(), child.id()])];
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(counted, [vec![own], vec![child.id()]]);
        assert!(roots(&[]).is_empty());
    }

    #[test]
    fn only_a_process_of_that_name_has_a_parent_of_it() {
        assert_eq!(parent_named(std::process::id().cast_signed(), "postgres"), None);
    }
}
