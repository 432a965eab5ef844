//! What the log says of requests that were refused because they came over plain http: their clients can do nothing about it, and the proxy
//! before the gateway shows its answer to nobody else.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use parking_lot::Mutex;
use sluice_net::NotTerminated;
use tracing::warn;

/// How often it is said of the same peer, at most.
const SAY_EVERY: Duration = Duration::from_mins(1);
/// Of how many peers it is said in that time, at most: anybody may come over plain http.
const MOST_PEERS: usize = 16;

/// When it was last said. Key: the peer. Bound: [`MOST_PEERS`]. Staleness: [`SAY_EVERY`]. Nobody else empties it.
#[derive(Debug, Default)]
pub(super) struct PlainRefusals {
    said: Mutex<HashMap<IpAddr, Instant>>,
}

impl PlainRefusals {
    /// Says why a request of `peer` was refused, unless that was said in the last minute.
    pub(super) fn say(&self, peer: IpAddr, reason: NotTerminated) {
        if self.is_to_be_said(peer, Instant::now()) {
            warn!(%peer, %reason, "request refused: this port is reached over TLS only");
        }
    }

    /// Whether it was not said of `peer` in the last minute, nor of too many others; then it is said now.
    fn is_to_be_said(&self, peer: IpAddr, now: Instant) -> bool {
        let mut said = self.said.lock();
        said.retain(|_, last| now.saturating_duration_since(*last) < SAY_EVERY);
        if said.contains_key(&peer) || said.len() >= MOST_PEERS {
            return false;
        }
        said.insert(peer, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn peer(number: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, number).into()
    }

    #[test]
    fn it_is_said_of_each_peer_once_a_minute() {
        let (refusals, begun) = (PlainRefusals::default(), Instant::now());
        let said = [(0, 1), (2, 2), (59, 1), (60, 1), (61, 2), (62, 2)];
        let said = said.map(|(second, number)| {
            refusals.is_to_be_said(peer(number), begun + Duration::from_secs(second))
        });
        assert_eq!(said, [true, true, false, true, false, true]);
    }

    #[test]
    fn many_peers_fill_neither_the_log_nor_the_memory() {
        let (refusals, begun) = (PlainRefusals::default(), Instant::now());
        for (second, said) in [(0, MOST_PEERS), (59, 0), (60, MOST_PEERS)] {
            let now = begun + Duration::from_secs(second);
            let count = (0..=u8::MAX).filter(|number| refusals.is_to_be_said(peer(*number), now)).count();
            assert_eq!(count, said, "after {second} s");
        }
        assert_eq!(refusals.said.lock().len(), MOST_PEERS);
    }
}
