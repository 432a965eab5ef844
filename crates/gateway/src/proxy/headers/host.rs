//! The host that a request is for.

use std::sync::{Arc, OnceLock};

use http::HeaderValue;
use parking_lot::Mutex;
use sluice_net::is_host;

/// A host with its port, if it has one.
#[derive(Debug)]
pub(in crate::proxy) struct Host {
    /// As the request says it.
    pub(in crate::proxy) value: HeaderValue,
    /// The same. Empty: the request names none, as over HTTP/1.0 it need not.
    pub(in crate::proxy) text: Box<str>,
    /// The `Forwarded` of a client without proxies that asks for it.
    element: OnceLock<HeaderValue>,
}

impl Host {
    /// That of a request which names none.
    pub(super) fn unnamed() -> Arc<Self> {
        Self::new(HeaderValue::from_static(""), "")
    }

    fn new(value: HeaderValue, text: &str) -> Arc<Self> {
        Arc::new(Self { value, text: text.into(), element: OnceLock::new() })
    }

    /// The `Forwarded` of the connection's client without proxies, made once.
    pub(super) fn element(&self, make: impl FnOnce() -> HeaderValue) -> HeaderValue {
        self.element.get_or_init(make).clone()
    }
}

/// The last host that was asked for on a connection: nearly every request asks for the same, which is looked at once.
#[derive(Debug, Default)]
pub(in crate::proxy) struct LastHost(Mutex<Option<Arc<Host>>>);

impl LastHost {
    /// Reads a host. `None`: it is none.
    pub(super) fn read(&self, value: &HeaderValue) -> Option<Arc<Host>> {
        let mut last = self.0.lock();
        if let Some(host) = last.as_ref().filter(|host| host.value == value) {
            return Some(host.clone());
        }
        let text = str::from_utf8(value.as_bytes()).ok().filter(|text| is_host(text.as_bytes()))?;
        // A copy: what was read is a piece of all that came with it, tokens too, and would keep that as long as the connection.
        let copy = HeaderValue::from_str(text).ok()?;
        Some(last.insert(Host::new(copy, text)).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_anew_where_it_differs_from_the_last() {
        let (last, said) = (LastHost::default(), HeaderValue::from_static);
        let first = said("a:80");
        let host = last.read(&first).unwrap();
        assert_eq!((&host.value, &*host.text), (&said("a:80"), "a:80"));
        assert_ne!(
            host.value.as_bytes().as_ptr(),
            first.as_bytes().as_ptr(),
            "it keeps nothing of the request"
        );
        assert!(Arc::ptr_eq(&host, &last.read(&said("a:80")).unwrap()));
        assert!(last.read(&said("a b")).is_none());
        assert!(Arc::ptr_eq(&host, &last.read(&said("a:80")).unwrap()), "what is none takes nobody's place");
        for other in ["A:80", "a:8", "a:800", "b"] {
            assert_eq!(&*last.read(&said(other)).unwrap().text, other);
        }
    }

    #[test]
    fn what_is_forwarded_is_made_once_for_each_host() {
        let last = LastHost::default();
        for host in ["a", "b", "a"] {
            let host = HeaderValue::from_static(host);
            let read = || last.read(&host).unwrap();
            assert_eq!(read().element(|| host.clone()), host);
            assert_eq!(read().element(|| panic!("it is made")), host);
        }
    }
}
