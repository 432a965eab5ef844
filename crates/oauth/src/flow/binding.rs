//! To which browser a flow belongs: a MAC of a random key in a cookie and the id of the flow. One cookie serves any
//! number of tabs.

use sluice_crypto::digest::{MacKey, sha256};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{GrantId, Rng, Secret};

/// The mark of a browser on a flow.
pub type Binding = [u8; 16];

/// The random key in a browser's cookie.
#[derive(Clone, Debug)]
pub struct BindingKey(Secret<Vec<u8>>);

impl BindingKey {
    /// Draws a new key.
    pub fn generate(rng: &dyn Rng) -> Self {
        Self(Secret::new(random_bytes::<32>(rng).to_vec()))
    }

    /// The key with these 32 bytes; none if there are not 32.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == 32).then(|| Self(Secret::new(bytes.to_vec())))
    }

    /// A key made of another secret that the browser holds: its session cookie. For requests that must not set one.
    pub fn of_cookie(value: &str) -> Self {
        Self(Secret::new(sha256(value.as_bytes()).to_vec()))
    }

    /// The bytes for the cookie.
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }

    /// The mark of this browser on a flow.
    pub fn bind(&self, flow: GrantId) -> Binding {
        self.mark(*b"flow", flow.as_bytes())
    }

    /// Whether it made this mark on this flow.
    pub fn has_bound(&self, flow: GrantId, binding: &Binding) -> bool {
        same_bytes(&self.bind(flow), binding)
    }

    /// The token that a form of this browser carries against cross-site request forgery.
    pub fn form_token(&self, sealed: &str) -> Binding {
        self.mark(*b"form", sealed.as_bytes())
    }

    /// Uses have one length, so that none can be taken for another with something before it. The key is random and has no
    /// other task: it needs no derivation.
    fn mark(&self, task: [u8; 4], of: &[u8]) -> Binding {
        let mac = MacKey::new(self.0.expose()).mac(&[&task, of]);
        let mut mark = [0; 16];
        for (to, from) in mark.iter_mut().zip(mac) {
            *to = from;
        }
        mark
    }
}

/// The keys that a browser presents: its present one, and some from before its last logins, so that tabs opened before them
/// still work.
#[derive(Clone, Debug, Default)]
pub struct BindingKeys(pub Vec<BindingKey>);

impl BindingKeys {
    /// Whether one of the keys made this mark on this flow.
    pub fn hold(&self, flow: GrantId, binding: &Binding) -> bool {
        self.of_flow(flow, binding).is_some()
    }

    /// The one that made this mark on this flow.
    pub fn of_flow(&self, flow: GrantId, binding: &Binding) -> Option<&BindingKey> {
        self.0.iter().find(|key| key.has_bound(flow, binding))
    }

    /// Whether one of the keys made this form token.
    pub fn hold_form(&self, sealed: &str, token: &[u8]) -> bool {
        self.0.iter().any(|key| same_bytes(&key.form_token(sealed), token))
    }
}
