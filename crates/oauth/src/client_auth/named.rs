//! Which client a request names: for the log of one that is refused. Nothing of it is believed, and it may be no id at all.

use serde::Deserialize;
use sluice_crypto::jws::unverified_parts;
use url::form_urlencoded;

use super::presented::{decode_basic, strip_basic};

/// As long as an id may be, in bytes: what is longer is cut.
const MAX_NAME: usize = 255;

/// The client that the `Authorization` header names, or else the form, or else the assertion in it. It does not matter what is
/// wrong with them otherwise.
pub fn named_client(authorization_header: Option<&str>, form: &[u8]) -> Option<String> {
    let by_header = authorization_header.and_then(strip_basic).and_then(|basic| decode_basic(basic).ok());
    let by_header = by_header.map(|basic| basic.id).filter(|id| !id.is_empty()).map(cut);
    by_header.or_else(|| client_parameter(form)).or_else(|| by_assertion(form))
}

/// The client that a query or form names.
pub(crate) fn client_parameter(form: &[u8]) -> Option<String> {
    parameter(form, "client_id").map(cut)
}

/// The first value of `name` that is not empty.
pub(crate) fn parameter(form: &[u8], name: &str) -> Option<String> {
    let first = form_urlencoded::parse(form).find(|(own, value)| own == name && !value.is_empty());
    first.map(|(_, value)| value.into_owned())
}

fn by_assertion(form: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Claimed {
        sub: String,
    }
    let parts = unverified_parts(&parameter(form, "client_assertion")?).ok()?;
    parts.unverified_claims::<Claimed>().ok().map(|claimed| claimed.sub).map(cut)
}

fn cut(mut name: String) -> String {
    if name.len() > MAX_NAME {
        name.truncate(name.floor_char_boundary(MAX_NAME));
        name.push('…');
    }
    name
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    fn basic(credentials: &str) -> String {
        format!("Basic {}", STANDARD.encode(credentials))
    }

    #[test]
    fn a_client_is_named_by_header_form_or_assertion_whatever_else_is_wrong_with_them() {
        let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
        let token = format!("{}.{}.AA", part(r#"{"alg":"none"}"#), part(r#"{"sub":"signed"}"#));
        let assertion = format!("client_assertion={token}");
        let both = format!("client_id=typed&{assertion}");
        let named: [(Option<String>, &str, Option<&str>); 9] = [
            (Some(basic("a%20pp:secret")), "client_id=other", Some("a pp")),
            (Some(basic("app:secret")), "scope=a&scope=b&%ff", Some("app")),
            (Some(basic(":secret")), "client_id=typed", Some("typed")),
            (Some("Basic nonsense!".to_owned()), "client_id=&client_id=typed", Some("typed")),
            (Some("Bearer token".to_owned()), "client_id=typed&client_id=twice", Some("typed")),
            (None, &both, Some("typed")),
            (None, &assertion, Some("signed")),
            (None, "client_assertion=a.b.c", None),
            (None, "client_secret=secret", None),
        ];
        for (header, form, client) in named {
            assert_eq!(named_client(header.as_deref(), form.as_bytes()).as_deref(), client, "{form}");
        }
    }

    #[test]
    fn a_name_that_no_id_can_be_is_named_as_far_as_one_can_go() {
        let cut = |name: &str| named_client(None, format!("client_id={name}").as_bytes()).unwrap();
        assert_eq!(cut(&"a".repeat(255)), "a".repeat(255));
        assert_eq!(cut(&"a".repeat(9_000)), "a".repeat(255) + "…");
        assert_eq!(cut(&"ä".repeat(9_000)), "ä".repeat(127) + "…");
        assert_eq!(cut("a%0Ab"), "a\nb", "the log writes it on one line");
    }
}
