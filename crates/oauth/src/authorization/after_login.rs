//! The second leg: the login page sends the browser back. A session row is written only if it is to be remembered, or if
//! the client wants to hear of its end, or if one goes on whose user has just proved more. For a client that begins to want that
//! only later, the last leg writes it.

use serde_json::Value;
use sluice_primitives::{Lifetime, Rng, SessionId, Timestamp};
use sluice_protocol::claims_request::ClaimsRequest;
use sluice_protocol::{ErrorCode, GrantType};

use super::browser::{Browser, CookieChange, CookieChanges, SessionCookie};
use super::error::{AuthorizationError, RedirectedError, ShownError};
use super::response::{Location, ResponseTarget};
use super::service::{AuthorizationService, Step, refused, rejected};
use crate::client::Client;
use crate::config::{Config, tokens_of_session};
use crate::consent::RememberedConsent;
use crate::flow::service::next_session;
use crate::flow::{AwaitingConsent, BindingKey, BindingKeys, Decision, Login, Request};
use crate::issuing::lifetime;
use crate::login_session::{LoginOrigin, LoginSession, trail};
use crate::query::with_parameter;
use crate::subject::shown_at_login;

/// How many binding keys a browser keeps: the present one, that of the flow, and those of other tabs opened before its last logins.
const KEYS_KEPT: usize = 8;
/// What a client hears whose request names the user.
const ANOTHER_USER: &str = "Another user logged in than the request names.";
/// How many former sessions of a person a browser's cookie names.
const MOST_FORMER: usize = 32;
/// How long a session lives without being used that is to end with the browser and that nobody asked for: a browser that opens its tabs
/// again has its cookie still.
const IDLE_UNTIL_CLOSED: Lifetime = Lifetime::hours(24);

impl AuthorizationService {
    /// The second leg: a login verifier comes back.
    pub async fn after_login(&self, verifier: &str, browser: &Browser) -> Result<Step, AuthorizationError> {
        let flow = self.flows.open_login_verifier(verifier).await?;
        self.check_browser(&flow.request, browser).await?;
        let client = self.client_of(&flow.request).await?;
        let request = flow.request;
        let mut login = match flow.answer {
            Decision::Accepted(login) => login,
            Decision::Rejected(rejection) => {
                Box::pin(self.tell_device((&request, &client), None)).await?;
                return Err(rejected(&request, rejection));
            }
        };
        check_login(&request, &client, &login, &self.config)?;
        if self.was_signed_out(login.session, &login) {
            let restart = request.way_out(&client, &self.config);
            return Err(ShownError::SessionEnded { restart }.into());
        }
        let skip = self.consent_is_known(&request, &client, &login).await?;
        if request.prompt.none && !skip {
            return Err(refused(&request, ErrorCode::ConsentRequired, ""));
        }
        self.forget_former(&request, &login, browser).await?;
        let least = self.stay_remembered(&request, &mut login, browser).await?;
        if login.at_least_until_closed && login.remember.is_none() {
            (login.remember, login.until_closed) = (Some(self.config.lifetimes.session), true);
        }
        self.keep_session((&request, &client), &mut login, browser).await?;
        if !login.skipped {
            trail::signed_in(&self.config, &login, &client.id);
        }
        let cookies = self.cookies(&request, (&login, least), browser);
        let location = self.consent_page(&AwaitingConsent { request, login, skip }).await?;
        self.metrics.logged_in.add();
        Ok(Step { location, cookies })
    }

    /// Where the browser goes to be asked, or to hear that it need not be.
    pub(super) async fn consent_page(&self, flow: &AwaitingConsent) -> Result<Location, AuthorizationError> {
        let challenge = self.flows.seal_consent_challenge(flow).await?;
        Ok(Location::Redirect(with_parameter(&self.config.pages.consent, "consent_challenge", &challenge)))
    }

    /// The cookie of a browser that is given another in the end, if it is of a session of who has logged in again there. A frame of another site is
    /// given none.
    fn cookie_before(&self, request: &Request, login: &Login, browser: &Browser) -> Option<SessionCookie> {
        let is_replaced = !login.skipped && !browser.framed && !request.prompt.none;
        let value = browser.session.as_deref().filter(|_| is_replaced)?;
        SessionCookie::open(value, &self.sealer).filter(|cookie| cookie.subject == login.subject)
    }

