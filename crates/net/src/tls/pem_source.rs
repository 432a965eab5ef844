//! Where a PEM text is.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use sluice_primitives::Secret;

use super::TlsError;

/// Base64 as people paste it: with padding or without.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What an encrypted key says of itself: in PKCS #8 (RFC 7468 §11), and in the older forms (RFC 1421 §4.6.1.1).
const ENCRYPTED: [&[u8]; 2] = [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];

/// Where a PEM text is: Hydra's `cert.path` or `cert.base64`, `key.path` or `key.base64`.
#[derive(Debug, Clone)]
pub enum PemSource {
    /// A file, read again when it changes.
    File(PathBuf),
    /// The text in base64, with padding or without; white space is ignored.
    Base64(Secret<String>),
    /// The text itself.
    Text(Secret<String>),
}

impl PemSource {
    /// Reads the text.
    pub(super) fn read(&self) -> Result<Secret<Vec<u8>>, TlsError> {
        match self {
            Self::File(path) => match fs::read(path) {
                Ok(text) => Ok(Secret::new(text)),
                Err(source) => Err(TlsError::Unreadable { path: path.clone(), source }),
            },
            Self::Base64(encoded) => {
                let dense: Secret<Vec<u8>> = Secret::new(
                    encoded.expose().bytes().filter(|byte| !byte.is_ascii_whitespace()).collect(),
                );
                LENIENT.decode(dense.expose()).map(Secret::new).map_err(TlsError::NotBase64)
            }
            Self::Text(text) => Ok(Secret::new(text.expose().as_bytes().to_vec())),
        }
    }

    /// What a message calls it: the file, or how this `part` of a pair (`cert`, `key`) was given.
    pub(super) fn name(&self, part: &str) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Base64(_) => format!("{part}.base64"),
            Self::Text(_) => part.to_owned(),
        }
    }

    /// Whether the text may become another.
    pub(super) fn may_change(&self) -> bool {
        self.file().is_some()
    }

    /// The file that it is in.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Base64(_) | Self::Text(_) => None,
        }
    }
}

/// The first private key of a PEM text.
pub(super) fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(text)
        .map_err(|error| if is_encrypted(text) { TlsError::EncryptedKey } else { TlsError::NotPem(error) })
}

fn is_encrypted(text: &[u8]) -> bool {
    ENCRYPTED.iter().any(|mark| text.windows(mark.len()).any(|part| part == *mark))
}
