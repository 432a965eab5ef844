//! What a login or consent page may do with a flow: look at it, accept it, reject it. None of it touches the store: an
//! answer is a sealed value, which the browser carries back to the authorization endpoint.

use std::sync::Arc;

use quick_cache::sync::Cache;
use serde_json::{Map, Value};
use sluice_commit::StoreError;
use sluice_crypto::digest::sha256;
use sluice_net::bounded::oldest_first;
use sluice_primitives::{Clock, GrantId, IdentityId, SessionId, Timestamp};
use sluice_protocol::{ErrorCode, Prompt, Subject};
use thiserror::Error;

use super::accepting::{check_size, check_texts, read_consent, rejection, span};
use super::request_url::ways_out;
use super::sealed::{FlowError, FlowSealer, Quota};
use super::state::{AwaitingConsent, AwaitingLogin, Consent, KnownSession, Login, Rejection, Request};
use crate::client::{AccessTokenStrategy, Client, ClientDirectory};
use crate::config::Config;
use crate::issuing::access_token::{MAX_IN_TOKEN, MAX_WITH_SEALED, in_token_twice, length_in_token};
use crate::login_session::trail;

/// How a login page accepts.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are those of Hydra's `acceptOAuth2LoginRequest`")]
pub struct AcceptLogin {
    pub subject: String,
    /// A page that says nothing of it leaves it to be as it was; one that says no means that the browser forgets who was to be
    /// remembered there.
    pub remember: Option<bool>,
    /// Seconds; less than 0 stands for the configured session lifetime, 0 for that, or less if the browser is closed sooner.
    pub remember_for: i64,
    /// Where nothing is said of `remember`: whether who is not remembered in the browser is until it is closed.
    pub at_least_until_closed: bool,
    pub extend_session_lifespan: bool,
    pub acr: Option<String>,
    pub amr: Vec<String>,
    pub context: Option<Value>,
    pub force_subject_identifier: Option<String>,
    pub identity_provider_session_id: Option<String>,
    /// When the user logged in, if the page knows better than "now": no later than what they proved was looked at. Login was
    /// not skipped then: a session under which it might have been goes on as of this login, if it is the same user's; else
    /// another one begins.
    pub authenticated_at: Option<Timestamp>,
}

/// How a consent page accepts.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are those of Hydra's `acceptOAuth2ConsentRequest`")]
pub struct AcceptConsent {
    pub grant_scope: Vec<String>,
    pub grant_audience: Vec<String>,
    pub remember: bool,
    /// Seconds; 0 and less stand for "without end".
    pub remember_for: i64,
    pub id_token: Map<String, Value>,
    pub access_token: Map<String, Value>,
    pub context: Option<Value>,
    /// A JSON array (RFC 9396); what was asked for if none.
    pub authorization_details: Option<Value>,
}

/// How a page rejects; what is empty has a default.
#[derive(Debug, Clone, Default)]
pub struct RejectFlow {
    /// `error`; `access_denied` if empty.
    pub error: String,
    /// `error_description`.
    pub description: String,
}

/// Why a page gets no answer.
#[derive(Debug, Error)]
pub enum FlowProblem {
    /// The challenge is not one of ours.
    #[error("unknown challenge")]
    Unknown(#[source] FlowError),
    /// The flow has expired or is spent; there is a way out.
    #[error("the flow has expired or was completed")]
    Gone {
        /// Where the browser can start again, if there is such a place.
        redirect_to: Option<String>,
        /// Where the application is, if the flow was completed: to start again would not help there.
        home: Option<String>,
    },
    /// The client is gone.
    #[error("the client of the flow was deleted")]
    ClientGone,
    /// The page said something that does not fit the flow.
    #[error("{0}")]
    Invalid(&'static str),
    /// The answer is too long for a URL, and cannot be kept.
    #[error(transparent)]
    Quota(Quota),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FlowError> for FlowProblem {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Store(error) => Self::Store(error),
            FlowError::QuotaReached(quota) => Self::Quota(quota),
            other => Self::Unknown(other),
        }
    }
}

/// Flows that this node has seen end. Key: the id. Bound: entries; the oldest go first. Of one that was completed it only makes an answer
/// clearer (the way out instead of a refusal at the last leg): what makes a flow single-use is the insert of its grant. That one was
/// refused at its consent page is nowhere else, unless it is a device's.
#[derive(Debug)]
pub struct SpentFlows(Cache<GrantId, ()>);

impl SpentFlows {
    /// Remembers at most so many.
    pub fn new(entries: usize) -> Self {
        Self(oldest_first(entries))
    }

