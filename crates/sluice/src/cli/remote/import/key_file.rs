//! What keys are in a file: JSON, PEM or DER, whatever it is called.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sluice_crypto::jwk::{Jwk, JwkError, JwkSet};
use zeroize::Zeroizing;

/// The name that stands for the standard input.
pub(super) const STANDARD_INPUT: &str = "-";

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
/// What else OpenSSL writes into the file of a key: the curve, again.
const PARAMETERS: &str = "EC PARAMETERS-----";
/// What a DER file may hold.
const LABELS: [&str; 6] =
    ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE"];

/// A key in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) jwk: Jwk,
    /// Whether the file says the algorithm, beyond what the key's type implies.
    pub(super) says_alg: bool,
}

/// The keys in a file: at least one.
pub(super) fn parse(content: &[u8]) -> Result<Vec<Found>, JwkError> {
    let keys = match std::str::from_utf8(content) {
        Ok(text) if text.trim_start().starts_with('{') => json(text)?,
        Ok(text) if text.contains(BEGIN) => pem(text)?,
        _ => vec![Found { jwk: der(content)?, says_alg: false }],
    };
    if keys.is_empty() { Err(JwkError::NotAKey) } else { Ok(keys) }
}

/// A JWK, or a set of them: then each must be understood.
fn json(text: &str) -> Result<Vec<Found>, JwkError> {
    let keys = match serde_json::from_str::<JwkSet>(text) {
        Ok(set) => set.keys,
        Err(_) => vec![serde_json::from_str::<Jwk>(text).map_err(|_| JwkError::NotAKey)?],
    };
    Ok(keys.into_iter().map(|jwk| Found { says_alg: jwk.alg.is_some(), jwk }).collect())
}

/// The keys of all blocks. A certificate or public key beside its private key becomes one with it.
fn pem(text: &str) -> Result<Vec<Found>, JwkError> {
    let mut keys: Vec<Found> = Vec::new();
    for block in text.split(BEGIN).skip(1).filter(|block| !block.starts_with(PARAMETERS)) {
        let (body, rest) = block.split_once(END).ok_or(JwkError::NotPem)?;
        let end = rest.lines().next().unwrap_or_default();
        let block = Zeroizing::new(format!("{BEGIN}{body}{END}{end}\n"));
        let jwk = Jwk::from_pem(&block)?;
        let thumbprint = jwk.thumbprint()?;
        let same = |found: &&mut Found| found.jwk.thumbprint().is_ok_and(|own| own == thumbprint);
        match keys.iter_mut().find(same) {
            Some(found) => found.jwk = one_of(&found.jwk, &jwk),
            None => keys.push(Found { jwk, says_alg: false }),
        }
    }
    Ok(keys)
}

/// Two views of the same key in one.
fn one_of(first: &Jwk, second: &Jwk) -> Jwk {
    let (key, other) = if first.is_private() { (first, second) } else { (second, first) };
    Jwk {
        x5c: key.x5c.clone().or_else(|| other.x5c.clone()),
        x5t_s256: key.x5t_s256.clone().or_else(|| other.x5t_s256.clone()),
        ..key.clone()
    }
}

fn der(content: &[u8]) -> Result<Jwk, JwkError> {
    let encoded = Zeroizing::new(STANDARD.encode(content));
    let lines: Vec<_> =
        encoded.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    let body = Zeroizing::new(lines.join("\n"));
    let labelled =
        |label: &str| Zeroizing::new(format!("{BEGIN}{label}-----\n{}\n{END}{label}-----\n", body.as_str()));
    LABELS.iter().find_map(|label| Jwk::from_pem(&labelled(label)).ok()).ok_or(JwkError::NotAKey)
}

#[cfg(test)]
mod tests;
