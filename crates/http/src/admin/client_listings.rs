//! Pages of clients as they were answered, good until a client changes.

use std::fmt;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderValue;
use http::header::LINK;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sluice_oauth::client::ClientFilter;

use super::total_count::TOTAL_COUNT;
use crate::respond::JsonText;

/// So much is kept, in bytes.
const CAPACITY: u64 = 32 * 1024 * 1024;
/// A larger page is not kept: it would push out too many others.
const LARGEST: u64 = CAPACITY / 4;
/// What an entry takes beside its texts, in bytes.
const ENTRY: u64 = 512;
/// How many are expected. So few that the cache is not divided: a part of it would not hold [`LARGEST`].
const USUAL: usize = 32;

/// A page as it is answered.
#[derive(Clone)]
pub(crate) struct ClientListing {
    pub(crate) body: Bytes,
    /// The `Link` header.
    pub(crate) links: Option<HeaderValue>,
    /// How many clients there are in all, if they could be counted.
    pub(crate) total: Option<u64>,
}

impl IntoResponse for ClientListing {
    fn into_response(self) -> Response {
        let mut response = JsonText(self.body).into_response();
        if let Some(links) = self.links {
            response.headers_mut().insert(LINK, links);
        }
        response.headers_mut().extend(self.total.map(|total| (TOTAL_COUNT, HeaderValue::from(total))));
        response
    }
}

#[derive(Clone)]
struct Known {
    generation: u64,
    listing: ClientListing,
}

#[derive(Clone)]
struct Bytewise;

impl Weighter<ClientFilter, Known> for Bytewise {
    fn weight(&self, asked: &ClientFilter, known: &Known) -> u64 {
        weight(asked, &known.listing)
    }
}

fn weight(asked: &ClientFilter, listing: &ClientListing) -> u64 {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let place = asked.after.as_ref().map_or(0, |after| after.as_str().len());
    let links = listing.links.as_ref().map_or(0, HeaderValue::len);
    (text(&asked.name) + text(&asked.owner) + place + links + listing.body.len()) as u64 + ENTRY
}

/// Pages of clients that were listed lately. Key: the whole question, its size within bounds and its page token opened. Bound:
/// 32 MiB, a page of a quarter of it at most. Staleness: that of the clients in memory, that is of the change feed, none for
/// changes of this node: a page is good for the generation of the directory that was told before it was read. Emptied by
/// nobody: a page of an older generation is not found, and goes for a newer one or when there is no room.
pub(crate) struct ClientListings(Cache<ClientFilter, Known, Bytewise>);

impl ClientListings {
    /// The page of a question, if no client has changed since it was read.
    pub(crate) fn find(&self, asked: &ClientFilter, generation: u64) -> Option<ClientListing> {
        let known = self.0.get(asked).filter(|known| known.generation == generation)?;
        Some(known.listing)
    }

    /// Keeps a page that was read after `generation` was told, unless the next one may say more.
    pub(crate) fn keep(&self, asked: ClientFilter, generation: u64, listing: &ClientListing) {
        if listing.total.is_some() && weight(&asked, listing) <= LARGEST {
            self.0.insert(asked, Known { generation, listing: listing.clone() });
        }
    }
}

impl Default for ClientListings {
    fn default() -> Self {
        Self(Cache::with_weighter(USUAL, CAPACITY, Bytewise))
    }
}

impl fmt::Debug for ClientListings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientListings").field("pages", &self.0.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str) -> ClientFilter {
        ClientFilter { name: Some(name.to_owned()), limit: 250, ..ClientFilter::default() }
    }

    fn listing(bytes: usize) -> ClientListing {
        let links = Some(HeaderValue::from_static("<...>"));
        ClientListing { body: vec![b' '; bytes].into(), links, total: Some(7) }
    }

    #[test]
    fn a_page_is_found_in_the_generation_that_it_was_read_in_only() {
        let listings = ClientListings::default();
        listings.keep(asked("app"), 5, &listing(10));
        let found = listings.find(&asked("app"), 5).unwrap().into_response();
        assert_eq!(found.headers()[LINK], "<...>");
        assert_eq!(found.headers()[TOTAL_COUNT], "7");
        assert_eq!(found.headers()["content-type"], "application/json");
        for other in [4, 6] {
            assert!(listings.find(&asked("app"), other).is_none());
        }
        listings.keep(asked("app"), 6, &listing(20));
        assert_eq!(listings.find(&asked("app"), 6).unwrap().body.len(), 20);
        assert!(listings.find(&asked("app"), 5).is_none());
        assert_eq!(listings.0.len(), 1);
    }

    #[test]
    fn a_page_without_a_count_is_not_kept() {
        let (listings, uncounted) = (ClientListings::default(), ClientListing { total: None, ..listing(10) });
        listings.keep(asked("app"), 5, &uncounted);
        assert!(listings.find(&asked("app"), 5).is_none());
        assert!(!uncounted.into_response().headers().contains_key(TOTAL_COUNT));
    }

    #[test]
    fn questions_that_differ_in_anything_have_pages_of_their_own() {
        let listings = ClientListings::default();
        let questions = [
            ClientFilter { limit: 250, ..ClientFilter::default() },
            ClientFilter { limit: 2, ..ClientFilter::default() },
            asked("app"),
            ClientFilter { name: None, owner: Some("app".to_owned()), ..asked("") },
            ClientFilter { owner: Some("app".to_owned()), ..asked("app") },
            ClientFilter { after: Some("app".parse().unwrap()), ..asked("app") },
        ];
        for (bytes, asked) in questions.iter().enumerate() {
            assert!(listings.find(asked, 1).is_none(), "{asked:?}");
            listings.keep(asked.clone(), 1, &listing(bytes));
        }
        for (bytes, asked) in questions.iter().enumerate() {
            assert_eq!(listings.find(asked, 1).unwrap().body.len(), bytes, "{asked:?}");
        }
    }

    #[test]
    fn pages_take_no_more_than_their_bound_and_one_takes_a_quarter_of_it_at_most() {
        let listings = ClientListings::default();
        let quarter = usize::try_from(LARGEST).unwrap();
        listings.keep(asked("large"), 1, &listing(quarter - 1024));
        assert!(listings.find(&asked("large"), 1).is_some());
        listings.keep(asked("too large"), 1, &listing(quarter));
        assert!(listings.find(&asked("too large"), 1).is_none());
        for number in 0..100 {
            listings.keep(asked(&number.to_string()), 1, &listing(quarter / 8));
        }
        assert!(listings.0.weight() <= CAPACITY);
        assert!(listings.0.len() > 20, "there is room for 32 of these");
    }
}
