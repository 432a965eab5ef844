//! Which session of a browser a logout is of, and whether it is over.

use sluice_commit::StoreError;
use sluice_primitives::SessionId;
use sluice_protocol::Subject;

use super::error::LogoutError;
use super::service::LogoutService;
use super::state::Logout;
use crate::authorization::{Browser, SessionCookie};
use crate::login_session::EndSessions;
use crate::subject::{PAIRWISE, shown_subject};

impl LogoutService {
    /// Whether a cookie of the browser names this session.
    pub fn is_session_of(&self, browser: &Browser, session: SessionId) -> bool {
        self.cookie(browser).is_some_and(|own| own.session == session)
            || browser.account.as_ref().is_some_and(|own| own.session == session)
    }

    pub(super) fn cookie(&self, browser: &Browser) -> Option<SessionCookie> {
        browser.session.as_deref().and_then(|value| SessionCookie::open(value, &self.sealer))
    }

    /// The session of the browser that a verifier ends. Who said yes to it is signed out here, whoever an id token named: the page did not say
    /// whose session it was.
    pub(super) async fn ending_session(
        &self,
        logout: &Logout,
        browser: &Browser,
    ) -> Result<Option<SessionCookie>, LogoutError> {
        if self.was_confirmed(logout).await? {
            return Ok(self.cookie(browser));
        }
        self.own_session(logout, browser).await
    }

    /// Whether somebody said yes to the verifier of this logout. Another page than the built-in one may have done so by itself, for a client
    /// that skips it.
    pub(super) async fn was_confirmed(&self, logout: &Logout) -> Result<bool, StoreError> {
        if logout.is_unasked || self.has_own_page() {
            return Ok(!logout.is_unasked);
        }
        Ok(!self.client_of(logout).await?.is_some_and(|client| client.skip_logout_consent))
    }

    /// The session that the browser's cookie names, if it is the one that ends, or another of the same user.
    pub(super) async fn own_session(
        &self,
        logout: &Logout,
        browser: &Browser,
    ) -> Result<Option<SessionCookie>, LogoutError> {
        let Some(own) = self.cookie(browser) else { return Ok(None) };
        let is_here = own.session == logout.session || own.former.contains(&logout.session);
        let is_theirs = is_here || self.is_of(logout, &own.subject).await?;
        Ok(Some(own).filter(|_| is_theirs))
    }

    /// Whether this is the user of a logout.
    pub(super) async fn is_of(&self, logout: &Logout, subject: &Subject) -> Result<bool, LogoutError> {
        if logout.subject == *subject {
            return Ok(true);
        }
        // Of a session that is not kept only the client's name for the user is known.
        let client = self.client_of(logout).await?;
        let shown = client.and_then(|client| shown_subject(&client, subject, &self.config));
        Ok(shown.as_deref() == Some(logout.subject.as_str()))
    }

    /// The sessions of its user in this browser, if they are known to be over, and that which is named, too: of such a logout nothing is
    /// left to be confirmed or ended, unless its user is signed in to the account pages here. Where the client knows its users by names of its
    /// own, or cannot be asked, nobody can tell whether somebody else who is signed in here is its user.
    pub(super) async fn over_already(
        &self,
        logout: &Logout,
        browser: &Browser,
    ) -> Result<Option<Vec<SessionId>>, LogoutError> {
        if !self.is_over(logout.session).await? || self.is_of_account(logout, browser).await? {
            return Ok(None);
        }
        let own = self.own_session(logout, browser).await?;
        if own.is_none() && self.cookie(browser).is_some() {
            let client = self.client_of(logout).await?;
            if client.is_none_or(|client| client.subject_type == PAIRWISE) {
                return Ok(None);
            }
        }
        let own = sessions_of(own);
        Ok(if self.are_over(&own).await? { Some(own) } else { None })
    }

    pub(super) async fn are_over(&self, sessions: &[SessionId]) -> Result<bool, StoreError> {
        for session in sessions {
            if !self.is_over(*session).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a session has ended and is kept no more.
    pub(super) async fn is_over(&self, session: SessionId) -> Result<bool, StoreError> {
        let which = EndSessions::One(session);
        Ok(self.revocations.session_is_over(session)
            && self.sessions.participants(&which, self.clock.now()).await?.is_empty())
    }
}

/// The sessions of a person that a browser's cookie names.
pub(super) fn sessions_of(cookie: Option<SessionCookie>) -> Vec<SessionId> {
    cookie.into_iter().flat_map(|cookie| std::iter::once(cookie.session).chain(cookie.former)).collect()
}
