//! A logout's request as a URL: what the logout page is shown, and the way out of a logout that has expired.

use sluice_protocol::{ClientId, RedirectUri};

use super::state::Logout;
use crate::config::Config;
use crate::query::Query;

/// The path of the endpoint.
pub(super) const PATH: &str = "/oauth2/sessions/logout";

impl Logout {
    /// The logout request as a URL, as the page of an administrator is shown it: rebuilt from what was checked, and what was
    /// kept besides.
    pub(super) fn url(&self, config: &Config) -> String {
        self.rebuilt(config, self.further.id_token_hint.as_deref())
    }

    /// Where the browser can start again: without the id token, for it may be a link on a page of this server, which whoever
    /// has the challenge is shown.
    pub(super) fn way_out(&self, config: &Config) -> String {
        self.rebuilt(config, None)
    }

    fn rebuilt(&self, config: &Config, id_token_hint: Option<&str>) -> String {
        let mut query = Query::default();
        // It is named even if only an id token did: without that, nothing else says whose address the next one is.
        let client = self.client.as_ref().map(ClientId::as_str);
        let redirect_uri = self.redirect_uri.as_ref().map(RedirectUri::as_str);
        let known = [
            ("id_token_hint", id_token_hint),
            ("client_id", client),
            ("post_logout_redirect_uri", redirect_uri),
            ("state", self.state.as_deref()),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        for (name, value) in &self.further.parameters {
            query.append_pair(name, value);
        }
        query.at(config.issuer.endpoint(PATH))
    }
}
