//! What the log says of requests that were refused because they came over plain http: their clients can do nothing about it, and the proxy
//! before the gateway shows its answer to nobody else.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use parking_lot::Mutex;
use sluice_net::NotTerminated;
use tracing::{info, warn};

/// How often it is said of the same peer, at most.
const SAY_EVERY: Duration = Duration::from_mins(1);
/// Of how many peers it is said in that time, at most: anybody may come over plain http.
const MOST_PEERS: usize = 16;

/// When it was last said of whom. Strangers are many: they take no place of the proxies that may end TLS, which the lines are for.
#[derive(Debug, Default)]
pub(super) struct PlainRefusals {
    proxies: Said,
    strangers: Said,
}

/// When it was last said. Key: the peer. Bound: [`MOST_PEERS`]. Staleness: [`SAY_EVERY`]. Nobody else empties it.
#[derive(Debug, Default)]
struct Said(Mutex<HashMap<IpAddr, Instant>>);

impl PlainRefusals {
    /// Says why a request of `peer` was refused, unless that was said in the last minute.
    pub(super) fn say(&self, peer: IpAddr, reason: NotTerminated) {
        if !self.is_to_be_said(peer, reason, Instant::now()) {
            return;
        }
        if is_of_stranger(reason) {
            info!(%peer, %reason, "request refused: this port is reached over TLS only");
        } else {
            warn!(%peer, %reason, "request refused: this port is reached over TLS only");
        }
    }

    fn is_to_be_said(&self, peer: IpAddr, reason: NotTerminated, now: Instant) -> bool {
        let said = if is_of_stranger(reason) { &self.strangers } else { &self.proxies };
        said.is_to_be_said(peer, now)
    }
}

impl Said {
    /// Whether it was not said of `peer` in the last minute, nor of too many others; then it is said now.
    fn is_to_be_said(&self, peer: IpAddr, now: Instant) -> bool {
        let mut said = self.0.lock();
        said.retain(|_, last| now.saturating_duration_since(*last) < SAY_EVERY);
        if said.contains_key(&peer) || said.len() >= MOST_PEERS {
            return false;
        }
        said.insert(peer, now);
        true
    }
}

/// Whether the peer is none of the proxies that may end TLS.
const fn is_of_stranger(reason: NotTerminated) -> bool {
    match reason {
        NotTerminated::NotAllowed | NotTerminated::ForeignPeer => true,
        NotTerminated::NoForwardedProto | NotTerminated::NotHttps => false,
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
        let (refusals, begun) = (Said::default(), Instant::now());
        let said = [(0, 1), (2, 2), (59, 1), (60, 1), (61, 2), (62, 2)];
        let said = said.map(|(second, number)| {
            refusals.is_to_be_said(peer(number), begun + Duration::from_secs(second))
        });
        assert_eq!(said, [true, true, false, true, false, true]);
    }

    #[test]
    fn many_peers_fill_neither_the_log_nor_the_memory() {
        let (refusals, begun) = (Said::default(), Instant::now());
        for (second, said) in [(0, MOST_PEERS), (59, 0), (60, MOST_PEERS)] {
            let now = begun + Duration::from_secs(second);
            let count = (0..=u8::MAX).filter(|number| refusals.is_to_be_said(peer(*number), now)).count();
            assert_eq!(count, said, "after {second} s");
        }
        assert_eq!(refusals.0.lock().len(), MOST_PEERS);
    }

    #[test]
    fn strangers_take_no_place_of_the_proxies_that_may_end_tls() {
        let (refusals, now) = (PlainRefusals::default(), Instant::now());
        let is_said = |number, reason| refusals.is_to_be_said(peer(number), reason, now);
        for reason in [NotTerminated::ForeignPeer, NotTerminated::NotAllowed] {
            let said = (0..=u8::MAX).filter(|number| is_said(*number, reason)).count();
            assert!(said <= MOST_PEERS, "{reason}: {said}");
        }
        assert!(is_said(1, NotTerminated::NoForwardedProto));
        assert!(is_said(2, NotTerminated::NotHttps));
        assert!(!is_said(2, NotTerminated::NoForwardedProto), "once a minute");
    }
}
