//! How many documents are fetched at once, and how many of one host: hosts that do not answer must not keep others from being
//! asked.

use std::collections::HashMap;

use parking_lot::Mutex;

/// How many of one host, whatever its port.
pub(super) const OF_A_HOST: usize = 4;

/// Places for fetches.
pub(super) struct Places {
    most: usize,
    /// By host.
    taken: Mutex<HashMap<String, usize>>,
}

impl Places {
    /// So many.
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Mutex::default() }
    }

    /// A place, if there is one for this host. It is free again when it is dropped.
    pub(super) fn take(&self, host: &str) -> Option<Place<'_>> {
        let mut taken = self.taken.lock();
        let of_host = taken.get(host).copied().unwrap_or_default();
        if of_host >= OF_A_HOST || taken.values().sum::<usize>() >= self.most {
            return None;
        }
        taken.insert(host.to_owned(), of_host + 1);
        Some(Place { places: self, host: host.to_owned() })
    }
}

/// A place that is taken.
pub(super) struct Place<'a> {
    places: &'a Places,
    host: String,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        match taken.get_mut(&self.host) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                taken.remove(&self.host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_few_places_and_all_together_have_no_more_than_there_are() {
        let places = Places::new(OF_A_HOST + 2);
        let of_one: Vec<_> = (0..OF_A_HOST).map(|_| places.take("one.example").unwrap()).collect();
        assert!(places.take("one.example").is_none());
        let other = places.take("other.example").unwrap();
        let _another = places.take("another.example").unwrap();
        assert!(places.take("other.example").is_none());
        drop(other);
        assert!(places.take("other.example").is_some());
        drop(of_one);
        assert!(places.take("one.example").is_some());
        assert_eq!(places.taken.lock().len(), 1, "only what is taken is kept");
    }
}
