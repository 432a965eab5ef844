//! What a document says, as a client.

use serde_json::{Map, Value};
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;

use super::DocumentError;
use crate::client::dynamic::{Bounds, Trust};
use crate::client::model::{AuthMethod, Client};
use crate::client::registration::{self, ClientMetadata, ReadMetadata, RegistrationRules};

/// By which rules documents are read.
pub(super) struct Reader {
    pub(super) read: ReadMetadata,
    pub(super) rules: RegistrationRules,
    pub(super) default_scope: String,
    pub(super) default_audience: Vec<String>,
}

impl Reader {
    /// The client that a document describes (draft-ietf-oauth-client-id-metadata-document §4). It may be no more than one
    /// that anybody registers.
    pub(super) fn client(&self, id: &ClientId, body: &[u8], now: Timestamp) -> Result<Client, DocumentError> {
        let members: Map<String, Value> = serde_json::from_slice(body).map_err(|_| DocumentError::NotJson)?;
        if members.get("client_id").and_then(Value::as_str) != Some(id.as_str()) {
            return Err(DocumentError::OtherClient);
        }
        if ["client_secret", "client_secret_expires_at"].iter().any(|secret| members.contains_key(*secret)) {
            return Err(DocumentError::Secret);
        }
        let metadata = (self.read)(body).map_err(DocumentError::Refused)?;
        let token_endpoint_auth_method = auth_method(&metadata)?.as_str().to_owned();
        let metadata = ClientMetadata { token_endpoint_auth_method, ..metadata };
        let bounds = Bounds {
            trust: Trust::Anybody,
            default_scope: &self.default_scope,
            default_audience: &self.default_audience,
            plain_http_keys: false,
            // Nobody reads why a document is refused for what it may never use.
            unsigned_requests: true,
            // Nobody tells the client of another.
            id_token_alg: Some(SigningAlgorithm::RS256),
            pairwise_by_default: self.rules.is_pairwise_by_default(),
            stored: None,
        };
        let refused = |why: registration::RegistrationError| DocumentError::Refused(why.to_string());
        let metadata = bounds.restrict(metadata).map_err(refused)?;
        let client = registration::register(id.clone(), metadata, &self.rules, now).map_err(refused)?;
        Ok(Client { revision: revision(body), ..client })
    }
}

/// A document can keep no secret, so that nothing that needs one is allowed; who names nothing has none.
fn auth_method(metadata: &ClientMetadata) -> Result<AuthMethod, DocumentError> {
    let asked = metadata.token_endpoint_auth_method.as_str();
    if asked.is_empty() {
        return Ok(AuthMethod::None);
    }
    let keyless = [AuthMethod::None, AuthMethod::PrivateKeyJwt];
    keyless.into_iter().find(|method| method.as_str() == asked).ok_or(DocumentError::Secret)
}

/// Another document is another revision of the client, whichever node read it: 48 bits of its hash.
fn revision(body: &[u8]) -> i64 {
    sha256(body).iter().take(6).fold(0, |revision, byte| (revision << 8) | i64::from(*byte))
}