    /// Who is not to be remembered any more is not, whoever has a copy of the cookie, and whether or not the browser is given another: the
    /// sessions from before have expired from now on, and are kept for logouts as long as any that has. One of a later login than this goes on.
    async fn forget_former(
        &self,
        request: &Request,
        login: &Login,
        browser: &Browser,
    ) -> Result<(), AuthorizationError> {
        let Some(value) = browser.session.as_deref().filter(|_| login.forget) else { return Ok(()) };
        let known_at = login.authenticated_at.max(request.requested_at);
        let Some(cookie) = SessionCookie::open(value, &self.sealer) else { return Ok(()) };
        let now = self.clock.now();
        let former = std::iter::once(cookie.session).chain(cookie.former);
        for former in former.filter(|former| *former != login.session) {
            // Only one that is remembered is found.
            let found = self.sessions.find(former, now).await?;
            if found.is_some_and(|it| it.subject == login.subject && it.authenticated_at <= known_at) {
                self.sessions.touch(former, now, Some(now)).await?;
            }
        }
        Ok(())
    }

    /// Who was to be remembered in this browser still is, for as long as they were to be, if the later login says nothing of it. One
    /// that proves more in the same session says by that page whether they are; what ends with the browser begins anew with one after which
    /// they are remembered for so long in any case. For how long the browser keeps the cookie at least, then: a logout must find the session
    /// for as long as there are tokens of it.
    async fn stay_remembered(
        &self,
        request: &Request,
        login: &mut Login,
        browser: &Browser,
    ) -> Result<Option<Lifetime>, AuthorizationError> {
        let is_step_up = |cookie: &SessionCookie| {
            cookie.session == login.session && cookie.authenticated_at < login.authenticated_at
        };
        let says_nothing = login.remember.is_none() && !login.forget;
        let is_longer =
            |cookie: &SessionCookie| cookie.until_closed == Some(false) || !login.at_least_until_closed;
        let goes_on = |cookie: &SessionCookie| {
            cookie.remembered && says_nothing && !is_step_up(cookie) && is_longer(cookie)
        };
        let Some(cookie) = self.cookie_before(request, login, browser).filter(goes_on) else {
            return Ok(None);
        };
        let now = self.clock.now();
        let before = self.sessions.find(cookie.session, now).await?;
        let is_own = |before: &LoginSession| {
            before.subject == login.subject && before.authenticated_at <= cookie.authenticated_at
        };
        let Some(before) = before.filter(is_own) else { return Ok(None) };
        login.remember = Some(before.expires_at.since(now));
        login.until_closed = cookie.until_closed != Some(false);
        Ok(Some(tokens_of_session(self.config.lifetimes.refresh_token)))
    }

    /// The sessions that the same person has in this browser besides: a logout there ends them, too.
    fn former_sessions(&self, request: &Request, login: &Login, browser: &Browser) -> Vec<SessionId> {
        let Some(cookie) = self.cookie_before(request, login, browser) else { return Vec::new() };
        let goes_on =
            |session: &SessionId| *session != login.session && !self.revocations.session_is_over(*session);
        std::iter::once(cookie.session).chain(cookie.former).filter(goes_on).take(MOST_FORMER).collect()
    }

    async fn keep_session(
        &self,
        (request, client): (&Request, &Client),
        login: &mut Login,
        browser: &Browser,
    ) -> Result<(), AuthorizationError> {
        let now = self.clock.now();
        if login.skipped {
            let until = login.remember.filter(|_| login.extend).map(|span| now + span);
            self.sessions.touch(login.session, now, until).await?;
            return Ok(());
        }
        if self.own_cookie(browser, login).is_some_and(|own| own.authenticated_at < login.authenticated_at) {
            login.kept = self.sessions.renew(&self.session((client, login), Some(browser), now)).await?;
            if login.kept {
                return Ok(());
            }
            // It ended while its user proved who it is. Nobody who heard of that is to see it again.
            login.session = next_session(login.session, request.flow);
        }
        if login.remember.is_none() && !client.hears_logout() {
            return Ok(());
        }
        login.kept = self.sessions.insert(self.session((client, login), Some(browser), now)).await?;
        if login.kept {
            Ok(())
        } else {
            let restart = request.way_out(client, &self.config);
            Err(ShownError::SessionEnded { restart }.into())
        }
    }

