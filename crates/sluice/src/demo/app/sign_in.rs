//! Signing in: to the server, and back.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use sluice_primitives::Lifetime;

use super::App;
use super::pages::Problem;
use super::sessions::{Session, User};
use crate::demo::relying_party::id_token::Expected;
use crate::demo::relying_party::{RelyingPartyError, SignIn, Tokens};

/// `GET /sign-in`: sends the browser to the server.
pub(super) async fn begin(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let sign_in = app.party.sign_in(&*app.rng);
    let to_server = Redirect::to(sign_in.url.as_str());
    if let Some((key, _)) = app.sessions.of(&headers) {
        app.sessions.change(&key, |session| session.begin(sign_in));
        return to_server.into_response();
    }
    let mut session = Session::new(&*app.rng);
    session.begin(sign_in);
    let key = app.sessions.add(session, &*app.rng);
    (key.set_cookie(), to_server).into_response()
}

/// What the browser brings back (RFC 6749 §4.1.2, RFC 9207).
#[derive(Deserialize)]
pub(super) struct Callback {
    state: Option<String>,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

/// `GET /callback`: exchanges the code, and signs in.
pub(super) async fn finish(
    State(app): State<Arc<App>>,
    Query(callback): Query<Callback>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (key, _) = app.sessions.of(&headers).ok_or_else(unasked)?;
    let state = callback.state.as_deref().ok_or_else(unasked)?;
    let begun = app.sessions.change(&key, |session| session.finish(state)).flatten();
    let begun = begun.ok_or_else(unasked)?;
    let code = code_of(&app, callback)?;
    let tokens = app.party.redeem(&code, &begun).await?;
    let user = signed_in(&app, tokens, &begun).await?;
    let before = app.sessions.remove(&key).unwrap_or_default();
    let session = Session::of_user(user, before, &*app.rng);
    let key = app.sessions.add(session, &*app.rng); // a new key: the old one was known before
    Ok((key.set_cookie(), Redirect::to("/")).into_response())
}

fn unasked() -> Problem {
    Problem::unasked(
        "This browser did not begin to sign in here, or has done so already. Please start again.",
    )
}

/// The code, unless the server says no or is not the one that was asked.
fn code_of(app: &App, callback: Callback) -> Result<String, Problem> {
    if callback.iss.is_some_and(|iss| iss != app.party.issuer()) {
        return Err(Problem::unasked("The answer is from another server than the one that was asked."));
    }
    match (callback.code, callback.error) {
        (Some(code), None) => Ok(code),
        (_, error_code) => Err(Problem {
            status: StatusCode::FORBIDDEN,
            title: "You are not signed in",
            sentence: "The server did not let this application know who you are.".to_owned(),
            error_code,
            error_description: callback.error_description,
        }),
    }
}

async fn signed_in(app: &App, tokens: Tokens, begun: &SignIn) -> Result<User, Problem> {
    let id_token = tokens.id_token.clone().ok_or(RelyingPartyError::Malformed {
        what: "the token request",
        body: "there is no ID token".to_owned(),
    })?;
    let expected = Expected {
        issuer: app.party.issuer(),
        client_id: app.party.client_id(),
        nonce: Some(&begun.nonce),
        access_token: &tokens.access_token,
    };
    let now = app.clock.now();
    let checked = app.party.check_id_token(&id_token, expected, now).await?;
    let lifetime = Lifetime::secs(u32::try_from(tokens.expires_in).unwrap_or(0));
    Ok(User { tokens, id_token, checked, access_expires: now + lifetime })
}
