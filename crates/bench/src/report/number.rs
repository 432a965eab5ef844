//! Numbers for people.

use crate::number::as_f64;

const MIB: f64 = 1024.0 * 1024.0;

/// Three digits that count, or all before the point, and no more than a whole number has: `0.0065`, `8.42`, `71.3`, `7,180`.
pub(super) fn shown(value: f64) -> String {
    let decimals = match value.abs() {
        whole if whole.fract() == 0.0 => 0,
        small if small < 0.01 => 4,
        small if small < 0.1 => 3,
        small if small < 10.0 => 2,
        middle if middle < 100.0 => 1,
        _ => 0,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// The same, or a dash for what is not known.
pub(super) fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), shown)
}

/// A count.
pub(super) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// For an axis: `0.5`, `20`, `20k`, `1.5M`.
pub(super) fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        big if big >= 1e9 => (value / 1e9, "G"),
        big if big >= 1e6 => (value / 1e6, "M"),
        big if big >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = format!("{value:.3}");
    format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Bytes as MiB.
pub(super) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", shown(as_f64(bytes) / MIB))
}

fn grouped(digits: &str) -> String {
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    let length = whole.len();
    let mut text = String::with_capacity(length + length / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (length - at).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    fraction.map_or(text.clone(), |fraction| format!("{text}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_count() {
        let said = [0.0, 2.0, 0.0065, 0.07, 8.423, 71.31, 7_180.4, 1_234_567.0].map(shown);
        assert_eq!(said, ["0", "2", "0.0065", "0.070", "8.42", "71.3", "7,180", "1,234,567"]);
        assert_eq!([0.5, 20.0, 20_000.0, 1_500_000.0].map(short), ["0.5", "20", "20k", "1.5M"]);
        assert_eq!(
            (or_dash(None), count(1_000), mebibytes(3 << 20)),
            ("–".into(), "1,000".into(), "3 MiB".into())
        );
    }
}
