//! JSON bodies of the identity API: objects that name no member twice; members without meaning are ignored. Read where they
//! lie, so that a text is copied once: into the field it is for.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::error::Category;

use super::account::{EmailBody, FarewellBody, PasswordBody, PersonEditBody};
use super::factors::{ConfirmationBody, NameBody, TotpCodeBody};
use super::login::{FactorStepBody, LogInBody, PasskeyBody};
use super::proof::ProofBody;
use super::recovery::{NewPasswordBody, RecoveryBody};
use super::registration::SignUpBody;
use super::sessions::RefreshBody;
use crate::extract::{NoBody, whole};
use crate::respond::{Problem, ProblemKind};

/// A larger body is refused, in bytes.
pub(crate) const MAX_BODY: usize = 16 * 1024;

/// The body of a request.
///
/// No `Debug`: it holds passwords.
pub(crate) struct JsonBody(Bytes);

impl JsonBody {
    /// The JSON object of the body as `T`.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        // Serde would take a list for an object.
        if self.0.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(Problem::of(ProblemKind::MalformedBody));
        }
        serde_json::from_slice(&self.0).map_err(|error| refusal::<T>(&self.0, &error))
    }

    /// The same; without a body, of an empty object.
    pub(crate) fn read_or_empty<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        if self.0.is_empty() {
            return serde_json::from_slice(b"{}").map_err(|_| Problem::of(ProblemKind::MalformedBody));
        }
        self.read()
    }
}

/// Reads a body as each request of the identity API reads its own; how many would take it.
pub fn read_identity_bodies(json: &[u8]) -> usize {
    let body = JsonBody(Bytes::copy_from_slice(json));
    let taken = [
        body.read::<SignUpBody<'_>>().is_ok(),
        body.read::<LogInBody<'_>>().is_ok(),
        body.read::<FactorStepBody<'_>>().is_ok(),
        body.read::<PasskeyBody<'_>>().is_ok(),
        body.read_or_empty::<RefreshBody<'_>>().is_ok(),
        body.read::<RecoveryBody<'_>>().is_ok(),
        body.read::<NewPasswordBody<'_>>().is_ok(),
        body.read::<ProofBody<'_>>().is_ok(),
        body.read::<PasswordBody>().is_ok(),
        body.read::<EmailBody<'_>>().is_ok(),
        body.read::<PersonEditBody<'_>>().is_ok(),
        body.read_or_empty::<FarewellBody>().is_ok(),
        body.read_or_empty::<ConfirmationBody>().is_ok(),
        body.read::<TotpCodeBody<'_>>().is_ok(),
        body.read::<NameBody<'_>>().is_ok(),
    ];
    taken.into_iter().filter(|is_taken| *is_taken).count()
}

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = bounded(body).await?;
        // A browser sends a form across origins without asking first, and JSON only after asking (Fetch §4.1).
        if !bytes.is_empty() && !is_json(&parts.headers) {
            return Err(Problem::of(ProblemKind::UnsupportedMediaType));
        }
        Ok(Self(bytes))
    }
}

