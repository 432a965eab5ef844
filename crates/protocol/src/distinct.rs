//! Which values of a list were there already, without taking time by the square of how many there are.

use std::collections::BTreeSet;

/// So many are held against each other where they stand: most lists are no longer, and need no memory.
const FEW: usize = 8;

/// The values that were seen so far. Empty ones do not count: they are for the caller to refuse or to leave out.
#[derive(Default)]
pub(crate) struct Distinct<'a> {
    few: [&'a str; FEW],
    more: BTreeSet<&'a str>,
}

impl<'a> Distinct<'a> {
    /// Whether the value was not there yet. From now on it is.
    pub(crate) fn is_new(&mut self, value: &'a str) -> bool {
        for place in &mut self.few {
            if place.is_empty() {
                *place = value;
                return true;
            }
            if *place == value {
                return false;
            }
        }
        self.more.insert(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_new_once_however_many_there_are() {
        let values: Vec<String> = (0..50).map(|number| number.to_string()).collect();
        let mut seen = Distinct::default();
        assert!(values.iter().all(|value| seen.is_new(value)));
        assert!(!values.iter().any(|value| seen.is_new(value)));
    }
}
