//! The three legs of a flow at the authorization endpoint. In each, the browser binding is checked before anything is
//! written.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_primitives::{Clock, Rng, SessionId};
use sluice_protocol::ErrorCode;
use sluice_token::RevocationSet;

use super::browser::{Browser, CookieChanges, SessionCookie};
use super::checks;
use super::error::{AuthorizationError, RedirectedError, ShownError};
use super::request_object::RequestObjects;
use super::response::{Location, ResponseTarget};
use crate::client::{Client, ClientDirectory};
use crate::config::Config;
use crate::consent::ConsentRepository;
use crate::device::{DeviceCodeRepository, DevicePolls};
use crate::flow::request_url::way_out;
use crate::flow::{FlowSealer, KnownSession, Login, Rejection, Request, SpentFlows};
use crate::grant::GrantRepository;
use crate::issuing::TokenIssuer;
use crate::keys::KeyRing;
use crate::login_session::{LoginSession, LoginSessionRepository};
use crate::metrics::OAuthMetrics;
use crate::refused_value::RefusedValue;

/// Where the browser goes next, and with which cookies.
#[derive(Debug)]
pub struct Step {
    /// Where.
    pub location: Location,
    /// With which cookies.
    pub cookies: CookieChanges,
}

/// The authorization endpoint.
pub struct AuthorizationService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Seals flows.
    pub flows: Arc<FlowSealer>,
    /// Seals codes and cookies.
    pub sealer: Arc<Sealer>,
    /// Clients.
    pub clients: Arc<ClientDirectory>,
    /// Reads request objects.
    pub objects: Arc<RequestObjects>,
    /// Grants.
    pub grants: Arc<dyn GrantRepository>,
    /// The codes of devices.
    pub devices: Arc<dyn DeviceCodeRepository>,
    /// How devices poll here.
    pub polls: Arc<DevicePolls>,
    /// Remembered decisions.
    pub consents: Arc<dyn ConsentRepository>,
    /// Login sessions.
    pub sessions: Arc<dyn LoginSessionRepository>,
    /// Verifies id token hints, and signs answers.
    pub keys: Arc<KeyRing>,
    /// Issues tokens.
    pub issuer: Arc<TokenIssuer>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// Flows that ended here.
    pub spent: Arc<SpentFlows>,
    /// What an operator sees.
    pub metrics: Arc<OAuthMetrics>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl AuthorizationService {
    /// The client of a flow as it is now, if what was checked still holds for it.
    pub(super) async fn client_of(&self, request: &Request) -> Result<Arc<Client>, AuthorizationError> {
        let client = self.clients.named(&request.client).await?;
        if client.revision == request.client_revision {
            return Ok(client);
        }
        // The browser of a device goes back to no client.
        if !request.details.device && !checks::redirect_still_registered(request, &client) {
            let refused = RefusedValue::of_uri(request.redirect_uri.as_str());
            return Err(ShownError::RedirectUri("is not registered for the client any more", refused).into());
        }
        if !checks::still_allowed(request, &client, &self.config) {
            return Err(refused(request, ErrorCode::UnauthorizedClient, "The client was changed meanwhile."));
        }
        Ok(client)
    }

    /// The flow belongs to this browser and has not expired.
    pub(super) async fn check_browser(&self, request: &Request, browser: &Browser) -> Result<(), ShownError> {
        if !browser.binding_keys().hold(request.flow, &request.binding) {
            // Two tabs of a browser without cookies that begin at once get a key each, of which it keeps one.
            let restart = way_out(request, &self.clients, &self.config).await;
            return Err(ShownError::WrongBrowser { restart });
        }
        if self.clock.now() >= request.ends_at(&self.config) {
            let restart = way_out(request, &self.clients, &self.config).await;
            return Err(ShownError::Expired { restart });
        }
        Ok(())
    }

    /// The flow has ended before.
    pub(super) fn over(&self, (request, client): (&Request, &Client)) -> AuthorizationError {
        let (restart, home) = (request.way_out(client, &self.config), request.home(client, &self.config));
        ShownError::Spent { restart, home }.into()
    }

    /// Whether session or subject were signed out after this authentication.
    pub(super) fn was_signed_out(&self, session: SessionId, login: &Login) -> bool {
        self.revocations.covers_login(session, &login.subject, login.authenticated_at)
    }

    /// The session that the browser's cookie names, if it still lets login be skipped.
    pub(super) async fn known_session(
        &self,
        browser: &Browser,
    ) -> Result<Option<KnownSession>, AuthorizationError> {
        let Some(value) = browser.session.as_deref() else { return Ok(None) };
        let Some(cookie) = SessionCookie::open(value, &self.sealer).filter(|cookie| cookie.remembered) else {
            return Ok(None);
        };
        let session = self.sessions.find(cookie.session, self.clock.now()).await?;
        // A cookie of before its user proved more than that is not worth more with it: it may have been copied.
        let is_own = |session: &LoginSession| {
            session.subject == cookie.subject && session.authenticated_at <= cookie.authenticated_at
        };
        let session = session.filter(|session| session.remembered && is_own(session));
        Ok(session.map(|session| KnownSession {
            id: session.id,
            subject: session.subject,
            authenticated_at: session.authenticated_at,
            amr: session.amr,
        }))
    }
}

/// An error that goes to the client of a flow.
pub(super) fn refused(request: &Request, code: ErrorCode, hint: &str) -> AuthorizationError {
    RedirectedError::new(ResponseTarget::of(request), code, hint).into()
}

/// What the page said no with, for the client.
pub(super) fn rejected(request: &Request, rejection: Rejection) -> AuthorizationError {
    let Rejection { error, description } = rejection;
    RedirectedError { target: ResponseTarget::of(request), error, description, untold: None }.into()
}
