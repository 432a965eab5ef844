//! An authenticator app (RFC 6238).

use aws_lc_rs::hmac;

/// What an app with this secret shows, `seconds` after 1970: six digits, another thirty seconds later.
#[expect(clippy::missing_panics_doc, reason = "a tag is long enough for every offset in it")]
#[expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a tag is long enough for every offset in it"
)]
pub fn app_code(secret: &[u8], seconds: i64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &(seconds / 30).to_be_bytes());
    let offset = usize::from(tag.as_ref()[19] & 0xf);
    let number = u32::from_be_bytes(tag.as_ref()[offset..offset + 4].try_into().expect("four bytes"));
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}
