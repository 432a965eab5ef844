//! How devices poll, as one node sees it: who asks too early is told so from memory, and reaches the store once in an interval.
//!
//! That is simpler than it could be. The store notes the polls that reach it, and no others; by how much the interval of an impatient device
//! has grown (RFC 8628 §3.5), the node counts that it polls. Another node, and this one once it has forgotten the code, knows what the store
//! does: to a device that goes from node to node, the interval may be shorter than it was told. None is told to wait for what it
//! has kept to, and what was decided is told within an interval, however fast the device asks; at once where its flow has ended.

use std::net::IpAddr;

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_net::bounded::half_for_new;
use sluice_primitives::{GrantId, Lifetime, Timestamp};

use super::repository::SLOW_DOWN;
use crate::client::Client;
use crate::network_limit::ClientLimit;
use crate::set_back::ANOTHER_CLOCK;

/// How many codes are remembered; what was counted of others begins anew.
const CODES: usize = 50_000;
/// How many polls may reach the store within [`WINDOW`]: those of public clients from one network, and those of a client that
/// authenticates. Each is a write, and a commit of its own.
const MOST: (u32, u32) = (2_000, 5_000);
/// How long they count.
const WINDOW: Lifetime = Lifetime::secs(10);

/// What a node makes of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// In time, as far as this node knows: what the store says counts.
    InTime,
    /// Too early. The store was not asked for an interval, and may have something else to say.
    Early,
    /// Too early, and the store was asked within the interval: it is not asked again.
    TooEarly,
}

/// How devices poll at this node. Key: the id of the code. Bound: `CODES`, half of it for those that are new. Staleness: an interval, after
/// which the store is asked; a decision that is made here empties it for its code.
#[derive(Debug)]
pub struct DevicePolls {
    seen: Cache<GrantId, Seen>,
    turn: Mutex<()>,
    asking: ClientLimit,
}

/// What is known of a code.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// When its device polled last.
    polled_at: Timestamp,
    /// When that reached the store last.
    asked_at: Timestamp,
    /// How often its device polled too early.
    early: u32,
}

impl Default for DevicePolls {
    fn default() -> Self {
        Self { seen: half_for_new(CODES), turn: Mutex::new(()), asking: ClientLimit::new(MOST, WINDOW) }
    }
}

impl DevicePolls {
    /// A device polls. Of polls that come together one reaches the store.
    pub(crate) fn pace(&self, code: GrantId, now: Timestamp, interval: Lifetime) -> Pace {
        let _turn = self.turn.lock();
        // It is later than that only if the clock was set back.
        let known = self.seen.get(&code).filter(|seen| seen.polled_at - ANOTHER_CLOCK <= now);
        let first = (Pace::InTime, Seen { polled_at: now, asked_at: now, early: 0 });
        let (pace, seen) = known.map_or(first, |seen| seen.polled_again(now, interval));
        self.seen.insert(code, seen);
        pace
    }

    /// Counts a poll that is to reach the store; whether it may.
    pub(crate) fn may_ask(&self, client: &Client, address: Option<IpAddr>, now: Timestamp) -> bool {
        self.asking.allows(client, address, now)
    }

    /// Something was decided about a code: its device is to hear of that at once. Or its poll failed: it is to come again.
    pub(crate) fn forget(&self, code: GrantId) {
        let _turn = self.turn.lock();
        self.seen.remove(&code);
    }
}

