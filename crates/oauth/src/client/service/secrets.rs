//! Which secrets a client has after it was registered or changed.

use sluice_primitives::Secret;

use super::ClientServiceError;
use crate::client::model::Client;
use crate::client::registration::RegistrationError;
use crate::client::secret::ClientSecrets;

/// How many rotated secrets are accepted beside the current one.
const MAX_ROTATED: usize = 5;

/// The secret that one change came to, kept while the change has to be tried again: hashing is slow.
#[derive(Default)]
pub(super) struct Settled(Option<(Secret<String>, String)>);

impl Settled {
    /// Gives `client` its secret hashes; the plain secret, if it is new. A chosen secret takes the place of all others,
    /// otherwise those of `stored` stay. A client that needs one and has none is given one; one that authenticates
    /// otherwise has none.
    pub(super) async fn settle(
        &mut self,
        secrets: &ClientSecrets,
        client: &mut Client,
        stored: Option<&Client>,
        chosen: Option<Secret<String>>,
    ) -> Result<Option<Secret<String>>, ClientServiceError> {
        let kept = stored.map(|stored| stored.secret_hashes.as_slice()).unwrap_or_default();
        if !uses_secret(client) {
            return Ok(None);
        }
        if chosen.is_none() && !kept.is_empty() {
            client.secret_hashes = kept.to_vec();
            return Ok(None);
        }
        let (secret, hash) = match (self.0.take(), chosen) {
            (Some((made, hash)), None) => (made, hash),
            (Some((hashed, hash)), Some(chosen)) if hashed.same_as(chosen.expose().as_bytes()) => {
                (hashed, hash)
            }
            (_, Some(chosen)) => {
                let hash = secrets.hash_chosen(&chosen).await?;
                (chosen, hash)
            }
            (None, None) => secrets.generate(),
        };
        client.secret_hashes = vec![hash.clone()];
        self.0 = Some((secret.clone(), hash));
        Ok(Some(secret))
    }
}

/// Puts a new secret before those that are accepted.
pub(super) fn rotate(client: &mut Client, hash: &str) -> Result<(), RegistrationError> {
    if !uses_secret(client) {
        let hint = "The client does not authenticate by a secret, so there is none to rotate.";
        return Err(RegistrationError::Metadata(hint.to_owned()));
    }
    client.secret_hashes.insert(0, hash.to_owned());
    client.secret_hashes.truncate(1 + MAX_ROTATED);
    Ok(())
}

fn uses_secret(client: &Client) -> bool {
    client.auth_method.uses_secret()
}
