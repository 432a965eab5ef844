//! The bare service: "ok" to everything. No router, no middleware, no log.

use std::convert::Infallible;
use std::io;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::FloorArgs;

/// Answers until the process ends.
///
/// # Errors
/// Of the listener.
pub(crate) async fn serve(args: &FloorArgs) -> io::Result<Infallible> {
    let listener = TcpListener::bind(("127.0.0.1", args.port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(ok)));
    }
}

async fn ok(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(b"ok"))))
}
