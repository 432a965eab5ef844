//! The bare service: "ok" to everything. No router, no middleware, no log.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpSocket;
use tokio::time::sleep;

use super::FloorArgs;

/// So many connections may come at once before the first is taken: as many as a driver opens.
const BACKLOG: u32 = 1024;
/// While none can be taken, as where too many files are open.
const PAUSE: Duration = Duration::from_millis(10);

/// Answers until the process ends.
///
/// # Errors
/// Of the listener.
pub(crate) async fn serve(args: &FloorArgs) -> io::Result<Infallible> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, args.port).into())?;
    let listener = socket.listen(BACKLOG)?;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        // One that has ended already says so when it is read.
        drop(stream.set_nodelay(true));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(ok)));
    }
}

async fn ok(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(b"ok"))))
}