impl Seen {
    fn polled_again(self, now: Timestamp, interval: Lifetime) -> (Pace, Self) {
        let grown = i64::from(self.early) * SLOW_DOWN.as_millis();
        if now.since(self.polled_at).as_millis() >= interval.as_millis().saturating_add(grown) {
            return (Pace::InTime, Self { polled_at: now, asked_at: now, ..self });
        }
        let early = self.early.saturating_add(1);
        if now.since(self.asked_at) >= interval {
            return (Pace::Early, Self { polled_at: now, asked_at: now, early });
        }
        (Pace::TooEarly, Self { polled_at: now, early, ..self })
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::OsRng;

    use super::*;
    use crate::client::AuthMethod;
    use crate::client::fake::client;

    const INTERVAL: Lifetime = Lifetime::secs(4);

    fn at(millis: u32) -> Timestamp {
        Timestamp::from_secs(1_000_000) + Lifetime::millis(millis)
    }

    fn code() -> GrantId {
        GrantId::generate(at(0), &OsRng)
    }

    #[test]
    fn who_keeps_to_the_interval_always_reaches_the_store() {
        let (polls, code) = (DevicePolls::default(), code());
        assert!((0..100).all(|poll| polls.pace(code, at(poll * 4_000), INTERVAL) == Pace::InTime));
    }

    #[test]
    fn who_polls_however_fast_reaches_the_store_once_in_an_interval() {
        let (polls, code) = (DevicePolls::default(), code());
        let paces: Vec<_> = (0..400).map(|poll| polls.pace(code, at(poll * 100), INTERVAL)).collect();
        let told = |pace| paces.iter().filter(|one| **one == pace).count();
        assert_eq!((told(Pace::InTime), told(Pace::Early), told(Pace::TooEarly)), (1, 9, 390));
        assert!((0..1_000).all(|_| polls.pace(code, at(39_900), INTERVAL) == Pace::TooEarly));
    }

    #[test]
    fn the_interval_grows_by_five_seconds_with_each_poll_that_is_too_early() {
        let (polls, code) = (DevicePolls::default(), code());
        for (second, pace) in [
            (0, Pace::InTime),
            (4, Pace::InTime),
            (7, Pace::TooEarly),
            (15, Pace::Early),
            (29, Pace::InTime),
            (42, Pace::Early),
            (61, Pace::InTime),
        ] {
            assert_eq!(polls.pace(code, at(second * 1_000), INTERVAL), pace, "{second}");
        }
    }

    #[test]
    fn each_code_is_counted_by_itself_and_begins_anew_when_something_was_decided() {
        let (polls, mine, other) = (DevicePolls::default(), code(), code());
        assert_eq!(polls.pace(mine, at(0), INTERVAL), Pace::InTime);
        assert_eq!(polls.pace(other, at(1), INTERVAL), Pace::InTime);
        assert_eq!(polls.pace(mine, at(2), INTERVAL), Pace::TooEarly);
        polls.forget(mine);
        assert_eq!(polls.pace(mine, at(3), INTERVAL), Pace::InTime);
        assert_eq!(polls.pace(mine, at(4), INTERVAL), Pace::TooEarly);
    }

    #[test]
    fn polls_by_a_clock_that_was_ahead_do_not_count_once_it_is_right() {
        let (polls, code) = (DevicePolls::default(), code());
        assert_eq!(polls.pace(code, at(3_600_000), INTERVAL), Pace::InTime);
        let waited = at(3_570_000);
        assert_eq!(polls.pace(code, waited, INTERVAL), Pace::TooEarly, "who read the time before the others");
        assert_eq!(polls.pace(code, at(0), INTERVAL), Pace::InTime);
        assert_eq!(polls.pace(code, at(1), INTERVAL), Pace::TooEarly);
    }

    #[test]
    fn the_devices_behind_one_address_may_be_many_and_no_more_than_that() {
        let (polls, public) =
            (DevicePolls::default(), Client { auth_method: AuthMethod::None, ..client("television") });
        let address = Some([192, 0, 2, 1].into());
        // 900 of them, every five seconds.
        assert!((0..10_800).all(|poll| polls.may_ask(&public, address, at(poll * 50 / 9))));
        let later = at(3_600_000);
        assert_eq!((0..10_000).filter(|_| polls.may_ask(&public, address, later)).count(), 2_000);
        assert!(polls.may_ask(&public, Some([192, 0, 2, 2].into()), later), "another network");
        assert!(polls.may_ask(&client("service"), address, later), "a client that authenticates");
    }
}
