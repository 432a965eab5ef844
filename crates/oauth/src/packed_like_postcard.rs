//! For the tests of this crate: what is written and read by hand is what postcard writes and reads.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use sluice_crypto::packed::{Pack, Packed, Unpack};

/// The bytes of a value, which are those of postcard.
pub(crate) fn is_packed_like_postcard<T: Pack + Serialize + Debug>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.pack(&mut bytes);
    assert_eq!(bytes, postcard::to_stdvec(value).unwrap(), "{value:?}");
    bytes
}

/// Bytes are read as postcard reads them, or not at all, as with it; and the same of them is left.
pub(crate) fn is_read_like_postcard<'a, T>(bytes: &'a [u8])
where
    T: Unpack<'a> + Deserialize<'a> + PartialEq + Debug,
{
    let mut packed = Packed::new(bytes);
    let read = packed.read::<T>().map(|value| (value, packed.rest()));
    assert_eq!(read, postcard::take_from_bytes::<T>(bytes).ok(), "{bytes:?}");
}