    /// The flow has ended.
    pub fn add(&self, flow: GrantId) {
        self.0.insert(flow, ());
    }

    pub(crate) fn hold(&self, flow: GrantId) -> bool {
        self.0.get(&flow).is_some()
    }
}

/// A flow and the client that asks.
#[derive(Debug, Clone)]
pub struct FlowAnswer<F> {
    /// The flow.
    pub flow: F,
    /// The client as it is now.
    pub client: Arc<Client>,
    config: Arc<Config>,
}

impl<F: AsRef<Request>> FlowAnswer<F> {
    /// The authorization request as a URL.
    pub fn request_url(&self) -> String {
        self.flow.as_ref().url(&self.config)
    }

    /// Where the browser can start again, if there is such a place.
    pub fn way_out(&self) -> Option<String> {
        self.flow.as_ref().way_out(&self.client, &self.config)
    }

    /// The same request once more, unless only the client can make it.
    pub fn repeated(&self) -> Option<String> {
        self.flow.as_ref().repeated(&self.config)
    }

    /// Where somebody else begins the same request, if there is such a place.
    pub fn for_another(&self) -> Option<String> {
        self.flow.as_ref().for_another(&self.config)
    }
}

impl FlowAnswer<AwaitingConsent> {
    /// The person who logged in, if people do at the built-in page.
    pub fn person(&self) -> Option<IdentityId> {
        trail::person(&self.config, &self.flow.login.subject)
    }
}

/// What a login or consent page may do with a flow.
pub struct FlowService {
    sealer: Arc<FlowSealer>,
    clients: Arc<ClientDirectory>,
    config: Arc<Config>,
    clock: Arc<dyn Clock>,
    spent: Arc<SpentFlows>,
}

impl FlowService {
    /// The service.
    pub fn new(
        sealer: Arc<FlowSealer>,
        clients: Arc<ClientDirectory>,
        config: Arc<Config>,
        clock: Arc<dyn Clock>,
        spent: Arc<SpentFlows>,
    ) -> Self {
        Self { sealer, clients, config, clock, spent }
    }

    /// The flow behind a login challenge.
    pub async fn login(&self, challenge: &str) -> Result<FlowAnswer<AwaitingLogin>, FlowProblem> {
        let flow = self.sealer.open_login_challenge(challenge).await?;
        let client = self.look_up(&flow.request).await?;
        Ok(FlowAnswer { flow, client, config: Arc::clone(&self.config) })
    }

    /// The languages that the request behind a login challenge asks for. The flow may be over, and its client gone.
    pub async fn ui_locales(&self, challenge: &str) -> Option<String> {
        self.sealer.open_login_challenge(challenge).await.ok()?.request.ui_locales
    }

    /// Accepts a login; where the browser goes next. May be repeated: it has no state.
    pub async fn accept_login(&self, challenge: &str, accept: AcceptLogin) -> Result<String, FlowProblem> {
        let FlowAnswer { flow, .. } = self.login(challenge).await?;
        let subject: Subject = accept.subject.parse().map_err(|_| {
            FlowProblem::Invalid("The field `subject` must have 1 to 255 bytes and no control characters.")
        })?;
        if skipped_under(&flow, &accept).is_some_and(|known| known.subject != subject)
            && let Some(elsewhere) = self.instead_of_skipping(&flow).await?
        {
            return Ok(elsewhere);
        }
        let login = self.read_login(&flow, subject, accept)?;
        let verifier = self.sealer.seal_login_verifier(&flow.accept(login)).await?;
        Ok(self.verifier_url("login_verifier", &verifier))
    }

