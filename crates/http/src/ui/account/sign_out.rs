//! The session of these pages as a logout sees it that began elsewhere in the same browser: whose it is, and its end.

use axum::http::HeaderMap;
use sluice_identity::IdentityError;
use sluice_oauth::authorization::AccountSession;
use sluice_primitives::IdentityId;
use sluice_protocol::Subject;

use super::cookie::{AccountCookie, removal};
use crate::ui::UiState;

impl UiState {
    /// Who is signed in to these pages in this browser. Nobody is where there are none, and no store is asked without their cookie.
    pub(crate) async fn account_session(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<AccountSession>, IdentityError> {
        let cookie = AccountCookie::of(headers, self.cookies.secure, &self.accounts.sealer);
        let Some(cookie) = cookie.filter(|_| self.has_account_pages()) else { return Ok(None) };
        let Some((session, identity)) = self.accounts.sessions.visit(cookie.session).await? else {
            return Ok(None);
        };
        let subject = identity.id.to_string().parse::<Subject>().ok();
        Ok(subject.map(|subject| AccountSession { session: session.id, subject }))
    }

    /// Ends it. One that is over already stays so.
    pub(crate) async fn end_account_session(&self, account: &AccountSession) -> Result<(), IdentityError> {
        if let Ok(person) = account.subject.as_str().parse::<IdentityId>() {
            self.accounts.sessions.end(person, account.session).await?;
        }
        Ok(())
    }

    /// Takes its cookie from the browser.
    pub(crate) fn remove_account_cookie(&self, headers: &mut HeaderMap) {
        if let Some((name, value)) = removal(self.cookies.secure) {
            headers.append(name, value);
        }
    }
}
