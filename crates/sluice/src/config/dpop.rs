//! `oauth2.dpop`: tokens that are bound to a key of the client (RFC 9449).

use std::time::Duration;

use super::key::{Key, Kind};
use super::reader::Reader;

const LONGEST_NONCE_LIFETIME: Duration = Duration::from_hours(1);
const LONGEST_PROOF_LIFETIME: Duration = Duration::from_mins(10);

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "nonce_required",
        Kind::Boolean,
        "Whether a DPoP proof must carry a nonce of this server (RFC 9449 §8).",
    )
    .with_default("false"),
    Key::own("nonce_lifetime", Kind::Duration, "How long such a nonce is good; from 1s to 1h.")
        .with_default("5m"),
    Key::own(
        "proof_lifetime",
        Kind::Duration,
        "How old the `iat` of a DPoP proof may be; from 1s to 10m. `userinfo` remembers 262,144 proofs while they are good: enough for \
         some 3,000 requests a second at 60s, 350 at 10m.",
    )
    .with_default("60s"),
];

/// What proofs of possession must be like.
#[derive(Debug, Clone)]
pub(crate) struct DpopSettings {
    /// Whether a nonce of this server is asked for. Default: no.
    pub(crate) nonce_required: bool,
    /// How long one is good. Default: 5 min; from 1 s to 1 h.
    pub(crate) nonce_lifetime: Duration,
    /// How old `iat` may be. Default: 60 s; from 1 s to 10 min.
    pub(crate) proof_lifetime: Duration,
}

pub(super) fn read(reader: &mut Reader<'_>) -> DpopSettings {
    let shortest = Duration::from_secs(1);
    DpopSettings {
        nonce_required: reader.boolean("oauth2.dpop.nonce_required"),
        nonce_lifetime: reader
            .duration_within("oauth2.dpop.nonce_lifetime", shortest..=LONGEST_NONCE_LIFETIME),
        proof_lifetime: reader
            .duration_within("oauth2.dpop.proof_lifetime", shortest..=LONGEST_PROOF_LIFETIME),
    }
}
