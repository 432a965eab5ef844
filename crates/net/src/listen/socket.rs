//! What is listened on: TCP addresses and Unix sockets.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, TcpKeepalive, Type};
use tokio::net::{TcpListener, UnixListener, lookup_host};

use super::places::{ConnectionCount, Places, SharedPlaces};
use super::unix_socket::{self, SocketFile};

/// Connections that the kernel holds for us.
pub(super) const BACKLOG: i32 = 4096;
/// How long a silent connection lives before the kernel asks whether its peer does.
const PROBE_AFTER: Duration = Duration::from_mins(1);
/// How long a peer may leave sent bytes unacknowledged, be it gone or not reading.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_FOR: Duration = Duration::from_mins(2);

/// What to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindAddress {
    /// An IP address, or a name of which the first address is taken; port 0 takes any that is free. `::` is IPv4 too.
    Tcp {
        /// The address or name, an IPv6 address without brackets. Empty: every interface, `::` or, where there is no IPv6, `0.0.0.0`.
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix socket. A file left there by a process that is gone is replaced.
    Unix {
        /// The path.
        path: PathBuf,
        /// The user it is given to, by name or number. `None`: the user of the process.
        owner: Option<String>,
        /// The group it is given to, by name or number. `None`: the group of the process.
        group: Option<String>,
        /// Its permission bits, such as `0o755`.
        mode: u32,
    },
}

/// What a listener is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalAddress {
    /// An address with the port that was taken.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// Why nothing can be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The name has no address.
    #[error("{host} has no address")]
    NoAddress {
        /// The name.
        host: String,
        /// Why, if the resolver said so.
        source: Option<io::Error>,
    },
    /// The address cannot be bound: it is in use, not of this machine, or not permitted.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// A user or group that does not exist.
    #[error("there is no {kind} {name}")]
    UnknownOwner {
        /// `user` or `group`.
        kind: &'static str,
        /// As it was given.
        name: String,
    },
}

/// A bound listener: connections may already queue.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<Socket>,
    address: LocalAddress,
    file: Option<SocketFile>,
    places: SharedPlaces,
    /// What the log calls it. `None`: by its address.
    name: Option<&'static str>,
}

/// A bound socket that is not yet any runtime's: each core of a server attaches its own.
#[derive(Debug)]
pub struct DetachedListener {
    socket: DetachedSocket,
    address: LocalAddress,
    file: Option<SocketFile>,
    places: SharedPlaces,
}

#[derive(Debug)]
enum DetachedSocket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

impl DetachedListener {
    /// What it is bound to.
    pub fn local_address(&self) -> &LocalAddress {
        &self.address
    }

    /// The listener, served by the runtime that this is called in.
    ///
    /// # Errors
    /// The runtime cannot watch the socket.
    pub fn attach(self) -> io::Result<Listener> {
        let Self { socket, address, file, places } = self;
        let socket = match socket {
            DetachedSocket::Tcp(socket) => Socket::Tcp(TcpListener::from_std(socket)?),
            DetachedSocket::Unix(socket) => Socket::Unix(UnixListener::from_std(socket)?),
        };
        Ok(Listener { sockets: vec![socket], address, file, places, name: None })
    }

