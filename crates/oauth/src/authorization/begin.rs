//! The first leg: a client sends a browser. Nothing is written; the client is cached.

use std::borrow::Cow;

use serde_json::Value;
use sluice_primitives::{GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{ClaimsRequest, ErrorCode, RawAuthorizationRequest, Subject};
use url::Url;

use super::arrival::Arrived;
use super::browser::{Browser, CookieChanges};
use super::checks::{self, Checked, Parsed, Refusal, TrustedRedirect};
use super::error::{AuthorizationError, RedirectedError, ShownError};
use super::response::{Location, ResponseTarget};
use super::service::{AuthorizationService, Step};
use crate::client::Client;
use crate::flow::{AwaitingLogin, BindingKeys, KnownSession, Request};
use crate::keys::NoHint;
use crate::query::with_parameter;
use crate::subject::shown_subject;

/// A parameter that a login page finds in its address.
const IDENTITY_SCHEMA: &str = "identity_schema";
/// A longer value is found in `request_url` only, in bytes.
const MAX_IDENTITY_SCHEMA: usize = 255;

/// Whom the client expects.
pub(super) struct Hinted {
    /// By which name it knows the user; none where that cannot be told any more: then it is nobody who is known here.
    subject: Option<Subject>,
    /// In which session it saw the user.
    session: Option<SessionId>,
}

impl AuthorizationService {
    /// The first leg: checks the request and sends the browser to the login page.
    pub async fn begin(&self, query: &[u8], browser: &Browser) -> Result<Step, AuthorizationError> {
        let raw = match RawAuthorizationRequest::parse(query) {
            Ok(raw) => raw,
            // Boxed: it is rare.
            Err(why) => return Err(Box::pin(self.unreadable(query, why)).await),
        };
        let client_id = raw.get("client_id").and_then(|id| id.parse().ok()).ok_or(ShownError::ClientId)?;
        let client = self.clients.named(&client_id).await?;
        let Arrived { raw, how } = self.arrived(raw, &client).await?;
        let (redirect, target) = checks::trust_target(&raw, &client)?;
        let checked = Checked { raw: &raw, client: &client, config: &self.config, how: &how };
        let mut parsed = checks::run(&checked, &target)?;
        let hinted = self
            .hinted(&raw, parsed.claims.as_ref())
            .map_err(|(code, hint)| RedirectedError::new(target.clone(), code, hint))?;
        let known = self.usable_session((&parsed, &client), hinted.as_ref(), browser).await?;
        if parsed.prompt.none && known.is_none() {
            return Err(RedirectedError::new(target, ErrorCode::LoginRequired, "").into());
        }
        if browser.framed && !parsed.prompt.none && browser.binding_keys().0.is_empty() {
            return Err(ShownError::Framed.into());
        }
        // Who begins anew comes without the hint, and logs in all the same.
        parsed.prompt.login |= hinted.as_ref().is_some_and(|hinted| hinted.subject.is_none());
        let hinted = hinted.and_then(|hinted| hinted.subject);
        let (request, binding) = self.request(&checked, (redirect, target), parsed, (hinted, browser));
        let prompt = request.prompt;
        let now = self.clock.now();
        let session = known.as_ref().map_or_else(|| SessionId::generate(now, &*self.rng), |known| known.id);
        let (flow, asked_by) =
            (AwaitingLogin { request, known, session }, (client.is_public(), browser.address));
        let challenge = self.flows.seal_login_challenge(&flow, asked_by).await?;
        let pages = &self.config.pages;
        let page = if prompt.create { &pages.registration } else { &pages.login };
        let page = with_challenge(page, &challenge, &raw);
        self.metrics.begun.add();
        let cookies = CookieChanges { binding, ..CookieChanges::default() };
        Ok(Step { location: Location::Redirect(page), cookies })
    }

    /// Whom the client expects: the user of the `id_token_hint`, of which an expired one still tells, or that of the
    /// `claims` parameter (OpenID Connect Core §5.5.1).
    pub(super) fn hinted(
        &self,
        raw: &RawAuthorizationRequest<'_>,
        claims: Option<&ClaimsRequest>,
    ) -> Result<Option<Hinted>, Refusal> {
        let by_hint = raw.get("id_token_hint").map(|hint| self.by_hint(hint)).transpose()?;
        // Checked before to be one text, if anything.
        let by_claims = claims.and_then(|claims| claims.subject().ok().flatten()).map(str::parse).transpose();
        let by_claims: Option<Subject> =
            by_claims.map_err(|_| (ErrorCode::InvalidRequest, "The `sub` of `claims` is malformed."))?;
        match (by_hint, by_claims) {
            (Some(Hinted { subject: Some(one), .. }), Some(other)) if one != other => {
                Err((ErrorCode::InvalidRequest, "The `id_token_hint` and `claims` name different users."))
            }
            (Some(hinted), other) => Ok(Some(Hinted { subject: hinted.subject.or(other), ..hinted })),
            (None, subject) => Ok(subject.map(|subject| Hinted { subject: Some(subject), session: None })),
        }
    }

    /// Whom an id token names. One whose key is gone names somebody, and nobody can tell whom.
    fn by_hint(&self, hint: &str) -> Result<Hinted, Refusal> {
        match self.keys.verify_id_token_hint(hint, self.config.issuer.as_str()) {
            Ok(hint) => Ok(Hinted { subject: Some(hint.subject), session: hint.session }),
            Err(NoHint::KeyGone) => Ok(Hinted { subject: None, session: None }),
            Err(NoHint::NotOurs) => {
                Err((ErrorCode::InvalidRequest, "The `id_token_hint` is not an id token of this server."))
            }
        }
    }

    /// Whether a client that speaks so means the user of this session: it knows what it was shown, which may be a name that
    /// the login page forced upon it in this session.
    fn means(&self, client: &Client, hinted: &Hinted, known: &KnownSession) -> bool {
        let shown = shown_subject(client, &known.subject, &self.config);
        let seen = shown.as_deref().unwrap_or(known.subject.as_str());
        let is_named = hinted.subject.as_ref().is_some_and(|hinted| hinted.as_str() == seen);
        is_named || hinted.session == Some(known.id)
    }

    /// The browser's session, if this request lets login be skipped with it.
    async fn usable_session(
        &self,
        (parsed, client): (&Parsed, &Client),
        hinted: Option<&Hinted>,
        browser: &Browser,
    ) -> Result<Option<KnownSession>, AuthorizationError> {
        if parsed.prompt.login || parsed.prompt.select_account || parsed.prompt.create {
            return Ok(None);
        }
        let now = self.clock.now();
        let known = self.known_session(browser).await?;
        Ok(known
            .filter(|known| is_recent(known, parsed.max_age, now))
            .filter(|known| hinted.is_none_or(|hinted| self.means(client, hinted, known))))
    }

    /// The request as it is sealed, bound to the browser; new keys for its cookie if it has none and may get one.
    fn request(
        &self,
        &Checked { raw, client, how, .. }: &Checked<'_>,
        (redirect, target): (TrustedRedirect, ResponseTarget),
        parsed: Parsed,
        (hinted_subject, browser): (Option<Subject>, &Browser),
    ) -> (Request, Option<BindingKeys>) {
        let now = self.clock.now();
        // However often a pushed request is begun, it leads to one grant.
        let flow = how.pushed.map_or_else(|| GrantId::generate(now, &*self.rng), |pushed| pushed.flow);
        let may_set = !parsed.prompt.none && !browser.framed;
        let (key, fresh) = browser.binding_key(may_set, &*self.rng);
        let text = |name: &str| raw.get(name).map(str::to_owned);
        let acr_values = text("acr_values").or_else(|| wanted_acr(parsed.claims.as_ref(), client));
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
            acr_values,
            ui_locales: text("ui_locales"),
            display: text("display"),
            hinted_subject,
            details: parsed.details,
            requested_at: now,
            binding: key.bind(flow),
            parked: None,
        };
        (request, fresh)
    }
}

