use std::fmt::Debug;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;

/// Reads bytes as postcard does, and takes and leaves the same of them.
fn reads_like_postcard<'a, T>(bytes: &'a [u8])
where
    T: Unpack<'a> + Deserialize<'a> + PartialEq + Debug,
{
    let mut packed = Packed::new(bytes);
    let read = packed.read::<T>().map(|value| (value, packed.rest()));
    assert_eq!(read, postcard::take_from_bytes::<T>(bytes).ok(), "{bytes:?}");
}

/// Has the bytes that postcard gives it, and comes back from them; from no part of them that is not all.
fn is_of_postcards_form<T>(value: &T)
where
    T: Pack + Serialize + DeserializeOwned + for<'a> Unpack<'a> + PartialEq + Debug,
{
    let mut bytes = Vec::new();
    value.pack(&mut bytes);
    assert_eq!(bytes, postcard::to_stdvec(value).unwrap(), "{value:?}");
    for length in 0..=bytes.len() {
        reads_like_postcard::<T>(&bytes[..length]);
    }
    bytes.extend([1, 2, 3]);
    reads_like_postcard::<T>(&bytes);
}

type Numbers = (u8, (u32, i64), (bool, Option<[u8; 16]>));
type Texts<'a> = (&'a str, Option<&'a str>, Vec<(&'a str, i64)>);

proptest! {
    #[test]
    fn values_have_the_form_of_postcard(numbers in any::<Numbers>(), list in any::<Vec<(i64, [u8; 32])>>()) {
        is_of_postcards_form(&numbers);
        is_of_postcards_form(&list);
    }

    #[test]
    fn texts_have_the_form_of_postcard(
        first in any::<String>(),
        second in any::<Option<String>>(),
        list in any::<Vec<(String, i64)>>(),
    ) {
        let list: Vec<_> = list.iter().map(|(text, number)| (text.as_str(), *number)).collect();
        let value: Texts<'_> = (&first, second.as_deref(), list);
        let mut bytes = Vec::new();
        value.pack(&mut bytes);
        prop_assert_eq!(&bytes, &postcard::to_stdvec(&value).unwrap());
        reads_like_postcard::<Texts<'_>>(&bytes);
    }

    #[test]
    fn any_bytes_are_read_as_postcard_reads_them(
        bytes in vec(prop_oneof![any::<u8>(), Just(0), Just(1), Just(0x80), Just(0xff)], 0..80),
    ) {
        reads_like_postcard::<Numbers>(&bytes);
        reads_like_postcard::<Texts<'_>>(&bytes);
        reads_like_postcard::<Vec<u32>>(&bytes);
        reads_like_postcard::<Vec<i64>>(&bytes);
    }
}

#[test]
fn numbers_at_the_ends_of_their_range_are_of_postcards_form() {
    for number in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN] {
        is_of_postcards_form(&number);
    }
    for number in [0, 127, 128, 16_383, 16_384, u32::MAX] {
        is_of_postcards_form(&number);
    }
}

#[test]
fn a_varint_that_says_more_than_there_is_room_for_is_refused() {
    for length in 0..12 {
        for last in 0..=u8::MAX {
            let bytes = [vec![0xff; length], vec![last]].concat();
            reads_like_postcard::<u32>(&bytes);
            reads_like_postcard::<i64>(&bytes);
            reads_like_postcard::<&str>(&bytes);
            let of_zeros = [vec![0x80; length], vec![last]].concat();
            reads_like_postcard::<u32>(&of_zeros);
            reads_like_postcard::<i64>(&of_zeros);
        }
    }
}

#[test]
fn a_length_that_is_not_there_takes_no_memory() {
    let promised = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(Packed::new(&promised).read::<Vec<[u8; 32]>>(), None);
    assert_eq!(Packed::new(&promised).read::<&str>(), None);
}
