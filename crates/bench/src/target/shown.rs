//! Settings as a report may show them: without secrets.

/// Instead of a secret.
const HIDDEN: &str = "…";
/// Every key that begins so has a secret.
const SECRETS: &str = "secrets";
/// So do those that end so.
const ENDS: &[&str] =
    &["token", "initial_access_token", "secret", "password", "pin", "base64", "value", "salt", "headers"];
/// Before a password among the parameters of a DSN.
const PARAMETER: &str = "password=";

/// `key=value` without what is secret in the value.
pub(super) fn shown(setting: &str) -> String {
    let Some((key, value)) = setting.split_once('=') else { return setting.to_owned() };
    let mut parts = key.trim().split('.');
    let is_secret = parts.next() == Some(SECRETS) || parts.next_back().is_some_and(|end| ENDS.contains(&end));
    if is_secret { format!("{key}={HIDDEN}") } else { format!("{key}={}", without_passwords(value)) }
}

/// A DSN, a URL, or several in a text, without the passwords in them.
pub(super) fn without_passwords(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'".contains(c)).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        shown.extend([before, "://"]);
        let parts = authority.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?.0, host)));
        match parts {
            Some((user, host)) => shown.extend([user, ":", HIDDEN, "@", host]),
            None => shown.push_str(authority),
        }
        rest = tail;
    }
    shown.push_str(rest);
    without_parameters(&shown)
}

fn without_parameters(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(PARAMETER) {
        let end = after.find(|c: char| c.is_whitespace() || "&#\"'".contains(c)).unwrap_or(after.len());
        shown.extend([before, PARAMETER, HIDDEN]);
        rest = after.split_at(end).1;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_told() {
        for (set, told) in [
            ("secrets.system=a-secret-of-sixteen", "secrets.system=…"),
            ("secrets.system=[\"one=1\",\"two\"]", "secrets.system=…"),
            ("serve.link.token=a=b", "serve.link.token=…"),
            ("ttl.access_token=2m", "ttl.access_token=2m"),
            ("log.level=error", "log.level=error"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(shown(set), told);
        }
    }

    #[test]
    fn the_password_of_a_url_is_not_told() {
        for (set, told) in [
            ("dsn=postgres://me:se@cret@db:5432/x?a=b", "dsn=postgres://me:…@db:5432/x?a=b"),
            ("dsn=postgres://me@db/x?password=cret&a=b", "dsn=postgres://me@db/x?password=…&a=b"),
            ("a=[\"http://b:c@d/\",\"http://e:f@g\"]", "a=[\"http://b:…@d/\",\"http://e:…@g\"]"),
            ("urls.self.issuer=http://127.0.0.1:4444/", "urls.self.issuer=http://127.0.0.1:4444/"),
        ] {
            assert_eq!(shown(set), told);
        }
    }
}
