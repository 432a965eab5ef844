//! A logout on its way through the browser, sealed.

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{GrantId, Rng, SessionId, Timestamp};
use sluice_protocol::{ClientId, RedirectUri, Subject};
use url::Url;

use crate::flow::{Binding, Further};

/// A logout that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logout {
    /// Its id.
    pub id: GrantId,
    /// Which session ends.
    pub session: SessionId,
    /// Whose it is.
    pub subject: Subject,
    /// Which client asked, if one did.
    pub client: Option<ClientId>,
    /// Where the browser goes in the end.
    pub redirect_uri: Option<RedirectUri>,
    /// What it takes along.
    pub state: Option<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// To which browser it belongs. `None`: a program asked for it, which keeps no cookie.
    pub binding: Option<Binding>,
    /// What the logout page is shown besides.
    pub further: Further,
    /// What clients want to be loaded whose sessions an earlier try has ended, and could not say. A verifier has that, and nothing
    /// besides.
    pub frames: Vec<Url>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    id: [u8; 16],
    session: [u8; 16],
    subject: String,
    client: Option<String>,
    redirect_uri: Option<String>,
    state: Option<String>,
    requested_at: i64,
    /// Zeros: none.
    binding: Binding,
}

impl Logout {
    pub(super) fn seal(&self, purpose: Purpose, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = Wire {
            id: *self.id.as_bytes(),
            session: *self.session.as_bytes(),
            subject: self.subject.to_string(),
            client: self.client.as_ref().map(ToString::to_string),
            redirect_uri: self.redirect_uri.as_ref().map(ToString::to_string),
            state: self.state.clone(),
            requested_at: self.requested_at.as_millis(),
            binding: self.binding.unwrap_or_default(),
        };
        let bytes = match self.frames.as_slice() {
            [] => self.further.write_behind(&wire, Vec::new()),
            frames => Further::write_last(&wire, &frames),
        };
        sealer.seal(purpose, &bytes.unwrap_or_default(), rng)
    }

    pub(super) fn open(purpose: Purpose, sealed: &str, sealer: &Sealer) -> Option<Self> {
        let bytes = sealer.open(purpose, sealed).ok()?;
        let (wire, further, frames): (Wire, _, _) = Further::read_last(&bytes).ok()?;
        Some(Self {
            id: GrantId::from_bytes(wire.id),
            session: SessionId::from_bytes(wire.session),
            subject: wire.subject.parse().ok()?,
            client: wire.client.map(|client| client.parse()).transpose().ok()?,
            redirect_uri: wire.redirect_uri.map(|uri| uri.parse()).transpose().ok()?,
            state: wire.state,
            requested_at: Timestamp::from_millis(wire.requested_at),
            binding: Some(wire.binding).filter(|binding| *binding != Binding::default()),
            further,
            frames,
        })
    }
}
