//! The TCP connection to a server, whose name may have several addresses: one that keeps silent does not hold up the others
//! (RFC 8305 §5).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// How long an address is tried before the next one is tried beside it: less, if there are so many that the last ones would not have
/// their turn.
const HEAD_START: Duration = Duration::from_millis(250);
/// It is never less than this.
const SHORTEST_HEAD_START: Duration = Duration::from_millis(10);

/// Connects to `host`, for which there is the time `within`. That it ends then is the caller's to see to.
pub(super) async fn dial(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let mut found = lookup_host((host, port)).await?;
    let first = found.next().ok_or_else(no_address)?;
    let Some(second) = found.next() else { return TcpStream::connect(first).await };
    let mut addresses = vec![first, second];
    addresses.extend(found);
    let head_start = head_start(within, addresses.len());
    // It is rare, and no request is to have room for it.
    Box::pin(race(alternating(&addresses), head_start, TcpStream::connect::<SocketAddr>)).await
}

fn head_start(within: Duration, addresses: usize) -> Duration {
    let share = within / u32::try_from(addresses).unwrap_or(u32::MAX).max(1);
    share.clamp(SHORTEST_HEAD_START, HEAD_START)
}

/// The addresses in their order, but with the families in turn, that of the first one first (RFC 8305 §4): mostly all of a family can be
/// reached, or none.
fn alternating(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_first_family =
        |address: &SocketAddr| addresses.first().is_some_and(|first| first.is_ipv6() == address.is_ipv6());
    let (first, other): (Vec<SocketAddr>, Vec<SocketAddr>) =
        addresses.iter().copied().partition(is_first_family);
    let longest = first.len().max(other.len());
    (0..longest).flat_map(|place| [first.get(place), other.get(place)]).flatten().copied().collect()
}

/// The first connection that is made, each address tried `head_start` after the one before, or when one has failed. The others are given
/// up with it.
async fn race<T, F: Future<Output = io::Result<T>>>(
    addresses: Vec<SocketAddr>,
    head_start: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T> {
    let (mut under_way, mut failed) = (FuturesUnordered::new(), None);
    for address in addresses {
        under_way.push(connect(address));
        match timeout(head_start, under_way.next()).await {
            Ok(Some(Ok(made))) => return Ok(made),
            Ok(Some(Err(error))) => failed = Some(error),
            Ok(None) | Err(_) => {}
        }
    }
    while let Some(ended) = under_way.next().await {
        match ended {
            Ok(made) => return Ok(made),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(no_address))
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the name has no address")
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::{Instant, sleep};

    use super::*;

    /// The port of an address that keeps silent, and of one that refuses. Any other says after how many milliseconds it answers.
    const SILENT: u16 = 1;
    const REFUSING: u16 = 2;

    async fn connect(address: SocketAddr) -> io::Result<u16> {
        match address.port() {
            SILENT => pending().await,
            REFUSING => Err(io::ErrorKind::ConnectionRefused.into()),
            millis => {
                sleep(Duration::from_millis(millis.into())).await;
                Ok(millis)
            }
        }
    }

    /// Who wins among addresses with these ports, and after how many milliseconds, in tens.
    async fn winner(ports: &[u16]) -> (Option<u16>, u128) {
        let start = Instant::now();
        let addresses = ports.iter().map(|port| SocketAddr::from(([192, 0, 2, 1], *port))).collect();
        let won = race(addresses, HEAD_START, connect).await;
        (won.ok(), start.elapsed().as_millis() / 10 * 10)
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_keeps_silent_or_refuses_holds_up_no_other() {
        for (ports, won) in [
            (vec![100, 10], (Some(100), 100)),
            (vec![SILENT, 100], (Some(100), 350)),
            (vec![SILENT, SILENT, 100], (Some(100), 600)),
            (vec![REFUSING, 100], (Some(100), 100)),
            (vec![SILENT, REFUSING, 100], (Some(100), 350)),
            (vec![300, 100], (Some(300), 300)),
            (vec![800, SILENT], (Some(800), 800)),
            (vec![REFUSING, REFUSING], (None, 0)),
            (vec![], (None, 0)),
        ] {
            assert_eq!(winner(&ports).await, won, "{ports:?}");
        }
    }

    #[test]
    fn every_address_has_its_turn_in_the_time_there_is() {
        let millis = Duration::from_millis;
        for (within, addresses, expected) in [
            (millis(2000), 2, millis(250)),
            (millis(2000), 20, millis(100)),
            (millis(300), 2, millis(150)),
            (millis(10), 2, millis(10)),
        ] {
            assert_eq!(head_start(within, addresses), expected, "{within:?} {addresses}");
        }
    }

    #[test]
    fn families_take_turns_in_the_order_of_the_resolver() {
        let addresses =
            |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let found = addresses(&["[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1", "192.0.2.1:1"]);
        let turns = addresses(&["[2001:db8::1]:1", "192.0.2.1:1", "[2001:db8::2]:1", "[2001:db8::3]:1"]);
        assert_eq!(alternating(&found), turns);
        let one_family = addresses(&["192.0.2.2:1", "192.0.2.1:1"]);
        assert_eq!(alternating(&one_family), one_family);
    }

    #[tokio::test]
    async fn an_address_is_dialed_as_it_is() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let made = dial("127.0.0.1", address.port(), HEAD_START).await.unwrap();
        assert_eq!(made.peer_addr().unwrap(), address);
    }
}