/// Whether the user of a session logged in so lately (OpenID Connect Core §3.1.2.1).
pub(super) fn is_recent(known: &KnownSession, max_age: Option<u32>, now: Timestamp) -> bool {
    max_age.is_none_or(|age| now < known.authenticated_at + Lifetime::secs(age))
}

/// The address of a login page. Some look into it, as with Hydra, for the kind of people that the client asks for; nothing follows
/// from that here.
fn with_challenge(page: &Url, challenge: &str, raw: &RawAuthorizationRequest<'_>) -> String {
    let schema = raw.get(IDENTITY_SCHEMA).filter(|schema| schema.len() <= MAX_IDENTITY_SCHEMA);
    let mut page = Cow::Borrowed(page);
    if let Some(schema) = schema {
        page.to_mut().query_pairs_mut().append_pair(IDENTITY_SCHEMA, schema);
    }
    with_parameter(&page, "login_challenge", challenge)
}

/// The authentication classes that the `claims` parameter asks for (OpenID Connect Core §5.5.1.1), or else those that the
/// client registered.
pub(crate) fn wanted_acr(claims: Option<&ClaimsRequest>, client: &Client) -> Option<String> {
    let asked = claims.and_then(|claims| claims.in_id_token("acr"));
    let asked: Vec<_> = asked.iter().flat_map(|acr| acr.wanted()).filter_map(Value::as_str).collect();
    let wanted = if asked.is_empty() { client.defaults.acr_values.join(" ") } else { asked.join(" ") };
    (!wanted.is_empty() && !wanted.contains(char::is_control)).then_some(wanted)
}
