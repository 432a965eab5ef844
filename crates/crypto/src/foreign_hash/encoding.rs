//! How salts and hashes are written in the strings of others.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
/// Base64 with or without padding: PHC strings have none, Kratos and LDAP write it.
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
/// The characters of the base64 of crypt(3), in the order of their values.
pub(super) const CRYPT_DIGITS: &[u8; 64] =
    b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The bytes of a field in base64.
pub(super) fn bytes(field: &str) -> Option<Vec<u8>> {
    BASE64.decode(field).ok()
}

/// The bytes of a field in base64, or in that of URLs (RFC 4648 §5), which writes `-` for `+` and `_` for `/`.
pub(super) fn web_bytes(field: &str) -> Option<Vec<u8>> {
    bytes(&field.replace('-', "+").replace('_', "/"))
}

/// The bytes of a field in the base64 of passlib, which writes `.` for `+`.
pub(super) fn adapted_bytes(field: &str) -> Option<Vec<u8>> {
    if field.contains('+') { None } else { bytes(&field.replace('.', "+")) }
}

/// The fields between dollar signs, if there are as many.
pub(super) fn fields<const N: usize>(text: &str) -> Option<[&str; N]> {
    let mut fields = text.split('$');
    let mut out = [""; N];
    for field in &mut out {
        *field = fields.next()?;
    }
    fields.next().is_none().then_some(out)
}

/// The numbers in `ln=14,r=8,p=1`, named and in this order.
pub(super) fn numbers<const N: usize>(text: &str, names: [&str; N]) -> Option<[u32; N]> {
    let mut given = text.split(',');
    let mut out = [0; N];
    for (number, name) in out.iter_mut().zip(names) {
        *number = decimal(given.next()?.strip_prefix(name)?.strip_prefix('=')?)?;
    }
    given.next().is_none().then_some(out)
}

/// A number without sign.
pub(super) fn decimal(text: &str) -> Option<u32> {
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Writes so many digits of the base64 of crypt(3), the lowest six bits first.
pub(super) fn crypt_digits(value: u32, digits: u32, text: &mut String) {
    for place in 0..digits {
        let six = (value >> (6 * place)) & 63;
        text.push(CRYPT_DIGITS.get(six as usize).map_or('.', |digit| char::from(*digit)));
    }
}