async fn bounded(body: Body) -> Result<Bytes, Problem> {
    whole(body, MAX_BODY).await.map_err(|none| match none {
        NoBody::TooLarge => {
            Problem::of(ProblemKind::BodyTooLarge).saying(format!("It may have {MAX_BODY} bytes."))
        }
        NoBody::BrokeOff => Problem::of(ProblemKind::MalformedBody).saying("The body broke off."),
        NoBody::TooSlow => Problem::of(ProblemKind::BodyTooSlow),
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let media_type = text.split(|byte| *byte == b';').next().unwrap_or_default();
    media_type.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Says which member is wrong, as far as that can be told. Nothing of the body is repeated: it holds passwords.
fn refusal<'a, T: Deserialize<'a>>(bytes: &'a [u8], error: &serde_json::Error) -> Problem {
    if error.classify() != Category::Data {
        let place =
            format!("It breaks off or is malformed at line {}, column {}.", error.line(), error.column());
        return Problem::of(ProblemKind::MalformedBody).saying(place);
    }
    if error.to_string().starts_with("duplicate field") {
        return Problem::of(ProblemKind::RepeatedMember);
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let path = match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(error) => error.path().to_string(),
        Ok(_) => return Problem::of(ProblemKind::MalformedBody),
    };
    let code = format!("{path}_malformed");
    Problem::field(path, code, "The field is of another type.")
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::text::Text;
    use super::*;

    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        name: Text<'a>,
    }

    async fn refused(content_type: &str, body: impl Into<Body>) -> (u16, Value) {
        let request = Request::post("/").header(CONTENT_TYPE, content_type).body(body.into()).unwrap();
        let problem = match JsonBody::from_request(request, &()).await {
            Ok(body) => body.read::<Named<'_>>().err().unwrap(),
            Err(problem) => problem,
        };
        let (head, body) = problem.into_response().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), serde_json::from_slice(&bytes).unwrap())
    }

    fn read(text: &'static str) -> JsonBody {
        JsonBody(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn what_a_body_says_besides_is_ignored() {
        let body = read(r#" {"name": "Zoë", "more": {"name": [1, {"name": 2}]}}"#);
        assert_eq!(body.read::<Named<'_>>().ok().unwrap().name.given(), Some("Zoë"));
        assert_eq!(read("").read_or_empty::<Named<'_>>().ok().unwrap().name.given(), None);
    }

    #[tokio::test]
    async fn what_is_no_object_is_refused() {
        let deep = format!("{{\"x\": {}", "[".repeat(8000));
        for body in
            ["", "[]", "[\"a\"]", "null", "\"a\"", "{", "{\"name\": \"a\"} x", "{\"name\": \"a}", &deep]
        {
            let (status, problem) = refused("application/json", body.to_owned()).await;
            assert_eq!((status, problem["code"].as_str().unwrap()), (400, "malformed_body"), "{body}");
        }
    }

    #[tokio::test]
    async fn a_member_that_is_named_twice_or_of_another_type_is_refused_without_repeating_it() {
        let (status, problem) = refused("application/json", r#"{"name": "secret", "name": "other"}"#).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), (400, "repeated_member"));
        assert!(!problem.to_string().contains("secret"));
        let (status, problem) = refused("application/json", r#"{"name": 12345678}"#).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), (400, "name_malformed"));
        assert_eq!(problem["field"], "name");
        assert!(!problem.to_string().contains("12345678"));
    }

    #[tokio::test]
    async fn a_body_is_said_to_be_json_and_is_not_large() {
        for other in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
            assert_eq!(refused(other, "{\"name\": 1}").await.0, 415, "{other}");
        }
        assert_eq!(refused("Application/JSON; charset=utf-8", "{\"name\": 1}").await.0, 400);
        let large = format!("{{\"name\": \"{}\"}}", "a".repeat(MAX_BODY));
        let (status, problem) = refused("application/json", large).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), (413, "body_too_large"));
    }

    proptest! {
        #[test]
        fn a_text_arrives_as_it_was_sent(text in ".*", more in "\\PC*") {
            let body = serde_json::json!({"name": text, "more": {"name": more}});
            let body = JsonBody(Bytes::from(body.to_string()));
            let named: Named<'_> = body.read().ok().unwrap();
            prop_assert_eq!(named.name.given(), Some(text.as_str()));
        }

        #[test]
        fn nothing_is_read_that_another_reader_reads_otherwise(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..64),
                "\\{(\"(name|x)\":(\"a\"|null|1|\\{\\}|\\[\\]),?){0,3}\\}".prop_map(String::into_bytes),
            ],
        ) {
            let body = JsonBody(Bytes::from(bytes.clone()));
            if let Ok(read) = body.read::<Named<'_>>() {
                let other: Value = serde_json::from_slice(&bytes).unwrap();
                prop_assert!(other.is_object());
                prop_assert_eq!(read.name.given(), other["name"].as_str());
                prop_assert!(other["name"].is_string() || other["name"].is_null());
            }
        }
    }
}