    /// Keeps the session of a login that nobody wanted to be kept then, if the client listens for its end by now; `false` if it has ended.
    /// That of a device is not where its code was approved.
    pub(super) async fn keep_session_late(
        &self,
        (request, client): (&Request, &Client),
        login: &Login,
        browser: &Browser,
        now: Timestamp,
    ) -> Result<bool, AuthorizationError> {
        // A version that does not note it keeps those that are remembered, too.
        let is_kept = login.kept || login.skipped || login.remember.is_some();
        if is_kept || !client.hears_logout() {
            return Ok(true);
        }
        let browser = (!request.details.device).then_some(browser);
        Ok(self.sessions.insert(self.session((client, login), browser, now)).await?)
    }

    /// The browser's cookie, if it is of the session that the login belongs to.
    fn own_cookie(&self, browser: &Browser, login: &Login) -> Option<SessionCookie> {
        let cookie = SessionCookie::open(browser.session.as_deref()?, &self.sealer)?;
        (cookie.session == login.session).then_some(cookie)
    }

    /// The session as of a login in this browser, if it is in one.
    fn session(
        &self,
        (client, login): (&Client, &Login),
        browser: Option<&Browser>,
        now: Timestamp,
    ) -> LoginSession {
        LoginSession {
            id: login.session,
            subject: login.subject.clone(),
            authenticated_at: login.authenticated_at,
            last_seen_at: now,
            expires_at: self.session_end(client, login, now),
            remembered: login.remember.is_some(),
            idle: self.session_idle(login),
            acr: login.acr.clone(),
            amr: login.amr.clone(),
            provider_session: login.provider_session.clone(),
            origin: browser.and_then(|browser| self.origin(login, browser)),
        }
    }

    /// Where a person of the identity service logged in. Of users whom another page logs in nobody is shown it, and it is not kept.
    fn origin(&self, login: &Login, browser: &Browser) -> Option<LoginOrigin> {
        let person = trail::person(&self.config, &login.subject);
        person.map(|_| LoginOrigin::new(&browser.user_agent, browser.address))
    }

    /// One that is not remembered is kept whether or not it is used.
    fn session_idle(&self, login: &Login) -> Lifetime {
        let idle = self.config.lifetimes.session_idle;
        match (login.remember, login.at_least_until_closed && login.until_closed) {
            (None, _) => Lifetime::FOREVER,
            (Some(_), false) => idle,
            (Some(_), true) => idle.min(IDLE_UNTIL_CLOSED),
        }
    }

    /// A session that is not remembered is kept as long as tokens of it may be alive.
    fn session_end(&self, client: &Client, login: &Login, now: Timestamp) -> Timestamp {
        let of_client = || lifetime::refresh_token(client, GrantType::AuthorizationCode, &self.config);
        let refresh_token = || self.config.lifetimes.refresh_token.max(of_client());
        now + login.remember.unwrap_or_else(|| tokens_of_session(refresh_token()))
    }

    /// Whether the consent page may be skipped: the client needs none, or a remembered decision covers the request.
    async fn consent_is_known(
        &self,
        request: &Request,
        client: &Client,
        login: &Login,
    ) -> Result<bool, AuthorizationError> {
        if client.skip_consent && !request.prompt.consent {
            return Ok(true);
        }
        Ok(self.decision(request, client, login).await?.is_some())
    }

    /// The remembered decision that covers the request, if one does.
    pub(super) async fn decision(
        &self,
        request: &Request,
        client: &Client,
        login: &Login,
    ) -> Result<Option<RememberedConsent>, AuthorizationError> {
        if request.prompt.consent {
            return Ok(None);
        }
        // A public client at an address that anyone may claim (RFC 8252 §8.6), or at none, on a device that is somewhere
        // (RFC 8628 §5.4), is asked about each time.
        let anyone = request.details.device || !request.redirect_uri.as_str().starts_with("https://");
        if client.is_public() && anyone {
            return Ok(None);
        }
        // What is asked for in detail is this one payment, not another like it (RFC 9396 §2).
        if request.details.authorization_details.is_some() {
            return Ok(None);
        }
        let decision = self.consents.find(&login.subject, &client.id, self.clock.now()).await?;
        Ok(decision.filter(|decision| {
            decision.answers((&request.scope, &request.audience), self.config.scopes)
                && decision.answers_claims(request.details.claims.as_deref())
        }))
    }

