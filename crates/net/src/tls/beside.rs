//! The certificates beside the first, and what the log tells of them.

use std::collections::HashMap;

use tracing::{info, warn};

use super::certified::CertificateValidity;

/// So many are told of one by one, and the rest by their number.
const MOST_LINES: usize = 20;

/// The certificates beside the first.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) further: Vec<Further>,
    pub(super) doubles: Vec<Double>,
}

/// A certificate that is shown by name.
#[derive(Debug)]
pub(super) struct Further {
    /// Its file.
    pub(super) source: String,
    /// The names by which it is shown, in lower case.
    pub(super) names: Vec<String>,
    pub(super) validity: Option<CertificateValidity>,
}

/// Names that two certificates are for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Double {
    pub(super) names: Vec<String>,
    /// The file of that which is shown.
    pub(super) shown: String,
    /// And of the other.
    pub(super) passed_over: String,
}

impl Beside {
    /// Tells by the name of the `listener` in what this differs from what was told `before`.
    pub(super) fn tell(&self, listener: &'static str, before: &Self) {
        let (known, now) = (before.by_source(), self.by_source());
        let is_new = |further: &&Further| known.get(&*further.source) != Some(&&*further.names);
        let new: Vec<_> = self.further.iter().filter(is_new).collect();
        for Further { source, names, .. } in new.iter().take(MOST_LINES) {
            info!(listener, source, names = names.join(" "), "a further TLS certificate is shown by name");
        }
        if let Some(certificates) = beyond(new.len()) {
            info!(listener, certificates, "more further TLS certificates are shown by name");
        }
        let is_gone = |further: &&Further| !now.contains_key(&*further.source);
        let gone: Vec<_> = before.further.iter().filter(is_gone).collect();
        for Further { source, .. } in gone.iter().take(MOST_LINES) {
            info!(listener, source, "a further TLS certificate is shown no longer");
        }
        if let Some(certificates) = beyond(gone.len()) {
            info!(listener, certificates, "more further TLS certificates are shown no longer");
        }
        self.tell_doubles(listener, before);
    }

    fn tell_doubles(&self, listener: &'static str, before: &Self) {
        let new: Vec<_> = self.doubles.iter().filter(|double| !before.doubles.contains(double)).collect();
        for Double { names, shown, passed_over } in new.iter().take(MOST_LINES) {
            warn!(
                listener,
                names = names.join(" "),
                shown,
                passed_over,
                "two TLS certificates are for the same name, and that is shown which is valid and expires last"
            );
        }
        if let Some(certificates) = beyond(new.len()) {
            warn!(listener, certificates, "more TLS certificates are for the same name as others");
        }
    }

    fn by_source(&self) -> HashMap<&str, &[String]> {
        self.further.iter().map(|further| (&*further.source, &*further.names)).collect()
    }
}

/// How many there are beyond those that are told of.
fn beyond(count: usize) -> Option<usize> {
    count.checked_sub(MOST_LINES).filter(|more| *more > 0)
}
