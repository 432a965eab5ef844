//! The last leg: the consent page sends the browser back, and the grant is inserted, once. The first write of an ordinary
//! login.

use serde_json::Value;
use sluice_primitives::{AttemptId, Lifetime, Timestamp};
use sluice_protocol::ErrorCode;

use super::browser::{Browser, CookieChanges};
use super::code::AuthorizationCode;
use super::error::{AuthorizationError, ShownError};
use super::response::ResponseTarget;
use super::service::{AuthorizationService, Step, refused, rejected};
use crate::consent::RememberedConsent;
use crate::flow::{Consent, Decision, Login, Request};
use crate::grant::{Generation, Grant, GrantClaims, Insertion};

impl AuthorizationService {
    /// The last leg: a consent verifier comes back.
    pub async fn after_consent(&self, verifier: &str, browser: &Browser) -> Result<Step, AuthorizationError> {
        let flow = self.flows.open_consent_verifier(verifier).await?;
        self.check_browser(&flow.request, browser)?;
        let client = self.client_of(&flow.request).await?;
        let (request, login) = (flow.request, flow.login);
        let consent = match flow.answer {
            Decision::Accepted(consent) => consent,
            Decision::Rejected(rejection) => return Err(rejected(&request, rejection)),
        };
        if self.was_signed_out(login.session, &login) {
            return Err(refused(&request, ErrorCode::LoginRequired, "The user has signed out meanwhile."));
        }
        let now = self.clock.now();
        let grant = self.grant(&request, login, &consent, now);
        let scope = grant.scope.to_string();
        let remember = remembered(&grant, &consent);
        match self.grants.insert(grant, remember, client.hears_logout()).await? {
            Insertion::Inserted => {
                self.spent.add(request.flow);
                self.metrics.granted.add();
            }
            Insertion::Taken => return Err(ShownError::Spent { restart: request.url(&self.config) }.into()),
        }
        let code =
            AuthorizationCode::of(&request, now, self.config.lifetimes.code).seal(&self.sealer, &*self.rng);
        let answer = [("code", code.as_str()), ("scope", &scope)];
        let location = ResponseTarget::of(&request).respond(&answer, self.config.issuer.as_str());
        Ok(Step { location, cookies: CookieChanges::default() })
    }

    fn grant(&self, request: &Request, login: Login, consent: &Consent, now: Timestamp) -> Grant {
        let lifetimes = &self.config.lifetimes;
        Grant {
            id: request.flow,
            client: request.client.clone(),
            subject: login.subject,
            session: Some(login.session),
            scope: consent.scope.clone(),
            audience: consent.audience.clone(),
            authenticated_at: login.authenticated_at,
            consented_at: consent.accepted_at,
            // Redemption moves this on. Until then it outlives the flow, so that no verifier finds the id free again.
            expires_at: now + lifetimes.flow.max(lifetimes.code) + Lifetime::hours(1),
            redeemed_at: None,
            revoked_at: None,
            generation: Generation::default(),
            rotated_at: None,
            attempt: AttemptId::generate(now, &*self.rng),
            claims: GrantClaims {
                acr: login.acr,
                amr: login.amr,
                id_token: consent.id_token.clone(),
                access_token: consent.access_token.clone(),
                context: consent.context.clone(),
                shown_subject: login.forced_subject,
                claims_request: parsed(request.details.claims.as_deref()),
                authorization_details: consent
                    .authorization_details
                    .clone()
                    .or_else(|| parsed(request.details.authorization_details.as_deref())),
                remember_for: consent.remember.map(|span| if span.is_forever() { 0 } else { span.as_secs() }),
            },
        }
    }
}

/// What was checked to be JSON when the request came.
fn parsed(text: Option<&str>) -> Option<Value> {
    text.and_then(|text| serde_json::from_str(text).ok())
}

fn remembered(grant: &Grant, consent: &Consent) -> Option<RememberedConsent> {
    let span = consent.remember?;
    Some(RememberedConsent {
        subject: grant.subject.clone(),
        client: grant.client.clone(),
        scope: consent.scope.clone(),
        audience: consent.audience.clone(),
        claims: grant.claims.clone(),
        decided_at: consent.accepted_at,
        expires_at: consent.accepted_at + span,
    })
}
