//! What is asked for, and by which client: the request of a logout, checked.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_primitives::SessionId;
use sluice_protocol::{ClientId, Parameters, RedirectUri, Subject};
use tracing::info;

use super::error::LogoutError;
use super::service::LogoutService;
use super::state::Logout;
use crate::authorization::Browser;
use crate::client::Client;
use crate::flow::Further;
use crate::keys::NoHint;
use crate::login_session::EndSessions;
use crate::query::escaped_len;

/// Longer requests are refused, in bytes.
const MAX_REQUEST: usize = 16 * 1024;
/// The longest `state`, in bytes as they stand in a URL: it is in that of the page as well, sealed, and in that of the application.
const MAX_STATE: usize = 4_096;
/// What is checked of a request; the logout page is shown the rest as it is.
const KNOWN: &[&str] =
    &["id_token_hint", "client_id", "post_logout_redirect_uri", "state", "logout_verifier"];

/// What is asked for, after checking.
#[derive(Debug, Clone)]
pub struct LogoutRequest {
    pub(super) session: Option<(SessionId, Subject)>,
    /// Whether an id token of this very session came along: then no other site sent the browser here. Or one of its client, no cookie,
    /// and nothing that browsers say of themselves: then no browser came, which may keep its cookies back, but a program of the client,
    /// which nobody can ask.
    pub(super) proven: bool,
    /// Whether it is the latter.
    pub(super) by_program: bool,
    pub(super) client: Option<Arc<Client>>,
    pub(super) redirect_uri: Option<RedirectUri>,
    pub(super) state: Option<String>,
    pub(super) further: Further,
}

impl LogoutService {
    pub(super) async fn read(&self, query: &[u8], browser: &Browser) -> Result<LogoutRequest, LogoutError> {
        let parameters = Parameters::parse(query, MAX_REQUEST, &[])?;
        let verify = |token| self.keys.verify_id_token_hint(token, self.config.issuer.as_str());
        let (hint, key_is_gone) = match parameters.get("id_token_hint").map(verify) {
            None => (None, false),
            Some(Ok(hint)) => (Some(hint), false),
            Some(Err(NoHint::KeyGone)) => (None, true),
            Some(Err(NoHint::NotOurs)) => return Err(LogoutError::Hint),
        };
        let named: Option<ClientId> = parameters
            .get("client_id")
            .map(str::parse)
            .transpose()
            .map_err(|_| LogoutError::ClientMismatch)?;
        let hinted = hint.as_ref().and_then(|hint| hint.client.clone());
        if named.is_some() && hinted.is_some() && named != hinted {
            return Err(LogoutError::ClientMismatch);
        }
        let by_program = hinted.is_some() && browser.is_program();
        let named = hinted.or(named);
        let client = match &named {
            Some(id) => self.clients.find_if_known(id).await?,
            None => None,
        };
        let mut back = parameters.get("post_logout_redirect_uri");
        // Nothing says whose address it is. Only to go there is forbidden (RP-Initiated Logout §3): who wants to sign out is asked all the same.
        if named.is_none() && back.take().is_some() {
            info!(
                hint.key_is_gone = key_is_gone,
                "a browser does not come back from a logout: neither id_token_hint nor client_id says whose the post_logout_redirect_uri is"
            );
        }
        let redirect_uri = trusted_redirect(back, client.as_deref())?;
        let own = self.cookie(browser).map(|cookie| (cookie.session, cookie.subject));
        let hinted = hint.and_then(|hint| Some((hint.session?, hint.subject)));
        let proven = hinted.as_ref().zip(own.as_ref()).is_some_and(|((hinted, _), (own, _))| hinted == own);
        let session = match hinted {
            Some((session, seen)) if !proven => {
                Some((session, self.subject_of(session).await?.unwrap_or(seen)))
            }
            // Whose session it is, the cookie knows: an id token says what its client sees.
            _ => own.or_else(|| browser.account.clone().map(|account| (account.session, account.subject))),
        };
        let state = parameters.get("state").map(str::to_owned);
        if state.as_deref().is_some_and(|state| escaped_len(state) > MAX_STATE) {
            return Err(LogoutError::State);
        }
        let id_token_hint = parameters.get("id_token_hint").map(str::to_owned);
        let further = Further { id_token_hint, ..Further::of(parameters.iter(), KNOWN) };
        let proven = proven || by_program;
        Ok(LogoutRequest { session, proven, by_program, client, redirect_uri, state, further })
    }

    /// The client that asked, unless the document that describes it cannot be had now: the logout goes on.
    pub(super) async fn client_of(&self, logout: &Logout) -> Result<Option<Arc<Client>>, StoreError> {
        match &logout.client {
            Some(id) => self.clients.find_if_known(id).await,
            None => Ok(None),
        }
    }

    /// Whose session it is, if it is kept.
    async fn subject_of(&self, session: SessionId) -> Result<Option<Subject>, LogoutError> {
        let found = self.sessions.participants(&EndSessions::One(session), self.clock.now()).await?;
        Ok(found.into_iter().next().map(|ended| ended.subject))
    }
}

fn trusted_redirect(
    named: Option<&str>,
    client: Option<&Client>,
) -> Result<Option<RedirectUri>, LogoutError> {
    let Some(named) = named else { return Ok(None) };
    let uri: RedirectUri = named.parse().map_err(|_| LogoutError::RedirectUri)?;
    let registered = client.is_some_and(|client| client.post_logout_redirect_uris.contains(&uri));
    if registered { Ok(Some(uri)) } else { Err(LogoutError::RedirectUri) }
}
