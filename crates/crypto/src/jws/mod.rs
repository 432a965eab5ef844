//! JSON Web Signatures in compact form (RFC 7515 §7.1), and nothing else of JWS: no JSON form, no detached payload.
//!
//! [`SigningKey`]: writes. [`VerifyingKey`], [`verify`]: read and check. [`verify_hmac`]: the same for a client secret.
//! [`unverified_parts`]: a look at who claims to speak, before their key is known.
//!
//! What the claims say (`typ`, `iss`, `aud`, `exp`) is not judged here.

mod read;
mod sign;
mod verify;

pub use read::{Header, MAX_TOKEN, UnverifiedJws, VerifiedJws, VerifyError, unverified_parts};
pub use sign::{SignError, SigningKey};
pub use verify::{MAX_CANDIDATES, VerifyingKey, verify, verify_hmac};
