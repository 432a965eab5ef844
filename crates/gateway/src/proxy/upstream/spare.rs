//! The head of a request without a body, kept until its answer has begun: then it is known not to be needed again.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use parking_lot::Mutex;

use crate::proxy::body::RequestBody;

/// So many lists are kept for further requests.
const KEPT: usize = 128;
/// None with room for more lines than this: one that was made for a long head would keep its memory for as long as its upstream lasts.
const LINES: usize = 128;

type Headers = Vec<(HeaderName, HeaderValue)>;

/// The head of a request.
pub(super) struct Spare {
    method: Method,
    uri: Uri,
    /// A list costs less than a map, which is made of it only if it comes to that.
    headers: Headers,
}

impl Spare {
    /// A copy of the head of `request`, in a list that is empty.
    pub(super) fn of(request: &Request<RequestBody>, mut headers: Headers) -> Self {
        headers.reserve(request.headers().len());
        for (name, value) in request.headers() {
            headers.push((name.clone(), value.clone()));
        }
        Self { method: request.method().clone(), uri: request.uri().clone(), headers }
    }

    /// The request once more.
    pub(super) fn revive(self) -> Request<RequestBody> {
        let mut request = Request::new(RequestBody::Empty);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        let headers: &mut HeaderMap = request.headers_mut();
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        request
    }
}

/// Lists that were used and will be again.
#[derive(Debug, Default)]
pub(super) struct Spares(Mutex<Vec<Headers>>);

impl Spares {
    /// A list that is empty.
    pub(super) fn take(&self) -> Headers {
        self.0.lock().pop().unwrap_or_default()
    }

    /// Takes the list of a head that is no longer needed.
    pub(super) fn give_back(&self, spare: Option<Spare>) {
        let Some(Spare { mut headers, .. }) = spare else { return };
        if headers.capacity() > LINES {
            return;
        }
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
            let request =
                Request::delete("/x?y").header("cookie", cookie).header("cookie", "c").header("host", "h");
            let request = request.body(RequestBody::Empty).unwrap();
            let revived = Spare::of(&request, spares.take()).revive();
            assert_eq!((revived.method(), revived.uri()), (request.method(), request.uri()));
            assert_eq!(revived.headers(), request.headers());
            spares.give_back(Some(Spare::of(&request, spares.take())));
        }
        assert!(spares.take().is_empty());
    }

    #[test]
    fn the_list_of_a_long_head_is_not_kept() {
        let spares = Spares::default();
        for (lines, is_kept) in [(LINES, true), (LINES + 1, false)] {
            let request = (0..lines).fold(Request::get("/"), |request, _| request.header("cookie", "a"));
            let request = request.body(RequestBody::Empty).unwrap();
            spares.give_back(Some(Spare::of(&request, Headers::new())));
            assert_eq!(spares.take().capacity() > 0, is_kept, "{lines}");
        }
    }
}