    /// Rejects a login; where the browser goes next.
    pub async fn reject_login(&self, challenge: &str, reject: RejectFlow) -> Result<String, FlowProblem> {
        let FlowAnswer { flow, .. } = self.login(challenge).await?;
        let verifier = self.sealer.seal_login_verifier(&flow.reject(rejection(&reject))).await?;
        Ok(self.verifier_url("login_verifier", &verifier))
    }

    /// The flow behind a consent challenge.
    pub async fn consent(&self, challenge: &str) -> Result<FlowAnswer<AwaitingConsent>, FlowProblem> {
        let flow = self.sealer.open_consent_challenge(challenge).await?;
        let client = self.look_up(&flow.request).await?;
        Ok(FlowAnswer { flow, client, config: Arc::clone(&self.config) })
    }

    /// Accepts a consent; where the browser goes next. May be repeated: the first verifier that comes back wins.
    pub async fn accept_consent(
        &self,
        challenge: &str,
        accept: AcceptConsent,
    ) -> Result<String, FlowProblem> {
        let FlowAnswer { flow, client, .. } = self.consent(challenge).await?;
        let strategy = self.config.scopes;
        let consent = read_consent(&flow.request, (&client, strategy), accept, self.clock.now())?;
        self.check_fits_token(&client, &flow.request, &consent)?;
        let verifier = self.sealer.seal_consent_verifier(&flow.accept(consent)).await?;
        Ok(self.verifier_url("consent_verifier", &verifier))
    }

    /// Rejects a consent; where the browser goes next.
    pub async fn reject_consent(&self, challenge: &str, reject: RejectFlow) -> Result<String, FlowProblem> {
        let FlowAnswer { flow, .. } = self.consent(challenge).await?;
        let verifier = self.sealer.seal_consent_verifier(&flow.reject(rejection(&reject))).await?;
        Ok(self.verifier_url("consent_verifier", &verifier))
    }

    /// The client of a flow that goes on.
    async fn look_up(&self, request: &Request) -> Result<Arc<Client>, FlowProblem> {
        let is_spent = self.spent.hold(request.flow);
        if is_spent || self.clock.now() >= request.ends_at(&self.config) {
            let (redirect_to, home) = ways_out(request, &self.clients, &self.config).await;
            return Err(FlowProblem::Gone { redirect_to, home: home.filter(|_| is_spent) });
        }
        self.clients.find(&request.client).await?.ok_or(FlowProblem::ClientGone)
    }

    /// What a signed access token tells must fit into one: a longer one is not taken back.
    fn check_fits_token(
        &self,
        client: &Client,
        request: &Request,
        consent: &Consent,
    ) -> Result<(), FlowProblem> {
        if client.access_token_strategy.unwrap_or(self.config.access_tokens) != AccessTokenStrategy::Jwt {
            return Ok(());
        }
        let granted = consent.authorization_details.as_ref().map(Value::to_string);
        let details = granted.as_ref().or(request.details.authorization_details.as_ref());
        let details = in_token_twice(details.map_or(0, String::len));
        let claims = length_in_token(&consent.access_token, &self.config.top_level_claims);
        if claims > MAX_IN_TOKEN || claims.saturating_add(details) > MAX_WITH_SEALED {
            return Err(FlowProblem::Invalid(
                "The claims in `session.access_token` are longer than 8 KiB, or than 10 KiB with 7/3 of the authorization details: too long for a JWT access token.",
            ));
        }
        Ok(())
    }

    /// Where the browser goes from a page that has another user than that of the session: to the request again, for a login
    /// that is not skipped (so does Hydra). A client that names its user hears of no other (OpenID Connect Core §3.1.2.1). A
    /// request that cannot be rebuilt so has no such address.
    async fn instead_of_skipping(&self, flow: &AwaitingLogin) -> Result<Option<String>, FlowProblem> {
        let request = &flow.request;
        if request.hinted_subject.is_some() {
            let refused = Rejection {
                error: ErrorCode::LoginRequired.as_str().to_owned(),
                description: "Another user logged in than the request names.".to_owned(),
            };
            let verifier = self.sealer.seal_login_verifier(&flow.clone().reject(refused)).await?;
            return Ok(Some(self.verifier_url("login_verifier", &verifier)));
        }
        let is_rebuilt = !request.is_protected() && !request.details.device && !request.prompt.none;
        Ok(is_rebuilt.then(|| {
            let prompt = Prompt { login: true, ..request.prompt };
            Request { prompt, ..request.clone() }.rebuilt(&self.config, None)
        }))
    }

