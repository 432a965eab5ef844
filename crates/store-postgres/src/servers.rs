//! Servers: which of those that an address leads to a node is with.
//!
//! After a failover a name, an address that moves or a list of hosts leads to another server, while connections to the former may live on: it
//! answers, and knows nothing of what is written from then on. So a node moves as a whole. Once a new connection is to a server that it has not
//! met, or to one that writes when another had said that it only reads, those that were opened before, and not to that one, are of no use any
//! more. Servers that are all as good, as where something spreads connections over them, are met once each, and then it stays. Of one that was
//! met before, a new connection does not tell whether the node is to leave it: that is asked (`feed/listener`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{error, warn};

use crate::error::Failure;

/// So many are remembered.
const REMEMBERED: usize = 64;
/// How often it is told that the node has moved.
const BETWEEN_WARNINGS: Duration = Duration::from_mins(1);

/// Whether it was told that a server does not say when it was started.
static IS_UNKNOWN_TOLD: Once = Once::new();

/// What a server says of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    /// When it was started, to the microsecond, which tells it apart from others, and from itself before a restart. None of an engine that does
    /// not say it.
    pub(crate) started_at: Option<String>,
    /// Whether it only reads.
    pub(crate) only_reads: bool,
}

/// Those that a node has met.
pub(crate) struct Servers {
    /// Whether one that writes is wanted, and others are left for it. Else all are as good, and none is left.
    wants_a_primary: bool,
    moves: AtomicU64,
    /// The one that the node has moved to last, or met first, by when it was started.
    current: ArcSwapOption<String>,
    met: Mutex<Met>,
    /// Whether connections to them are no sessions of their own. That stays so: what a pooler was told once it may be told again, and the node is to be
    /// started anew, which proves it.
    are_pooled: AtomicBool,
}

/// By when they were started.
#[derive(Default)]
struct Met {
    writing: VecDeque<String>,
    only_reading: Option<String>,
    warned_at: Option<Instant>,
}

impl Servers {
    /// None yet.
    pub(crate) fn new(wants_a_primary: bool) -> Self {
        let (moves, current, met) = (AtomicU64::new(0), ArcSwapOption::empty(), Mutex::default());
        Self { wants_a_primary, moves, current, met, are_pooled: AtomicBool::new(false) }
    }

    /// How many times the node has moved.
    pub(crate) fn moves(&self) -> u64 {
        self.moves.load(Ordering::Acquire)
    }

    /// A connection to this server was opened. How many times the node has moved, now that it knows of it.
    pub(crate) fn meet(&self, server: &Server) -> u64 {
        let Some(started_at) = &server.started_at else {
            IS_UNKNOWN_TOLD.call_once(|| {
                warn!(
                    "PostgreSQL does not say when it was started (pg_postmaster_start_time): after a failover, what is remembered of \
                     clients and keys is not read again"
                );
            });
            return self.moves();
        };
        let mut met = self.met.lock();
        if server.only_reads && self.wants_a_primary {
            // For want of a better one. Who has another stays with it.
            met.only_reading = Some(started_at.clone());
        } else if met.is_move_to(started_at) {
            self.current.store(Some(Arc::new(started_at.clone())));
            self.moves.fetch_add(1, Ordering::AcqRel);
            met.tell();
        } else if self.current.load().is_none() {
            self.current.store(Some(Arc::new(started_at.clone())));
        }
        self.moves()
    }

    /// This one only reads by now.
    pub(crate) fn only_reads(&self, server: &Server) {
        if let Some(started_at) = server.started_at.as_ref().filter(|_| self.wants_a_primary) {
            self.met.lock().only_reading = Some(started_at.clone());
        }
    }

    /// A connection to them is no session of its own, so none is.
    pub(crate) fn note_that_they_are_pooled(&self) {
        if !self.are_pooled.swap(true, Ordering::AcqRel) {
            error!(error = %Failure::Pooled, "PostgreSQL is not asked any more: mend the DSN or the pooler, and restart this node");
        }
    }

    /// Whether that was noted.
    pub(crate) fn are_pooled(&self) -> bool {
        self.are_pooled.load(Ordering::Acquire)
    }

