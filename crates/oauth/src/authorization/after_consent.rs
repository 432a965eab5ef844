//! The last leg: the consent page sends the browser back, and the grant is inserted, once. The first write of an ordinary
//! login.

use serde_json::Value;
use sluice_primitives::{AttemptId, Lifetime, Timestamp};
use sluice_protocol::{ErrorCode, GrantType};

use super::browser::{Browser, CookieChanges};
use super::code::AuthorizationCode;
use super::error::{AuthorizationError, RedirectedError, ShownError};
use super::response::{Location, ResponseTarget};
use super::service::{AuthorizationService, Step, refused, rejected};
use crate::client::Client;
use crate::config::ScopeStrategy;
use crate::consent::RememberedConsent;
use crate::flow::accepting::{may_grant_audience, may_grant_scope};
use crate::flow::service::next_session;
use crate::flow::{AwaitingConsent, Consent, Decision, Login, Request};
use crate::grant::{Generation, Grant, GrantClaims, Insertion, MadeIn, Requested};
use crate::issuing::{FrontChannelTokens, InFront, Issue, lifetime};
use crate::subject::shown_at_login;

/// What a client hears whose user signed out before answering.
const SIGNED_OUT: &str = "The user has signed out meanwhile, and has to log in again.";

impl AuthorizationService {
    /// The last leg: a consent verifier comes back.
    pub async fn after_consent(&self, verifier: &str, browser: &Browser) -> Result<Step, AuthorizationError> {
        let flow = self.flows.open_consent_verifier(verifier).await?;
        self.check_browser(&flow.request, browser).await?;
        let client = self.client_of(&flow.request).await?;
        let (request, mut login) = (flow.request, flow.login);
        let consent = match flow.answer {
            Decision::Accepted(consent) => consent,
            Decision::Rejected(rejection) => {
                // Boxed: it is rare, and would be a part of every login.
                Box::pin(self.end_refused((&request, &client), &login)).await?;
                return Err(rejected(&request, rejection));
            }
        };
        if self.was_signed_out(login.session, &login) {
            return Err(signed_out(&request));
        }
        check_granted((&request, &client), &consent, self.config.scopes)?;
        // Who is never asked about a client has made no decision before: what came of it stands for itself, as with Hydra.
        let by_decision = flow.skip && !client.skip_consent;
        let now = self.clock.now();
        let mut consented_at = consent.accepted_at;
        if by_decision {
            let Some(decision) = self.decision(&request, &client, &login).await? else {
                return self.ask_after_all(request, login).await;
            };
            // Not later, or a withdrawal that is just being written would not cover what comes of it.
            consented_at = consented_at.max(decision.decided_at);
        }
        if self.has_ended(&request).await? {
            return Err(self.over((&request, &client)));
        }
        if request.details.device {
            login = on_device(login, &request);
        }
        if !self.keep_session_late((&request, &client), &login, browser, now).await? {
            return Err(signed_out(&request));
        }
        let grant = self.grant((&request, &client), (login, by_decision), (&consent, consented_at), now);
        // Before the grant is there: what fails now can be tried again.
        let location = if request.details.device {
            self.device_is_connected(&client.id)
        } else {
            self.granted(&request, &client, &grant, now).await?
        };
        let remember = remembered(&grant, &consent, flow.skip);
        match self.grants.insert(grant, remember, client.hears_logout()).await? {
            Insertion::Inserted => {
                self.spent.add(request.flow);
                self.polls.forget(request.flow);
                self.metrics.granted.add();
            }
            Insertion::Taken => return Err(self.over((&request, &client))),
        }
        Ok(Step { location, cookies: CookieChanges::default() })
    }

    /// The page said no. A flow that has its grant is over, and to its client nothing more is said. Nothing is written but for a device,
    /// so that only this node knows that the flow is over. Where the store does not answer, it is not known that there is a grant, and the
    /// no is told: it lets nobody in.
    async fn end_refused(
        &self,
        (request, client): (&Request, &Client),
        login: &Login,
    ) -> Result<(), AuthorizationError> {
        if request.details.device {
            return self.tell_device((request, client), Some(&login.subject)).await;
        }
        let is_over = match self.grants.find(request.flow).await {
            Err(error) if error.is_temporary() => false,
            found => found?.is_some(),
        };
        if is_over {
            return Err(self.over((request, client)));
        }
        self.spent.add(request.flow);
        Ok(())
    }

