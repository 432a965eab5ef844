//! Settings as a report may show them: without secrets.

/// Instead of a secret.
const HIDDEN: &str = "…";
/// Every key that begins so has a secret.
const SECRETS: &str = "secrets";
/// So do those whose last parts these are.
const NAMES: &[&str] = &["token", "pin", "base64", "value", "salt", "headers", "smtp.url"];
/// And those that end so.
const ENDS: &[&str] = &[
    "secret",
    "password",
    "bearer_token",
    "initial_access_token",
    "authorization_header",
    "api_key",
    "private_key",
];
/// Options of the benchmark whose values are secret.
const OPTIONS: &[&str] = &["--client-secret", "--password"];
/// What a shell takes as it stands, beside letters and digits.
const PLAIN: &str = "-_./:=@,+%…";
/// Before a password among the parameters of a DSN.
const PARAMETER: &str = "password=";

/// A setting of the server, `key=value`, without what is secret in the value. Of several values in one (JSON) none is told.
pub fn shown_setting(setting: &str) -> String {
    let Some((key, value)) = setting.split_once('=') else { return setting.to_owned() };
    if is_secret(key.trim()) || value.trim_start().starts_with('{') {
        return format!("{key}={HIDDEN}");
    }
    format!("{key}={}", without_passwords(value))
}

/// A command line as it is typed, without what is secret in it.
pub(crate) fn shown_command(arguments: impl IntoIterator<Item = String>) -> String {
    let (mut option, mut shown) = (String::new(), Vec::new());
    for argument in arguments {
        let is_option = argument.starts_with('-');
        shown.push(quoted(match argument.split_once('=') {
            Some((name, value)) if is_option => format!("{name}={}", shown_value(name, value)),
            _ if is_option => argument.clone(),
            _ => shown_value(&option, &argument),
        }));
        option = argument;
    }
    shown.join(" ")
}

/// What stands behind an option.
fn shown_value(option: &str, value: &str) -> String {
    match option {
        _ if OPTIONS.contains(&option) => HIDDEN.to_owned(),
        "--set" => shown_setting(value),
        _ => without_passwords(value),
    }
}

fn quoted(word: String) -> String {
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c));
    if is_plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn is_secret(key: &str) -> bool {
    let is_last = |name: &&str| {
        key.strip_suffix(*name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    key.split('.').next() == Some(SECRETS)
        || NAMES.iter().any(is_last)
        || ENDS.iter().any(|end| key.ends_with(end))
}

/// A DSN, a URL, or several in a text, without the passwords in them. What cannot be told from a password is none of it either.
pub(super) fn without_passwords(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|c: char| c.is_whitespace() || "\"'".contains(c)).unwrap_or(after.len());
        let (address, tail) = after.split_at(end);
        shown.extend([before, "://"]);
        let parts = address.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?.0, host)));
        match parts {
            Some((user, host)) => shown.extend([user, ":", HIDDEN, "@", host]),
            None => shown.push_str(address),
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
            ("serve.admin.bearer_token=a", "serve.admin.bearer_token=…"),
            (
                "tracing.providers.otlp.authorization_header=a",
                "tracing.providers.otlp.authorization_header=…",
            ),
            ("identity.mail.smtp.url=smtp://a", "identity.mail.smtp.url=…"),
            ("oauth2.token_hook= {\"url\":\"http://a\"}", "oauth2.token_hook=…"),
            ("ttl.access_token=2m", "ttl.access_token=2m"),
            ("strategies.access_token=jwt", "strategies.access_token=jwt"),
            ("serve.public.cors.allowed_headers=DPoP", "serve.public.cors.allowed_headers=DPoP"),
            ("log.level=error", "log.level=error"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(shown_setting(set), told);
        }
    }

    #[test]
    fn a_command_is_told_as_it_is_typed_but_for_its_secrets() {
        let told = |line: &[&str]| shown_command(line.iter().map(|word| (*word).to_owned()));
        let line =
            ["sluice", "bench", "login", "-c", "8", "--set", "secrets.system=abc", "--set=log.level=error"];
        assert_eq!(told(&line), "sluice bench login -c 8 --set secrets.system=… --set=log.level=error");
        let line = ["--client-secret", "abc", "--password=def", "--user", "bench", "--scope", "openid email"];
        assert_eq!(told(&line), "--client-secret … --password=… --user bench --scope 'openid email'");
        let line = ["--database-dsn", "postgres://u:secret@db/x", "--report", "it's", ""];
        assert_eq!(told(&line), r"--database-dsn postgres://u:…@db/x --report 'it'\''s' ''");
    }

    #[test]
    fn the_password_of_a_url_is_not_told() {
        for (set, told) in [
            ("dsn=postgres://me:se@cret@db:5432/x?a=b", "dsn=postgres://me:…@db:5432/x?a=b"),
            ("dsn=postgres://me@db/x?password=cret&a=b", "dsn=postgres://me@db/x?password=…&a=b"),
            ("dsn=postgres://me:se/cr?et@db/x", "dsn=postgres://me:…@db/x"),
            ("a=[\"http://b:c@d/\",\"http://e:f@g\"]", "a=[\"http://b:…@d/\",\"http://e:…@g\"]"),
            ("a=http://b:c@d,http://e:f@g", "a=http://b:…@g"),
            ("urls.self.issuer=http://127.0.0.1:4444/", "urls.self.issuer=http://127.0.0.1:4444/"),
        ] {
            assert_eq!(shown_setting(set), told);
        }
    }
}