    /// Whether the node has left this server, to which a connection was opened when it had moved so many times.
    pub(crate) fn have_left(&self, server: &Server, moves: u64) -> bool {
        self.wants_a_primary && moves < self.moves() && !self.is_current(server)
    }

    fn is_current(&self, server: &Server) -> bool {
        let current = self.current.load();
        current.as_deref().is_some_and(|current| server.started_at.as_ref() == Some(current))
    }
}

impl Met {
    /// Whether the node moves, now that it has met one that writes.
    fn is_move_to(&mut self, started_at: &str) -> bool {
        let is_better = self.only_reading.take().is_some_and(|other| other != started_at);
        if self.writing.iter().any(|known| known == started_at) {
            return is_better;
        }
        let is_first = self.writing.is_empty();
        self.writing.push_back(started_at.to_owned());
        if self.writing.len() > REMEMBERED {
            self.writing.pop_front();
        }
        is_better || !is_first
    }

    /// Tells that the node moves, once a minute: where one that writes and one that only reads are behind one address, it takes a few moves until
    /// all connections are to the one.
    fn tell(&mut self) {
        if self.warned_at.is_some_and(|at| at.elapsed() < BETWEEN_WARNINGS) {
            return;
        }
        self.warned_at = Some(Instant::now());
        warn!(
            "PostgreSQL is another server than before, or was started anew: what is remembered of the database is read again"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(started_at: &str, only_reads: bool) -> Server {
        Server { started_at: Some(started_at.to_owned()), only_reads }
    }

    #[test]
    fn a_node_moves_to_a_server_that_it_has_not_met_and_to_no_other() {
        let servers = Servers::new(true);
        let met = ["a", "a", "b", "a", "b", "c"].map(|started_at| servers.meet(&server(started_at, false)));
        assert_eq!(met, [0, 0, 1, 1, 1, 2]);
        assert_eq!(servers.meet(&Server::default()), 2, "who does not say which it is");
    }

    #[test]
    fn a_node_leaves_a_server_that_only_reads_for_one_that_writes_and_not_the_other_way_round() {
        let servers = Servers::new(true);
        assert_eq!(servers.meet(&server("a", false)), 0);
        assert_eq!(servers.meet(&server("b", true)), 0, "another may do for want of a better one");
        assert_eq!(servers.meet(&server("a", false)), 1, "who went over to that one comes back");
        servers.only_reads(&server("a", false));
        assert_eq!(servers.meet(&server("a", false)), 1, "it writes again");
        servers.only_reads(&server("a", false));
        assert_eq!(servers.meet(&server("b", false)), 2);
        servers.only_reads(&server("b", false));
        assert_eq!(servers.meet(&server("a", false)), 3, "and back, though it was met");
    }

    /// As where both are behind one address: in the end all of it is with the one that writes, and nobody dials any more.
    #[test]
    fn who_is_with_the_server_that_the_node_moves_to_stays_there() {
        let (servers, writing, reading) = (Servers::new(true), server("a", false), server("b", true));
        let met = [&writing, &reading, &writing].map(|server| servers.meet(server));
        assert_eq!(met, [0, 0, 1]);
        assert!(!servers.have_left(&writing, 0), "opened before the move, to where it went");
        assert!(servers.have_left(&reading, 0));
        assert!(!servers.have_left(&reading, 1), "opened since");
        assert_eq!(servers.meet(&server("c", false)), 2);
        assert!(servers.have_left(&writing, 0) && servers.have_left(&writing, 1));
        assert!(servers.have_left(&Server::default(), 1), "who does not say which it is");
    }

    #[test]
    fn who_is_content_with_any_server_leaves_none_and_notices_others_all_the_same() {
        let (servers, primary, standby) = (Servers::new(false), server("a", false), server("b", true));
        let met = [&primary, &standby, &primary, &standby].map(|server| servers.meet(server));
        assert_eq!(met, [0, 1, 1, 1]);
        servers.only_reads(&standby);
        assert_eq!(servers.meet(&primary), 1);
        assert!(!servers.have_left(&primary, 0));
        assert_eq!(servers.meet(&server("d", true)), 2, "started anew");
    }
}