    /// Whether the flow has ended before, as far as this node knows; that a device was refused the store knows, too. If that happens at
    /// this moment, the device hears the no all the same.
    async fn has_ended(&self, request: &Request) -> Result<bool, AuthorizationError> {
        if self.spent.hold(request.flow) {
            return Ok(true);
        }
        Ok(request.details.device && self.devices.is_denied(request.flow).await?)
    }

    /// The decision for which the page was skipped was withdrawn meanwhile.
    async fn ask_after_all(&self, request: Request, login: Login) -> Result<Step, AuthorizationError> {
        if request.prompt.none {
            return Err(refused(&request, ErrorCode::ConsentRequired, ""));
        }
        let location = self.consent_page(&AwaitingConsent { request, login, skip: false }).await?;
        Ok(Step { location, cookies: CookieChanges::default() })
    }

    /// The answer that a flow ends in: what the response type names.
    async fn granted(
        &self,
        request: &Request,
        client: &Client,
        grant: &Grant,
        now: Timestamp,
    ) -> Result<Location, AuthorizationError> {
        let scope = grant.scope.to_string();
        let code = request.response_type.code.then(|| {
            AuthorizationCode::of(request, now, lifetime::code(client, &self.config))
                .seal(&self.sealer, &*self.rng)
        });
        let tokens = self.tokens((request, client), grant, code.as_deref(), now).await?;
        let expires_in = tokens.access_token.as_ref().map(|(_, life)| life.as_secs().to_string());
        let mut answer: Vec<(&str, &str)> = code.as_deref().map(|code| ("code", code)).into_iter().collect();
        if let (Some((token, _)), Some(expires_in)) = (&tokens.access_token, &expires_in) {
            answer.extend([
                ("access_token", token.as_str()),
                ("token_type", "bearer"),
                ("expires_in", expires_in),
            ]);
        }
        answer.extend(tokens.id_token.as_deref().map(|token| ("id_token", token)));
        // Beside a code alone it is Hydra's addition (RFC 6749 §4.1.2), and FAPI 2.0 is strict about those.
        if tokens.access_token.is_some() || !client.security.profile.is_fapi() {
            answer.push(("scope", &scope));
        }
        Ok(self.answer((&ResponseTarget::of(request), client), &answer).await?)
    }

    /// The tokens that the browser carries to the client.
    async fn tokens(
        &self,
        (request, client): (&Request, &Client),
        grant: &Grant,
        code: Option<&str>,
        now: Timestamp,
    ) -> Result<FrontChannelTokens, ShownError> {
        if !request.response_type.has_front_channel_tokens() {
            return Ok(FrontChannelTokens::default());
        }
        let recipient = if request.response_type.id_token {
            self.issuer.id_token_recipient(client).await.map_err(ShownError::Unsigned)?
        } else {
            None
        };
        let issue = Issue {
            grant,
            client,
            grant_type: GrantType::Implicit,
            scope: &grant.scope,
            audience: grant.audience.as_slice(),
            issued_at: now.floor_to_secs(),
            now,
            access_token_id: None,
            nonce: request.nonce.as_deref(),
            requested_at: Some(request.requested_at),
            confirmation: None,
            recipient: recipient.as_ref(),
        };
        let asked = InFront { response_type: request.response_type, code, state: request.state.as_deref() };
        self.issuer.issue_in_front(&issue, asked).map_err(ShownError::Unsigned)
    }

