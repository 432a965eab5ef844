//! A keep-alive connection: HTTP/1.1, one request at a time, nothing copied that nobody looks at.
//!
//! The driver shares the machine with what it measures, so that each of its microseconds is one that the server lacks.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Failure;
use super::answer::Head;

/// More headers than an answer of a server under load has.
const MOST_HEADERS: usize = 64;
/// Of the buffer that answers are read into.
const CAPACITY: usize = 16 * 1024;
/// Free of it when it is read into.
const LEAST_FREE: usize = 4 * 1024;
/// Of one answer.
const LARGEST: usize = 64 * 1024 * 1024;
/// A server may close a connection that nobody uses. One that was used just now is not asked whether it is still there.
const JUST_NOW: Duration = Duration::from_secs(1);

pub(super) struct Connection {
    stream: TcpStream,
    last_used: Instant,
    /// The answer as it came.
    buffer: Vec<u8>,
    /// Up to here it was understood.
    at: usize,
    /// The body of an answer that came in chunks, without them.
    unchunked: Vec<u8>,
    /// Where the body is, in `buffer` if it did not come in chunks.
    body: Range<usize>,
    /// The head of the last answer.
    pub(super) head: Head,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            last_used: Instant::now(),
            buffer: Vec::with_capacity(CAPACITY),
            at: 0,
            unchunked: Vec::new(),
            body: 0..0,
            head: Head::default(),
        })
    }

    /// Whether another request may follow.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        !self.head.closes && (now.duration_since(self.last_used) < JUST_NOW || self.is_still_there())
    }

    /// Nothing is to be read: neither the end nor what nobody asked for.
    fn is_still_there(&self) -> bool {
        self.stream.try_read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// The body of the last answer.
    pub(super) fn body(&self) -> &[u8] {
        let of = if self.head.is_chunked { &self.unchunked } else { &self.buffer };
        of.get(self.body.clone()).unwrap_or_default()
    }

    /// Sends a request and reads the answer.
    pub(super) async fn exchange(&mut self, request: &[u8], now: Instant) -> Result<(), Failure> {
        self.last_used = now;
        self.buffer.clear();
        self.unchunked.clear();
        (self.at, self.body) = (0, 0..0);
        self.stream.write_all(request).await?;
        loop {
            self.read_head().await?;
            // An interim response (RFC 9110 section 15.2) announces the one that counts.
            if self.head.status >= 200 {
                break;
            }
        }
        self.read_body().await
    }

    async fn read_head(&mut self) -> Result<(), Failure> {
        loop {
            let ahead = self.buffer.get(self.at..).unwrap_or_default();
            if let Some(length) = parse_head(ahead, &mut self.head)? {
                self.at += length;
                return Ok(());
            }
            self.read_more(LEAST_FREE).await?;
        }
    }

    async fn read_body(&mut self) -> Result<(), Failure> {
        if matches!(self.head.status, 204 | 304) {
            return Ok(());
        }
        if self.head.is_chunked {
            return self.read_chunks().await;
        }
        match self.head.length {
            Some(length) if length > LARGEST => return Err(Failure::Malformed),
            Some(length) => self.read_exactly(length).await?,
            None => self.read_to_end().await?,
        }
        let end = self.head.length.map_or(self.buffer.len(), |length| self.at + length);
        self.body = self.at..end;
        Ok(())
    }

    /// Reads until so many bytes are ahead.
    async fn read_exactly(&mut self, length: usize) -> Result<(), Failure> {
        while self.ahead().len() < length {
            self.read_more(length - self.ahead().len()).await?;
        }
        Ok(())
    }

    async fn read_to_end(&mut self) -> Result<(), Failure> {
        self.head.closes = true;
        while self.stream.read_buf(&mut self.buffer).await? > 0 {
            if self.buffer.len() > LARGEST {
                return Err(Failure::Malformed);
            }
        }
        Ok(())
    }

    /// RFC 9112 section 7.1. Trailers are passed over.
    async fn read_chunks(&mut self) -> Result<(), Failure> {
        loop {
            let length = self.read_chunk_size().await?;
            if length == 0 {
                self.body = 0..self.unchunked.len();
                return self.skip_trailers().await;
            }
            if length > LARGEST || self.unchunked.len() + length > LARGEST {
                return Err(Failure::Malformed);
            }
            // With the line break after it.
            self.read_exactly(length + 2).await?;
            let chunk = self.buffer.get(self.at..self.at + length).unwrap_or_default();
            self.unchunked.extend_from_slice(chunk);
            self.at += length + 2;
        }
    }

    async fn read_chunk_size(&mut self) -> Result<usize, Failure> {
        loop {
            match httparse::parse_chunk_size(self.ahead()).map_err(|_| Failure::Malformed)? {
                httparse::Status::Complete((line, length)) => {
                    self.at += line;
                    return usize::try_from(length).map_err(|_| Failure::Malformed);
                }
                httparse::Status::Partial => self.read_more(LEAST_FREE).await?,
            }
        }
    }

    async fn skip_trailers(&mut self) -> Result<(), Failure> {
        loop {
            match self.ahead().windows(2).position(|pair| pair == b"\r\n") {
                Some(line) => {
                    self.at += line + 2;
                    if line == 0 {
                        return Ok(());
                    }
                }
                None => self.read_more(LEAST_FREE).await?,
            }
        }
    }

    /// What has come and was not understood yet.
    fn ahead(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    async fn read_more(&mut self, free: usize) -> Result<(), Failure> {
        if self.buffer.len() > LARGEST {
            return Err(Failure::Malformed);
        }
        self.buffer.reserve(free);
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(())
    }
}

/// How long the head is, once all of it is there.
fn parse_head(bytes: &[u8], head: &mut Head) -> Result<Option<usize>, Failure> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    );
    let httparse::Status::Complete(length) = parsed.map_err(|_| Failure::Malformed)? else { return Ok(None) };
    head.status = response.code.ok_or(Failure::Malformed)?;
    head.closes = response.version == Some(0);
    (head.location, head.length, head.is_chunked, head.turns_away) = (None, None, false, false);
    head.cookies.clear();
    for header in response.headers.iter() {
        keep(head, header)?;
    }
    Ok(Some(length))
}

fn keep(head: &mut Head, header: &httparse::Header<'_>) -> Result<(), Failure> {
    let is = |name: &str| header.name.eq_ignore_ascii_case(name);
    let value = || std::str::from_utf8(header.value).map_err(|_| Failure::Malformed);
    if is("content-length") {
        head.length = Some(value()?.parse().map_err(|_| Failure::Malformed)?);
    } else if is("location") {
        head.location = Some(value()?.to_owned());
    } else if is("set-cookie") {
        head.cookies.push(value()?.to_owned());
    } else if is("transfer-encoding") {
        head.is_chunked = value()?.eq_ignore_ascii_case("chunked");
    } else if is("connection") {
        head.closes |= value()?.split(',').any(|option| option.trim().eq_ignore_ascii_case("close"));
    } else if head.status == 503 && is("retry-after") {
        head.turns_away = true;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
