//! Durations in Go's notation: `1h30m`, `720h`, `1.5s`, `0`.

use std::time::Duration;

/// The longest that Go's `time.Duration` can hold, about 292 years.
const LONGEST_NANOS: u128 = i64::MAX as u128;

/// Units by length, so that `ms` is found before `m`.
const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a duration that is not negative; `None` when it is not one, or longer than 292 years.
pub(super) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let (part, after) = leading_part(rest)?;
        nanos = nanos.checked_add(part).filter(|total| *total <= LONGEST_NANOS)?;
        rest = after;
    }
    if text.is_empty() {
        return None;
    }
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// The duration in whole units, the longest that will do: `10m`, `90s`.
pub(super) fn format(duration: Duration) -> String {
    let units = [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000)];
    let nanos = duration.as_nanos();
    let whole = units.iter().find(|(_, unit)| nanos >= *unit && nanos.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{nanos}ns"), |(name, unit)| format!("{}{name}", nanos / unit))
}

/// Splits `30m10s` into the nanoseconds of `30m`, and `10s`.
fn leading_part(text: &str) -> Option<(u128, &str)> {
    let (number, rest) = text.split_at_checked(text.find(|c: char| !c.is_ascii_digit() && c != '.')?)?;
    let (unit, nanos) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
    let after = rest.strip_prefix(unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    Some((whole.checked_mul(*nanos)?.checked_add(fraction_nanos(fraction, *nanos)?)?, after))
}

/// The nanoseconds of `0.<fraction>` units; what is smaller than a nanosecond is dropped.
fn fraction_nanos(fraction: &str, unit_nanos: u128) -> Option<u128> {
    let digits = fraction.get(..fraction.len().min(12))?;
    if digits.is_empty() {
        return Some(0);
    }
    let scale = 10_u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    Some(digits.parse::<u128>().ok()? * unit_nanos / scale)
}
