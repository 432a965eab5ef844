//! The views, filled in.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde_json::Value;
use sluice_commit::chain;
use sluice_primitives::{Lifetime, Timestamp};

use super::sessions::{Session, User};
use super::{App, ICON_PATH, STYLESHEET_PATH};
use crate::demo::relying_party::RelyingPartyError;
use crate::demo::views::{AppErrorPage, HomePage, SignedIn};

/// Something that went wrong, for the person at the browser.
#[derive(Debug, Default)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) title: &'static str,
    pub(super) sentence: String,
    pub(super) error_code: Option<String>,
    pub(super) error_description: Option<String>,
}

impl Problem {
    /// The browser brought something that this application did not ask for.
    pub(super) fn unasked(sentence: &str) -> Self {
        let (status, title) = (StatusCode::BAD_REQUEST, "That did not work");
        Self { status, title, sentence: sentence.to_owned(), ..Self::default() }
    }
}

impl From<RelyingPartyError> for Problem {
    fn from(error: RelyingPartyError) -> Self {
        tracing::warn!(error = %chain(&error), "the example application failed");
        let (error_code, error_description) = error.reason();
        let sentence = match &error {
            RelyingPartyError::Refused { what, .. } => format!("The server refused {what}."),
            other => format!("{}.", chain(other)),
        };
        let (status, title) = (StatusCode::BAD_GATEWAY, "The server did not agree");
        Self { status, title, sentence, error_code, error_description }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let page = AppErrorPage {
            stylesheet: STYLESHEET_PATH,
            icon: ICON_PATH,
            home_url: "/",
            title: self.title,
            sentence: &self.sentence,
            error_code: self.error_code.as_deref(),
            error_description: self.error_description.as_deref(),
        };
        (self.status, rendered(&page)).into_response()
    }
}

/// The page of a browser that nobody signed in with.
pub(super) fn signed_out(app: &App, notice: Option<&str>) -> Response {
    let page = HomePage { notice, ..home(app, "") };
    rendered(&page)
}

/// The page of somebody who signed in.
pub(super) fn signed_in(app: &App, session: &Session, user: &User, userinfo: &Value) -> Response {
    let (header, payload) = (decoded(&user.id_token), indented(&user.checked.claims));
    let expires = from_now(user.access_expires, app.clock.now());
    let userinfo = indented(userinfo);
    let name = |claim| user.checked.claims.get(claim).and_then(Value::as_str);
    let user = SignedIn {
        display_name: name("name").or_else(|| name("email")).unwrap_or(&user.checked.subject),
        subject: &user.checked.subject,
        id_token: &user.id_token,
        id_token_header: &header,
        id_token_payload: &payload,
        access_token: &user.tokens.access_token,
        refresh_token: user.tokens.refresh_token.as_deref(),
        scopes: user.tokens.scope.split_whitespace().collect(),
        expires: &expires,
        userinfo: &userinfo,
    };
    rendered(&HomePage { user: Some(user), ..home(app, &session.csrf) })
}

fn home<'a>(app: &'a App, csrf: &'a str) -> HomePage<'a> {
    HomePage {
        stylesheet: STYLESHEET_PATH,
        icon: ICON_PATH,
        home_url: "/",
        issuer: app.party.issuer(),
        sign_in_url: "/sign-in",
        refresh_action: "/refresh",
        sign_out_action: "/sign-out",
        csrf,
        notice: None,
        user: None,
    }
}

fn rendered(page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page of the example application could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The header of a token, as indented JSON.
fn decoded(token: &str) -> String {
    let header = token.split('.').next().and_then(|header| URL_SAFE_NO_PAD.decode(header).ok());
    let header = header.and_then(|header| serde_json::from_slice::<Value>(&header).ok());
    header.map_or_else(String::new, |header| indented(&header))
}

fn indented(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A point in time as a person says it.
fn from_now(then: Timestamp, now: Timestamp) -> String {
    let left = then.since(now);
    match left.as_secs() {
        0 => "it has expired".to_owned(),
        1 => "in 1 second".to_owned(),
        seconds @ 2..=119 => format!("in {seconds} seconds"),
        _ if left < Lifetime::hours(2) => format!("in {} minutes", left.as_secs() / 60),
        seconds => format!("in {} hours", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_as_a_person_says_it() {
        let now = Timestamp::from_secs(1000);
        for (lifetime, expected) in [
            (Lifetime::ZERO, "it has expired"),
            (Lifetime::secs(1), "in 1 second"),
            (Lifetime::secs(90), "in 90 seconds"),
            (Lifetime::minutes(59), "in 59 minutes"),
            (Lifetime::hours(24), "in 24 hours"),
        ] {
            assert_eq!(from_now(now + lifetime, now), expected);
        }
    }
}
