//! Counts that are divided.

/// The same number, as near as there is one with a fraction.
#[expect(clippy::cast_precision_loss, reason = "nothing here is counted beyond 2^53")]
pub(crate) const fn as_f64(number: u64) -> f64 {
    number as f64
}
