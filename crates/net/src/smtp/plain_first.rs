//! A connection that begins in plain text and may become TLS (`STARTTLS`, RFC 3207).
//!
//! Whoever stands between can say more after the server's reply to `STARTTLS`. The library reads ahead, and would take that for what the
//! server says over TLS. So it is given one byte at a time: when TLS begins it has read to the end of the reply and no further, and what
//! comes next is for the handshake, which takes no plain text.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::bounded_replies::BoundedReplies;

/// With what a client begins TLS: a handshake record (RFC 8446 §5.1). No command begins so, and no mail.
const TLS_HANDSHAKE: u8 = 22;

/// A connection that begins in plain text.
#[derive(Debug)]
pub(super) struct PlainFirst {
    stream: BoundedReplies<TcpStream>,
    is_plain: bool,
}

impl PlainFirst {
    pub(super) const fn new(stream: BoundedReplies<TcpStream>) -> Self {
        Self { stream, is_plain: true }
    }
}

impl AsyncTokioStream for PlainFirst {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncRead for PlainFirst {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_plain || buffer.remaining() == 0 {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let mut byte = [0];
        let mut one = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut this.stream).poll_read(context, &mut one))?;
        buffer.put_slice(one.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PlainFirst {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if bytes.first() == Some(&TLS_HANDSHAKE) {
            this.is_plain = false;
        }
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
