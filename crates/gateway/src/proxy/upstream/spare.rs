//! The head of a request without a body, kept until its answer has begun: then it is known not to be needed again.

use http::{HeaderName, HeaderValue, Method, Request, Uri};
use parking_lot::Mutex;

use crate::proxy::body::RequestBody;

/// So many buffers are kept for further requests.
const KEPT: usize = 128;
/// A larger one is not, in bytes.
const LARGEST: usize = 16 * 1024;

/// Of each header the length of its name, that of its value doubled, and one more if that is sensitive, and both.
type Headers = Vec<u8>;

/// The head of a request.
pub(super) struct Spare {
    method: Method,
    uri: Uri,
    /// Bytes cost less than a map, which is made of them only if it comes to that.
    headers: Headers,
}

impl Spare {
    /// A copy of the head of `request`, in a buffer that is empty.
    pub(super) fn of(request: &Request<RequestBody>, mut headers: Headers) -> Self {
        for (name, value) in request.headers() {
            let (name, is_sensitive, value) = (name.as_str(), value.is_sensitive(), value.as_bytes());
            let lengths =
                [name.len(), (value.len() << 1) | usize::from(is_sensitive)].map(usize::to_ne_bytes);
            headers.extend_from_slice(lengths.as_flattened());
            headers.extend_from_slice(name.as_bytes());
            headers.extend_from_slice(value);
        }
        Self { method: request.method().clone(), uri: request.uri().clone(), headers }
    }

    /// Whether the request may be repeated also where a server may have acted upon it (RFC 9110 §9.2.2).
    pub(super) fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// The request once more. `None`: a header could not be read back, and without it the request would be another.
    pub(super) fn revive(self) -> Option<Request<RequestBody>> {
        let Self { method, uri, headers } = self;
        let mut request = Request::new(RequestBody::Empty);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let mut left = headers.as_slice();
        while !left.is_empty() {
            let (name, value, behind) = first(left)?;
            request.headers_mut().append(name, value);
            left = behind;
        }
        Some(request)
    }
}

/// The first header, and those behind it.
fn first(headers: &[u8]) -> Option<(HeaderName, HeaderValue, &[u8])> {
    let (name, left) = headers.split_first_chunk()?;
    let (value, left) = left.split_first_chunk()?;
    let (name, value) = (usize::from_ne_bytes(*name), usize::from_ne_bytes(*value));
    let is_sensitive = value & 1 == 1;
    let (name, left) = left.split_at_checked(name)?;
    let (value, behind) = left.split_at_checked(value >> 1)?;
    let mut value = HeaderValue::from_bytes(value).ok()?;
    value.set_sensitive(is_sensitive);
    Some((HeaderName::from_bytes(name).ok()?, value, behind))
}

/// Buffers that were used and will be again.
#[derive(Default)]
pub(super) struct Spares(Mutex<Vec<Headers>>);

impl Spares {
    /// A buffer that is empty.
    pub(super) fn take(&self) -> Headers {
        self.0.lock().pop().unwrap_or_default()
    }

    /// Takes the buffer of a head that is no longer needed. Nothing of the head stays in it: there are tokens and cookies among headers.
    pub(super) fn give_back(&self, spare: Option<Spare>) {
        let Some(Spare { mut headers, .. }) = spare else { return };
        if headers.capacity() > LARGEST {
            return;
        }
        headers.fill(0);
        headers.clear();
        let mut kept = self.0.lock();
        if kept.len() < KEPT {
            kept.push(headers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revived_request_is_the_one_that_was_kept() {
        let spares = Spares::default();
        for cookie in ["a", "b"] {
            let mut secret = HeaderValue::from_static("s");
            secret.set_sensitive(true);
            let request = Request::delete("/x?y").header("cookie", cookie).header("x-own", "1");
            let request = request.header("cookie", "c").header("host", "h").header("x-own", secret);
            let request = request.header("x-empty", "").header("x-odd", b"\xff\t\x80 ".as_slice());
            let request = request.header("cookie", "").body(RequestBody::Empty).unwrap();
            let revived = Spare::of(&request, spares.take()).revive().unwrap();
            assert_eq!((revived.method(), revived.uri()), (request.method(), request.uri()));
            assert_eq!(revived.headers(), request.headers());
            let all = |request: &Request<RequestBody>| {
                let headers = request.headers().iter();
                let told = |(name, value): (&HeaderName, &HeaderValue)| {
                    (name.clone(), value.clone(), value.is_sensitive())
                };
                headers.map(told).collect::<Vec<_>>()
            };
            assert_eq!(all(&revived), all(&request), "in their order");
            spares.give_back(Some(Spare::of(&request, spares.take())));
        }
        assert!(spares.take().is_empty());
    }

    #[test]
    fn what_cannot_be_read_back_is_not_sent() {
        let request = Request::get("/").header("a", "b").header("c", "d").body(RequestBody::Empty).unwrap();
        let of = |change: fn(&mut Headers)| {
            let mut spare = Spare::of(&request, Headers::new());
            change(&mut spare.headers);
            spare.revive().is_some()
        };
        assert!(of(|_| {}));
        assert!(!of(|headers| headers.truncate(headers.len() - 1)));
        assert!(!of(|headers| headers.push(0)));
        assert!(!of(|headers| *headers.last_mut().unwrap() = b'\n'));
    }

    #[test]
    fn buffers_are_used_again_but_large_ones_are_not_kept() {
        let spares = Spares::default();
        let given_back = |length: usize| {
            let request = Request::get("/").header("cookie", "a".repeat(length));
            let request = request.body(RequestBody::Empty).unwrap();
            spares.give_back(Some(Spare::of(&request, spares.take())));
            let buffer = spares.take();
            assert!(buffer.is_empty());
            buffer.capacity()
        };
        assert!(given_back(1000) >= 1000);
        assert_eq!(given_back(LARGEST), 0);
    }
}
