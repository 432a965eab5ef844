//! How much is fetched at once, and how much of one host and one site: hosts that do not answer must not keep others from being
//! asked, and whoever names URLs must not make requests of this server a flood for others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use url::Url;

/// Places for fetches. Key: the host, whatever its port. Bound: as many as there are. Staleness: none. Each [`FetchPlace`] empties
/// its own. Clones share the places.
#[derive(Debug, Clone)]
pub struct FetchPlaces(Arc<Places>);

#[derive(Debug)]
struct Places {
    most: usize,
    of_a_host: usize,
    /// By host.
    taken: Mutex<HashMap<String, usize>>,
}

impl FetchPlaces {
    /// So many, and so many of one host.
    pub fn new(most: usize, of_a_host: usize) -> Self {
        Self(Arc::new(Places { most, of_a_host, taken: Mutex::default() }))
    }

    /// A place, if there is one for this host. It is free again when it is dropped. The hosts of a site have no more than half of
    /// what others leave: who has a domain has as many names in it as he likes, and who has a network as many addresses.
    pub fn take(&self, host: &str) -> Option<FetchPlace> {
        let places = &*self.0;
        let mut taken = places.taken.lock();
        let of_host = taken.get(host).copied().unwrap_or_default();
        let left = places.most.checked_sub(taken.values().sum()).filter(|left| *left > 0)?;
        let own = site(host);
        let of_site = taken.iter().filter(|(other, _)| site(other) == own).map(|(_, count)| count);
        let of_site = of_site.sum::<usize>();
        if of_host >= places.of_a_host || (of_site > 0 && of_site >= usize::midpoint(left, of_site)) {
            return None;
        }
        taken.insert(host.to_owned(), of_host + 1);
        drop(taken);
        Some(FetchPlace { places: Arc::clone(&self.0), host: host.to_owned() })
    }
}

/// The host, without its port: who has one has all of them.
pub fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_end_matches('.')
}

/// What one may have many hosts in.
#[derive(PartialEq, Eq)]
enum Site<'a> {
    Domain(&'a str),
    /// By the first of its addresses.
    Network(IpAddr),
}

/// The last two labels of a host; where domains are sold one level down, those of a registry share what is theirs. Of an address,
/// what a site is given: the /48 of version 6, the /24 of version 4.
fn site(host: &str) -> Site<'_> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V6(address)) => Site::Network(IpAddr::V6((address.to_bits() >> 80 << 80).into())),
        Ok(IpAddr::V4(address)) => Site::Network(IpAddr::V4((address.to_bits() >> 8 << 8).into())),
        Err(_) => {
            let start = host.rmatch_indices('.').nth(1).map_or(0, |(dot, _)| dot + 1);
            Site::Domain(host.get(start..).unwrap_or(host))
        }
    }
}

/// A place that is taken.
#[derive(Debug)]
pub struct FetchPlace {
    places: Arc<Places>,
    host: String,
}

impl Drop for FetchPlace {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        match taken.get_mut(&self.host) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                taken.remove(&self.host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_few_places_and_all_together_have_no_more_than_there_are() {
        let places = FetchPlaces::new(10, 4);
        let of_one: Vec<_> = (0..4).map(|_| places.take("one.example").unwrap()).collect();
        assert!(places.take("one.example").is_none());
        let others: Vec<_> = (0..).map_while(|other| places.take(&format!("{other}.example"))).collect();
        assert_eq!(others.len(), 6);
        drop(others);
        assert!(places.take("other.example").is_some());
        drop(of_one);
        assert!(places.take("one.example").is_some());
        assert!(places.0.taken.lock().is_empty(), "only what is taken is kept");
    }

    #[test]
    fn a_site_has_no_more_than_half_of_what_others_leave_however_many_hosts_it_is() {
        let places = FetchPlaces::new(16, 4);
        let all_of = |site: &str| -> Vec<_> {
            (0..).map_while(|host| places.take(&format!("a.{host}.{site}"))).collect()
        };
        let taken = ["one.example", "two.example", "three.example"].map(all_of);
        assert_eq!(taken.each_ref().map(Vec::len), [8, 4, 2]);
        assert!(places.take("one.example").is_none());
        assert!(places.take("localhost").is_some());
    }

    #[test]
    fn the_addresses_of_a_network_are_one_site() {
        let networks: [fn(u32) -> String; 4] = [
            |n| format!("[2001:db8::{n:x}:1]"),
            |n| format!("[2001:db8:0:{n:x}::1]"),
            |n| format!("192.0.2.{n}"),
            |n| format!("[::ffff:c000:2{n:02x}]"),
        ];
        for addresses in networks {
            let places = FetchPlaces::new(16, 4);
            let taken: Vec<_> = (1..250).map_while(|n| places.take(&addresses(n))).collect();
            assert_eq!(taken.len(), 8, "{}", addresses(1));
            for elsewhere in ["[2001:db8:1::1]", "192.0.3.1", "[::ffff:c000:401]", "one.example"] {
                assert!(places.take(elsewhere).is_some(), "{elsewhere}");
            }
        }
    }
}
