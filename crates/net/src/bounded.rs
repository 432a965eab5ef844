//! Memory within bounds, of what strangers can make any number of: what is forgotten when there is no room.
//!
//! [`oldest_first`]: for what is written once. [`half_for_new`]: for what is written again and again, as counts are. A cache that is made
//! as usual is for what is read often: once it was full, what is new has three hundredths of the room until it is asked for again,
//! and the rest goes on holding what nobody asks for any more.
//!
//! Both are divided into parts of some thousands, for as many threads. A part may be full a little before the others, so that numbers
//! of what is remembered are right within a tenth; the bound is never passed but by the rounding of a part.

use std::hash::Hash;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};

/// About how many entries a part has: few more or less of them than in others, by chance.
const PART: usize = 4_096;

/// Remembers `entries`; when there is no room, what was written first is forgotten first, however often it is asked for.
pub fn oldest_first<K: Hash + Eq, V: Clone>(entries: usize) -> Cache<K, V> {
    divided(entries, OptionsBuilder::new().hot_allocation(0.0).ghost_allocation(0.0))
}

/// Remembers `entries`. When there is no room, half of it is for what is asked for again, of which the least asked for is forgotten, and
/// half for what is new: nobody who brings many new ones pushes out others than new ones, nor do old ones keep the new ones out.
pub fn half_for_new<K: Hash + Eq, V: Clone>(entries: usize) -> Cache<K, V> {
    divided(entries, OptionsBuilder::new().hot_allocation(0.5))
}

fn divided<K: Hash + Eq, V: Clone>(entries: usize, options: &mut OptionsBuilder) -> Cache<K, V> {
    let room = options.estimated_items_capacity(entries).weight_capacity(entries as u64);
    match room.shards((entries / PART).max(1)).build() {
        Ok(options) => Cache::with_options(
            options,
            UnitWeighter,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        ),
        // Never: what must be said is said.
        Err(_) => Cache::new(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRIES: usize = 10_000;
    const NEW: u64 = 1_000_000;

    /// How often this was counted, as far as that is remembered, now included.
    fn count(cache: &Cache<u64, u64>, key: u64) -> u64 {
        let count = cache.get(&key).unwrap_or(0) + 1;
        cache.insert(key, count);
        count
    }

    #[test]
    fn what_is_written_once_is_remembered_until_about_as_much_was_written_after_it() {
        let cache = oldest_first(ENTRIES);
        for key in 0..30_000_u64 {
            cache.insert(key, ());
        }
        assert!((21_000..30_000_u64).all(|key| cache.get(&key).is_some()));
        assert!(cache.len() <= ENTRIES, "{}", cache.len());
    }

    #[test]
    fn what_is_new_is_counted_however_much_was_counted_before_and_is_not_any_more() {
        let cache = half_for_new(ENTRIES);
        for key in (0..30_000).flat_map(|key| [key; 2]) {
            count(&cache, key);
        }
        for times in 1..=5 {
            assert!((NEW..NEW + 4_000).all(|key| count(&cache, key) == times), "{times}");
        }
        assert!(cache.len() <= ENTRIES, "{}", cache.len());
    }

    #[test]
    fn who_brings_many_new_ones_pushes_out_nobody_who_is_asked_for_again() {
        let cache = half_for_new(ENTRIES);
        for times in 1..=20 {
            assert!((0..1_000).all(|key| count(&cache, key) == times), "{times}");
            for key in 0..2_000 {
                count(&cache, NEW + 2_000 * times + key);
            }
        }
    }
}
