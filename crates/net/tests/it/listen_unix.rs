//! Unix sockets.

use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use axum::routing::get;
use axum::{Extension, Router};
use sluice_net::{BindAddress, Limits, ListenError, Listener, PeerAddress, serve};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use crate::given::*;

async fn bind(path: &Path, owner: Option<&str>) -> Result<Listener, ListenError> {
    let owner = owner.map(str::to_owned);
    let address = BindAddress::Unix { path: PathBuf::from(path), owner, group: None, mode: 0o640 };
    Listener::bind(&address, NonZeroUsize::MIN).await
}

#[tokio::test]
async fn a_unix_socket_is_served_by_its_mode_and_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.sock");
    let listener = bind(&path, None).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let peer = |Extension(peer): Extension<PeerAddress>| async move { peer.0.to_string() };
    let router = Router::new().route("/", get(peer));
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(serve(listener, None, router, None, shutdown.clone(), Limits::default()));
    let mut stream = UnixStream::connect(&path).await.unwrap();
    say(&mut stream, GET).await;
    assert!(answer_until(&mut stream, "127.0.0.1:0").await.ends_with("127.0.0.1:0"));
    shutdown.cancel();
    assert_eq!(in_time(serving).await.unwrap().cut, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_socket_that_nobody_listens_on_is_replaced_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = bind(&path, None).await.unwrap();
    assert!(matches!(bind(&path, None).await, Err(ListenError::Bind { .. })), "one is listening");
    drop(listener);
    std::fs::write(&path, "a file").unwrap();
    assert!(matches!(bind(&path, None).await, Err(ListenError::Bind { .. })), "it is no socket");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
}

#[tokio::test]
async fn an_owner_that_does_not_exist_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let refused = bind(&folder.path().join("sluice.sock"), Some("no such user")).await.unwrap_err();
    assert_eq!(refused.to_string(), "there is no user no such user");
}
