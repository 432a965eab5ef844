//! Which secrets a client has after it was registered or changed.

use sluice_crypto::Purpose;
use sluice_primitives::Secret;

use super::{ClientServiceError, ClientServiceParts};
use crate::client::model::{AuthMethod, Client};
use crate::client::registration::{RegistrationError, shortest_to_sign};
use crate::client::secret::ClientSecrets;

/// How many rotated secrets are accepted beside the current one.
const MAX_ROTATED: usize = 5;

/// The secret that one change came to, kept while the change has to be tried again: hashing is slow.
#[derive(Default)]
pub(super) struct Settled(Option<(Secret<String>, String)>);

impl Settled {
    /// Gives `client` its secret hashes; the plain secret, if it is new. A chosen secret takes the place of all others,
    /// otherwise those of `stored` stay. A client that needs one and has none is given one, and so is one that signs by
    /// another algorithm from now on, for which its secret is too short; one that authenticates otherwise has none. One that
    /// signs with its secret has it kept sealed, too: it cannot be got from a hash.
    pub(super) async fn settle(
        &mut self,
        parts: &ClientServiceParts,
        client: &mut Client,
        stored: Option<&Client>,
        chosen: Option<Secret<String>>,
    ) -> Result<Option<Secret<String>>, ClientServiceError> {
        let kept = stored.map(|stored| stored.secret_hashes.as_slice()).unwrap_or_default();
        if !uses_secret(client) {
            return Ok(None);
        }
        let stays = !signs(client) || stored.is_some_and(|stored| goes_on_signing(parts, client, stored));
        if chosen.is_none() && !kept.is_empty() && stays {
            client.secret_hashes = kept.to_vec();
            client.secrets_end = stored.and_then(|stored| stored.secrets_end);
            let sealed = stored.and_then(|stored| stored.security.sealed_secret.as_ref());
            client.security.sealed_secret = sealed.filter(|_| signs(client)).cloned();
            return Ok(None);
        }
        let (secret, hash) = match (self.0.take(), chosen) {
            (Some((made, hash)), None) if is_long_enough(client, made.expose().len()) => (made, hash),
            (Some((hashed, hash)), Some(chosen)) if hashed.same_as(chosen.expose().as_bytes()) => {
                (hashed, hash)
            }
            (_, Some(chosen)) => {
                let hash = parts.secrets.hash_chosen(&chosen).await?;
                (chosen, hash)
            }
            (_, None) if signs(client) => parts.secrets.generate_to_sign(),
            (_, None) => parts.secrets.generate(),
        };
        client.secret_hashes = vec![hash.clone()];
        keep_sealed(parts, client, &secret);
        self.0 = Some((secret.clone(), hash));
        Ok(Some(secret))
    }
}

/// A secret and its hash.
type Hashed = (Secret<String>, String);

/// A new secret for a client that sends it, and one for a client that signs with it: which of them is needed shows when the
/// client is read.
pub(super) struct NewSecrets {
    sent: Hashed,
    signing: Hashed,
}

impl NewSecrets {
    pub(super) fn made_by(secrets: &ClientSecrets) -> Self {
        Self { sent: secrets.generate(), signing: secrets.generate_to_sign() }
    }

    /// The one for this client.
    pub(super) fn of(&self, client: &Client) -> &Hashed {
        if signs(client) { &self.signing } else { &self.sent }
    }
}

/// Puts a new secret before those that are accepted.
pub(super) fn rotate(
    parts: &ClientServiceParts,
    client: &mut Client,
    new: &NewSecrets,
) -> Result<(), RegistrationError> {
    if !uses_secret(client) {
        let hint = "The client does not authenticate by a secret, so there is none to rotate.";
        return Err(RegistrationError::Metadata(hint.to_owned()));
    }
    let (secret, hash) = new.of(client);
    client.secret_hashes.insert(0, hash.clone());
    client.secret_hashes.truncate(1 + MAX_ROTATED);
    if let Some(end) = &mut client.secrets_end {
        end.newer += 1;
    }
    keep_sealed(parts, client, secret);
    Ok(())
}

/// Of a client that signs with its secret the newest one counts only.
fn keep_sealed(parts: &ClientServiceParts, client: &mut Client, secret: &Secret<String>) {
    let seal = || parts.at_rest.seal(Purpose::ClientSecret, secret.expose().as_bytes(), &*parts.rng);
    client.security.sealed_secret = signs(client).then(seal);
}

/// Whether a client can sign with the secret that is kept sealed of it. One that stays with its algorithm can, whatever the
/// length; for another one it may be too short.
fn goes_on_signing(parts: &ClientServiceParts, client: &Client, stored: &Client) -> bool {
    let Some(sealed) = &stored.security.sealed_secret else { return false };
    if client.auth_signing_alg == stored.auth_signing_alg {
        return true;
    }
    let secret = parts.at_rest.open(Purpose::ClientSecret, sealed).map(Secret::new);
    secret.is_ok_and(|secret| is_long_enough(client, secret.expose().len()))
}

/// Whether a client can do with a secret of so many bytes what it has it for.
fn is_long_enough(client: &Client, length: usize) -> bool {
    let algorithm = client.auth_signing_alg.as_deref().unwrap_or_default();
    !signs(client) || length >= shortest_to_sign(algorithm)
}

fn signs(client: &Client) -> bool {
    client.auth_method == AuthMethod::ClientSecretJwt
}

fn uses_secret(client: &Client) -> bool {
    client.auth_method.uses_secret()
}
