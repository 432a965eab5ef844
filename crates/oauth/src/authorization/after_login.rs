//! The second leg: the login page sends the browser back. A session row is written only if it is to be remembered, or if
//! the client wants to hear of its end.

use std::sync::Arc;

use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::ErrorCode;

use super::browser::{Browser, CookieChange, CookieChanges, SessionCookie};
use super::error::{AuthorizationError, ShownError};
use super::response::Location;
use super::service::{AuthorizationService, Step, refused, rejected};
use crate::client::Client;
use crate::flow::{AwaitingConsent, BindingKey, BindingKeys, Decision, Login, Request};
use crate::login_session::LoginSession;

/// How many binding keys a browser keeps: the present one, and those of tabs opened before its last logins.
const KEYS_KEPT: usize = 4;

impl AuthorizationService {
    /// The second leg: a login verifier comes back.
    pub async fn after_login(&self, verifier: &str, browser: &Browser) -> Result<Step, AuthorizationError> {
        let flow = self.flows.open_login_verifier(verifier).await?;
        self.check_browser(&flow.request, browser)?;
        let client = self.client_of(&flow.request).await?;
        let request = flow.request;
        let login = match flow.answer {
            Decision::Accepted(login) => login,
            Decision::Rejected(rejection) => return Err(rejected(&request, rejection)),
        };
        check_login(&request, &login)?;
        if self.was_signed_out(login.session, &login) {
            return Err(ShownError::SessionEnded { restart: request.url(&self.config) }.into());
        }
        let skip = self.consent_is_known(&request, &client, &login).await?;
        if request.prompt.none && !skip {
            return Err(refused(&request, ErrorCode::ConsentRequired, ""));
        }
        self.keep_session(&request, &client, &login).await?;
        let cookies = self.cookies(&request, &login, browser);
        let challenge = self.flows.seal_consent_challenge(&AwaitingConsent { request, login, skip }).await?;
        self.metrics.logged_in.add();
        let mut page = self.config.pages.consent.clone();
        page.query_pairs_mut().append_pair("consent_challenge", &challenge);
        Ok(Step { location: Location::Redirect(page.into()), cookies })
    }

    async fn keep_session(
        &self,
        request: &Request,
        client: &Client,
        login: &Login,
    ) -> Result<(), AuthorizationError> {
        let now = self.clock.now();
        if login.skipped {
            let until = login.remember.filter(|_| login.extend).map(|span| now + span);
            self.sessions.touch(login.session, now, until).await?;
            return Ok(());
        }
        if login.remember.is_none() && !client.hears_logout() {
            return Ok(());
        }
        let session = LoginSession {
            id: login.session,
            subject: login.subject.clone(),
            authenticated_at: login.authenticated_at,
            last_seen_at: now,
            expires_at: self.session_end(login, now),
            remembered: login.remember.is_some(),
            idle: if login.remember.is_some() {
                self.config.lifetimes.session_idle
            } else {
                Lifetime::FOREVER
            },
            acr: login.acr.clone(),
            amr: login.amr.clone(),
            provider_session: login.provider_session.clone(),
        };
        if self.sessions.insert(session).await? {
            Ok(())
        } else {
            Err(ShownError::SessionEnded { restart: request.url(&self.config) }.into())
        }
    }

    /// A session that is not remembered is kept as long as tokens of it may be alive.
    fn session_end(&self, login: &Login, now: Timestamp) -> Timestamp {
        let lifetimes = &self.config.lifetimes;
        login
            .remember
            .map_or_else(|| now + lifetimes.refresh_token.max(Lifetime::hours(24)), |span| now + span)
    }

    /// Whether the consent page may be skipped: the client needs none, or a remembered decision covers the request.
    async fn consent_is_known(
        &self,
        request: &Request,
        client: &Arc<Client>,
        login: &Login,
    ) -> Result<bool, AuthorizationError> {
        if request.prompt.consent {
            return Ok(false);
        }
        if client.skip_consent {
            return Ok(true);
        }
        // A public client at an address that anyone may claim is asked about each time (RFC 8252 §8.6).
        if client.is_public() && !request.redirect_uri.as_str().starts_with("https://") {
            return Ok(false);
        }
        let decision = self.consents.find(&login.subject, &client.id, self.clock.now()).await?;
        Ok(decision.is_some_and(|decision| {
            decision.scope.covers(&request.scope) && decision.audience.covers(&request.audience)
        }))
    }

    fn cookies(&self, request: &Request, login: &Login, browser: &Browser) -> CookieChanges {
        if login.skipped || request.prompt.none || browser.framed {
            return CookieChanges::default();
        }
        let fresh = BindingKey::generate(&*self.rng);
        let kept = browser.keys.0.iter().take(KEYS_KEPT - 1).cloned();
        let cookie = SessionCookie {
            session: login.session,
            subject: login.subject.clone(),
            authenticated_at: login.authenticated_at,
            remembered: login.remember.is_some(),
        };
        CookieChanges {
            binding: Some(BindingKeys(std::iter::once(fresh).chain(kept).collect())),
            session: CookieChange::Set((cookie.seal(&self.sealer, &*self.rng), login.remember)),
        }
    }
}

/// What the login page did must be what the request asked for.
fn check_login(request: &Request, login: &Login) -> Result<(), AuthorizationError> {
    if request.prompt.none && !login.skipped {
        return Err(refused(request, ErrorCode::LoginRequired, ""));
    }
    if request.hinted_subject.as_ref().is_some_and(|hinted| *hinted != login.subject) {
        return Err(refused(
            request,
            ErrorCode::LoginRequired,
            "Another user logged in than the `id_token_hint` names.",
        ));
    }
    Ok(())
}
