//! Which session a login is of. Somebody who logs in again in a browser goes on in the session that they have there: who signs out there
//! signs out of all of it (ADR 27).

use sluice_primitives::{Lifetime, SessionId};
use sluice_token::{Marker, Target};

use super::browser::{Browser, SessionCookie};
use super::error::AuthorizationError;
use super::service::AuthorizationService;
use crate::config::tokens_of_session;
use crate::flow::service::{next_session, own_session};
use crate::flow::{Login, Request};
use crate::login_session::EndSessions;

/// A session that ends sooner has a cookie that ends with the browser: a logout must find it.
const SOON: Lifetime = Lifetime::hours(1);

impl AuthorizationService {
    /// The session that a flow names until somebody has logged in: that of the browser, which they may go on in, or one of its own. A
    /// verifier that is sent again after the end of the session that it led to is known by that name.
    pub(super) fn session_of(&self, request: &Request, browser: &Browser) -> SessionId {
        if request.details.pushed {
            return SessionId::generate(self.clock.now(), &*self.rng);
        }
        let cookie = self.cookie_for(request, browser);
        cookie.map_or_else(|| own_session(request.flow), |cookie| cookie.session)
    }

    /// The session cookie of a browser that is given another in the end. A frame is given none: what it says would be behind its session.
    fn cookie_for(&self, request: &Request, browser: &Browser) -> Option<SessionCookie> {
        let value = browser.session.as_deref().filter(|_| !browser.framed && !request.prompt.none)?;
        SessionCookie::open(value, &self.sealer)
    }

    /// Settles which session a login that was not skipped is of: that of its browser, if it is the same person's and has not ended, or one
    /// that nobody else is in. `false` if it had that before, and it has ended.
    pub(super) async fn settle_session(
        &self,
        request: &Request,
        login: &mut Login,
        browser: &Browser,
    ) -> Result<bool, AuthorizationError> {
        if login.skipped {
            return Ok(true);
        }
        let is_of_flow = request.details.pushed || login.session == own_session(request.flow);
        let alone = if is_of_flow { login.session } else { next_session(login.session, request.flow) };
        if let Some(cookie) = self.session_to_go_on_in(request, login, browser).await? {
            if cookie.session != login.session && cookie.session != alone {
                self.leave_unused(request, login, alone).await?;
            }
            login.session = cookie.session;
            return Ok(true);
        }
        let has_ended = self.was_signed_out(login.session, login);
        login.session = alone;
        Ok(!has_ended)
    }

    /// The browser's session, if it is this person's and goes on. What was to be remembered of it still is.
    async fn session_to_go_on_in(
        &self,
        request: &Request,
        login: &mut Login,
        browser: &Browser,
    ) -> Result<Option<SessionCookie>, AuthorizationError> {
        let Some(cookie) = self.cookie_for(request, browser).filter(|cookie| cookie.subject == login.subject)
        else {
            return Ok(None);
        };
        if self.revocations.covers_session(cookie.session, &cookie.subject, cookie.authenticated_at) {
            return Ok(None);
        }
        let now = self.clock.now();
        if !cookie.remembered {
            let until = cookie.authenticated_at + tokens_of_session(self.config.lifetimes.refresh_token);
            return Ok((now < until).then_some(cookie));
        }
        let Some(session) = self.sessions.find(cookie.session, now).await? else { return Ok(None) };
        if session.subject != login.subject {
            return Ok(None);
        }
        if login.remember.is_none() {
            let left = session.expires_at.since(now);
            login.remember = Some(left);
            login.until_closed = cookie.until_closed != Some(false) || left < SOON;
        }
        Ok(Some(cookie))
    }

    /// Ends the session that the login would have been of elsewhere: its verifier may be sent again when there is no cookie any more.
    async fn leave_unused(
        &self,
        request: &Request,
        login: &Login,
        session: SessionId,
    ) -> Result<(), AuthorizationError> {
        if self.was_signed_out(session, login) {
            return Ok(());
        }
        let at = self.clock.now().max(login.authenticated_at);
        let expires_at = request.ends_at(&self.config).max(at) + Lifetime::hours(1);
        self.sessions.end(EndSessions::One(session), at, expires_at, Vec::new()).await?;
        self.revocations.apply(&Marker { target: Target::Session(session), at, expires_at });
        Ok(())
    }
}
