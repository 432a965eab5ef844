//! From the logout request to the end of the session.

use std::sync::Arc;

use sluice_commit::{StoreError, chain};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Clock, GrantId, Rng, SessionId, Timestamp};
use sluice_protocol::{ClientId, Parameters, RedirectUri, Subject};
use sluice_token::RevocationSet;
use tracing::field::display;
use tracing::{info, warn};
use url::Url;

use super::ending::Ending;
use super::error::{LogoutError, LogoutProblem};
use super::request_url::PATH;
use super::state::Logout;
use crate::authorization::{Browser, SessionCookie};
use crate::client::{Client, ClientDirectory};
use crate::config::Config;
use crate::flow::sealed::MAX_IN_URL;
use crate::flow::{BindingKey, BindingKeys, Further};
use crate::keys::{KeyRing, NoHint};
use crate::login_session::{EndSessions, LoginSessionRepository};
use crate::query::{Query, escaped_len, with_parameter};
use crate::replay::{ReplayKind, ReplayRepository};
use crate::subject::{PAIRWISE, shown_subject};

/// Longer requests are refused, in bytes.
const MAX_REQUEST: usize = 16 * 1024;
/// The longest `state`, in bytes as they stand in a URL: it is in that of the page as well, sealed, and in that of the application.
const MAX_STATE: usize = 4_096;
/// What is checked of a request; the logout page is shown the rest as it is.
const KNOWN: &[&str] =
    &["id_token_hint", "client_id", "post_logout_redirect_uri", "state", "logout_verifier"];

/// What is asked for, after checking.
#[derive(Debug, Clone)]
pub struct LogoutRequest {
    session: Option<(SessionId, Subject)>,
    /// Whether an id token of this very session came along: then no other site sent the browser here. Or one of its client, no cookie,
    /// and nothing that browsers say of themselves: then no browser came, which may keep its cookies back, but a program of the client,
    /// which nobody can ask.
    proven: bool,
    /// Whether it is the latter.
    by_program: bool,
    client: Option<Arc<Client>>,
    redirect_uri: Option<RedirectUri>,
    state: Option<String>,
    further: Further,
}

/// Where the browser goes next.
#[derive(Debug)]
pub enum LogoutStep {
    /// To the logout page; with new keys for the binding cookie if it had none.
    Confirm {
        /// Where.
        page: String,
        /// The keys.
        binding: Option<BindingKeys>,
    },
    /// Here once more, with a verifier: sessions are over, and then the store failed, or one of the account pages is to end, too. What
    /// clients want to be loaded goes along, for nobody knows any more who took part.
    Again {
        /// Where.
        to: String,
    },
    /// Out: the session is over, or there was none.
    Done {
        /// What clients want to be loaded in frames.
        frames: Vec<Url>,
        /// Where the browser goes in the end; the page of this server if none.
        continue_to: Option<String>,
        /// Whether the session that its cookie names is over: one that goes on must still be there to be ended.
        ends_cookie: bool,
    },
}

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

