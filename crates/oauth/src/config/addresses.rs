//! Where this server is reached: one endpoint may have several addresses.

use super::Config;

impl Config {
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
