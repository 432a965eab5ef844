//! A Unix socket as a file: made beside its place, given its owner and mode, then moved there, so that nobody reaches
//! it before it is protected.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Type};
use tokio::net::UnixListener;
use tracing::warn;

use super::socket::{BACKLOG, ListenError};

/// Who may use the socket.
#[derive(Debug)]
pub(super) struct Permissions {
    owner: Option<u32>,
    group: Option<u32>,
    mode: u32,
}

impl Permissions {
    /// Finds the numbers of `owner` and `group` in `/etc/passwd` and `/etc/group`.
    pub(super) fn find(owner: Option<&str>, group: Option<&str>, mode: u32) -> Result<Self, ListenError> {
        Ok(Self {
            owner: owner.map(|name| number_of("user", name, "/etc/passwd")).transpose()?,
            group: group.map(|name| number_of("group", name, "/etc/group")).transpose()?,
            mode,
        })
    }
}

/// The file of a bound socket, removed when dropped if it is still the same.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|file| file.ino() == self.inode);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            warn!(path = %self.path.display(), %error, "the Unix socket could not be removed");
        }
    }
}

/// Binds a socket at `path`.
pub(super) fn bind(path: &Path, permissions: &Permissions) -> io::Result<(UnixListener, SocketFile)> {
    refuse_if_taken(path)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let _ = fs::remove_file(&beside);
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(&beside)?)?;
    let moved = protect(&beside, permissions).and_then(|()| {
        socket.listen(BACKLOG)?;
        let inode = fs::symlink_metadata(&beside)?.ino();
        fs::rename(&beside, path)?;
        Ok(SocketFile { path: path.to_owned(), inode })
    });
    if moved.is_err() {
        let _ = fs::remove_file(&beside);
    }
    Ok((UnixListener::from_std(socket.into())?, moved?))
}

fn protect(path: &Path, permissions: &Permissions) -> io::Result<()> {
    if permissions.owner.is_some() || permissions.group.is_some() {
        chown(path, permissions.owner, permissions.group)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(permissions.mode))
}

/// Whatever is no socket stays; a socket stays while somebody listens on it.
fn refuse_if_taken(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(file) if !file.file_type().is_socket() => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        },
    }
}

fn number_of(kind: &'static str, name: &str, table: &str) -> Result<u32, ListenError> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let lines = fs::read_to_string(table).unwrap_or_default();
    let entry = lines.lines().map(|line| line.split(':')).find_map(|mut fields| {
        let is_named_so = fields.next() == Some(name);
        is_named_so.then(|| fields.nth(1)).flatten()?.parse().ok()
    });
    entry.ok_or_else(|| ListenError::UnknownOwner { kind, name: name.to_owned() })
}
