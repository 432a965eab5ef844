//! Spans of time in Go's notation: `1h0m0s`, `1.5s`, `-1s`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sluice_primitives::Lifetime;

/// Units in milliseconds and their fractions, by name; `ms` is found before `m`.
const UNITS: [(&str, f64); 7] =
    [("ns", 1e-6), ("us", 1e-3), ("µs", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3600e3)];
/// The longest that Go knows, in milliseconds.
const LONGEST: f64 = 9_223_372_036_854.0;

/// A span of time as Go writes it. A negative one has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GoDuration(pub(crate) Lifetime);

impl GoDuration {
    fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let millis = if unsigned == "0" { 0.0 } else { millis(unsigned)? };
        // Milliseconds are kept, and what is longer than nothing does not become nothing.
        let millis = if millis > 0.0 { millis.max(1.0) } else { millis };
        if millis > LONGEST {
            return None;
        }
        if negative && millis > 0.0 {
            return Some(Self(Lifetime::FOREVER));
        }
        let span = std::time::Duration::try_from_secs_f64(millis / 1e3).ok()?;
        Some(Self(span.into()))
    }
}

/// The sum of `<number><unit>` pairs.
fn millis(text: &str) -> Option<f64> {
    let (mut rest, mut total) = (text, 0.0);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = rest.split_at_checked(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?)?;
        let (unit, millis) = UNITS.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        let number: f64 = number.parse().ok()?;
        total += number * millis;
        rest = after.strip_prefix(unit)?;
    }
    Some(total)
}

impl std::fmt::Display for GoDuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_forever() {
            return f.write_str("-1s");
        }
        let total = self.0.as_millis();
        if total > 0 && total < 1000 {
            return write!(f, "{total}ms");
        }
        let (hours, minutes) = (total / 3_600_000, total / 60_000 % 60);
        let (secs, millis) = (total / 1000 % 60, total % 1000);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if millis == 0 {
            return write!(f, "{secs}s");
        }
        let fraction = format!("{millis:03}");
        write!(f, "{secs}.{}s", fraction.trim_end_matches('0'))
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let invalid =
            || serde::de::Error::custom(format!("`{text}` is no duration like 1h30m, 90s or 500ms"));
        Self::parse(&text).ok_or_else(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (sent, written) in [
            ("1h", "1h0m0s"),
            ("90s", "1m30s"),
            ("1500ms", "1.5s"),
            ("0", "0s"),
            ("0s", "0s"),
            ("250ms", "250ms"),
            ("1h30m10.05s", "1h30m10.05s"),
            ("-1s", "-1s"),
            ("720h", "720h0m0s"),
            ("1500us", "1ms"),
            ("1ns", "1ms"),
            ("0.5ms", "1ms"),
            ("0ns", "0s"),
        ] {
            assert_eq!(GoDuration::parse(sent).unwrap().to_string(), written, "{sent}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for sent in ["", "1", "h", "1x", "1h 2m", "1.2.3s", "--1s", "99999999999h", "NaNs", "1e3s", ".s"] {
            assert!(GoDuration::parse(sent).is_none(), "{sent}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_the_same(millis in 0_u32..) {
            let span = GoDuration(Lifetime::millis(millis));
            proptest::prop_assert_eq!(GoDuration::parse(&span.to_string()), Some(span));
        }
    }
}
