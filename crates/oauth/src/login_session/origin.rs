//! Where somebody logged in: what is shown to people, so that they know their own browsers from others.

use std::net::IpAddr;

use sluice_net::Network;

use crate::network_limit::address_or_nowhere;

/// What a browser may call itself, in characters.
const LONGEST_DEVICE: usize = 256;

/// Where somebody logged in. It is kept with the session, and for as long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginOrigin {
    /// What the browser calls itself, cut to 256 characters; empty if it says nothing.
    pub device: String,
    /// The network it asked from, as text; `0.0.0.0` if nobody knows.
    pub network: String,
}

impl LoginOrigin {
    /// Of a browser that calls itself so, and asks from this address as far as that is known.
    pub fn new(user_agent: &str, address: Option<IpAddr>) -> Self {
        Self {
            device: user_agent.chars().filter(|c| !c.is_control()).take(LONGEST_DEVICE).collect(),
            network: Network::from(address_or_nowhere(address)).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_and_has_no_control_characters() {
        let device = |user_agent: &str| LoginOrigin::new(user_agent, None).device;
        assert_eq!(device(""), "");
        assert_eq!(device("Mozilla/5.0\t(X11)\0\u{7f}\u{9b}1m"), "Mozilla/5.0(X11)1m");
        assert_eq!(device(&"ž".repeat(300)), "ž".repeat(LONGEST_DEVICE));
    }

    #[test]
    fn of_an_address_its_network_is_kept() {
        for (address, network) in [
            (Some("192.0.2.7"), "192.0.2.7"),
            (Some("::ffff:192.0.2.7"), "192.0.2.7"),
            (Some("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::"),
            (None, "0.0.0.0"),
        ] {
            let address = address.map(|address| address.parse().unwrap());
            assert_eq!(LoginOrigin::new("", address).network, network);
        }
    }
}
