//! A text that must not be printed: a secret of the configuration.

use std::fmt;

use zeroize::Zeroizing;

/// What is printed in a secret's place.
pub(super) const REDACTED: &str = "[redacted]";

/// A secret text. It has no `Display`, prints `[redacted]`, cannot be compared and is overwritten when
/// dropped.
#[derive(Clone)]
pub(crate) struct SecretString(Zeroizing<String>);

impl SecretString {
    pub(crate) fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The secret itself. Do not log it, do not keep a copy.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}
