//! What a server says when it refuses: OAuth's errors (RFC 6749 §5.2), Hydra's, or nothing that can be read.

use std::fmt;

use reqwest::StatusCode;
use serde_json::Value;

use crate::cli::output::{printable, text};

/// What a server says when it refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(super) endpoint: String,
    pub(super) status: StatusCode,
    /// The error code, such as `invalid_client`.
    pub(super) code: Option<String>,
    /// What is said to a person.
    description: Option<String>,
    hint: Option<String>,
    /// What the program says to it.
    advice: Option<&'static str>,
}

impl Refusal {
    /// Reads `{"error": "…", "error_description": "…"}` and `{"error": {"status": "…", "message": "…"}}`.
    pub(super) fn read(endpoint: String, status: StatusCode, json: &Value) -> Self {
        let (said, [code, description, hint]) = match json.get("error") {
            Some(error @ Value::Object(_)) => (error, ["status", "message", "reason"]),
            _ => (json, ["error", "error_description", "error_hint"]),
        };
        let field = |name: &str| Some(text(said, name)).filter(|text| !text.is_empty());
        let [code, description, hint] = [code, description, hint].map(field);
        Self { endpoint, status, code, description, hint, advice: None }
    }

    /// The same, with what to do about it.
    pub(super) fn advising(self, advice: &'static str) -> Self {
        Self { advice: Some(advice), ..self }
    }

    pub(super) fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<String> = [&self.code, &self.description, &self.hint]
            .into_iter()
            .flatten()
            .map(|part| printable(part))
            .collect();
        if said.is_empty() {
            write!(
                f,
                "{} answers {}, without a reason: is it the right endpoint?",
                self.endpoint, self.status
            )?;
        } else {
            write!(f, "{} ({})", said.join(": "), self.status)?;
        }
        self.advice.map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(json: &Value) -> String {
        Refusal::read("http://127.0.0.1:4445/".into(), StatusCode::NOT_FOUND, json).to_string()
    }

    #[test]
    fn the_servers_own_words_are_shown() {
        let oauth = json!({"error": "not_found", "error_description": "There is no such client."});
        assert_eq!(said(&oauth), "not_found: There is no such client. (404 Not Found)");
        let generic = json!({"error": {"code": 404, "status": "Not Found", "message": "No such key."}});
        assert_eq!(said(&generic), "Not Found: No such key. (404 Not Found)");
    }

    #[test]
    fn what_to_do_about_it_comes_last() {
        let refused = Refusal::read(String::new(), StatusCode::UNAUTHORIZED, &json!({"error": "no"}));
        assert_eq!(refused.advising("do this").to_string(), "no (401 Unauthorized); do this");
    }

    #[test]
    fn an_answer_without_a_reason_asks_whether_the_endpoint_is_right() {
        let expected =
            "http://127.0.0.1:4445/ answers 404 Not Found, without a reason: is it the right endpoint?";
        assert_eq!(said(&Value::Null), expected);
    }
}
