//! The certificates of a folder, as certbot, Kubernetes and people lay them down.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::pair::Pair;
use super::{AcceptorError, PemSource, TlsError};

/// What a folder that is one certificate has in it: as certbot writes it, and as Kubernetes mounts a secret.
const IN_FOLDERS: [(&str, &str); 2] = [("fullchain.pem", "privkey.pem"), ("tls.crt", "tls.key")];
/// What cert-manager puts beside a certificate: of whoever issued it, whose key nobody here has.
const AUTHORITY: &str = "ca.crt";

/// The certificates of a folder, in the order of their names.
///
/// # Errors
/// [`AcceptorError`] if the folder cannot be read. Whether the files can is not looked at.
pub(super) fn pairs(folder: &Path) -> Result<Vec<Pair>, AcceptorError> {
    let mut entries = entries(folder).map_err(|source| AcceptorError {
        of: folder.display().to_string(),
        error: TlsError::Unreadable { path: folder.to_owned(), source },
    })?;
    entries.sort();
    Ok(entries.iter().filter_map(|entry| pair(entry)).collect())
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

/// The certificate that an entry of the folder is, or whose chain it is.
fn pair(entry: &Path) -> Option<Pair> {
    let name = entry.file_name()?.to_str()?;
    if name.starts_with('.') || name == AUTHORITY {
        return None;
    }
    if entry.is_dir() {
        let (chain, key) = IN_FOLDERS
            .into_iter()
            .map(|(chain, key)| (entry.join(chain), entry.join(key)))
            .find(|(chain, key)| chain.exists() || key.exists())?;
        return Some(of_files(chain, key));
    }
    let is_chain = entry.extension().is_some_and(|extension| extension == "crt");
    let is_lonely_key = entry.extension().is_some_and(|extension| extension == "key")
        && !entry.with_extension("crt").exists();
    (is_chain || is_lonely_key).then(|| of_files(entry.with_extension("crt"), entry.with_extension("key")))
}

fn of_files(chain: PathBuf, key: PathBuf) -> Pair {
    Pair { chain: PemSource::File(chain), private_key: PemSource::File(key) }
}
