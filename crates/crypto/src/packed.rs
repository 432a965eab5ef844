//! The packed form of what is sealed: that of postcard, which the values in the world have, written and read by hand. Ids and
//! digests are copied whole, where serde would have each byte of them pass alone.
//!
//! A number is a varint of seven bits a byte, one with a sign in zigzag; a text or list has its length before it; an option, a
//! bool and a `u8` are one byte; bytes of a fixed number, tuples and structs are what they consist of and no more. What stands
//! behind a value is left to who reads it: a later version may have put something there.

use std::borrow::Cow;

/// What has a packed form.
pub trait Pack {
    /// Puts it behind what is there.
    fn pack(&self, to: &mut Vec<u8>);
}

/// What is read from its packed form.
pub trait Unpack<'a>: Sized {
    /// The value that comes next, if one does.
    fn unpack(from: &mut Packed<'a>) -> Option<Self>;
}

/// Bytes that values are read from, one after the other. After one that could not be read, nothing is said about the place.
#[derive(Debug)]
pub struct Packed<'a>(&'a [u8]);

impl<'a> Packed<'a> {
    /// Begins with the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The value that comes next; none if what is there is something else.
    pub fn read<T: Unpack<'a>>(&mut self) -> Option<T> {
        T::unpack(self)
    }

    /// What has not been read.
    pub const fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Which variant of an enum comes next, counted from 0.
    pub fn variant(&mut self) -> Option<u32> {
        self.read()
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn varint(&mut self, bits: u32) -> Option<u64> {
        let (mut value, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = self.byte()?;
            // The last byte that there may be says no more than there is room for, and that it is the last.
            let room = bits - shift;
            if room < 7 && byte >> room != 0 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            shift += 7;
        }
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.varint(u64::BITS)?).ok()
    }
}

/// Puts the number of a variant of an enum, counted from 0, before what it holds.
pub fn pack_variant(number: u32, to: &mut Vec<u8>) {
    number.pack(to);
}

fn put_varint(mut value: u64, to: &mut Vec<u8>) {
    loop {
        let [lowest, ..] = value.to_le_bytes();
        if value < 0x80 {
            to.push(lowest);
            return;
        }
        to.push(lowest | 0x80);
        value >>= 7;
    }
}

fn put_length(length: usize, to: &mut Vec<u8>) {
    put_varint(length as u64, to);
}

impl Pack for u8 {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }
}

impl Unpack<'_> for u8 {
    fn unpack(from: &mut Packed<'_>) -> Option<Self> {
        from.byte()
    }
}

impl Pack for bool {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }
}

impl Unpack<'_> for bool {
    fn unpack(from: &mut Packed<'_>) -> Option<Self> {
        match from.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Pack for u32 {
    fn pack(&self, to: &mut Vec<u8>) {
        put_varint(u64::from(*self), to);
    }
}

impl Unpack<'_> for u32 {
    fn unpack(from: &mut Packed<'_>) -> Option<Self> {
        Self::try_from(from.varint(Self::BITS)?).ok()
    }
}

impl Pack for i64 {
    fn pack(&self, to: &mut Vec<u8>) {
        put_varint(((self << 1) ^ (self >> 63)).cast_unsigned(), to);
    }
}

impl Unpack<'_> for i64 {
    fn unpack(from: &mut Packed<'_>) -> Option<Self> {
        let zigzag = from.varint(u64::BITS)?;
        Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }
}

impl<const N: usize> Pack for [u8; N] {
    fn pack(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self);
    }
}

impl<const N: usize> Unpack<'_> for [u8; N] {
    fn unpack(from: &mut Packed<'_>) -> Option<Self> {
        let (bytes, rest) = from.0.split_first_chunk()?;
        from.0 = rest;
        Some(*bytes)
    }
}

impl Pack for str {
    fn pack(&self, to: &mut Vec<u8>) {
        put_length(self.len(), to);
        to.extend_from_slice(self.as_bytes());
    }
}

impl<'a> Unpack<'a> for &'a str {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        let length = from.length()?;
        let (text, rest) = from.0.split_at_checked(length)?;
        from.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

impl Pack for Cow<'_, str> {
    fn pack(&self, to: &mut Vec<u8>) {
        str::pack(self, to);
    }
}

impl<'a> Unpack<'a> for Cow<'a, str> {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        from.read().map(Cow::Borrowed)
    }
}

impl<T: Pack + ?Sized> Pack for &T {
    fn pack(&self, to: &mut Vec<u8>) {
        T::pack(self, to);
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.is_some().pack(to);
        if let Some(value) = self {
            value.pack(to);
        }
    }
}

impl<'a, T: Unpack<'a>> Unpack<'a> for Option<T> {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        if from.read::<bool>()? { from.read().map(Some) } else { Some(None) }
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        put_length(self.len(), to);
        for value in self {
            value.pack(to);
        }
    }
}

impl<'a, T: Unpack<'a>> Unpack<'a> for Vec<T> {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        // No room is made for what a length only promises.
        (0..from.length()?).map(|_| from.read()).collect()
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn pack(&self, to: &mut Vec<u8>) {
        self.0.pack(to);
        self.1.pack(to);
    }
}

impl<'a, A: Unpack<'a>, B: Unpack<'a>> Unpack<'a> for (A, B) {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        Some((from.read()?, from.read()?))
    }
}

impl<A: Pack, B: Pack, C: Pack> Pack for (A, B, C) {
    fn pack(&self, to: &mut Vec<u8>) {
        self.0.pack(to);
        self.1.pack(to);
        self.2.pack(to);
    }
}

impl<'a, A: Unpack<'a>, B: Unpack<'a>, C: Unpack<'a>> Unpack<'a> for (A, B, C) {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        Some((from.read()?, from.read()?, from.read()?))
    }
}

#[cfg(test)]
mod tests;
