//! URLs for logs: the values of parameters that grant something, or tell about somebody, are not in them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

const REDACTED: &str = "[redacted]";

/// Parameters whose values are never logged.
const NAMES: &[&str] = &[
    "access_token",
    "actor_token",
    "assertion",
    "client_assertion",
    "client_secret",
    "code",
    "code_verifier",
    "consent_challenge",
    "consent_verifier",
    "csrf",
    "device_challenge",
    "device_code",
    "device_verifier",
    "id_token",
    "id_token_hint",
    "login_challenge",
    "login_hint",
    "login_verifier",
    "logout_challenge",
    "logout_token",
    "logout_verifier",
    "password",
    "refresh_token",
    "request",
    "state",
    "subject_token",
    "token",
    "user_code",
];

/// `url` (or a query alone) as it may be logged: the values of secret parameters in query and fragment, and a user and
/// password before the host, are `[redacted]`.
pub(crate) fn redact_url(url: &str) -> Cow<'_, str> {
    let end_of_path = url.find(['?', '#']);
    let (before, parameters) = match end_of_path.and_then(|end| url.split_at_checked(end)) {
        Some(parts) => parts,
        None if url.contains("://") || url.starts_with('/') => (url, ""),
        None => ("", url),
    };
    let has_user = user_of(before).is_some();
    if !has_user && !pairs(parameters).any(|(pair, _)| secret_name(pair).is_some()) {
        return Cow::Borrowed(url);
    }
    let mut redacted = match user_of(before) {
        Some((scheme, host)) => format!("{scheme}://{REDACTED}@{host}"),
        None => before.to_owned(),
    };
    for (pair, delimiter) in pairs(parameters) {
        match secret_name(pair) {
            Some(name) => redacted.extend([name, "=", REDACTED]),
            None => redacted.push_str(pair),
        }
        redacted.push_str(delimiter);
    }
    Cow::Owned(redacted)
}

/// What is before and after a user in the authority.
fn user_of(before: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = before.split_once("://")?;
    let authority = rest.split('/').next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some((scheme, rest.get(user.len() + 1..)?))
}

/// The name of a pair whose value must not be seen.
fn secret_name(pair: &str) -> Option<&str> {
    let (name, _) = pair.split_once('=')?;
    let decoded = percent_decode_str(name).decode_utf8_lossy();
    NAMES.iter().any(|secret| decoded.eq_ignore_ascii_case(secret)).then_some(name)
}

/// The pairs of a query and a fragment, each with the delimiter that ends it.
fn pairs(parameters: &str) -> impl Iterator<Item = (&str, &str)> {
    parameters.split_inclusive(['?', '&', '#', ';']).map(|piece| {
        let end = piece.trim_end_matches(['?', '&', '#', ';']).len();
        piece.split_at_checked(end).unwrap_or((piece, ""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_parameters_lose_their_values_and_nothing_else_changes() {
        let table = [
            (
                "/oauth2/auth?client_id=a&state=xyz&scope=openid",
                "/oauth2/auth?client_id=a&state=[redacted]&scope=openid",
            ),
            ("/ui/login?login_challenge=abc", "/ui/login?login_challenge=[redacted]"),
            ("/oauth2/auth?login_verifier=abc", "/oauth2/auth?login_verifier=[redacted]"),
            ("/oauth2/auth?consent_verifier=v", "/oauth2/auth?consent_verifier=[redacted]"),
            ("/x?consent_challenge=c", "/x?consent_challenge=[redacted]"),
            (
                "/x?logout_challenge=c&logout_verifier=v",
                "/x?logout_challenge=[redacted]&logout_verifier=[redacted]",
            ),
            ("https://app.example/cb?code=c&iss=i", "https://app.example/cb?code=[redacted]&iss=i"),
            (
                "https://app.example/cb#access_token=t&expires_in=9",
                "https://app.example/cb#access_token=[redacted]&expires_in=9",
            ),
            ("/s?q=1#id_token=t", "/s?q=1#id_token=[redacted]"),
            ("/logout?id_token_hint=e.y.J", "/logout?id_token_hint=[redacted]"),
            ("token=t&token_type_hint=access_token", "token=[redacted]&token_type_hint=access_token"),
            ("refresh_token=r&client_secret=s", "refresh_token=[redacted]&client_secret=[redacted]"),
            ("code_verifier=v", "code_verifier=[redacted]"),
            ("/x?CODE=1&c%6Fde=2", "/x?CODE=[redacted]&c%6Fde=[redacted]"),
            ("/x?code=a%26b&&code=", "/x?code=[redacted]&&code=[redacted]"),
            ("https://user:secret@host/x", "https://[redacted]@host/x"),
            ("https://host/@someone?a=b", "https://host/@someone?a=b"),
            ("/plain/path", "/plain/path"),
            ("/x?statement=code&code", "/x?statement=code&code"),
            ("", ""),
        ];
        for (url, expected) in table {
            assert_eq!(redact_url(url), expected);
        }
    }

    #[test]
    fn a_url_without_secrets_is_not_copied() {
        assert!(matches!(redact_url("/oauth2/auth?client_id=a"), Cow::Borrowed(_)));
    }
}