    /// A cookie that is kept is kept for `least`, if any.
    fn cookies(
        &self,
        request: &Request,
        (login, least): (&Login, Option<Lifetime>),
        browser: &Browser,
    ) -> CookieChanges {
        // In a frame, too: sessions are renewed silently there.
        if login.skipped {
            return CookieChanges { session: self.extended(login, browser), ..CookieChanges::default() };
        }
        if browser.framed || request.prompt.none {
            return CookieChanges::default();
        }
        let cookie = SessionCookie {
            session: login.session,
            subject: login.subject.clone(),
            authenticated_at: login.authenticated_at,
            remembered: login.remember.is_some(),
            until_closed: Some(login.cookie_life().is_none()),
            former: self.former_sessions(request, login, browser),
        };
        let own = self.own_cookie(browser, login);
        // An earlier verifier may come back after a later one.
        let session = if own.is_some_and(|own| own.authenticated_at > login.authenticated_at) {
            CookieChange::Keep
        } else {
            let life = login.cookie_life().map(|life| least.map_or(life, |least| life.max(least)));
            CookieChange::Set((cookie.seal(&self.sealer, &*self.rng), life))
        };
        CookieChanges { binding: Some(keys_from_now(request, &browser.keys, &*self.rng)), session }
    }

    /// The cookie of a session that goes on for longer. If the page does not say for how long, one that is kept is kept for as long
    /// as the session lives.
    fn extended(&self, login: &Login, browser: &Browser) -> CookieChange<(String, Option<Lifetime>)> {
        let own = self.own_cookie(browser, login).filter(|_| login.extend);
        let Some(((own, value), life)) = own.zip(browser.session.clone()).zip(login.remember) else {
            return CookieChange::Keep;
        };
        if !own.is_kept_on(!login.until_closed) {
            return CookieChange::Keep;
        }
        // By its value flows are bound where there is no other cookie: then it stays the same.
        let stays = own.until_closed == Some(false) || browser.keys.0.is_empty();
        let kept = || SessionCookie { until_closed: Some(false), ..own }.seal(&self.sealer, &*self.rng);
        CookieChange::Set((if stays { value } else { kept() }, Some(life)))
    }
}

/// The keys of a browser from a login on: a fresh one, and of those before first the one of the flow itself. Its consent is to come back,
/// and so are the tabs that began with it.
fn keys_from_now(request: &Request, before: &BindingKeys, rng: &dyn Rng) -> BindingKeys {
    let is_own = |key: &BindingKey| key.has_bound(request.flow, &request.binding);
    let (own, others): (Vec<_>, Vec<_>) = before.0.iter().cloned().partition(is_own);
    let kept = own.into_iter().chain(others).take(KEYS_KEPT - 1);
    BindingKeys(std::iter::once(BindingKey::generate(rng)).chain(kept).collect())
}

/// What the login page did must be what the request asked for.
fn check_login(
    request: &Request,
    client: &Client,
    login: &Login,
    config: &Config,
) -> Result<(), AuthorizationError> {
    if request.prompt.none && !login.skipped {
        return Err(refused(request, ErrorCode::LoginRequired, ""));
    }
    let shown = shown_at_login(client, login, config);
    let seen = shown.as_deref().unwrap_or(login.subject.as_str());
    if request.hinted_subject.as_ref().is_some_and(|hinted| hinted.as_str() != seen) {
        let target = ResponseTarget::of(request);
        return Err(RedirectedError::saying(target, ErrorCode::LoginRequired, ANOTHER_USER).into());
    }
    if !has_wanted_class(request, login) {
        return Err(refused(request, ErrorCode::UnmetAuthenticationRequirements, ""));
    }
    Ok(())
}

/// Whether the login is of one of the classes that the client cannot do without (OpenID Connect Core §5.5.1.1); `acr_values`
/// and classes that are not essential are wishes.
fn has_wanted_class(request: &Request, login: &Login) -> bool {
    let claims = request.details.claims.as_deref().and_then(|text| ClaimsRequest::parse(text).ok());
    let Some(asked) =
        claims.as_ref().and_then(|claims| claims.in_id_token("acr")).filter(|acr| acr.essential)
    else {
        return true;
    };
    let mut wanted = asked.wanted().peekable();
    let has = |class: &Value| login.acr.as_deref() == class.as_str();
    wanted.peek().is_none() || (login.acr.is_some() && wanted.any(has))
}
