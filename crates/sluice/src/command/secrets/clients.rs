//! What clients have that needs a secret, and who of them has to do something before that goes.

use sluice_oauth::client::{ClientSecretsInUse, HashKey, OfClients};

use super::rows::sealed_lines;
use crate::app::KeyMaterial;

/// What lines are about.
const CLIENT_SECRETS: &str = "client secrets";
const REGISTRATION_TOKENS: &str = "registration access tokens";

/// One line for each secret that something needs.
pub(super) fn lines(in_use: &ClientSecretsInUse, secrets: &KeyMaterial) -> Vec<String> {
    let sealed = in_use.sealed.iter().map(|(by, of)| (*by, of.count)).collect();
    let mut lines = sealed_lines(CLIENT_SECRETS, &sealed, secrets);
    let unopened = in_use.sealed.iter().filter(|(by, _)| !by.opens());
    lines.extend(unopened.map(|(_, of)| format!("{CLIENT_SECRETS:<16} not opened: those of {}", whose(of))));
    let hashes = in_use.hashes.iter().map(|(key, of)| {
        let until = "needed until their clients have authenticated or have new ones";
        hash_line(CLIENT_SECRETS, (*key, of), (secrets, until))
    });
    lines.extend(hashes);
    let tokens = in_use.registration_tokens.iter().map(|(key, of)| {
        let until = "needed until their clients have read or changed themselves";
        hash_line(REGISTRATION_TOKENS, (*key, of), (secrets, until))
    });
    lines.extend(tokens);
    lines
}

fn hash_line(what: &str, (key, of): (HashKey, &OfClients), (secrets, until): (&KeyMaterial, &str)) -> String {
    let count = of.count;
    match key {
        HashKey::Known(0) => {
            format!("{what:<16} {count} hashed with {}, which hashes", secrets.name_at_rest(0))
        }
        HashKey::Known(place) => {
            let name = secrets.name_at_rest(place);
            format!("{what:<16} {count} hashed with {name}, {until}: {}", whose(of))
        }
        HashKey::Unknown(id) => format!(
            "{what:<16} {count} hashed with the key {id:02x} of a secret that is not configured, and refused: {}",
            whose(of)
        ),
    }
}

/// The clients, as many as are named.
fn whose(of: &OfClients) -> String {
    let named: Vec<_> = of.named.iter().map(ToString::to_string).collect();
    let named = named.join(", ");
    match of.more {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
