//! A flow's request as the URL that would start it again: what pages are shown as `request_url`, and the way out of an
//! expired flow.
//!
//! A request that was pushed or signed cannot be rebuilt: as a plain URL it would be another one, which anybody could have
//! changed. Pages are shown what they need of it, and only the client itself can start again.
//!
//! An `id_token_hint` is shown to the pages of an administrator only: a way out may be a link on a page of this server, which
//! whoever has the challenge is shown. Without it the `claims` name the user whom it named: whoever starts again does so for
//! the same one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_protocol::{ClaimsRequest, Prompt, ResponseType};

use super::state::Request;
use crate::client::{Client, ClientDirectory, home_of};
use crate::config::Config;
use crate::device::VERIFICATION_PATH;
use crate::query::Query;

impl Request {
    /// Where the browser can start again, if there is such a place: the client's `initiate_login_uri` (OpenID Connect Core
    /// §4), or the same request, where it can be rebuilt. A client that took an answer to its `state` takes no other.
    pub fn way_out(&self, client: &Client, config: &Config) -> Option<String> {
        self.begun_by_client(client, config).or_else(|| self.repeated(config))
    }

    /// Where the application is whose flow was completed: the same request would end with an answer that it does not wait for any more. None
    /// where it begins anew itself, or where no application is known to be.
    pub fn home(&self, client: &Client, config: &Config) -> Option<String> {
        if self.details.device || self.begun_by_client(client, config).is_some() {
            return None;
        }
        home_of(Some(client), Some(&self.redirect_uri))
    }

    /// The same request once more, unless only the client can make it.
    pub fn repeated(&self, config: &Config) -> Option<String> {
        (!self.is_protected()).then(|| self.rebuilt(config, None))
    }

    /// Where the client begins a login when others ask for it. A device is no browser that could go there.
    fn begun_by_client(&self, client: &Client, config: &Config) -> Option<String> {
        if self.details.device {
            return None;
        }
        let mut uri = client.begins_logins_at()?;
        uri.query_pairs_mut().append_pair("iss", config.issuer.as_str());
        Some(uri.into())
    }

    /// Where the same request begins anew for somebody else, who logs in then: with `select_account` the login page does not ask for whoever
    /// is signed in. None if only its client or device can begin it, or if the client wants this very user.
    pub fn for_another(&self, config: &Config) -> Option<String> {
        if self.is_protected() || self.details.device || self.hinted_subject.is_some() {
            return None;
        }
        let prompt = Prompt { login: true, select_account: true, create: false, ..self.prompt };
        let anew = Self { prompt, login_hint: None, ..self.clone() };
        Some(anew.rebuilt(config, None))
    }

    /// Whether the request came in a way that a browser cannot change.
    pub const fn is_protected(&self) -> bool {
        self.details.pushed || self.details.signed
    }

    /// The authorization request as a URL, as pages of an administrator are shown it; little of a protected one.
    pub fn url(&self, config: &Config) -> String {
        self.rebuilt(config, self.details.further.id_token_hint.as_deref())
    }

    /// The request as a URL, rebuilt from what was checked, and what was kept besides.
    pub(super) fn rebuilt(&self, config: &Config, id_token_hint: Option<&str>) -> String {
        if self.details.device {
            return self.device_url(config);
        }
        let mut query = Query::default();
        query.append_pair("client_id", self.client.as_str());
        query.append_pair("response_type", &response_type(self.response_type));
        if self.redirect_uri_named {
            query.append_pair("redirect_uri", self.redirect_uri.as_str());
        }
        if !self.scope.is_empty() {
            query.append_pair("scope", self.scope.as_str());
        }
        if !self.is_protected() {
            self.append_rest(&mut query, id_token_hint);
            self.append_further(&mut query, id_token_hint);
        }
        query.at(config.issuer.endpoint("/oauth2/auth"))
    }

    /// What only the client needs.
    fn append_rest(&self, query: &mut Query, id_token_hint: Option<&str>) {
        if self.response_mode != self.response_type.default_mode() {
            query.append_pair("response_mode", self.response_mode.as_str());
        }
        for audience in self.audience.as_slice() {
            query.append_pair("audience", audience);
        }
        let claims = self.claims_beside(id_token_hint);
        let optional = [
            ("state", &self.state),
            ("nonce", &self.nonce),
            ("login_hint", &self.login_hint),
            ("acr_values", &self.acr_values),
            ("ui_locales", &self.ui_locales),
            ("display", &self.display),
            ("claims", &claims),
            ("authorization_details", &self.details.authorization_details),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if let Some(challenge) = &self.code_challenge {
            query.append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge.as_bytes()));
            query.append_pair("code_challenge_method", "S256");
        }
        if let Some(thumbprint) = &self.details.dpop_jkt {
            query.append_pair("dpop_jkt", &URL_SAFE_NO_PAD.encode(thumbprint));
        }
        if let Some(max_age) = self.max_age {
            query.append_pair("max_age", &max_age.to_string());
        }
        if self.prompt != Prompt::default() {
            query.append_pair("prompt", &prompt(self.prompt));
        }
    }

    /// The `claims` parameter, which names the user (OpenID Connect Core §5.5.1) if no `id_token_hint` does.
    fn claims_beside(&self, id_token_hint: Option<&str>) -> Option<String> {
        let asked = self.details.claims.as_deref();
        let Some(subject) = self.hinted_subject.as_ref().filter(|_| id_token_hint.is_none()) else {
            return asked.map(str::to_owned);
        };
        let mut claims = asked.and_then(|text| ClaimsRequest::parse(text).ok()).unwrap_or_default();
        let named = claims.id_token.entry("sub".to_owned()).or_default().get_or_insert_default();
        named.value = Some(subject.as_str().into());
        Some(claims.to_json())
    }

    /// What this server only passes on.
    fn append_further(&self, query: &mut Query, id_token_hint: Option<&str>) {
        if let Some(hint) = id_token_hint {
            query.append_pair("id_token_hint", hint);
        }
        for (name, value) in &self.details.further.parameters {
            query.append_pair(name, value);
        }
    }

    /// The user of a device starts again by typing its code.
    fn device_url(&self, config: &Config) -> String {
        let mut query = Query::default();
        query.append_pair("client_id", self.client.as_str());
        query.at(config.issuer.endpoint(VERIFICATION_PATH))
    }
}

