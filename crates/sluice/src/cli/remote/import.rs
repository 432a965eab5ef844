//! Keys from files: `import jwk`, `keys import`.
//!
//! [`ImportArgs`]: what the command line says. `key_file`: what is in a file.

mod key_file;

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwe::DecryptionKey;
use sluice_crypto::jwk::{Jwk, JwkError};
use sluice_crypto::jws::{SigningKey, VerifyingKey};

use super::error::RemoteError;
use super::jwks;
use super::server::Server;
use crate::cli::output::Answer;
use crate::cli::value;
use key_file::Found;

/// Keys in files, and the set that they are added to. In a set that the server signs with, a private key signs at once; of
/// several, the first.
#[derive(Clone, Args)]
pub(crate) struct ImportArgs {
    /// The id of the set; made if it does not exist
    #[arg(value_name = "SET", value_parser = value::path_segment)]
    set: String,
    /// Files with a JWK, a JWK set, PEM blocks (PKCS#8, PKCS#1, SEC 1, public keys, certificates) or DER; without any, the
    /// standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The algorithm of keys that do not say theirs
    #[arg(long)]
    alg: Option<String>,
    /// What keys are for that do not say it: sig or enc
    #[arg(long = "use", value_name = "USE", default_value = "sig")]
    key_use: String,
}

/// Adds the keys under their own ids, or their thumbprints (RFC 7638) if they have none. What is shown has no private parts.
///
/// Each signs at once, so that the last to be put goes on to sign: the first, as in a set that is put as a whole.
pub(super) async fn import(args: &ImportArgs, server: &Server) -> Result<Answer, RemoteError> {
    let mut keys = Vec::new();
    for path in &args.sources() {
        let failed = |reason: String| RemoteError::File { path: path.clone(), reason };
        let content = zeroize::Zeroizing::new(read(path).map_err(|error| failed(error.to_string()))?);
        let found = key_file::parse(&content).map_err(|error| failed(error.to_string()))?;
        for key in found {
            keys.push(args.named(key).map_err(|error| failed(error.to_string()))?);
        }
    }
    let (mut imported, mut failures) = (Vec::new(), Vec::new());
    for jwk in joined(keys).iter().rev() {
        let kid = jwk.kid.as_deref().unwrap_or_default();
        let body = serde_json::to_value(jwk).unwrap_or_default();
        match server.send_json(Method::PUT, &["admin", "keys", &args.set, kid], &body).await {
            Ok(_) => imported.push(args.shown(body)),
            Err(error) => failures.push(format!("{kid}: {error}")),
        }
    }
    imported.reverse();
    failures.reverse();
    Ok(jwks::list(&imported, json!({ "set": args.set, "keys": imported })).with_failures(failures))
}

/// Each key once, under its name: with its private part, if one of the files has that.
fn joined(keys: Vec<Jwk>) -> Vec<Jwk> {
    let mut joined: Vec<Jwk> = Vec::with_capacity(keys.len());
    for key in keys {
        let is_same =
            |known: &&mut Jwk| known.kid == key.kid && known.thumbprint().ok() == key.thumbprint().ok();
        match joined.iter_mut().find(is_same) {
            Some(known) if key.is_private() && !known.is_private() => *known = key,
            Some(_) => {}
            None => joined.push(key),
        }
    }
    joined
}

impl ImportArgs {
    fn sources(&self) -> Vec<PathBuf> {
        if self.files.is_empty() { vec![PathBuf::from(key_file::STANDARD_INPUT)] } else { self.files.clone() }
    }

    /// The key with everything that it needs to be used, if it can be.
    fn named(&self, found: Found) -> Result<Jwk, JwkError> {
        let Found { mut jwk, says_alg } = found;
        let key_use = jwk.key_use.get_or_insert_with(|| self.key_use.clone()).clone();
        if !says_alg && (self.alg.is_some() || key_use == "enc") {
            jwk.alg.clone_from(&self.alg);
        }
        if jwk.alg.is_none() && key_use == "sig" && !jwk.is_symmetric() {
            jwk.alg = Some(jwk.signing_algorithm()?.to_string());
        }
        if jwk.kid.as_deref().is_none_or(str::is_empty) {
            jwk.kid = Some(jwk.thumbprint()?);
        }
        match (key_use.as_str(), jwk.is_private()) {
            _ if jwk.is_symmetric() => {}
            ("enc", true) => drop(DecryptionKey::from_jwk(&jwk)?),
            ("sig", true) => drop(SigningKey::from_jwk(&jwk)?),
            ("sig", false) => drop(VerifyingKey::from_jwk(&jwk)?),
            _ => {}
        }
        Ok(jwk)
    }

    /// As `get jwks --public` shows it.
    fn shown(&self, mut key: Value) -> Value {
        if let Some(key) = key.as_object_mut() {
            jwks::make_public(key);
            key.insert("set".to_owned(), self.set.as_str().into());
        }
        key
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path.as_os_str() != key_file::STANDARD_INPUT {
        return std::fs::read(path);
    }
    let mut content = Vec::new();
    std::io::stdin().read_to_end(&mut content)?;
    Ok(content)
}
