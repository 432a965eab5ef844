//! What the logout page asks, and what it answers.

use std::sync::Arc;

use sluice_crypto::Purpose;
use sluice_primitives::Timestamp;

use super::error::LogoutProblem;
use super::request_url::PATH;
use super::service::LogoutService;
use super::state::Logout;
use crate::client::Client;
use crate::flow::Further;
use crate::flow::sealed::MAX_IN_URL;

/// What a logout page is shown.
#[derive(Debug, Clone)]
pub struct LogoutView {
    /// The logout.
    pub logout: Logout,
    /// The client that asked.
    pub client: Option<Arc<Client>>,
    /// The logout request as a URL, for a page that an administrator trusts.
    pub request_url: String,
    /// The same for anybody: where the browser can start again.
    pub way_out: String,
    /// Until when it can be confirmed.
    pub expires_at: Timestamp,
}

impl LogoutService {
    /// The logout for its page. What is only shown there is left out where the challenge would be too long for a URL: first the
    /// id token, then all of it.
    pub(super) fn challenge(&self, mut logout: Logout) -> String {
        let seal = |logout: &Logout| logout.seal(Purpose::LogoutChallenge, &self.sealer, &*self.rng);
        let mut challenge = seal(&logout);
        if challenge.len() > MAX_IN_URL && logout.further.id_token_hint.take().is_some() {
            challenge = seal(&logout);
        }
        if challenge.len() > MAX_IN_URL && !logout.further.parameters.is_empty() {
            logout.further = Further::default();
            challenge = seal(&logout);
        }
        challenge
    }

    /// What a logout page is shown.
    pub async fn request(&self, challenge: &str) -> Result<LogoutView, LogoutProblem> {
        let logout =
            Logout::open(Purpose::LogoutChallenge, challenge, &self.sealer).ok_or(LogoutProblem::Unknown)?;
        let expires_at = logout.requested_at + self.config.lifetimes.flow;
        let way_out = logout.way_out(&self.config);
        if self.clock.now() >= expires_at {
            return Err(LogoutProblem::Gone { redirect_to: way_out });
        }
        let client = self.client_of(&logout).await?;
        let request_url = logout.url(&self.config);
        Ok(LogoutView { logout, client, request_url, way_out, expires_at })
    }

    /// The same of a logout whose verifier has not come back: one that has is over.
    pub async fn pending_request(&self, challenge: &str) -> Result<LogoutView, LogoutProblem> {
        let view = self.request(challenge).await?;
        if self.is_spent(&view.logout).await? {
            return Err(LogoutProblem::Gone { redirect_to: view.way_out });
        }
        Ok(view)
    }

    /// The user confirmed; where the browser goes next.
    pub async fn accept(&self, challenge: &str) -> Result<String, LogoutProblem> {
        let LogoutView { logout, .. } = self.request(challenge).await?;
        Ok(self.confirmed(Logout { further: Further::default(), ..logout }))
    }

    /// Where a logout goes on that was confirmed: with as much of what is to be loaded as fits into a URL.
    pub(super) fn confirmed(&self, mut logout: Logout) -> String {
        let seal = |logout: &Logout| logout.seal(Purpose::LogoutVerifier, &self.sealer, &*self.rng);
        let mut verifier = seal(&logout);
        while verifier.len() > MAX_IN_URL && logout.frames.pop().is_some() {
            verifier = seal(&logout);
        }
        format!("{}?logout_verifier={verifier}", self.config.issuer.endpoint(PATH))
    }

    /// The user stays signed in.
    pub async fn reject(&self, challenge: &str) -> Result<(), LogoutProblem> {
        self.request(challenge).await.map(|_| ())
    }

    /// Whether users of this client need not confirm. Another page than the built-in one may have a session of its own to end, so
    /// that it is asked whatever the client skips, as with Hydra.
    pub(super) fn skips_page(&self, client: Option<&Client>) -> bool {
        self.has_own_page() && client.is_some_and(|client| client.skip_logout_consent)
    }

    /// Whether the logout page is the built-in one.
    pub(super) fn has_own_page(&self) -> bool {
        self.config.is_own_page(&self.config.pages.logout, "/ui/logout")
    }
}
