//! What is killed: all processes of a server at once, as when the power fails, but the disk keeps what was written.

use std::path::Path;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use sluice_testkit::PrivateCluster;
use tokio::task::spawn_blocking;

use super::until;

/// Who dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    /// `sluice serve`, which hardens, too.
    Server,
    /// One of two `sluice worker`.
    Worker,
    /// The postmaster of PostgreSQL and all its children.
    Postgres,
}

/// Kills PostgreSQL, all of it, and starts it again.
pub(super) async fn kill_postgres(cluster: &Arc<PrivateCluster>) {
    let postmaster = postmaster(&cluster.socket_directory().join("data"));
    let mut doomed = vec![postmaster];
    doomed.extend(children(postmaster));
    for pid in &doomed {
        // Some end by themselves when the postmaster does.
        let _ = kill_process(*pid, Signal::KILL);
    }
    until("all processes of PostgreSQL are gone", async || doomed.iter().all(|pid| is_gone(*pid))).await;
    // A child that was born meanwhile may hold the shared memory for a moment.
    until("PostgreSQL is back", async || {
        let cluster = Arc::clone(cluster);
        spawn_blocking(move || cluster.start_again().is_ok()).await.expect("no panic")
    })
    .await;
}

fn postmaster(data: &Path) -> Pid {
    let file = std::fs::read_to_string(data.join("postmaster.pid")).expect("postmaster.pid");
    let pid = file.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw);
    pid.expect("the process id of the postmaster")
}

fn children(parent: Pid) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    ids.filter(|pid| fields(*pid).is_some_and(|(_, of)| of == parent.as_raw_nonzero().get())).collect()
}

/// State and parent of a process.
fn fields(pid: Pid) -> Option<(String, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name before may hold anything, brackets too.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

fn is_gone(pid: Pid) -> bool {
    fields(pid).is_none_or(|(state, _)| state == "Z" || state == "X")
}
