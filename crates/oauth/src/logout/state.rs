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
    /// Nobody said yes to it: it goes on by a verifier from where it began, and is of its own user alone.
    pub is_unasked: bool,
}

/// What stands behind all that earlier versions read.
#[derive(Default, Serialize, Deserialize)]
struct Last {
    frames: Vec<Url>,
    is_unasked: bool,
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
        let bytes = if self.frames.is_empty() && !self.is_unasked {
            self.further.write_behind(&wire, Vec::new())
        } else {
            Further::write_last(&wire, &Last { frames: self.frames.clone(), is_unasked: self.is_unasked })
        };
        sealer.seal(purpose, &bytes.unwrap_or_default(), rng)
    }

    pub(super) fn open(purpose: Purpose, sealed: &str, sealer: &Sealer) -> Option<Self> {
        let bytes = sealer.open(purpose, sealed).ok()?;
        let (wire, further, last) = Further::read_last::<Wire, Last>(&bytes)
            // Of an earlier version.
            .or_else(|_| {
                let (wire, further, frames) = Further::read_last(&bytes)?;
                postcard::Result::Ok((wire, further, Last { frames, is_unasked: false }))
            })
            .ok()?;
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
            frames: last.frames,
            is_unasked: last.is_unasked,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes of two versions read each other's verifiers.
    #[test]
    fn what_a_version_knows_of_what_is_last_is_read_by_the_others() {
        let frames = vec!["https://app.example/frame".parse::<Url>().unwrap()];
        let before = Further::write_last(&7_u8, &frames).unwrap();
        assert!(Further::read_last::<u8, Last>(&before).is_err(), "it is read as what it is");
        let last = Last { frames: frames.clone(), is_unasked: true };
        let now = Further::write_last(&7_u8, &last).unwrap();
        assert_eq!(Further::read_last::<u8, Vec<Url>>(&now).unwrap().2, frames);
        let (_, _, last) = Further::read_last::<u8, Last>(&now).unwrap();
        assert_eq!((last.frames, last.is_unasked), (frames, true));
    }
}
