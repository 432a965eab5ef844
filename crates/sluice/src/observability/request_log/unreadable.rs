//! Requests that the HTTP library refuses by itself: no service sees them, and nothing is known of them but who sent them and what was
//! answered.

use std::net::IpAddr;
use std::sync::Arc;

use http::StatusCode;
use sluice_net::{PeerAddress, Unreadable};
use sluice_primitives::AddressText;
use tracing::info;

use super::{RequestLogLayer, Shared};

impl RequestLogLayer {
    /// Logs and counts them, too. They have no id.
    pub(crate) fn unreadable(&self) -> Unreadable {
        let shared = Arc::clone(&self.0);
        Arc::new(move |PeerAddress(peer), status| shared.unreadable(peer.ip(), status))
    }
}

impl Shared {
    fn unreadable(&self, peer: IpAddr, status: StatusCode) {
        self.metrics.count_unreadable(status);
        info!(
            listener = self.options.listener,
            http.status = status.as_u16(),
            peer.address = tracing::field::display(AddressText::of(peer)),
            "request could not be read"
        );
    }
}