    /// How many connections it serves, with the others of its address.
    pub fn connections(&self) -> ConnectionCount {
        ConnectionCount::of(&self.places)
    }
}

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Binds `address`; with more than one accept loop the kernel shares out the connections among as many sockets
    /// (`SO_REUSEPORT`), which a Unix socket never needs. Another process that has the address already is in the way.
    ///
    /// # Errors
    /// [`ListenError`]: the address is unknown or cannot be bound, or the socket's owner does not exist.
    pub async fn bind(address: &BindAddress, accept_loops: NonZeroUsize) -> Result<Self, ListenError> {
        match address {
            BindAddress::Tcp { host, port } => {
                Self::bind_tcp(first_address(host, *port).await?, accept_loops)
            }
            BindAddress::Unix { path, owner, group, mode } => {
                let permissions = unix_socket::Permissions::find(owner.as_deref(), group.as_deref(), *mode)?;
                let (socket, file) = unix_socket::bind(path, &permissions)
                    .map_err(|source| ListenError::Bind { address: path.display().to_string(), source })?;
                let address = LocalAddress::Unix(path.clone());
                let (sockets, places) = (vec![Socket::Unix(socket)], SharedPlaces::default());
                Ok(Self { sockets, address, file: Some(file), places, name: None })
            }
        }
    }

    /// Binds `address` once for each core: with `SO_REUSEPORT`, or, for a Unix socket, as one socket that all share. The file of a
    /// Unix socket goes with the first. All together serve as many connections as the first that is served may.
    ///
    /// # Errors
    /// As [`Listener::bind`].
    pub async fn bind_per_core(
        address: &BindAddress,
        cores: NonZeroUsize,
    ) -> Result<Vec<DetachedListener>, ListenError> {
        let count = if matches!(address, BindAddress::Unix { .. }) { NonZeroUsize::MIN } else { cores };
        let bound = Self::bind(address, count).await?;
        let failed = |source| ListenError::Bind { address: format!("{address:?}"), source };
        let mut detached = Vec::with_capacity(cores.get());
        for socket in bound.sockets {
            detached.extend(detach(socket, cores.get() / count.get()).map_err(failed)?);
        }
        let mut file = bound.file;
        let (address, places) = (bound.address, bound.places);
        let listener = |socket| DetachedListener {
            socket,
            address: address.clone(),
            file: file.take(),
            places: places.clone(),
        };
        Ok(detached.into_iter().map(listener).collect())
    }

    /// The same, which the log calls so.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// What it is bound to.
    pub fn local_address(&self) -> &LocalAddress {
        &self.address
    }

    /// How many connections it serves, with the others of its address.
    pub fn connections(&self) -> ConnectionCount {
        ConnectionCount::of(&self.places)
    }

    fn bind_tcp(address: SocketAddr, accept_loops: NonZeroUsize) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Bind { address: address.to_string(), source };
        let shared = accept_loops.get() > 1;
        if shared && address.port() != 0 {
            // Sockets that share a port would share it with those that another process of the same user has already, too, without a word.
            bound(address, false).map_err(failed)?;
        }
        let first = tcp_socket(address, shared).map_err(failed)?;
        let bound = first.local_addr().map_err(failed)?;
        let mut sockets = vec![Socket::Tcp(first)];
        for _ in 1..accept_loops.get() {
            sockets.push(Socket::Tcp(tcp_socket(bound, shared).map_err(failed)?));
        }
        let (address, places) = (LocalAddress::Tcp(bound), SharedPlaces::default());
        Ok(Self { sockets, address, file: None, places, name: None })
    }

    /// The places for connections, `most` in all.
    pub(super) fn places(&self, most: usize) -> Arc<Places> {
        self.places.get_or_init(|| Arc::new(Places::new(self.known_as(), most))).clone()
    }

    fn known_as(&self) -> String {
        match (self.name, &self.address) {
            (Some(name), _) => name.to_owned(),
            (None, LocalAddress::Tcp(address)) => address.to_string(),
            (None, LocalAddress::Unix(path)) => path.display().to_string(),
        }
    }

    /// The sockets, and the file to remove when they are closed.
    pub(super) fn into_parts(self) -> (Vec<Socket>, Option<SocketFile>) {
        (self.sockets, self.file)
    }
}

/// Takes a socket from its runtime, as often as it is needed.
fn detach(socket: Socket, copies: usize) -> io::Result<Vec<DetachedSocket>> {
    let mut detached = Vec::with_capacity(copies);
    match socket {
        Socket::Tcp(socket) => detached.push(DetachedSocket::Tcp(socket.into_std()?)),
        Socket::Unix(socket) => {
            let socket = socket.into_std()?;
            for _ in 1..copies {
                detached.push(DetachedSocket::Unix(socket.try_clone()?));
            }
            detached.push(DetachedSocket::Unix(socket));
        }
    }
    Ok(detached)
}

async fn first_address(host: &str, port: u16) -> Result<SocketAddr, ListenError> {
    if host.is_empty() {
        return Ok(every_interface(port));
    }
    let no_address = |source| ListenError::NoAddress { host: host.to_owned(), source };
    let mut found = lookup_host((host, port)).await.map_err(|error| no_address(Some(error)))?;
    found.next().ok_or_else(|| no_address(None))
}

/// Of IPv6, and of IPv4 with it, where this machine has IPv6.
fn every_interface(port: u16) -> SocketAddr {
    let has_ipv6 = bound((Ipv6Addr::UNSPECIFIED, 0).into(), false).is_ok();
    if has_ipv6 { (Ipv6Addr::UNSPECIFIED, port).into() } else { (Ipv4Addr::UNSPECIFIED, port).into() }
}

fn tcp_socket(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = bound(address, shared)?;
    socket.set_nonblocking(true)?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// A socket that has the address and does not listen yet.
fn bound(address: SocketAddr, shared: bool) -> io::Result<socket2::Socket> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    #[cfg(unix)]
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Options of an accepted connection; one that refuses them is served all the same.
pub(super) fn tune(stream: &tokio::net::TcpStream) {
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(PROBE_AFTER));
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_FOR));
}
