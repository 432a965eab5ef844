//! JSON Web Signatures in compact form (RFC 7515 §7.1), and nothing else of JWS: no JSON form, no detached payload.
//!
//! [`SigningKey`]: writes. [`VerifyingKey`], [`verify()`], [`verify_trying`]: read and check. [`verify_hmac`]: the same for a client secret.
//! [`verify_with_embedded_key`]: a proof of possession, which brings its key. [`unverified_parts`]: a look at who claims to
//! speak, before their key is known.
//!
//! What the claims say (`typ`, `iss`, `aud`, `exp`) is not judged here.

mod embedded;
mod read;
mod sign;
mod verify;

pub use embedded::{MAX_EMBEDDED_MODULUS, verify_with_embedded_key};
pub use read::{Header, MAX_TOKEN, UnverifiedJws, VerifiedJws, VerifyError, unverified_parts};
pub(crate) use sign::rsa_key;
pub use sign::{SignError, SigningKey, sign_hmac};
pub use verify::{MAX_CANDIDATES, VerifyingKey, verify, verify_hmac, verify_trying};
