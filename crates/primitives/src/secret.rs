//! A value that knows that it is secret: no `Display`, prints `[redacted]`, compared in constant time, zeroed when
//! dropped.

use std::fmt;
use std::hint::black_box;

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

/// The same of long values such as tokens, of which each request brings one. There is no way out before the end here either, and many
/// bytes are looked at at once.
pub fn same_long_bytes(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let differing = left.iter().zip(right).fold(0_u8, |differing, (left, right)| differing | (left ^ right));
    black_box(differing) == 0
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

    #[test]
    fn long_values_are_the_same_if_each_byte_and_the_length_are() {
        let long: Vec<u8> = (0..=255).cycle().take(1000).collect();
        assert!(same_long_bytes(&long, &long.clone()) && same_long_bytes(b"", b""));
        for place in 0..long.len() {
            let mut other = long.clone();
            other[place] ^= 0x80;
            assert!(!same_long_bytes(&long, &other), "{place}");
        }
        assert!(!same_long_bytes(&long, &long[1..]) && !same_long_bytes(&long, b""));
    }
}