    fn grant(
        &self,
        (request, client): (&Request, &Client),
        (login, skipped): (Login, bool),
        (consent, consented_at): (&Consent, Timestamp),
        now: Timestamp,
    ) -> Grant {
        let shown_subject = shown_at_login(client, &login, &self.config);
        // Without a code there is nothing to redeem.
        let redeemed_at = (!request.response_type.code).then_some(now);
        Grant {
            id: request.flow,
            client: request.client.clone(),
            subject: login.subject,
            session: Some(login.session),
            scope: consent.scope.clone(),
            audience: consent.audience.clone(),
            authenticated_at: login.authenticated_at,
            consented_at,
            expires_at: self.first_end(request, client, now),
            redeemed_at,
            revoked_at: None,
            generation: Generation::default(),
            rotated_at: redeemed_at,
            attempt: AttemptId::generate(now, &*self.rng),
            claims: GrantClaims {
                made_in: None,
                skipped,
                acr: login.acr,
                amr: login.amr,
                id_token: consent.id_token.clone(),
                access_token: consent.access_token.clone(),
                context: consent.context.clone().or(login.context),
                shown_subject,
                claims_request: parsed(request.details.claims.as_deref()),
                authorization_details: consent
                    .authorization_details
                    .clone()
                    .or_else(|| parsed(request.details.authorization_details.as_deref())),
                remember_for: consent.remember.map(|span| if span.is_forever() { 0 } else { span.as_secs() }),
                requested: Requested::beside(
                    (&request.scope, &request.audience),
                    (&consent.scope, &consent.audience),
                ),
                replaced: None,
            },
        }
    }

    /// When a grant can be forgotten whose code is not redeemed, which moves this on: it outlives the flow, so that no
    /// verifier finds the id free again, and a token that is out already.
    fn first_end(&self, request: &Request, client: &Client, now: Timestamp) -> Timestamp {
        let lifetimes = &self.config.lifetimes;
        let access = lifetime::access_token(client, GrantType::Implicit, &self.config);
        let token = if request.response_type.token { access } else { Lifetime::ZERO };
        let code = if request.details.device { self.config.policies.device.lifetime } else { lifetimes.code };
        now + lifetimes.flow.max(code).max(token) + Lifetime::hours(1)
    }
}

/// The client is told that its user is gone, whether or not its request forbids asking.
fn signed_out(request: &Request) -> AuthorizationError {
    RedirectedError::saying(ResponseTarget::of(request), ErrorCode::LoginRequired, SIGNED_OUT).into()
}

/// The login as that of the device whose code was approved: it is another session than that of the browser, which may be anybody's, and
/// whoever signs out there does not sign out of the device (RFC 8628 §1).
fn on_device(login: Login, request: &Request) -> Login {
    let session = next_session(login.session, request.flow);
    Login { session, skipped: false, kept: false, remember: None, ..login }
}

/// Whoever asks for an id token gets one or an error: the page may not have granted what makes one possible. And what it
/// granted beyond the request the client may have lost meanwhile.
fn check_granted(
    (request, client): (&Request, &Client),
    consent: &Consent,
    strategy: ScopeStrategy,
) -> Result<(), AuthorizationError> {
    let may_have = may_grant_scope(request, (client, strategy), &consent.scope)
        && may_grant_audience(request, client, &consent.audience);
    if !may_have {
        return Err(refused(request, ErrorCode::UnauthorizedClient, "The client was changed meanwhile."));
    }
    if request.response_type.id_token && !consent.scope.contains("openid") {
        return Err(refused(request, ErrorCode::AccessDenied, "The scope `openid` was not granted."));
    }
    Ok(())
}

/// What was checked to be JSON when the request came.
fn parsed(text: Option<&str>) -> Option<Value> {
    text.and_then(|text| serde_json::from_str(text).ok())
}

/// The decision, if it is to be remembered. Where the page was skipped nobody decided anything: what was decided before goes on for
/// no longer, and a client that needs no consent has none when it begins to need it.
fn remembered(grant: &Grant, consent: &Consent, skip: bool) -> Option<RememberedConsent> {
    let span = consent.remember.filter(|_| !skip)?;
    let made_in = Some(MadeIn::new(grant.id, grant.session));
    Some(RememberedConsent {
        subject: grant.subject.clone(),
        client: grant.client.clone(),
        scope: consent.scope.clone(),
        audience: consent.audience.clone(),
        claims: GrantClaims { made_in, ..grant.claims.clone() },
        decided_at: consent.accepted_at,
        expires_at: consent.accepted_at + span,
    })
}
