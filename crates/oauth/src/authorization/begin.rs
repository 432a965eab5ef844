//! The first leg: a client sends a browser. Nothing is written; the client is cached.

use sluice_primitives::Lifetime;
use sluice_primitives::{GrantId, SessionId};
use sluice_protocol::{ErrorCode, RawAuthorizationRequest, Subject};

use super::browser::{Browser, CookieChanges};
use super::checks::{self, Parsed, TrustedRedirect};
use super::error::{AuthorizationError, RedirectedError, ShownError};
use super::response::{Location, ResponseTarget};
use super::service::{AuthorizationService, Step};
use crate::client::Client;
use crate::flow::{AwaitingLogin, BindingKey, BindingKeys, KnownSession, Request};

impl AuthorizationService {
    /// The first leg: checks the request and sends the browser to the login page.
    pub async fn begin(&self, query: &[u8], browser: &Browser) -> Result<Step, AuthorizationError> {
        let raw = RawAuthorizationRequest::parse(query).map_err(ShownError::Parameters)?;
        let client_id = raw.get("client_id").and_then(|id| id.parse().ok()).ok_or(ShownError::ClientId)?;
        let client = self.clients.find(&client_id).await?.ok_or(ShownError::UnknownClient)?;
        let redirect = checks::trust_redirect(&raw, &client)?;
        let target = checks::target(&raw, &redirect);
        let parsed = checks::run(&raw, &client, &self.config, &target)?;
        let hinted = self.hinted_subject(&raw, &target)?;
        let known = self.usable_session(&parsed, hinted.as_ref(), browser).await?;
        if parsed.prompt.none && known.is_none() {
            return Err(RedirectedError::new(target, ErrorCode::LoginRequired, "").into());
        }
        let (request, binding) = self.request((&raw, &client), (redirect, target), parsed, (hinted, browser));
        let prompt = request.prompt;
        let now = self.clock.now();
        let session = known.as_ref().map_or_else(|| SessionId::generate(now, &*self.rng), |known| known.id);
        let challenge = self
            .flows
            .seal_login_challenge(&AwaitingLogin { request, known, session }, browser.address)
            .await?;
        let mut page = if prompt.create {
            self.config.pages.registration.clone()
        } else {
            self.config.pages.login.clone()
        };
        page.query_pairs_mut().append_pair("login_challenge", &challenge);
        self.metrics.begun.add();
        let cookies = CookieChanges { binding, ..CookieChanges::default() };
        Ok(Step { location: Location::Redirect(page.into()), cookies })
    }

    /// The subject of the `id_token_hint`; an expired one still tells.
    fn hinted_subject(
        &self,
        raw: &RawAuthorizationRequest<'_>,
        target: &ResponseTarget,
    ) -> Result<Option<Subject>, AuthorizationError> {
        let Some(hint) = raw.get("id_token_hint") else { return Ok(None) };
        let subject =
            self.keys.verify_id_token_hint(hint, self.config.issuer.as_str()).map(|hint| hint.subject);
        subject.map(Some).ok_or_else(|| {
            let hint = "The `id_token_hint` is not an id token of this server.";
            RedirectedError::new(target.clone(), ErrorCode::InvalidRequest, hint).into()
        })
    }

    /// The browser's session, if this request lets login be skipped with it.
    async fn usable_session(
        &self,
        parsed: &Parsed,
        hinted: Option<&Subject>,
        browser: &Browser,
    ) -> Result<Option<KnownSession>, AuthorizationError> {
        if parsed.prompt.login || parsed.prompt.select_account || parsed.prompt.create {
            return Ok(None);
        }
        let now = self.clock.now();
        let known = self.known_session(browser).await?;
        Ok(known
            .filter(|known| {
                parsed.max_age.is_none_or(|age| now < known.authenticated_at + Lifetime::secs(age))
            })
            .filter(|known| hinted.is_none_or(|hinted| *hinted == known.subject)))
    }

    /// The request as it is sealed, bound to the browser; new keys for its cookie if it has none and may get one.
    fn request(
        &self,
        (raw, client): (&RawAuthorizationRequest<'_>, &Client),
        (redirect, target): (TrustedRedirect, ResponseTarget),
        parsed: Parsed,
        (hinted_subject, browser): (Option<Subject>, &Browser),
    ) -> (Request, Option<BindingKeys>) {
        let now = self.clock.now();
        let flow = GrantId::generate(now, &*self.rng);
        let may_set = !parsed.prompt.none && !browser.framed;
        let (key, fresh) = match (browser.keys.0.first(), &browser.session) {
            (Some(key), _) => (key.clone(), false),
            (None, Some(session)) if !may_set => (BindingKey::of_cookie(session), false),
            (None, _) => (BindingKey::generate(&*self.rng), may_set),
        };
        let text = |name: &str| raw.get(name).map(str::to_owned);
        let request = Request {
            flow,
            client: client.id.clone(),
            client_revision: client.revision,
            redirect_uri: redirect.uri,
            redirect_uri_named: redirect.named,
            response_type: parsed.response_type,
            response_mode: target.mode,
            scope: parsed.scope,
            audience: parsed.audience,
            state: target.state,
            nonce: text("nonce"),
            code_challenge: parsed.code_challenge,
            prompt: parsed.prompt,
            max_age: parsed.max_age,
            login_hint: text("login_hint"),
            acr_values: text("acr_values"),
            ui_locales: text("ui_locales"),
            display: text("display"),
            hinted_subject,
            details: parsed.details,
            requested_at: now,
            binding: key.bind(flow),
            parked: None,
        };
        (request, fresh.then(|| BindingKeys(vec![key])))
    }
}
