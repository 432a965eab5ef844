//! Identities, page by page. The place in the listing is sealed: a page token tells nothing and cannot be made up.

use sluice_crypto::Purpose;
use sluice_primitives::IdentityId;

use super::error::AdministrationError;
use super::service::IdentityAdministration;
use crate::identity::{Email, Identity, IdentityFilter, IdentityPage, IdentityStatus, SoughtText};

/// The number of identities on a page, if none is asked for.
const DEFAULT_PAGE: u32 = 250;
/// The largest page.
const MAX_PAGE: u32 = 1000;
/// Marks page tokens of this listing.
const PAGE: &[u8] = b"identities:";

/// Which identities to list.
#[derive(Debug, Clone, Default)]
pub struct ListIdentities {
    /// Only the one with this e-mail address, however it is spelled. Found by its key: the same with ten million others.
    pub email: Option<String>,
    /// Only those with this text in e-mail address or username, in whatever case. Read row by row: a page may hold fewer
    /// than asked for, or none, and yet have a next one.
    pub text: Option<String>,
    /// Only those of this status.
    pub status: Option<IdentityStatus>,
    /// How many: 1 to 1000, default 250; beyond that the nearest of them.
    pub page_size: Option<u32>,
    /// What the page before answered.
    pub page_token: Option<String>,
}

/// A page of identities.
#[derive(Debug, Clone)]
pub struct IdentityListing {
    /// In the order of their ids, which is that of their registration.
    pub identities: Vec<Identity>,
    /// How many were asked for, after bounds.
    pub page_size: u32,
    /// The token of the next page, if there is one.
    pub next: Option<String>,
}

impl IdentityAdministration {
    /// A page of identities.
    ///
    /// # Errors
    /// [`AdministrationError::PageToken`] for a token that was not made here.
    pub async fn list(&self, asked: ListIdentities) -> Result<IdentityListing, AdministrationError> {
        let page_size = asked.page_size.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        let after = asked.page_token.as_deref().map(|token| self.open_page_token(token)).transpose()?;
        let page = if let Some(email) = &asked.email {
            self.with_email(email, &asked).await?
        } else {
            let ListIdentities { text, status, .. } = asked;
            self.identities.list(&IdentityFilter { after, limit: page_size, text, status }).await?
        };
        let next = page.next.map(|last| self.seal_page_token(last));
        Ok(IdentityListing { identities: page.identities, page_size, next })
    }

    /// What can be nobody's address finds nobody.
    async fn with_email(
        &self,
        email: &str,
        asked: &ListIdentities,
    ) -> Result<IdentityPage, AdministrationError> {
        let Ok(email) = email.parse::<Email>() else { return Ok(IdentityPage::default()) };
        let found = self.identities.find_by_login_name(&email.login_name()).await?;
        let identities = found.into_iter().filter(|identity| fits(identity, asked)).collect();
        Ok(IdentityPage { identities, next: None })
    }

    fn seal_page_token(&self, last: IdentityId) -> String {
        let place = [PAGE, last.as_bytes()].concat();
        self.sealer.seal(Purpose::PageToken, &place, &*self.rng)
    }

    fn open_page_token(&self, token: &str) -> Result<IdentityId, AdministrationError> {
        let opened = self.sealer.open(Purpose::PageToken, token);
        let opened = opened.map_err(|_| AdministrationError::PageToken)?;
        let id = opened.strip_prefix(PAGE).and_then(|id| id.try_into().ok());
        id.map(IdentityId::from_bytes).ok_or(AdministrationError::PageToken)
    }
}

fn fits(identity: &Identity, asked: &ListIdentities) -> bool {
    let holds = |text: &str| SoughtText::new(text).is_in(&identity.email, &identity.username);
    asked.status.is_none_or(|status| status == identity.status) && asked.text.as_deref().is_none_or(holds)
}
