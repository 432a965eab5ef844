//! Authorization responses as tokens (JWT Secured Authorization Response Mode, JARM): signed, and encrypted for clients that
//! want it.

use serde_json::{Map, Value};
use sluice_primitives::{Lifetime, Timestamp};

use super::algorithm;
use super::encrypt::Content;
use super::issuer::{IssueError, TokenIssuer};
use crate::client::Client;

/// How long a signed answer holds: the recommended longest (JARM §2.1).
const LIFETIME: Lifetime = Lifetime::minutes(10);

impl TokenIssuer {
    /// These parameters as a token that says who answers, for whom, and for how long.
    ///
    /// # Errors
    /// [`IssueError`] if a key is missing, this server's or the client's.
    pub async fn authorization_response<'a>(
        &self,
        client: &Client,
        parameters: impl Iterator<Item = (&'a str, &'a str)>,
        now: Timestamp,
    ) -> Result<String, IssueError> {
        let algorithm = algorithm::of_authorization_responses(client, &self.config)?;
        let key = self.keys.id_token_signer(algorithm).ok_or(IssueError::NoKey)?;
        let mut claims: Map<String, Value> =
            parameters.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        claims.insert("iss".to_owned(), Value::from(self.config.issuer.as_str()));
        claims.insert("aud".to_owned(), Value::from(client.id.as_str()));
        claims.insert("exp".to_owned(), Value::from((now + LIFETIME).as_secs()));
        let payload = serde_json::to_vec(&claims).unwrap_or_default();
        let signed = key.sign(Some("JWT"), &payload)?;
        let how = client.formats.authorization_encryption.as_ref();
        Ok(self.encryption.apply(client, how, (Content::Jwt, signed)).await?)
    }
}
