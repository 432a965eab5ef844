//! How paths may be spelled besides, as with Hydra: with a slash at the end; on the public port with several before `.well-known`; and on the
//! admin port without `/admin` before them, as Hydra had it before 2.0.

use std::borrow::Cow;

use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// Which other spellings are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spelling {
    /// None.
    #[default]
    Exact,
    /// A slash at the end, and more than one before `.well-known`. Elsewhere none is passed over: a proxy in front that keeps others from a path
    /// has to know it by its beginning.
    Public,
    /// A slash at the end, and paths that lack the prefix of the admin API.
    Admin,
}

const ADMIN: &str = "/admin";
/// What of the admin port is not below the prefix.
const BESIDE: &[&str] = &["/health/", "/version", "/.well-known/"];

impl Spelling {
    /// The address as the routes have it; `None` if it is so already.
    pub fn usual(self, uri: &Uri) -> Option<Uri> {
        let asked = uri.path();
        if self == Self::Exact || asked.len() < 2 {
            return None;
        }
        let path = if self == Self::Public { appended(asked) } else { Cow::Borrowed(asked) };
        let trimmed = path.strip_suffix('/').unwrap_or(&path);
        let prefix = if self == Self::Admin && lacks_prefix(asked) { ADMIN } else { "" };
        if trimmed.len() == asked.len() && prefix.is_empty() {
            return None;
        }
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let spelled: PathAndQuery = format!("{prefix}{trimmed}{query}").parse().ok()?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(spelled);
        Uri::from_parts(parts).ok()
    }
}

/// The path that those mean who append `/.well-known/…` to an issuer that ends in a slash.
fn appended(path: &str) -> Cow<'_, str> {
    // Looking for a longer text is dear, and hardly a path has two slashes in a row.
    if !path.as_bytes().windows(2).any(|two| two == b"//") {
        return Cow::Borrowed(path);
    }
    let from = path.len().saturating_sub(path.trim_start_matches('/').len() + 1);
    let below = path.get(from..).unwrap_or(path);
    match below.split_once("//.well-known/") {
        Some((issuer, document)) => Cow::Owned(format!("{issuer}/.well-known/{document}")),
        None if below.starts_with("/.well-known/") => Cow::Borrowed(below),
        None => Cow::Borrowed(path),
    }
}

fn lacks_prefix(path: &str) -> bool {
    let below = path.strip_prefix(ADMIN);
    !below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        && !BESIDE.iter().any(|beside| path.starts_with(beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(spelling: Spelling, uri: &str) -> Option<String> {
        spelling.usual(&uri.parse().unwrap()).map(|uri| uri.to_string())
    }

    #[test]
    fn a_slash_at_the_end_is_as_none() {
        let usual = |uri| spelled(Spelling::Public, uri);
        assert_eq!(usual("/oauth2/token/").as_deref(), Some("/oauth2/token"));
        assert_eq!(usual("/oauth2/auth/?a=b/").as_deref(), Some("/oauth2/auth?a=b/"));
        assert_eq!(usual("http://h:1/userinfo/").as_deref(), Some("http://h:1/userinfo"));
        for right in ["/", "/oauth2/token", "/oauth2/auth?a=b/", "*"] {
            assert_eq!(usual(right), None, "{right}");
        }
    }

    #[test]
    fn what_is_appended_to_an_issuer_that_ends_in_a_slash_is_found() {
        let usual = |uri: &str| spelled(Spelling::Public, uri);
        let discovery = "/.well-known/openid-configuration";
        for asked in [format!("/{discovery}"), format!("//{discovery}/")] {
            assert_eq!(usual(&asked).as_deref(), Some(discovery), "{asked}");
        }
        let below = format!("/id{discovery}?a=//b");
        assert_eq!(usual(&format!("//id/{discovery}?a=//b")), Some(below));
        for other in [discovery, "/id/.well-known/jwks.json", "/oauth2//token"] {
            assert_eq!(usual(other), None, "{other}");
        }
        // What a proxy knows by its beginning has no other.
        for other in
            ["//oauth2/token", "//id/oauth2/token", "//id/.well-known/jwks.json", "http://h//userinfo"]
        {
            assert_eq!(usual(other), None, "{other}");
        }
        assert_eq!(spelled(Spelling::Exact, "//version"), None);
        assert_eq!(spelled(Spelling::Admin, "//admin/clients").as_deref(), Some("/admin//admin/clients"));
    }

    #[test]
    fn the_prefix_of_the_admin_api_may_be_left_out() {
        let usual = |uri| spelled(Spelling::Admin, uri);
        assert_eq!(usual("/clients?page_size=2").as_deref(), Some("/admin/clients?page_size=2"));
        assert_eq!(usual("/oauth2/introspect/").as_deref(), Some("/admin/oauth2/introspect"));
        assert_eq!(usual("/administrators").as_deref(), Some("/admin/administrators"));
        assert_eq!(usual("/admin/clients/").as_deref(), Some("/admin/clients"));
        for right in ["/admin/clients", "/health/ready", "/version", "/.well-known/jwks.json", "/"] {
            assert_eq!(usual(right), None, "{right}");
        }
        assert_eq!(spelled(Spelling::Public, "/clients"), None);
        assert_eq!(spelled(Spelling::Exact, "/clients/"), None);
    }
}
