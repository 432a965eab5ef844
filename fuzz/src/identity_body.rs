//! The JSON bodies of the identity API, as whoever calls it sends them.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use sluice_http::read_identity_bodies;

/// Reads the input as each request of the API does. Nothing is taken that another reader does not take for an object; only
/// requests that may come without a body take none.
#[expect(clippy::zero_sized_map_values, reason = "an object of any members, whatever they are")]
pub fn run(input: &[u8]) {
    let taken = read_identity_bodies(input);
    let is_object = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(input).is_ok();
    assert!(taken == 0 || is_object || input.is_empty(), "{taken} took what is no object");
    assert_eq!(taken, read_identity_bodies(input));
}
