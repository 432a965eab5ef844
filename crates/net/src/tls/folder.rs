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
/// What is at the root of a volume, where nobody but root may look.
const LOST: &str = "lost+found";

/// The certificates of a folder, in the order of their names. Of what `is_shown` none is passed over because a link leads nowhere now.
///
/// # Errors
/// [`AcceptorError`] if the folder cannot be read. Whether the files can is not looked at.
pub(super) fn pairs(folder: &Path, is_shown: &dyn Fn(&Pair) -> bool) -> Result<Vec<Pair>, AcceptorError> {
    let mut entries = entries(folder).map_err(|source| AcceptorError {
        of: folder.display().to_string(),
        error: TlsError::Unreadable { path: folder.to_owned(), source },
    })?;
    entries.sort();
    Ok(entries.iter().filter_map(|entry| pair(entry, is_shown)).collect())
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

/// The certificate that an entry of the folder is, or whose chain it is. Of what cannot be looked at, reading says why: only what is not
/// there is passed over, as is a link that leads nowhere and has not the name of a certificate or key.
fn pair(entry: &Path, is_shown: &dyn Fn(&Pair) -> bool) -> Option<Pair> {
    let name = entry.file_name()?.to_str()?;
    if name.starts_with('.') || name == AUTHORITY || name == LOST {
        return None;
    }
    let ends_with = |end: &str| entry.extension().is_some_and(|extension| extension == end);
    let is_named = ends_with("crt") || ends_with("key");
    match fs::metadata(entry) {
        Ok(found) if found.is_dir() => return in_folder(entry),
        // It has just gone.
        Err(_) if !is_there(entry) => return None,
        Err(error) if !is_named && error.kind() == io::ErrorKind::NotFound => {
            let all = IN_FOLDERS.into_iter();
            return all
                .map(|(chain, key)| of_files(entry.join(chain), entry.join(key)))
                .find(|pair| is_shown(pair));
        }
        // A link that leads nowhere that may be looked at: to a folder, maybe.
        Err(_) if !is_named => {
            let [(chain, key), _] = IN_FOLDERS;
            return Some(of_files(entry.join(chain), entry.join(key)));
        }
        Ok(_) | Err(_) => {}
    }
    let is_lonely_key = ends_with("key") && !is_there(&entry.with_extension("crt"));
    let is_one = ends_with("crt") || is_lonely_key;
    is_one.then(|| of_files(entry.with_extension("crt"), entry.with_extension("key")))
}

/// The certificate that a folder is.
fn in_folder(folder: &Path) -> Option<Pair> {
    let (chain, key) = IN_FOLDERS
        .into_iter()
        .map(|(chain, key)| (folder.join(chain), folder.join(key)))
        .find(|(chain, key)| is_there(chain) || is_there(key))?;
    Some(of_files(chain, key))
}

/// Whether there may be something of that name, if only a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    !matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn of_files(chain: PathBuf, key: PathBuf) -> Pair {
    Pair { chain: PemSource::File(chain), private_key: PemSource::File(key) }
}
