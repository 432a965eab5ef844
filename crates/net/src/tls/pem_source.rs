//! Where a PEM text is.

use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sluice_primitives::Secret;

use super::TlsError;

/// Base64 as people paste it: with padding or without.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

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

    /// Whether the text may become another.
    pub(super) fn may_change(&self) -> bool {
        matches!(self, Self::File(_))
    }
}
