//! Points in time and spans of it, in milliseconds. Neither reads a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time: milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The furthest point that can be told; stands for "never expires".
    pub const NEVER: Self = Self(i64::MAX);

    /// A point given in milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// A point given in whole seconds since the Unix epoch.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// The point that a `NumericDate` tells (RFC 7519 §2), which may have a fraction; none before the epoch.
    pub fn from_numeric_date(seconds: f64) -> Option<Self> {
        let since_epoch = Duration::try_from_secs_f64(seconds).ok()?;
        Some(Self::from_millis(0) + Lifetime::from(since_epoch))
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down: what a JWT's `NumericDate` says.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// How long after `earlier` this is; zero if it is not later.
    pub const fn since(self, earlier: Self) -> Lifetime {
        let millis = self.0.saturating_sub(earlier.0);
        Lifetime(if millis > 0 { millis } else { 0 })
    }

    /// This point with the part below one second cut off.
    #[must_use]
    pub const fn floor_to_secs(self) -> Self {
        Self::from_secs(self.as_secs())
    }
}

impl Add<Lifetime> for Timestamp {
    type Output = Self;
    fn add(self, span: Lifetime) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Lifetime> for Timestamp {
    type Output = Self;
    fn sub(self, span: Lifetime) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// A span of time in milliseconds, never negative. [`Lifetime::FOREVER`] has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lifetime(i64);

impl Lifetime {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// A span without end (Hydra's `-1`).
    pub const FOREVER: Self = Self(i64::MAX);

    /// A span of whole milliseconds.
    pub const fn millis(millis: u32) -> Self {
        Self(millis as i64)
    }

    /// A span of whole seconds.
    pub const fn secs(secs: u32) -> Self {
        Self(secs as i64 * 1000)
    }

    /// A span of whole minutes.
    pub const fn minutes(minutes: u32) -> Self {
        Self(minutes as i64 * 60_000)
    }

    /// A span of whole hours.
    pub const fn hours(hours: u32) -> Self {
        Self(hours as i64 * 3_600_000)
    }

    /// The span in milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The span in whole seconds, rounded down: what `expires_in` says.
    pub const fn as_secs(self) -> i64 {
        self.0 / 1000
    }

    /// Whether the span has no end.
    pub const fn is_forever(self) -> bool {
        self.0 == i64::MAX
    }

    /// The span as the standard library's type.
    pub fn as_duration(self) -> Duration {
        Duration::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}

impl From<Duration> for Lifetime {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}