/// Where the browser can start again, whether or not the client is still there.
pub(crate) async fn way_out(request: &Request, clients: &ClientDirectory, config: &Config) -> Option<String> {
    ways_out(request, clients, config).await.0
}

/// The same, and where the application is if the flow was completed. No document is fetched for it: whoever has an old challenge can have that asked
/// again and again, and would wait for its host.
pub(super) async fn ways_out(
    request: &Request,
    clients: &ClientDirectory,
    config: &Config,
) -> (Option<String>, Option<String>) {
    match clients.find_at_hand(&request.client).await {
        Ok(Some(client)) => (request.way_out(&client, config), request.home(&client, config)),
        Ok(None) | Err(_) => (request.repeated(config), None),
    }
}

fn response_type(of: ResponseType) -> String {
    let names = [(of.code, "code"), (of.id_token, "id_token"), (of.token, "token")];
    names.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

fn prompt(of: Prompt) -> String {
    let names = [
        (of.none, "none"),
        (of.login, "login"),
        (of.consent, "consent"),
        (of.select_account, "select_account"),
        (of.create, "create"),
    ];
    names.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::client::RequestDefaults;
    use crate::client::fake::{FakeClients, client, directory_of_slow_hosts};
    use crate::config::fake::config;
    use crate::flow::fake::request;
    use crate::flow::state::RequestDetails;

    const AGAIN: &str = "https://op.example/oauth2/auth?client_id=app&response_type=code&";
    const HOME: &str = "https://app.example/";

    fn begins_at(uri: &str) -> Client {
        let defaults =
            RequestDefaults { initiate_login_uri: Some(uri.to_owned()), ..RequestDefaults::default() };
        Client { defaults, redirect_uris: vec!["https://app.example/cb".parse().unwrap()], ..client("app") }
    }

    fn with(details: RequestDetails) -> Request {
        Request { details, ..request() }
    }

    /// The client may have taken an answer to the `state` of the request.
    #[test]
    fn a_client_that_says_where_logins_begin_begins_each_anew() {
        let (client, config) = (begins_at("https://app.example/login?from=there"), config());
        let begun = "https://app.example/login?from=there&iss=https%3A%2F%2Fop.example%2F";
        let pushed = with(RequestDetails { pushed: true, ..RequestDetails::default() });
        for request in [request(), pushed] {
            assert_eq!(request.way_out(&client, &config).as_deref(), Some(begun));
            assert_eq!(request.home(&client, &config), None);
        }
        let device = with(RequestDetails { device: true, ..RequestDetails::default() });
        let typed = "https://op.example/oauth2/device/verify?client_id=app";
        assert_eq!(device.way_out(&client, &config).as_deref(), Some(typed), "it has no browser");
        assert_eq!(device.home(&client, &config), None);
    }

    #[test]
    fn where_a_client_that_registered_itself_says_that_logins_begin_must_be_at_its_own_host() {
        let config = config();
        for (uri, is_its) in [("https://app.example/login", true), ("https://bank.example/login", false)] {
            let stranger = Client { registered_itself: true, ..begins_at(uri) };
            let way_out = request().way_out(&stranger, &config).unwrap();
            assert!(way_out.starts_with(if is_its { uri } else { AGAIN }), "{way_out}");
            assert_eq!(request().home(&stranger, &config).as_deref(), (!is_its).then_some(HOME));
        }
    }

    #[test]
    fn without_that_a_request_that_only_its_client_can_make_has_no_way_out_but_the_application() {
        let (client, config) = (client("app"), config());
        let pushed = with(RequestDetails { pushed: true, ..RequestDetails::default() });
        assert!(request().way_out(&client, &config).unwrap().starts_with(AGAIN));
        assert_eq!(pushed.way_out(&client, &config), None);
        for request in [request(), pushed] {
            assert_eq!(request.home(&client, &config).as_deref(), Some(HOME));
        }
    }

    #[tokio::test]
    async fn a_flow_that_is_over_has_its_client_looked_up_once_and_no_document_fetched() {
        let config = config();
        let registered = Arc::new(FakeClients::default());
        registered.put(client("app"));
        let clients = ClientDirectory::new(registered.clone(), 10);
        let (way_out, home) = ways_out(&request(), &clients, &config).await;
        assert!(way_out.unwrap().starts_with(AGAIN));
        assert_eq!((home.as_deref(), registered.reads()), (Some(HOME), 1));
        let asked = Arc::new(AtomicUsize::new(0));
        let clients = directory_of_slow_hosts(asked.clone());
        let described = Request { client: "https://app.example/client.json".parse().unwrap(), ..request() };
        let (way_out, home) = ways_out(&described, &clients, &config).await;
        assert_eq!((way_out, home), (described.repeated(&config), None));
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }
}
