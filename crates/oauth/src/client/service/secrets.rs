//! Which secrets a client has after it was registered or changed.

use sluice_crypto::Purpose;
use sluice_primitives::Secret;

use super::{By, ClientServiceError, ClientServiceParts};
use crate::client::model::{AuthMethod, Client, SecretsEnd};
use crate::client::registration::{RegistrationError, shortest_to_sign};
use crate::client::secret::ClientSecrets;

/// How many rotated secrets are accepted beside the current one.
const MAX_ROTATED: usize = 5;

/// What a client was before a change, and who makes that.
#[derive(Clone, Copy)]
pub(super) struct Former<'a> {
    /// Nothing if it is new.
    pub(super) client: Option<&'a Client>,
    pub(super) by: By,
}

impl Former<'_> {
    /// The secrets that the client goes on with. When an administrator changes it, the current one waits while the method uses none,
    /// without the rotated ones: they are of a transition that is over. A client that changes itself between methods with and
    /// without a secret begins anew: it may know none of those.
    fn kept(self, parts: &ClientServiceParts, next: &Client) -> Kept {
        let Some(own) = self.client else { return Kept::default() };
        match (uses_secret(own), uses_secret(next)) {
            (used, uses) if used == uses => Kept { hashes: own.secret_hashes.clone(), end: own.secrets_end },
            _ if matches!(self.by, By::Itself(_)) => Kept::default(),
            (true, _) => {
                let current = own.secret_hashes.iter().take(1).cloned();
                Kept { hashes: current.collect(), end: own.secrets_end }
            }
            (false, _) => Kept::of_waiting(parts, own),
        }
    }

    /// Whether a client that is in no need of a secret, as its method uses none, is given one all the same: when an administrator
    /// registers one that is not public.
    fn is_given_one(self, next: &Client) -> bool {
        self.client.is_none() && self.by == By::Administrator && !next.is_public()
    }
}

/// What a client keeps of its secrets.
#[derive(Default)]
struct Kept {
    hashes: Vec<String>,
    end: Option<SecretsEnd>,
}

impl Kept {
    /// Of secrets that waited those that hold and can be checked. Nobody has looked after them: their key may be gone.
    fn of_waiting(parts: &ClientServiceParts, own: &Client) -> Self {
        let now = parts.clock.now();
        let can_check = |hash: &&String| parts.secrets.can_check(hash);
        let hashes = own.secret_hashes_at(now).iter().filter(can_check).cloned().collect();
        let end = own.secrets_end.filter(|end| end.at > now);
        let newer = |end: SecretsEnd| own.secret_hashes.iter().take(end.newer).filter(can_check).count();
        Self { hashes, end: end.map(|end| SecretsEnd { newer: newer(end), ..end }) }
    }
}

/// The secret that one change came to, kept while the change has to be tried again: hashing is slow.
#[derive(Default)]
pub(super) struct Settled(Option<(Secret<String>, String)>);

impl Settled {
    /// Gives `client` its secret hashes; the plain secret, if it is new and to be told: not to a public client that is new, as with
    /// Hydra. A chosen secret takes the place of all others, otherwise those of `former` stay. A client that needs one and has none
    /// is given one, and so is one that signs by another algorithm from now on, for which its secret is too short. One that signs
    /// with its secret has it kept sealed, too, for as long as it does: it cannot be got from a hash.
    pub(super) async fn settle(
        &mut self,
        parts: &ClientServiceParts,
        client: &mut Client,
        former: Former<'_>,
        chosen: Option<Secret<String>>,
    ) -> Result<Option<Secret<String>>, ClientServiceError> {
        let kept = former.kept(parts, client);
        let signs_on = !signs(client) || former.client.is_some_and(|own| goes_on_signing(parts, client, own));
        let has_one = !kept.hashes.is_empty();
        let has_enough = if uses_secret(client) { has_one && signs_on } else { !former.is_given_one(client) };
        if chosen.is_none() && has_enough {
            client.secret_hashes = kept.hashes;
            client.secrets_end = kept.end.filter(|_| has_one);
            let sealed = former.client.and_then(|own| own.security.sealed_secret.as_ref());
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
        Ok(Some(secret).filter(|_| former.client.is_some() || !client.is_public()))
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

/// Puts a new secret before those that are accepted, or that wait: one that leaked can be taken away, whatever the method.
pub(super) fn rotate(
    parts: &ClientServiceParts,
    client: &mut Client,
    new: &NewSecrets,
) -> Result<(), RegistrationError> {
    if !uses_secret(client) && client.secret_hashes.is_empty() {
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
