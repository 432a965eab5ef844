//! From the logout request to the end of the session.

use std::sync::Arc;

use sluice_commit::{StoreError, chain};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Clock, GrantId, Rng, SessionId};
use sluice_protocol::RedirectUri;
use sluice_token::RevocationSet;
use tracing::field::display;
use tracing::{info, warn};
use url::Url;

use super::ending::Ending;
use super::error::LogoutError;
use super::state::Logout;
use super::whose::sessions_of;
use crate::authorization::Browser;
use crate::client::ClientDirectory;
use crate::config::Config;
use crate::flow::{BindingKey, BindingKeys, Further};
use crate::keys::KeyRing;
use crate::login_session::{EndSessions, LoginSessionRepository};
use crate::query::{Query, with_parameter};
use crate::replay::{ReplayKind, ReplayRepository};

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
            let continue_to = self.way_back(request.redirect_uri.as_ref(), request.state.as_deref());
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

    /// Where the browser goes when the sessions are over.
    fn done(&self, logout: &Logout, frames: Vec<Url>, own: &[SessionId]) -> LogoutStep {
        let continue_to = self.way_back(logout.redirect_uri.as_ref(), logout.state.as_deref());
        LogoutStep::Done { frames, continue_to, ends_cookie: !own.is_empty() }
    }

    /// Where the browser goes in the end: to the client, with its `state`, or else where the administrator says.
    fn way_back(&self, uri: Option<&RedirectUri>, state: Option<&str>) -> Option<String> {
        let target = uri.map(|uri| with_state(uri, state));
        target.or_else(|| self.config.pages.post_logout_redirect.as_ref().map(ToString::to_string))
    }
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
