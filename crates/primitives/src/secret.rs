//! A value that knows that it is secret: no `Display`, prints `[redacted]`, compared in constant time, zeroed when
//! dropped.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// A secret value. [`Secret::expose`] is the only way to it, so that each use can be searched for.
#[derive(Clone, Default)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize + AsRef<[u8]>> Secret<T> {
    /// Whether both hold the same bytes; the time it takes tells nothing but their lengths.
    pub fn same_as(&self, other: &[u8]) -> bool {
        same_bytes(self.0.as_ref(), other)
    }
}

/// Whether both are the same bytes, in time that depends on their lengths only.
pub fn same_bytes(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_its_value() {
        let secret = Secret::new(String::from("hunter2"));
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert!(secret.same_as(b"hunter2"));
        assert!(!secret.same_as(b"hunter3"));
    }
}
