//! The JSON of clients, made once for each state of a client.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_json::value::{RawValue, to_raw_value};
use sluice_oauth::client::Client;
use sluice_protocol::ClientId;

use super::wire::client::ClientBody;

/// So much JSON is kept, in bytes.
const CAPACITY: u64 = 16 * 1024 * 1024;
/// What a client is taken for, beside its JSON, in bytes: itself in memory.
const CLIENT: u64 = 2048;

/// A client as the admin API shows it: without secret, and without what it manages itself by.
pub(crate) struct ClientText {
    client: Arc<Client>,
    json: Box<RawValue>,
}

impl ClientText {
    fn of(client: &Arc<Client>) -> Self {
        let json = to_raw_value(&ClientBody::from(&**client)).unwrap_or_default();
        Self { client: Arc::clone(client), json }
    }

    /// To be put into a larger body.
    pub(crate) fn json(&self) -> &RawValue {
        &self.json
    }

    /// The body of an answer, not copied.
    pub(crate) fn body(self: Arc<Self>) -> Bytes {
        Bytes::from_owner(Owner(self))
    }
}

/// Keeps a text while an answer is sent.
struct Owner(Arc<ClientText>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.0.json.get().as_bytes()
    }
}

#[derive(Clone)]
struct Bytewise;

impl Weighter<ClientId, Arc<ClientText>> for Bytewise {
    fn weight(&self, _: &ClientId, text: &Arc<ClientText>) -> u64 {
        text.json.get().len() as u64 + CLIENT
    }
}

/// The JSON of clients that were shown lately. Key: the whole client id. Bound: 16 MiB with the clients themselves. Staleness:
/// none, a text is answered for the very record that it was made of only; what changes a client makes another record. Emptied
/// by nobody: the text of a client that was deleted goes when there is no room.
pub struct ClientTexts(Cache<ClientId, Arc<ClientText>, Bytewise>);

impl ClientTexts {
    /// The JSON of a client.
    pub(crate) fn of(&self, client: &Arc<Client>) -> Arc<ClientText> {
        let known = self.0.get(&client.id).filter(|known| Arc::ptr_eq(&known.client, client));
        known.unwrap_or_else(|| {
            let made = Arc::new(ClientText::of(client));
            self.0.insert(client.id.clone(), Arc::clone(&made));
            made
        })
    }
}

impl Default for ClientTexts {
    fn default() -> Self {
        let usual = CAPACITY / (2 * CLIENT);
        Self(Cache::with_weighter(usize::try_from(usual).unwrap_or(usize::MAX), CAPACITY, Bytewise))
    }
}

impl fmt::Debug for ClientTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTexts").field("clients", &self.0.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_oauth::client::RegistrationRules;
    use sluice_oauth::client::registration::register;
    use sluice_primitives::Timestamp;

    use super::*;
    use crate::admin::wire::client_form::read_client;

    fn client(name: &str) -> Arc<Client> {
        let metadata = read_client(json!({"client_name": name}).to_string().as_bytes()).unwrap();
        let (id, rules) = ("app".parse().unwrap(), RegistrationRules::default());
        Arc::new(register(id, metadata, &rules, Timestamp::from_secs(1)).unwrap())
    }

    #[test]
    fn a_client_is_written_once_and_again_when_it_is_another_record() {
        let texts = ClientTexts::default();
        let (before, after) = (client("Before"), client("After"));
        let first = texts.of(&before);
        assert!(Arc::ptr_eq(&first, &texts.of(&before)), "written once");
        assert!(first.json().get().contains("\"client_name\":\"Before\""));
        let changed = texts.of(&after);
        assert!(changed.json().get().contains("\"client_name\":\"After\""));
        assert!(Arc::ptr_eq(&changed, &texts.of(&after)));
        // Who began with the old record goes on with it, and does not put it in the place of the new one for others.
        assert!(texts.of(&before).json().get().contains("\"client_name\":\"Before\""));
        assert!(texts.of(&after).json().get().contains("\"client_name\":\"After\""));
    }

    #[test]
    fn a_text_is_what_would_be_written_anew() {
        let (texts, client) = (ClientTexts::default(), client("App"));
        let anew = serde_json::to_vec(&ClientBody::from(&*client)).unwrap();
        let text = texts.of(&client);
        assert_eq!(text.json().get().as_bytes(), anew);
        assert_eq!(text.body(), anew);
    }
}
