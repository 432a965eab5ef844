//! The session that a browser has with the account pages of this server. It is none of logins, and is ended by who keeps it; here it is only
//! said whether a logout is of the same person, and how a sign-out at those pages goes on.

use sluice_primitives::GrantId;
use sluice_protocol::RedirectUri;

use super::error::LogoutError;
use super::service::LogoutService;
use super::state::Logout;
use crate::authorization::{AccountSession, Browser};
use crate::flow::{BindingKey, BindingKeys, Further};

impl LogoutService {
    /// Whether the logout that comes back with this verifier ends the session of the account pages, too. It is asked, and that session is
    /// ended, before [`Self::finish`]: what fails there can be tried again, and nothing is spent by then.
    ///
    /// # Errors
    /// [`LogoutError`] as of [`Self::finish`].
    pub async fn ends_account(&self, verifier: &str, browser: &Browser) -> Result<bool, LogoutError> {
        if browser.account.is_none() {
            return Ok(false);
        }
        let logout = self.opened(verifier, browser)?;
        // One that began after the verifier was used must not end by it.
        if self.is_spent(&logout).await? {
            return Ok(false);
        }
        // Who confirmed it, and is signed in nowhere else, takes themselves for signed out.
        let is_only_one = self.cookie(browser).is_none() && self.was_confirmed(&logout).await?;
        Ok(is_only_one || self.is_of_account(&logout, browser).await?)
    }

    /// Whether the user of a logout is signed in to the account pages in this browser.
    pub(super) async fn is_of_account(
        &self,
        logout: &Logout,
        browser: &Browser,
    ) -> Result<bool, LogoutError> {
        let Some(account) = &browser.account else { return Ok(false) };
        let is_own = self.cookie(browser).is_some_and(|own| own.subject == account.subject);
        Ok(is_own || self.is_of(logout, &account.subject).await?)
    }

    /// Where a person who has just signed out of the account pages is signed out of what else they did in this browser, and comes to `then`.
    /// Nobody is asked once more. With it the keys that the browser is to keep, if it had none. None if the browser is somebody else's by its
    /// logins.
    pub fn after_account(
        &self,
        account: &AccountSession,
        browser: &Browser,
        then: Option<RedirectUri>,
    ) -> Option<(String, Option<BindingKeys>)> {
        let session = match self.cookie(browser) {
            Some(own) if own.subject == account.subject => own.session,
            Some(_) => return None,
            // The cookie may be for another path: then it is seen where this leads.
            None => account.session,
        };
        let (key, binding) = if let Some(key) = browser.binding_keys().0.into_iter().next() {
            (key, None)
        } else {
            // They end with the browser, and where the other cookie is not sent, it is no help.
            let key = BindingKey::generate(&*self.rng);
            (key.clone(), Some(BindingKeys(vec![key])))
        };
        let now = self.clock.now();
        let id = GrantId::generate(now, &*self.rng);
        let url = self.confirmed(Logout {
            id,
            session,
            subject: account.subject.clone(),
            client: None,
            redirect_uri: then,
            state: None,
            requested_at: now,
            binding: Some(key.bind(id)),
            further: Further::default(),
            frames: Vec::new(),
            is_unasked: true,
        });
        Some((url, binding))
    }
}