    fn read_login(
        &self,
        flow: &AwaitingLogin,
        subject: Subject,
        accept: AcceptLogin,
    ) -> Result<Login, FlowProblem> {
        let known = skipped_under(flow, &accept);
        let begins_another = flow.known.as_ref().is_some_and(|known| known.subject != subject);
        if known.is_some_and(|known| known.subject != subject) {
            return Err(FlowProblem::Invalid(
                "The field `subject` must be the subject of the session when login is skipped.",
            ));
        }
        check_size([accept.context.as_ref()], &[])?;
        check_texts(&accept)?;
        let authenticated_at = known.map(|known| known.authenticated_at).or(accept.authenticated_at);
        let for_secs = span(accept.remember_for).unwrap_or(self.config.lifetimes.session);
        // Only what is remembered was skipped, and can be extended.
        let remember = accept.remember == Some(true) || (known.is_some() && accept.extend_session_lifespan);
        Ok(Login {
            subject,
            session: if begins_another {
                next_session(flow.session, flow.request.flow)
            } else {
                flow.session
            },
            authenticated_at: authenticated_at.unwrap_or_else(|| self.clock.now()),
            skipped: known.is_some(),
            kept: known.is_some(),
            remember: remember.then_some(for_secs),
            forget: known.is_none() && accept.remember == Some(false),
            at_least_until_closed: known.is_none()
                && accept.remember.is_none()
                && accept.at_least_until_closed,
            until_closed: remember && accept.remember_for == 0,
            extend: accept.extend_session_lifespan,
            acr: accept.acr.filter(|acr| !acr.is_empty()),
            amr: accept.amr,
            context: accept.context.filter(|context| !context.is_null()),
            forced_subject: accept.force_subject_identifier.filter(|subject| !subject.is_empty()),
            provider_session: accept.identity_provider_session_id.filter(|id| !id.is_empty()),
        })
    }

    fn verifier_url(&self, name: &str, verifier: &str) -> String {
        let mut url = self.config.issuer.endpoint("/oauth2/auth");
        url.reserve_exact(name.len() + verifier.len() + 2);
        // Base64url needs no escaping.
        for part in ["?", name, "=", verifier] {
            url.push_str(part);
        }
        url
    }
}

/// The session under which login is skipped.
fn skipped_under<'a>(flow: &'a AwaitingLogin, accept: &AcceptLogin) -> Option<&'a KnownSession> {
    flow.known.as_ref().filter(|_| accept.authenticated_at.is_none())
}

/// The session that follows another one with this flow: the same however often the page accepts.
pub(crate) fn next_session(session: SessionId, flow: GrantId) -> SessionId {
    let hash = sha256(&[session.as_bytes().as_slice(), flow.as_bytes()].concat());
    let mut id = [0; 16];
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    SessionId::from_bytes(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flows_that_were_completed_last_are_remembered() {
        let spent = SpentFlows::new(1_000);
        let flow = |number: u128| GrantId::from_bytes(number.to_be_bytes());
        for number in 0..5_000 {
            spent.add(flow(number));
        }
        assert!((4_100..5_000).all(|number| spent.hold(flow(number))));
        assert!(!spent.hold(flow(3_000)));
    }

    #[test]
    fn a_server_that_can_park_no_more_says_so() {
        let problem = FlowProblem::from(FlowError::QuotaReached(Quota::All));
        assert!(matches!(problem, FlowProblem::Quota(Quota::All)));
        assert_eq!(
            problem.to_string(),
            "the installation keeps as many requests that are too long for a URL as it may"
        );
    }
}
