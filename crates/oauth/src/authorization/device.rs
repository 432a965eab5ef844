//! The flow of a device (RFC 8628 §3.3): a user comes with a browser and types a code; from then on it is a flow like any
//! other, but that its answer goes to the device, which polls for it.

use sluice_primitives::{GrantId, SessionId};
use sluice_protocol::{ClientId, Subject};

use super::begin::is_recent;
use super::browser::{Browser, CookieChanges};
use super::error::{AuthorizationError, ShownError};
use super::response::Location;
use super::service::{AuthorizationService, Step};
use crate::client::Client;
use crate::consent::withdrawal::Withdrawal;
use crate::device::{DeviceChallenge, DeviceVerifier, VERIFICATION_PATH};
use crate::flow::{AwaitingLogin, FlowError, Request};
use crate::query::with_parameter;

/// A longer text is no user code, and is not handed to the page, in bytes.
const MAX_USER_CODE: usize = 256;

impl AuthorizationService {
    /// A user comes to type a code, or with one: sends the browser to the verification page. Nothing is written.
    ///
    /// # Errors
    /// [`AuthorizationError`] in a frame of another site, if the browser has no cookie.
    pub fn begin_device(
        &self,
        user_code: Option<&str>,
        browser: &Browser,
    ) -> Result<Step, AuthorizationError> {
        if browser.framed && browser.binding_keys().0.is_empty() {
            return Err(ShownError::Framed.into());
        }
        let now = self.clock.now();
        let id = GrantId::generate(now, &*self.rng);
        let (key, binding) = browser.binding_key(!browser.framed, &*self.rng);
        let challenge =
            DeviceChallenge { id, binding: key.bind(id), asked_by: browser.address, issued_at: now };
        let mut page = self.config.pages.device_verification.clone();
        page.query_pairs_mut().append_pair("device_challenge", &challenge.seal(&self.sealer, &*self.rng));
        if let Some(code) = user_code.filter(|code| code.len() <= MAX_USER_CODE) {
            page.query_pairs_mut().append_pair("user_code", code);
        }
        Ok(Step {
            location: Location::Redirect(page.into()),
            cookies: CookieChanges { binding, ..CookieChanges::default() },
        })
    }

    /// The verification page sends the browser back: the flow of the device begins, in this browser.
    ///
    /// # Errors
    /// [`AuthorizationError`] if the verifier is not one of ours or of this browser's, or the code does not count any more.
    pub async fn after_user_code(
        &self,
        verifier: &str,
        browser: &Browser,
    ) -> Result<Step, AuthorizationError> {
        let verifier = DeviceVerifier::open(verifier, &self.sealer)
            .map_err(|error| ShownError::Verifier(FlowError::Sealed(error)))?;
        let (challenge, keys) = (&verifier.challenge, browser.binding_keys());
        let restart = self.config.issuer.endpoint(VERIFICATION_PATH);
        let Some(key) = keys.0.first().filter(|_| keys.hold(challenge.id, &challenge.binding)) else {
            return Err(ShownError::WrongBrowser { restart: Some(restart) }.into());
        };
        let now = self.clock.now();
        let expired = || ShownError::Expired { restart: Some(restart.clone()) };
        if now >= challenge.issued_at + self.config.lifetimes.flow {
            return Err(expired().into());
        }
        let code = self.devices.find_by_user_code(verifier.user_code, now).await?;
        let code = code.filter(|code| code.id == verifier.device).ok_or_else(expired)?;
        let request = self.flows.open_device_request(&code.sealed)?;
        let request = Request { binding: key.bind(request.flow), ..request };
        let client = self.client_of(&request).await?;
        self.ask_for_login(request, (&client, browser)).await
    }

    /// Sends the browser of a device's flow to the login page.
    async fn ask_for_login(
        &self,
        request: Request,
        (client, browser): (&Client, &Browser),
    ) -> Result<Step, AuthorizationError> {
        let now = self.clock.now();
        let known = self.known_session(browser).await?.filter(|known| is_recent(known, request.max_age, now));
        let session = known.as_ref().map_or_else(|| SessionId::generate(now, &*self.rng), |known| known.id);
        let flow = AwaitingLogin { request, known, session };
        let challenge = self.flows.seal_login_challenge(&flow, (client.is_public(), browser.address)).await?;
        let page = with_parameter(&self.config.pages.login, "login_challenge", &challenge);
        self.metrics.begun.add();
        Ok(Step { location: Location::Redirect(page), cookies: CookieChanges::default() })
    }

    /// A page said no: if a device waits for the answer, it is told. If it has been let in before, who had agreed takes that back, whatever
    /// the device holds by now, and what is remembered of it; from anybody else, or where nobody had logged in, the no comes too late.
    pub(super) async fn tell_device(
        &self,
        (request, client): (&Request, &Client),
        refused_by: Option<&Subject>,
    ) -> Result<(), AuthorizationError> {
        if !request.details.device {
            return Ok(());
        }
        let now = self.clock.now();
        let is_told = self.devices.deny(request.flow, now).await?;
        self.polls.forget(request.flow);
        // Looked for after the no was written: a grant that comes later finds the device told, and one that came at the same moment is seen.
        if let Some(grant) = self.grants.find(request.flow).await? {
            if !is_told && refused_by != Some(&grant.subject) {
                return Err(self.over((request, client)));
            }
            let withdrawal = Withdrawal {
                consents: &*self.consents,
                grants: &*self.grants,
                revocations: &self.revocations,
                marker_lifetime: self.config.lifetimes.revocation,
                now,
            };
            withdrawal.of_found(grant).await?;
        }
        self.spent.add(request.flow);
        Ok(())
    }

    /// Where the user of a device ends up who agreed. The page hears, as with Hydra, which application it was.
    pub(super) fn device_is_connected(&self, client: &ClientId) -> Location {
        Location::Redirect(with_parameter(&self.config.pages.device_success, "client_id", client.as_str()))
    }
}
