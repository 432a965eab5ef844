//! A text field of a JSON answer, found without parsing the rest of it.

use std::borrow::Cow;

use memchr::{memchr2, memmem};

use crate::driver::{Answer, Failure};

/// A field, with the quotes that stand around its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field(&'static str);

pub(crate) const ACCESS_TOKEN: Field = Field("\"access_token\"");
pub(crate) const REFRESH_TOKEN: Field = Field("\"refresh_token\"");
pub(crate) const ID_TOKEN: Field = Field("\"id_token\"");
pub(crate) const REDIRECT_TO: Field = Field("\"redirect_to\"");
pub(crate) const CLIENT_ID: Field = Field("\"client_id\"");
pub(crate) const SUBJECT: Field = Field("\"sub\"");
pub(crate) const CHALLENGE: Field = Field("\"challenge\"");
const ERROR: Field = Field("\"error\"");

/// An answer that gives tokens, unless there is an error beside them.
pub(crate) fn without_error<'a>(answer: Answer<'a>, step: &'static str) -> Result<Answer<'a>, Failure> {
    if ERROR.of(answer.body()).is_some() {
        return Err(answer.explain(Failure::Incomplete { step, missing: "success (there is an error)" }));
    }
    Ok(answer)
}

impl Field {
    /// Its value, if there is one and it is a text. The first field of that name counts, however deep it is.
    pub(crate) fn of(self, json: &[u8]) -> Option<Cow<'_, str>> {
        let mut rest = json;
        loop {
            let at = memmem::find(rest, self.0.as_bytes())?;
            rest = rest.get(at + self.0.len()..)?;
            // A text that is equal to the name is not followed by a colon.
            if let Some(value) = rest.trim_ascii_start().strip_prefix(b":") {
                return text(value.trim_ascii_start());
            }
        }
    }

    /// Its value in an answer that must have it: a text of no length is none.
    pub(crate) fn required<'a>(
        self,
        answer: &Answer<'a>,
        step: &'static str,
    ) -> Result<Cow<'a, str>, Failure> {
        let value = self.of(answer.body()).filter(|value| !value.is_empty());
        value.ok_or_else(|| answer.explain(Failure::Incomplete { step, missing: self.0.trim_matches('"') }))
    }

    /// How often its name is in an answer.
    pub(crate) fn count(self, json: &[u8]) -> usize {
        memmem::find_iter(json, self.0.as_bytes()).count()
    }
}

/// The text that these bytes begin with.
fn text(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?;
    let end = memchr2(b'"', b'\\', inner)?;
    if inner.get(end) == Some(&b'"') {
        return std::str::from_utf8(inner.get(..end)?).ok().map(Cow::Borrowed);
    }
    let mut values = serde_json::Deserializer::from_slice(quoted).into_iter::<String>();
    values.next()?.ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_borrowed_as_it_stands() {
        let body = br#"{"expires_in":3600,"access_token" : "abc.def-_~","token_type":"bearer"}"#;
        assert!(matches!(ACCESS_TOKEN.of(body), Some(Cow::Borrowed("abc.def-_~"))));
    }

    #[test]
    fn escapes_are_undone_as_go_writes_them() {
        let body = br#"{"redirect_to":"http://a/b?c=d\u0026e=f\"g","challenge":"x"}"#;
        assert_eq!(REDIRECT_TO.of(body).as_deref(), Some("http://a/b?c=d&e=f\"g"));
    }

    #[test]
    fn a_value_that_is_named_like_the_field_is_not_the_field() {
        let body = br#"{"grant_types":["refresh_token"],"refresh_token":"r"}"#;
        assert_eq!(REFRESH_TOKEN.of(body).as_deref(), Some("r"));
    }

    #[test]
    fn what_is_missing_or_no_text_is_not_found() {
        for body in [
            &br#"{"id_token":null}"#[..],
            br#"{"id_token":7}"#,
            br#"{"id_token":"cut"#,
            br#"{"id_token""#,
            b"{}",
            b"",
        ] {
            assert_eq!(ID_TOKEN.of(body), None, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn fields_are_counted() {
        assert_eq!(CLIENT_ID.count(br#"[{"client_id":"a"},{"client_id":"b"}]"#), 2);
    }
}
