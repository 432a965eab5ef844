//! Authenticator apps: time-based codes (TOTP, RFC 6238) of six digits with SHA-1 and steps of 30 seconds, which is what
//! every app understands, and the QR code that hands the secret over.

use std::fmt;

use aws_lc_rs::hmac;
use data_encoding::BASE32_NOPAD;
use qrcode::{Color, EcLevel, QrCode};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{Rng, Secret};
use thiserror::Error;

/// How long a code is valid, in seconds.
const STEP: u64 = 30;
/// The clocks of phones differ: so many steps before and after are taken too.
const SKEW: u64 = 1;
/// 160 bits, as RFC 4226 §4 recommends.
const LENGTH: usize = 20;
const ACCEPTED_LENGTH: std::ops::RangeInclusive<usize> = 16..=64;
/// The white margin of a QR code, in modules (ISO/IEC 18004 §6.3.8).
const QUIET: usize = 4;

/// What is wrong with a secret or a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TotpError {
    /// Below 16 or above 64 bytes, or no base32.
    #[error("the secret of an authenticator has 16 to 64 bytes, in base32")]
    Secret,
    /// More than a QR code holds.
    #[error("the text does not fit into a QR code")]
    TooLong,
}

/// The secret that an authenticator app shares with the server.
#[derive(Clone)]
pub struct TotpSecret(Secret<Vec<u8>>);

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret([redacted])")
    }
}

impl TotpSecret {
    /// A new secret of 160 bits.
    pub fn generate(rng: &dyn Rng) -> Self {
        Self(Secret::new(random_bytes::<LENGTH>(rng).to_vec()))
    }

    /// The secret with these bytes.
    ///
    /// # Errors
    /// [`TotpError::Secret`] below 16 or above 64 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TotpError> {
        if ACCEPTED_LENGTH.contains(&bytes.len()) {
            Ok(Self(Secret::new(bytes.to_vec())))
        } else {
            Err(TotpError::Secret)
        }
    }

    /// The secret in base32, as another system exports it.
    ///
    /// # Errors
    /// [`TotpError::Secret`] if it is no base32 or of another length.
    pub fn from_base32(text: &str) -> Result<Self, TotpError> {
        let canonical = text.trim_end_matches('=').to_ascii_uppercase();
        let bytes = zeroize::Zeroizing::new(
            BASE32_NOPAD
                .decode(zeroize::Zeroizing::new(canonical).as_bytes())
                .map_err(|_| TotpError::Secret)?,
        );
        Self::from_bytes(&bytes)
    }

    /// The bytes: what is sealed at rest.
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }

    /// The secret in base32, as people type it into an app.
    pub fn base32(&self) -> String {
        BASE32_NOPAD.encode(self.expose())
    }

    /// What the QR code says: `otpauth://totp/<issuer>:<account>?secret=…`, the format of Google Authenticator, in which
    /// spaces are `%20`.
    pub fn otpauth_uri(&self, issuer: &str, account: &str) -> String {
        let (issuer, account) = (escape(issuer), escape(account));
        let secret = self.base32();
        format!(
            "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits=6&period={STEP}"
        )
    }

    /// The step whose code this is: the one of `now`, the one before or the one after. Steps up to `after_step` are
    /// refused, so that who stores the answer takes no code twice.
    pub fn matching_step(&self, code: &str, now_unix_secs: u64, after_step: Option<u64>) -> Option<u64> {
        let now = now_unix_secs / STEP;
        let steps = now.saturating_sub(SKEW)..=now.saturating_add(SKEW);
        let mut found = None;
        for step in steps {
            let matches = same_bytes(self.code(step).as_bytes(), code.as_bytes());
            let unused = after_step.is_none_or(|last| step > last);
            if matches && unused {
                found = Some(step);
            }
        }
        found
    }

    /// The code of a step (RFC 4226 §5.3).
    fn code(&self, step: u64) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, self.expose());
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let offset = usize::from(tag.as_ref().last().copied().unwrap_or(0) & 0xf);
        let chosen = tag.as_ref().get(offset..).and_then(|rest| rest.first_chunk::<4>()).copied();
        let number = u32::from_be_bytes(chosen.unwrap_or_default()) & 0x7fff_ffff;
        format!("{:06}", number % 1_000_000)
    }
}

/// Everything but what RFC 3986 §2.3 leaves unreserved.
fn escape(text: &str) -> String {
    use std::fmt::Write;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing into a string does not fail.
            _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// `text` as a QR code: an SVG element without outside references, one unit for each module. Put into a page as it is.
///
/// # Errors
/// [`TotpError::TooLong`] above some 2300 bytes.
pub fn qr_svg(text: &str) -> Result<String, TotpError> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(|_| TotpError::TooLong)?;
    let (width, modules) = (code.width(), code.to_colors());
    let size = width + 2 * QUIET;
    let mut path = String::new();
    for (y, row) in modules.chunks(width).enumerate() {
        draw_row(row, y + QUIET, &mut path);
    }
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {size} {size}\" shape-rendering=\"crispEdges\" \
         role=\"img\" aria-label=\"QR code\">\
         <path fill=\"#fff\" d=\"M0 0h{size}v{size}H0z\"/><path fill=\"#000\" d=\"{path}\"/></svg>"
    ))
}

/// One rectangle for each run of dark modules.
fn draw_row(row: &[Color], y: usize, path: &mut String) {
    use std::fmt::Write;
    let mut x = QUIET;
    for run in row.chunk_by(|left, right| left == right) {
        if run.first() == Some(&Color::Dark) {
            // Writing into a string does not fail.
            _ = write!(path, "M{x} {y}h{length}v1h-{length}z", length = run.len());
        }
        x += run.len();
    }
}
