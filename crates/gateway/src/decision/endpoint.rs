//! Which decision a path is about.

/// A kind of question, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `/oauth/token_validation`: a token alone.
    TokenValidation,
    /// `/oauth/auth_request`: the original request is in `X-Original-*`.
    AuthRequest,
    /// `/oauth/forward_auth`: the original request is in `X-Forwarded-*`.
    ForwardAuth,
    /// Envoy over HTTP: the path after the prefix, the method and the host are the original ones.
    EnvoyHttp,
    /// Envoy over gRPC.
    EnvoyGrpc,
}

impl Endpoint {
    /// The decision that `path` is about, if it is about one.
    pub(super) fn of(path: &str, envoy_prefix: &str) -> Option<Self> {
        match path {
            "/oauth/token_validation" => Some(Self::TokenValidation),
            "/oauth/auth_request" => Some(Self::AuthRequest),
            "/oauth/forward_auth" => Some(Self::ForwardAuth),
            "/envoy.service.auth.v3.Authorization/Check" => Some(Self::EnvoyGrpc),
            _ => path.strip_prefix(envoy_prefix)?.starts_with('/').then_some(Self::EnvoyHttp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_about_one_decision_or_none() {
        for (path, endpoint) in [
            ("/oauth/token_validation", Some(Endpoint::TokenValidation)),
            ("/oauth/token_validation/", None),
            ("/oauth/auth_request", Some(Endpoint::AuthRequest)),
            ("/oauth/forward_auth", Some(Endpoint::ForwardAuth)),
            ("/oauth/ext_authz/orders/7", Some(Endpoint::EnvoyHttp)),
            ("/oauth/ext_authz/", Some(Endpoint::EnvoyHttp)),
            ("/oauth/ext_authz", None),
            ("/oauth/ext_authzes/", None),
            ("/envoy.service.auth.v3.Authorization/Check", Some(Endpoint::EnvoyGrpc)),
            ("/", None),
        ] {
            assert_eq!(Endpoint::of(path, "/oauth/ext_authz"), endpoint, "{path}");
        }
    }
}
