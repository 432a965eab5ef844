//! Clients, page by page. The place in the listing is sealed: a page token tells nothing and cannot be made up.

use sluice_commit::chain;
use sluice_crypto::Purpose;
use sluice_protocol::ClientId;
use tracing::warn;

use super::{ClientService, ClientServiceError};
use crate::client::model::Client;
use crate::client::repository::ClientFilter;
use crate::page_token;

/// The number of clients on a page, if none is asked for.
const DEFAULT_PAGE: u32 = 250;
/// The largest page.
const MAX_PAGE: u32 = 1000;

/// Which clients to list.
#[derive(Debug, Clone, Default)]
pub struct ListClients {
    /// Only those with exactly this name.
    pub name: Option<String>,
    /// Only those of this owner.
    pub owner: Option<String>,
    /// How many: 1 to 1000, default 250; beyond that the nearest of them.
    pub page_size: Option<u32>,
    /// What the page before answered.
    pub page_token: Option<String>,
}

/// A page of clients.
#[derive(Debug, Clone)]
pub struct ClientPage {
    /// In the order of their ids.
    pub clients: Vec<Client>,
    /// How many were asked for, after bounds.
    pub page_size: u32,
    /// The token of the next page, if there is one.
    pub next: Option<String>,
}

impl ClientService {
    /// What is asked for, with the size within bounds and the token opened: two that are equal have the same page.
    ///
    /// # Errors
    /// [`ClientServiceError::PageToken`] for a token that was not made here.
    pub fn page_asked(&self, asked: ListClients) -> Result<ClientFilter, ClientServiceError> {
        let limit = asked.page_size.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        let token = page_token::past_the_first(asked.page_token.as_deref());
        let after = token.map(|token| self.open_page_token(token)).transpose()?;
        Ok(ClientFilter { name: asked.name, owner: asked.owner, after, limit })
    }

    /// The page that [`Self::page_asked`] tells of.
    ///
    /// # Errors
    /// The store's.
    pub async fn page(&self, asked: &ClientFilter) -> Result<ClientPage, ClientServiceError> {
        // One more than asked for tells whether there is a next page.
        let filter = ClientFilter { limit: asked.limit.saturating_add(1), ..asked.clone() };
        let mut clients = self.0.repo.list(&filter).await?;
        let full = usize::try_from(asked.limit).unwrap_or(usize::MAX);
        let more = clients.len() > full;
        clients.truncate(full);
        let next = clients.last().filter(|_| more).map(|last| self.seal_page_token(&last.id));
        Ok(ClientPage { clients, page_size: asked.limit, next })
    }

    /// How many clients are registered, whatever was asked for. They are counted if the page that answers it does not have all;
    /// nothing is said if they cannot be counted now: a page is of use without.
    pub async fn total(&self, asked: &ClientFilter, page: &ClientPage) -> Option<u64> {
        let from_the_first = matches!(asked, ClientFilter { name: None, owner: None, after: None, .. });
        if from_the_first && page.next.is_none() {
            return Some(page.clients.len() as u64);
        }
        let counted = self.0.directory.count().await;
        counted.inspect_err(|error| warn!(error = %chain(error), "the clients are not counted")).ok()
    }

    /// As [`ClientDirectory::generation`](crate::client::ClientDirectory::generation): a page that was read since still stands
    /// if it is told again.
    pub fn generation(&self) -> u64 {
        self.0.directory.generation()
    }

    fn seal_page_token(&self, last: &ClientId) -> String {
        self.0.sealer.seal(Purpose::PageToken, last.as_str().as_bytes(), &*self.0.rng)
    }

    fn open_page_token(&self, token: &str) -> Result<ClientId, ClientServiceError> {
        let opened =
            self.0.sealer.open(Purpose::PageToken, token).map_err(|_| ClientServiceError::PageToken)?;
        let id = String::from_utf8(opened).map_err(|_| ClientServiceError::PageToken)?;
        id.parse().map_err(|_| ClientServiceError::PageToken)
    }
}
