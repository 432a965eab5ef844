//! Which certificate is shown: that of the name that was asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sluice_primitives::Timestamp;

use super::beside::{Beside, Double, Further};
use super::certified::Certified;

/// Certificates by the names that they are for (SNI, RFC 6066 §3).
#[derive(Debug)]
pub(super) struct ByName {
    /// For who asks for no name, or for one that nobody has.
    first: Arc<CertifiedKey>,
    /// In lower case; `*.example.com` is for each name with one label more.
    names: HashMap<String, Arc<CertifiedKey>>,
}

/// Of each name the certificate that is shown.
type Shown<'a> = HashMap<&'a str, &'a Arc<Certified>>;

impl ByName {
    /// The `first` is shown to whoever asks for no other. Of those for the same name that is shown which expires last, since what renews
    /// certificates may leave the old one there; of two that expire together the earlier. One that is not valid yet `at` this moment
    /// comes after those that are: it may be laid down long before it is needed.
    pub(super) fn of(first: &Arc<Certified>, others: &[Arc<Certified>], at: Timestamp) -> (Self, Beside) {
        let mut shown = Shown::new();
        for certified in std::iter::once(first).chain(others) {
            for name in &certified.names {
                let best = shown.entry(name).or_insert(certified);
                if certified.rank(at) > best.rank(at) {
                    *best = certified;
                }
            }
        }
        for name in waited_for(&shown, at) {
            shown.remove(name);
        }
        let mut beside = Beside { further: Vec::new(), doubles: doubles(first, &shown) };
        for certified in others {
            let leads =
                |name: &&String| shown.get(name.as_str()).is_some_and(|best| Arc::ptr_eq(best, certified));
            let names: Vec<String> = certified.names.iter().filter(leads).cloned().collect();
            if !names.is_empty() {
                let (source, validity) = (certified.source.clone(), certified.validity.clone());
                beside.further.push(Further { source, names, validity });
            }
            beside.doubles.extend(doubles(certified, &shown));
        }
        let names = shown.into_iter().map(|(name, best)| (name.to_owned(), Arc::clone(&best.key))).collect();
        (Self { first: Arc::clone(&first.key), names }, beside)
    }

    fn named(&self, name: &str) -> Option<&Arc<CertifiedKey>> {
        let name = name.to_ascii_lowercase();
        self.names.get(&name).or_else(|| {
            let (_, rest) = name.split_once('.')?;
            self.names.get(&format!("*.{rest}"))
        })
    }
}

/// The names for which there is no certificate that is valid already, and that of a wildcard is.
fn waited_for<'a>(shown: &Shown<'a>, at: Timestamp) -> Vec<&'a str> {
    let is_waited_for = |(name, best): &(&&'a str, &&Arc<Certified>)| {
        let wild = name.split_once('.').and_then(|(_, rest)| shown.get(format!("*.{rest}").as_str()));
        !best.is_valid_already(at) && wild.is_some_and(|wild| wild.is_valid_already(at))
    };
    shown.iter().filter(is_waited_for).map(|(name, _)| *name).collect()
}

/// The names of a certificate for which another is shown, by that. The same certificate in another place is none.
fn doubles(certified: &Certified, shown: &Shown<'_>) -> Vec<Double> {
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in &certified.names {
        if let Some(best) = shown.get(name.as_str()).filter(|best| !best.is_same(certified)) {
            names.entry(&best.source).or_default().push(name.clone());
        }
    }
    let double = |(best, names): (&str, Vec<String>)| Double {
        names,
        shown: best.to_owned(),
        passed_over: certified.source.clone(),
    };
    names.into_iter().map(double).collect()
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| self.named(name));
        Some(Arc::clone(named.unwrap_or(&self.first)))
    }
}
