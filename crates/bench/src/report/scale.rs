//! Axes: where a value stands on one, and which values are written beside it.

use super::number;

/// Steps between ticks, as multiples of a power of ten.
const STEPS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];
/// Ticks of a linear axis, about.
const TICKS: f64 = 5.0;
/// More decades than this are labelled at their beginning alone.
const FEW_DECADES: f64 = 2.1;

/// A value beside an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// How far along, in percent.
    pub(super) at: String,
    /// What is written there.
    pub(super) label: String,
}

/// From a value to its place, in percent of the axis.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    /// From `low` to `high`, evenly.
    pub(super) fn linear(low: f64, high: f64) -> Self {
        Self { low, high: if high > low { high } else { low + 1.0 }, is_log: false }
    }

    /// From zero to a round value that is no less than the highest of these.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let highest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let step = step(highest);
        Self::linear(0.0, if step > 0.0 { (highest / step).ceil() * step } else { 1.0 })
    }

    /// By orders of magnitude, around all of these that are more than nothing.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64> + Clone) -> Self {
        let values = values.filter(|value| value.is_finite() && *value > 0.0);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        if high <= 0.0 {
            return Self { low: 1.0, high: 10.0, is_log: true };
        }
        let (low, high) = (round(low, f64::floor), round(high, f64::ceil));
        Self { low, high: if high > low { high } else { low * 10.0 }, is_log: true }
    }

    /// How far along, in percent; what lies outside stands at the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        (share * 100.0).clamp(0.0, 100.0)
    }

    /// A tick at a value.
    pub(super) fn tick(&self, value: f64, label: String) -> Tick {
        Tick { at: percent(self.place(value)), label }
    }

    /// The ticks at round values.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let values = if self.is_log { self.decades() } else { self.even() };
        values.into_iter().map(|value| self.tick(value, number::short(value))).collect()
    }

    fn even(&self) -> Vec<f64> {
        let step = step(self.high - self.low);
        let first = (self.low / step).ceil();
        let count = ((self.high / step).floor() - first).max(0.0);
        (0_u8..=u8::MAX).map(f64::from).take_while(|n| *n <= count).map(|n| (first + n) * step).collect()
    }

    fn decades(&self) -> Vec<f64> {
        let between: &[f64] =
            if (self.high / self.low).log10() <= FEW_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let first = self.low.log10().floor();
        let decades = (0_u8..=40).map(|n| 10_f64.powf(first + f64::from(n)));
        let values = decades.flat_map(|decade| between.iter().map(move |times| decade * times));
        // What was rounded is not exact.
        let (low, high) = (self.low * 0.999, self.high * 1.001);
        values.filter(|value| (low..=high).contains(value)).collect()
    }
}

/// A place as it stands in a style.
pub(super) fn percent(place: f64) -> String {
    format!("{place:.2}")
}

/// A round step of which a few make up the range.
fn step(range: f64) -> f64 {
    if range <= 0.0 || !range.is_finite() {
        return 0.0;
    }
    let rough = range / TICKS;
    let power = 10_f64.powf(rough.log10().floor());
    power * STEPS.into_iter().find(|times| power * times >= rough * 0.999).unwrap_or(10.0)
}

/// The next 1, 2 or 5 of a decade, down or up.
fn round(value: f64, towards: fn(f64) -> f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let times = value / power;
    let goes_up = towards(0.5) > 0.0;
    let steps = STEPS.into_iter();
    let times = if goes_up {
        steps.into_iter().find(|step| *step >= times * 0.999).unwrap_or(10.0)
    } else {
        steps.rev().find(|step| *step <= times * 1.001).unwrap_or(1.0)
    };
    power * times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn an_axis_from_zero_ends_at_a_round_value() {
        let scale = Scale::from_zero([3.0, 7_180.0].into_iter());
        assert_eq!(labels(&scale), ["0", "2k", "4k", "6k", "8k"]);
        assert!((scale.place(4_000.0) - 50.0).abs() < 1e-9);
        assert_eq!(labels(&Scale::from_zero(std::iter::empty())), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    }

    #[test]
    fn a_logarithmic_axis_has_a_tick_for_each_decade() {
        let scale = Scale::logarithmic([0.3, 0.0, 450.0].into_iter());
        assert_eq!(labels(&scale), ["1", "10", "100"]);
        assert_eq!(percent(scale.place(0.2)), "0.00");
        assert_eq!(percent(scale.place(500.0)), "100.00");
        assert_eq!(labels(&Scale::logarithmic([12.0, 44.0].into_iter())), ["10", "20", "50"]);
    }

    #[test]
    fn what_lies_outside_stands_at_the_end() {
        let scale = Scale::linear(0.0, 10.0);
        assert_eq!(
            (percent(scale.place(-1.0)), percent(scale.place(11.0))),
            ("0.00".into(), "100.00".into())
        );
    }
}
