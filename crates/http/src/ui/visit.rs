//! Who asks for a page or posts a form, and whether the form is one that this server gave this browser.
//!
//! A form carries a token made of the challenge and a key in the browser's cookie: what is posted is the person's own wish.
//! Whose flow it is, the token does not say, since everybody can choose a key: forms of a flow are held to its binding, too.
//! `Origin` is not looked at: the pages send no referrer, and then it says `null`.

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_identity::Network;
use sluice_net::PeerAddress;
use sluice_oauth::authorization::Browser;
use sluice_oauth::flow::{Binding, BindingKey, FlowAnswer, FlowProblem, Request as FlowRequest};
use sluice_primitives::{GrantId, Timestamp};
use sluice_protocol::Parameters;

use super::UiState;
use super::known_browser::KnownBrowser;
use super::problem::{Problem, Restart};
use crate::extract::{MAX_FORM, form_bytes};

/// A request for a page, or of its form.
pub(super) struct Visit {
    pub(super) browser: Browser,
    pub(super) network: Network,
    /// Before anything was looked at.
    pub(super) arrived_at: Timestamp,
    /// Which accounts the browser logged in to.
    pub(super) known: KnownBrowser,
    parameters: Bytes,
}

impl Visit {
    /// A request for a page: its parameters are in the query.
    pub(super) fn of_page(ui: &UiState, request: &Request) -> Self {
        Self {
            browser: ui.cookies.browser(request.headers()),
            network: network(ui, request.headers(), request.extensions()),
            arrived_at: ui.accounts.clock.now(),
            known: KnownBrowser::of(ui, request.headers()),
            parameters: Bytes::copy_from_slice(request.uri().query().unwrap_or_default().as_bytes()),
        }
    }

    /// A posted form.
    pub(super) async fn of_form(ui: &UiState, request: Request) -> Result<Self, Problem> {
        let site = request.headers().get("sec-fetch-site").and_then(|value| value.to_str().ok());
        if site == Some("cross-site") {
            return Err(Problem::CrossSite);
        }
        let network = network(ui, request.headers(), request.extensions());
        let (headers, parameters) = form_bytes(request).await?;
        Ok(Self {
            browser: ui.cookies.browser(&headers),
            network,
            arrived_at: ui.accounts.clock.now(),
            known: KnownBrowser::of(ui, &headers),
            parameters,
        })
    }

    /// The parameters; each may stand once but `grant_scope`.
    pub(super) fn parameters(&self) -> Result<Parameters<'_>, Problem> {
        Ok(Parameters::parse(&self.parameters, MAX_FORM, &["grant_scope"])?)
    }

    /// The flow belongs to this browser. Asked before its page is shown, and before its form is taken.
    pub(super) fn check_binding<F: AsRef<FlowRequest>>(
        &self,
        request: &FlowRequest,
        answer: &FlowAnswer<F>,
    ) -> Result<(), Problem> {
        if self.browser.binding_keys().hold(request.flow, &request.binding) {
            Ok(())
        } else {
            Err(Problem::NoCookie { restart: answer.way_out().map(Restart::Again) })
        }
    }

    /// Where a login begins anew for this browser, if it is not the one that the flow belongs to and nothing but that is wrong. Tabs that
    /// are opened at once in a browser without our cookie are each given one, of which the browser keeps the last. What begins
    /// anew is bound to the cookie that is there now: so nobody is sent around without end, as a browser that keeps none would
    /// be. Only the client itself can begin what it pushed or signed, and only its user what a device asked for.
    pub(super) fn begins_anew<F: AsRef<FlowRequest>>(&self, answer: &FlowAnswer<F>) -> Option<String> {
        let request = answer.flow.as_ref();
        let is_own = self.browser.binding_keys().hold(request.flow, &request.binding);
        let begins_by_its_url = !request.is_protected() && !request.details.device;
        if is_own || self.browser.keys.0.is_empty() || !begins_by_its_url {
            return None;
        }
        answer.repeated()
    }

    /// The token for a form of this flow, whose key it is made of: as long as that is there, logins in other tabs do not spoil it.
    pub(super) fn flow_token(&self, request: &FlowRequest, challenge: &str) -> Result<String, Problem> {
        self.bound_token((request.flow, &request.binding), challenge)
    }

    /// The same for what else is bound to a browser: a logout, or a device that waits.
    pub(super) fn bound_token(
        &self,
        (id, binding): (GrantId, &Binding),
        challenge: &str,
    ) -> Result<String, Problem> {
        let keys = self.browser.binding_keys();
        let key = keys.of_flow(id, binding);
        Ok(encode_token(key.ok_or(Problem::NoCookie { restart: None })?, challenge))
    }

    /// The token for a form at this path, which needs no flow.
    pub(super) fn form_token(&self, path: &str) -> Result<String, Problem> {
        let keys = self.browser.binding_keys();
        let key = keys.0.first().ok_or(Problem::NoCookie { restart: None })?;
        Ok(encode_token(key, path))
    }

    /// The form is one that this server gave this browser for this challenge.
    pub(super) fn check_token(&self, challenge: &str, fields: &Parameters<'_>) -> Result<(), Problem> {
        let keys = self.browser.binding_keys();
        if keys.0.is_empty() {
            return Err(Problem::NoCookie { restart: None });
        }
        let token = fields.get("csrf").and_then(|token| URL_SAFE_NO_PAD.decode(token).ok());
        if token.is_some_and(|token| keys.hold_form(challenge, &token)) {
            Ok(())
        } else {
            Err(Problem::ForeignForm { restart: None })
        }
    }
}

/// The token that a form carries.
pub(super) fn encode_token(key: &BindingKey, challenge: &str) -> String {
    URL_SAFE_NO_PAD.encode(key.form_token(challenge))
}

/// The challenge among the parameters.
pub(super) fn challenge<'a>(fields: &'a Parameters<'_>, name: &'static str) -> Result<&'a str, Problem> {
    fields.get(name).ok_or(Problem::NoChallenge(name))
}

/// Where the browser goes on with a flow, if it is one of ours.
pub(super) fn restart<F: AsRef<FlowRequest>>(found: Result<FlowAnswer<F>, FlowProblem>) -> Option<Restart> {
    match found {
        Ok(answer) => answer.way_out().map(Restart::Again),
        Err(FlowProblem::Gone { redirect_to, home }) => {
            home.map(Restart::Home).or_else(|| redirect_to.map(Restart::Again))
        }
        Err(_) => None,
    }
}

fn network(ui: &UiState, headers: &HeaderMap, extensions: &Extensions) -> Network {
    ui.proxies.network(extensions.get::<PeerAddress>().copied(), headers)
}
