//! What somebody who signed in may do: look, refresh, sign out.

use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::response::{Redirect, Response};
use http::HeaderMap;
use serde::Deserialize;
use serde_json::json;
use sluice_primitives::Lifetime;

use super::App;
use super::pages::{self, Problem};
use super::sessions::{Session, SessionKey, User};
use crate::demo::relying_party::id_token::Expected;

/// The one field of every form here.
#[derive(Deserialize)]
pub(super) struct Post {
    csrf: String,
}

/// `GET /`
pub(super) async fn home(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some((_, session)) = app.sessions.of(&headers) else { return pages::signed_out(&app, None) };
    let Some(user) = &session.user else { return pages::signed_out(&app, None) };
    // A token that was revoked meanwhile is worth seeing too.
    let userinfo = app.party.userinfo(&user.tokens.access_token).await;
    let userinfo = userinfo.unwrap_or_else(|error| json!({ "refused": error.to_string() }));
    pages::signed_in(&app, &session, user, &userinfo)
}

/// `POST /refresh`
pub(super) async fn refresh(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(post): Form<Post>,
) -> Result<Redirect, Problem> {
    let (key, user) = user_of(&app, &headers, &post)?;
    let refresh_token = user.tokens.refresh_token.as_deref();
    let refresh_token = refresh_token.ok_or_else(|| Problem::unasked("There is no refresh token to use."))?;
    let mut tokens = app.party.refresh(refresh_token).await?;
    let now = app.clock.now();
    let (mut id_token, mut checked) = (user.id_token, user.checked);
    if let Some(fresh) = &tokens.id_token {
        let expected = Expected {
            issuer: app.party.issuer(),
            client_id: app.party.client_id(),
            nonce: None,
            access_token: &tokens.access_token,
        };
        checked = app.party.check_id_token(fresh, expected, now).await?;
        id_token.clone_from(fresh);
    }
    // A server that does not rotate sends none: the old one stays good (RFC 6749 §6).
    tokens.refresh_token = tokens.refresh_token.or(user.tokens.refresh_token);
    let lifetime = Lifetime::secs(u32::try_from(tokens.expires_in).unwrap_or(0));
    let user = User { tokens, id_token, checked, access_expires: now + lifetime };
    app.sessions.change(&key, |session| session.user = Some(user));
    Ok(Redirect::to("/"))
}

/// `POST /sign-out`: forgets the user here, then has the server do the same.
pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(post): Form<Post>,
) -> Result<Redirect, Problem> {
    let (key, user) = user_of(&app, &headers, &post)?;
    app.sessions.remove(&key);
    Ok(Redirect::to(app.party.sign_out_url(&user.id_token).as_str()))
}

/// `GET /signed-out`: the server sends the browser here.
pub(super) async fn signed_out(State(app): State<Arc<App>>) -> Response {
    pages::signed_out(&app, Some("You are signed out."))
}

fn user_of(app: &App, headers: &HeaderMap, post: &Post) -> Result<(SessionKey, User), Problem> {
    let stale = || Problem::unasked("That page was out of date. Please start again.");
    let (key, session) = app.sessions.of(headers).ok_or_else(stale)?;
    let user = Some(&session).filter(|session| Session::allows(session, &post.csrf));
    let user = user.and_then(|session| session.user.clone()).ok_or_else(stale)?;
    Ok((key, user))
}
