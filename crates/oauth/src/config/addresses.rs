//! Where this server is reached: one endpoint may have several addresses.

use url::Url;

use super::Config;

impl Config {
    /// Whether a page that people are sent to is the built-in one at this path.
    pub(crate) fn is_own_page(&self, page: &Url, path: &str) -> bool {
        page.as_str() == self.issuer.endpoint(path)
    }

    /// Whether people log in at the built-in page. Whom other pages call how nobody knows here.
    pub(crate) fn has_own_login(&self) -> bool {
        self.is_own_page(&self.pages.login, "/ui/login")
    }

    /// All addresses of a path of this server: its own, the one that is announced in its place, and the one for clients
    /// with certificates (RFC 8705 §5).
    pub fn addresses(&self, path: &str) -> Vec<String> {
        let announced = match path {
            "/oauth2/auth" => &self.announced.authorization_endpoint,
            "/oauth2/token" => &self.announced.token_endpoint,
            "/userinfo" => &self.announced.userinfo_endpoint,
            "/oauth2/device/auth" => &self.announced.device_authorization_endpoint,
            _ => &None,
        };
        let mut addresses = vec![self.issuer.endpoint(path)];
        addresses.extend(announced.as_ref().map(ToString::to_string));
        addresses.extend(self.mtls_alias(path));
        addresses
    }

    /// Where clients with certificates find a path of this server, if elsewhere (RFC 8705 §5).
    pub fn mtls_alias(&self, path: &str) -> Option<String> {
        let mtls = &self.policies.mtls;
        let base = mtls.aliases.as_ref().filter(|_| mtls.enabled)?;
        Some(format!("{}{path}", base.as_str().trim_end_matches('/')))
    }
}
