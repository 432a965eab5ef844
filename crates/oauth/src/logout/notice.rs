//! Who hears of the end of a session, and how.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_protocol::ClientId;
use url::Url;

use super::outbox::LogoutNotice;
use crate::client::{Client, ClientDirectory};
use crate::login_session::{EndedSession, SessionClient};

/// Notices for the back channel, and addresses for frames of the front channel.
pub(super) async fn notices_for(
    ended: &[EndedSession],
    clients: &ClientDirectory,
    issuer: &str,
) -> Result<(Vec<LogoutNotice>, Vec<Url>), StoreError> {
    let (mut notices, mut frames) = (Vec::new(), Vec::new());
    let mut listeners = HashMap::new();
    for session in ended {
        for SessionClient { client: id, shown_subject } in &session.clients {
            let listener = match listeners.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(listener(id, clients).await?),
            };
            if let Some(uri) = listener.back_channel() {
                let seen = shown_subject.as_ref().and_then(|seen| seen.parse().ok());
                notices.push(LogoutNotice {
                    uri,
                    client: id.clone(),
                    subject: seen.unwrap_or_else(|| session.subject.clone()),
                    session: session.session,
                });
            }
            if let Some(mut uri) = listener.front_channel() {
                let sid = session.session.to_string();
                uri.query_pairs_mut().append_pair("iss", issuer).append_pair("sid", &sid);
                frames.push(uri);
            }
        }
    }
    Ok((notices, frames))
}

/// A client that took part in a session.
enum Listener {
    Known(Arc<Client>),
    /// The document that describes it is not at hand; what stands in the place of its address.
    Described(Url),
    Gone,
}

impl Listener {
    fn back_channel(&self) -> Option<Url> {
        match self {
            Self::Known(client) => {
                let uri = client.backchannel_logout.as_ref()?.url().clone();
                let encrypts = client.formats.id_token_encryption.is_some();
                Some(if encrypts { LogoutNotice::for_encrypted(uri) } else { uri })
            }
            // Where it listens is looked up when the notice is sent.
            Self::Described(stand_in) => Some(stand_in.clone()),
            Self::Gone => None,
        }
    }

    fn front_channel(&self) -> Option<Url> {
        match self {
            Self::Known(client) => client.frontchannel_logout.as_ref().map(|listens| listens.url().clone()),
            Self::Described(_) | Self::Gone => None,
        }
    }
}

/// No host is asked: nobody stays signed in because that of a client's document does not answer.
async fn listener(id: &ClientId, clients: &ClientDirectory) -> Result<Listener, StoreError> {
    if let Some(client) = clients.find_at_hand(id).await? {
        return Ok(Listener::Known(client));
    }
    let described = clients.may_describe(id).then(|| LogoutNotice::described(id).ok()).flatten();
    Ok(described.map_or(Listener::Gone, Listener::Described))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Encryption;
    use crate::client::fake::client;

    #[test]
    fn that_a_client_asks_for_encrypted_tokens_is_in_the_address_of_its_notices() {
        let mut app = client("app");
        let uri = Url::parse("https://app.example/logout?from=us").unwrap();
        app.backchannel_logout = Some(uri.as_str().parse().unwrap());
        assert_eq!(Listener::Known(Arc::new(app.clone())).back_channel(), Some(uri));
        app.formats.id_token_encryption =
            Some(Encryption { alg: "RSA-OAEP-256".to_owned(), enc: "A128GCM".to_owned() });
        let address = Listener::Known(Arc::new(app)).back_channel().unwrap();
        assert_eq!(address.as_str(), "https://app.example/logout?from=us#encrypted");
    }
}
