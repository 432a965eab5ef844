//! Where people ask, and what they are told.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use serde_json::{Value, json};
use tokio::time::sleep;
use url::Url;

use super::crowd::Form;
use crate::application::http_client;
use crate::process::Process;

/// How often who is turned away comes again, and after which time.
const LOGIN_TRIES: u32 = 240;
const BETWEEN_LOGINS: Duration = Duration::from_millis(250);

/// What somebody was told who registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// 201, with this id.
    Created(String),
    /// 409.
    Taken,
    /// 400, about this field.
    Invalid(String),
    /// Nothing, or 503: nobody knows what the server did.
    Unknown,
    /// Anything else.
    Odd(String),
}

/// What somebody was told who logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LogIn {
    /// 200, with tokens.
    Welcome,
    /// 401.
    Refused,
    /// Nothing, 503, or anything else.
    Failed(String),
}

/// The identity API of the server that runs now.
#[derive(Clone)]
pub(super) struct Door {
    public: Arc<Mutex<Url>>,
    http: reqwest::Client,
}

impl Door {
    pub(super) fn of(process: &Process) -> Self {
        Self { public: Arc::new(Mutex::new(process.public.clone())), http: http_client() }
    }

    /// From now on people ask this server.
    pub(super) fn lead_to(&self, process: &Process) {
        *self.public.lock() = process.public.clone();
    }

    async fn post(&self, path: &str, body: &Value) -> reqwest::Result<(StatusCode, bool, Value)> {
        let url = self.public.lock().join(path).expect("a URL");
        let answer = self.http.post(url).json(body).send().await?;
        let (status, helps) = (answer.status(), answer.headers().contains_key(RETRY_AFTER));
        let text = answer.text().await?;
        Ok((status, helps, serde_json::from_str(&text).unwrap_or_default()))
    }

    /// `POST /auth/register`. `None`: nobody was there to be asked.
    pub(super) async fn register(&self, form: &Form) -> Option<Told> {
        let body = json!({ "email": form.email, "username": form.username, "password": form.password });
        let (status, helps, body) = match self.post("/auth/register", &body).await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => return None,
            Err(_) => return Some(Told::Unknown),
        };
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        Some(match status {
            StatusCode::CREATED if text("email") == form.email => Told::Created(text("id")),
            StatusCode::CONFLICT if text("code") == "email_taken" => Told::Taken,
            StatusCode::BAD_REQUEST => Told::Invalid(text("field")),
            StatusCode::SERVICE_UNAVAILABLE if helps => Told::Unknown,
            _ => Told::Odd(format!("{status}: {body}")),
        })
    }

    /// `POST /auth/login`.
    pub(super) async fn log_in(&self, email: &str, password: &str) -> LogIn {
        let body = json!({ "email": email, "password": password });
        let mut tries = 0;
        loop {
            let answer = self.post("/auth/login", &body).await;
            if matches!(&answer, Ok((StatusCode::SERVICE_UNAVAILABLE, ..))) && tries < LOGIN_TRIES {
                // Too many hashes wait: whoever is turned away comes again.
                tries += 1;
                sleep(BETWEEN_LOGINS).await;
                continue;
            }
            return match answer {
                Ok((StatusCode::OK, _, body)) if body["access_token"].is_string() => LogIn::Welcome,
                Ok((StatusCode::UNAUTHORIZED, _, body)) if body["code"] == "invalid_credentials" => {
                    LogIn::Refused
                }
                Ok((status, _, body)) => LogIn::Failed(format!("{status}: {body}")),
                Err(error) => LogIn::Failed(error.to_string()),
            };
        }
    }
}