/// Ends sessions.
pub struct LogoutService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Clients.
    pub clients: Arc<ClientDirectory>,
    /// Login sessions.
    pub sessions: Arc<dyn LoginSessionRepository>,
    /// Spent verifiers.
    pub replay: Arc<dyn ReplayRepository>,
    /// Verifies id token hints.
    pub keys: Arc<KeyRing>,
    /// Seals what travels.
    pub sealer: Arc<Sealer>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl LogoutService {
    /// A client, or a link, asks to end the browser's session.
    pub async fn begin(&self, query: &[u8], browser: &Browser) -> Result<LogoutStep, LogoutError> {
        let request = self.read(query, browser).await?;
        let Some((session, subject)) = request.session else {
            let continue_to = self.destination(&request);
            return Ok(LogoutStep::Done { frames: Vec::new(), continue_to, ends_cookie: false });
        };
        let now = self.clock.now();
        // A program keeps no cookie: of one whose client may end sessions without being asked the way back is not bound to any.
        let is_unbound =
            request.by_program && request.client.as_ref().is_some_and(|client| client.skip_logout_consent);
        let is_stuck = request.by_program && !is_unbound;
        let (key, binding) = match browser.binding_keys().0.into_iter().next() {
            _ if is_unbound => (None, None),
            Some(key) => (Some(key), None),
            None => {
                let key = BindingKey::generate(&*self.rng);
                (Some(key.clone()), Some(BindingKeys(vec![key])))
            }
        };
        let id = GrantId::generate(now, &*self.rng);
        // RP-Initiated Logout §2: the user must be asked if the id token is missing or of another session.
        let skip = request.proven && self.skips_page(request.client.as_deref());
        let mut logout = Logout {
            id,
            session,
            subject,
            client: request.client.map(|client| client.id.clone()),
            redirect_uri: request.redirect_uri,
            state: request.state,
            requested_at: now,
            binding: key.map(|key| key.bind(id)),
            further: request.further,
            frames: Vec::new(),
            is_unasked: false,
        };
        if let Some(own) = self.over_already(&logout, browser).await? {
            let account = browser.account.as_ref().filter(|_| logout.further.id_token_hint.is_none());
            let Some(account) = account else { return Ok(self.done(&logout, Vec::new(), &own)) };
            // Nobody says whose session is to end: that of the account pages goes on, whoever it is of.
            (logout.session, logout.subject) = (account.session, account.subject.clone());
        }
        if skip {
            return self.end_unasked(logout, browser).await;
        }
        if is_stuck {
            let client = logout.client.as_ref().map(display);
            info!(
                client.id = client,
                "a program asks for a logout that a person would have to confirm: its client has no skip_logout_consent"
            );
        }
        let page = with_parameter(&self.config.pages.logout, "logout_challenge", &self.challenge(logout));
        Ok(LogoutStep::Confirm { page, binding })
    }

    /// Ends the sessions of a browser at once. What fails in the middle goes on by a verifier, and so does one that ends a session of the
    /// account pages, too: that is another's to end.
    async fn end_unasked(&self, logout: Logout, browser: &Browser) -> Result<LogoutStep, LogoutError> {
        let logout = Logout { further: Further::default(), is_unasked: true, ..logout };
        if self.is_of_account(&logout, browser).await? {
            return Ok(LogoutStep::Again { to: self.confirmed(logout) });
        }
        let own = self.own_session(&logout, browser).await?;
        let (mut frames, own) = (Vec::new(), sessions_of(own));
        match self.end_all(logout.session, &own, &mut frames).await {
            Ok(()) => Ok(self.done(&logout, frames, &own)),
            Err(LogoutError::Store(why)) if !frames.is_empty() => {
                warn!(error = %chain(&why), "a logout that ended sessions is tried again");
                Ok(LogoutStep::Again { to: self.confirmed(Logout { frames, ..logout }) })
            }
            Err(why) => Err(why),
        }
    }

    /// Whether users of this client need not confirm. Another page than the built-in one may have a session of its own to end, so
    /// that it is asked whatever the client skips, as with Hydra.
    fn skips_page(&self, client: Option<&Client>) -> bool {
        let is_own = self.config.is_own_page(&self.config.pages.logout, "/ui/logout");
        is_own && client.is_some_and(|client| client.skip_logout_consent)
    }

    /// The logout for its page. What is only shown there is left out where the challenge would be too long for a URL: first the
    /// id token, then all of it.
    fn challenge(&self, mut logout: Logout) -> String {
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

    /// The logout page sends the browser back: the session ends.
    pub async fn finish(&self, verifier: &str, browser: &Browser) -> Result<LogoutStep, LogoutError> {
        let logout = self.opened(verifier, browser)?;
        let own = self.ending_session(&logout, browser).await?;
        let began_later = own.as_ref().is_some_and(|own| own.authenticated_at > logout.requested_at);
        let own = sessions_of(own);
        // Only a session that began after the logout was asked for must not end by a verifier that was used before.
        let (at_once, later): (&[_], &[_]) = if began_later { (&[], &own) } else { (&own, &[]) };
        let mut frames = logout.frames.clone();
        match self.end_and_spend(&logout, at_once, &mut frames).await {
            Ok(true) => {}
            // It may have come twice at once.
            Ok(false) => return self.once_more(&logout, frames, browser).await,
            Err(LogoutError::Store(why)) if frames.len() > logout.frames.len() => {
                warn!(error = %chain(&why), "a logout that ended sessions is tried again");
                return Ok(LogoutStep::Again { to: self.confirmed(Logout { frames, ..logout }) });
            }
            Err(why) => return Err(why),
        }
        for later in later.iter().copied().filter(|later| *later != logout.session) {
            match self.end_session(later).await {
                Ok(more) => frames.extend(more),
                Err(LogoutError::Store(why)) => {
                    warn!(error = %chain(&why), "a logout that ended a session goes on with another");
                    let anew = self.anew(Logout { session: later, frames, ..logout }, browser);
                    return Ok(LogoutStep::Again { to: self.confirmed(anew) });
                }
                Err(why) => return Err(why),
            }
        }
        Ok(self.done(&logout, frames, &own))
    }

    /// The logout of this verifier, if it belongs to this browser and its time is not over.
    pub(super) fn opened(&self, verifier: &str, browser: &Browser) -> Result<Logout, LogoutError> {
        let logout =
            Logout::open(Purpose::LogoutVerifier, verifier, &self.sealer).ok_or(LogoutError::Verifier)?;
        let is_its = match &logout.binding {
            Some(binding) => browser.binding_keys().hold(logout.id, binding),
            None => browser.is_program(),
        };
        if !is_its {
            return Err(LogoutError::WrongBrowser);
        }
        let expires_at = logout.requested_at + self.config.lifetimes.flow;
        if self.clock.now() < expires_at { Ok(logout) } else { Err(LogoutError::Verifier) }
    }

    /// A logout whose verifier is spent, as one that is asked for now in this browser.
    fn anew(&self, logout: Logout, browser: &Browser) -> Logout {
        let now = self.clock.now();
        let id = GrantId::generate(now, &*self.rng);
        let binding = browser.binding_keys().0.first().map(|key| key.bind(id));
        Logout { id, requested_at: now, binding, ..logout }
    }

    /// Where a verifier leads that was used before, as by the back button: where it led then, with the frames that it has along. It ends
    /// nothing, so it is refused where somebody is signed in again, who would take themselves for signed out.
    async fn once_more(
        &self,
        logout: &Logout,
        frames: Vec<Url>,
        browser: &Browser,
    ) -> Result<LogoutStep, LogoutError> {
        let own = sessions_of(self.ending_session(logout, browser).await?);
        let is_over = self.is_over(logout.session).await? && self.are_over(&own).await?;
        if !is_over || self.is_of_account(logout, browser).await? {
            return Err(LogoutError::Verifier);
        }
        Ok(self.done(logout, frames, &own))
    }

    /// The sessions of its user in this browser, if they are known to be over, and that which is named, too: of such a logout nothing is
    /// left to be confirmed or ended, unless its user is signed in to the account pages here. Where the client knows its users by names of its
    /// own, or cannot be asked, nobody can tell whether somebody else who is signed in here is its user.
    async fn over_already(
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

    async fn are_over(&self, sessions: &[SessionId]) -> Result<bool, StoreError> {
        for session in sessions {
            if !self.is_over(*session).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a session has ended and is kept no more.
    async fn is_over(&self, session: SessionId) -> Result<bool, StoreError> {
        let which = EndSessions::One(session);
        Ok(self.revocations.session_is_over(session)
            && self.sessions.participants(&which, self.clock.now()).await?.is_empty())
    }

    /// Ends sessions, and spends the verifier: in this order, so that what fails can be tried again. What is over can end twice, but not by
    /// a verifier that is spent: it would write another marker each time it is sent. `false` if it was spent before, or is now by somebody else.
    async fn end_and_spend(
        &self,
        logout: &Logout,
        own: &[SessionId],
        frames: &mut Vec<Url>,
    ) -> Result<bool, LogoutError> {
        if self.is_spent(logout).await? {
            return Ok(false);
        }
        self.end_all(logout.session, own, frames).await?;
        let now = self.clock.now();
        let expires_at = logout.requested_at + self.config.lifetimes.flow;
        Ok(self.replay.spend(ReplayKind::LogoutVerifier, verifier_hash(logout), now, expires_at).await?)
    }

    /// Whether the verifier of a logout has come back and did what it says.
    pub(super) async fn is_spent(&self, logout: &Logout) -> Result<bool, StoreError> {
        self.replay.is_spent(ReplayKind::LogoutVerifier, verifier_hash(logout), self.clock.now()).await
    }

    /// Whether a cookie of the browser names this session.
    pub fn is_session_of(&self, browser: &Browser, session: SessionId) -> bool {
        self.cookie(browser).is_some_and(|own| own.session == session)
            || browser.account.as_ref().is_some_and(|own| own.session == session)
    }

    pub(super) fn cookie(&self, browser: &Browser) -> Option<SessionCookie> {
        browser.session.as_deref().and_then(|value| SessionCookie::open(value, &self.sealer))
    }

    /// Ends the session that is named, and those of the browser: who signs out here is not to be recognised by one a moment
    /// later (RP-Initiated Logout §2). What clients want to be loaded is told also if another one
    /// cannot be ended.
    async fn end_all(
        &self,
        named: SessionId,
        own: &[SessionId],
        frames: &mut Vec<Url>,
    ) -> Result<(), LogoutError> {
        frames.extend(self.end_session(named).await?);
        for own in own.iter().copied().filter(|own| *own != named) {
            frames.extend(self.end_session(own).await?);
        }
        Ok(())
    }

    /// Where the browser goes when the sessions are over.
    fn done(&self, logout: &Logout, frames: Vec<Url>, own: &[SessionId]) -> LogoutStep {
        let target = logout.redirect_uri.as_ref().map(|uri| with_state(uri, logout.state.as_deref()));
        let continue_to =
            target.or_else(|| self.config.pages.post_logout_redirect.as_ref().map(ToString::to_string));
        LogoutStep::Done { frames, continue_to, ends_cookie: !own.is_empty() }
    }

    /// The client that asked, unless the document that describes it cannot be had now: the logout goes on.
    async fn client_of(&self, logout: &Logout) -> Result<Option<Arc<Client>>, StoreError> {
        match &logout.client {
            Some(id) => self.clients.find_if_known(id).await,
            None => Ok(None),
        }
    }

    /// The session of the browser that a verifier ends. Who said yes to it is signed out here, whoever an id token named: the page did not say
    /// whose session it was.
    async fn ending_session(
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
        if logout.is_unasked || self.config.is_own_page(&self.config.pages.logout, "/ui/logout") {
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

    /// Ends one session, with its tokens; what its clients want to be loaded in frames. One that has ended and is kept no more is left alone: to
    /// end it once more would write another marker, each time that somebody comes with its name.
    async fn end_session(&self, session: SessionId) -> Result<Vec<Url>, LogoutError> {
        if self.is_over(session).await? {
            return Ok(Vec::new());
        }
        let (now, which) = (self.clock.now(), EndSessions::One(session));
        let ending = Ending {
            sessions: &*self.sessions,
            clients: &self.clients,
            revocations: &self.revocations,
            config: &self.config,
        };
        Ok(ending.end(&which, now, now + self.config.lifetimes.revocation).await?)
    }

    fn destination(&self, request: &LogoutRequest) -> Option<String> {
        let target = request.redirect_uri.as_ref().map(|uri| with_state(uri, request.state.as_deref()));
        target.or_else(|| self.config.pages.post_logout_redirect.as_ref().map(ToString::to_string))
    }

    /// Whose session it is, if it is kept.
    async fn subject_of(&self, session: SessionId) -> Result<Option<Subject>, LogoutError> {
        let found = self.sessions.participants(&EndSessions::One(session), self.clock.now()).await?;
        Ok(found.into_iter().next().map(|ended| ended.subject))
    }

    async fn read(&self, query: &[u8], browser: &Browser) -> Result<LogoutRequest, LogoutError> {
        let parameters = Parameters::parse(query, MAX_REQUEST, &[])?;
        let verify = |token| self.keys.verify_id_token_hint(token, self.config.issuer.as_str());
        let (hint, key_is_gone) = match parameters.get("id_token_hint").map(verify) {
            None => (None, false),
            Some(Ok(hint)) => (Some(hint), false),
            Some(Err(NoHint::KeyGone)) => (None, true),
            Some(Err(NoHint::NotOurs)) => return Err(LogoutError::Hint),
        };
        let named: Option<ClientId> = parameters
            .get("client_id")
            .map(str::parse)
            .transpose()
            .map_err(|_| LogoutError::ClientMismatch)?;
        let hinted = hint.as_ref().and_then(|hint| hint.client.clone());
        if named.is_some() && hinted.is_some() && named != hinted {
            return Err(LogoutError::ClientMismatch);
        }
        let by_program = hinted.is_some() && browser.is_program();
        let named = hinted.or(named);
        let client = match &named {
            Some(id) => self.clients.find_if_known(id).await?,
            None => None,
        };
        let mut back = parameters.get("post_logout_redirect_uri");
        // Nothing says whose address it is. Only to go there is forbidden (RP-Initiated Logout §3): who wants to sign out is asked all the same.
        if named.is_none() && back.take().is_some() {
            info!(
                hint.key_is_gone = key_is_gone,
                "a browser does not come back from a logout: neither id_token_hint nor client_id says whose the post_logout_redirect_uri is"
            );
        }
        let redirect_uri = trusted_redirect(back, client.as_deref())?;
        let own = self.cookie(browser).map(|cookie| (cookie.session, cookie.subject));
        let hinted = hint.and_then(|hint| Some((hint.session?, hint.subject)));
        let proven = hinted.as_ref().zip(own.as_ref()).is_some_and(|((hinted, _), (own, _))| hinted == own);
        let session = match hinted {
            Some((session, seen)) if !proven => {
                Some((session, self.subject_of(session).await?.unwrap_or(seen)))
            }
            // Whose session it is, the cookie knows: an id token says what its client sees.
            _ => own.or_else(|| browser.account.clone().map(|account| (account.session, account.subject))),
        };
        let state = parameters.get("state").map(str::to_owned);
        if state.as_deref().is_some_and(|state| escaped_len(state) > MAX_STATE) {
            return Err(LogoutError::State);
        }
        let id_token_hint = parameters.get("id_token_hint").map(str::to_owned);
        let further = Further { id_token_hint, ..Further::of(parameters.iter(), KNOWN) };
        let proven = proven || by_program;
        Ok(LogoutRequest { session, proven, by_program, client, redirect_uri, state, further })
    }
}

fn trusted_redirect(
    named: Option<&str>,
    client: Option<&Client>,
) -> Result<Option<RedirectUri>, LogoutError> {
    let Some(named) = named else { return Ok(None) };
    let uri: RedirectUri = named.parse().map_err(|_| LogoutError::RedirectUri)?;
    let registered = client.is_some_and(|client| client.post_logout_redirect_uris.contains(&uri));
    if registered { Ok(Some(uri)) } else { Err(LogoutError::RedirectUri) }
}

fn with_state(uri: &RedirectUri, state: Option<&str>) -> String {
    let Some(state) = state else { return uri.to_string() };
    let encoded = Query::from_iter([("state", state)]).into_string();
    let joint = if uri.as_str().contains('?') { '&' } else { '?' };
    format!("{uri}{joint}{encoded}")
}

/// Under what it is noted that the verifier of a logout is spent.
fn verifier_hash(logout: &Logout) -> [u8; 32] {
    sluice_crypto::digest::sha256(logout.id.as_bytes())
}

/// The sessions of a person that a browser's cookie names.
fn sessions_of(cookie: Option<SessionCookie>) -> Vec<SessionId> {
    cookie.into_iter().flat_map(|cookie| std::iter::once(cookie.session).chain(cookie.former)).collect()
}
