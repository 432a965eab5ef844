//! TLS with an upstream, as its files were when the routes file was read.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use sluice_crypto::digest::sha256;
use sluice_net::{ClientTls, TlsError, client_config};
use sluice_primitives::Secret;
use tokio_rustls::rustls::ClientConfig;

/// Whom the gateway trusts as an upstream, and what it shows there. Two are equal if their files held the same.
#[derive(Clone)]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    /// SHA-256 of each file.
    contents: Vec<[u8; 32]>,
}

impl TlsClient {
    /// Reads the files of `tls`.
    ///
    /// # Errors
    /// [`TlsError`]: one cannot be read, or holds something else.
    pub fn read(tls: &ClientTls) -> Result<Self, TlsError> {
        let pair = tls.certificate.iter().flat_map(|(chain, key)| [chain, key]);
        let files = tls.ca_file.iter().chain(pair);
        // Before they are used: one that is replaced meanwhile is another at the next reading.
        let contents: Vec<_> = files.map(|path| digest(path)).collect::<Result<_, _>>()?;
        Ok(Self { config: client_config(tls)?, contents })
    }
}

impl PartialEq for TlsClient {
    fn eq(&self, other: &Self) -> bool {
        self.contents == other.contents
    }
}

impl Eq for TlsClient {}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsClient").finish_non_exhaustive()
    }
}

fn digest(path: &Path) -> Result<[u8; 32], TlsError> {
    let content = std::fs::read(path).map(Secret::new);
    let content = content.map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })?;
    Ok(sha256(content.expose()))
}
