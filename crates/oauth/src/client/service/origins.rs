//! Origins that clients name where no page of another origin may call.

use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

use crate::client::model::Client;
use crate::client::registration::RegistrationRules;

/// Whether the operator was told that they have no effect. Once is enough: it is one setting, and clients may be many.
pub(super) struct UnusedOrigins(AtomicBool);

impl UnusedOrigins {
    pub(super) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Tells it if it is so of this client, and nobody was told.
    pub(super) fn tell_of(&self, client: &Client, rules: &RegistrationRules) {
        let are_unused = !rules.origins_count && !client.allowed_cors_origins.is_empty();
        if are_unused && !self.0.swap(true, Ordering::Relaxed) {
            warn!(client.id = %client.id, "allowed_cors_origins of a client have no effect while serve.public.cors.enabled is false");
        }
    }
}
