//! How the rate of an open loop changes.

use std::time::Duration;

/// The rate over the run, as shares of the highest: straight lines between points.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    points: Vec<(f64, f64)>,
}

impl Shape {
    /// Through these points: a share of the run, rising from 0 to 1, and the share of the highest rate there.
    pub fn through(points: &[(f64, f64)]) -> Self {
        Self { points: points.to_vec() }
    }

    /// Quiet for most of it, everybody within a moment, and on until it ebbs away.
    pub fn before_the_match() -> Self {
        Self::through(&[(0.0, 0.1), (0.5, 0.1), (0.55, 1.0), (0.85, 1.0), (1.0, 0.3)])
    }

    /// The share of the highest rate at this share of the run.
    #[cfg(test)]
    fn rate_at(&self, fraction: f64) -> f64 {
        let line = self.lines().find(|(from, to)| (from.0..=to.0).contains(&fraction));
        line.map_or(0.0, |(from, to)| from.1 + slope(from, to) * (fraction - from.0))
    }

    /// The mean share of the highest rate.
    pub fn mean(&self) -> f64 {
        self.lines().map(|(from, to)| area(from, to)).sum()
    }

    /// When operation `number` (from 0) is due in a run of this length that reaches this many a second; `None` if the run is over
    /// before.
    pub fn due(&self, number: u64, highest: f64, length: Duration) -> Option<Duration> {
        #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
        let mut left = number as f64 / (highest * length.as_secs_f64());
        for (from, to) in self.lines() {
            let area = area(from, to);
            if left < area {
                let after = distance(from.1, slope(from, to), left);
                return Some(length.mul_f64((from.0 + after).clamp(0.0, 1.0)));
            }
            left -= area;
        }
        None
    }

    fn lines(&self) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
        self.points.iter().copied().zip(self.points.iter().copied().skip(1))
    }
}

fn slope(from: (f64, f64), to: (f64, f64)) -> f64 {
    if to.0 > from.0 { (to.1 - from.1) / (to.0 - from.0) } else { 0.0 }
}

fn area(from: (f64, f64), to: (f64, f64)) -> f64 {
    (to.0 - from.0) * f64::midpoint(from.1, to.1)
}

/// How far along a line that begins at `height` its area is `area`: the root of `slope/2 x² + height x = area`, in the form that
/// a flat line does not divide by zero in.
fn distance(height: f64, slope: f64, area: f64) -> f64 {
    let root = (height * height + 2.0 * slope * area).max(0.0).sqrt();
    if height + root > 0.0 { 2.0 * area / (height + root) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn a_flat_shape_is_due_at_even_distances() {
        let shape = Shape::through(&[(0.0, 1.0), (1.0, 1.0)]);
        assert_eq!(shape.due(0, 10.0, MINUTE), Some(Duration::ZERO));
        let later = shape.due(300, 10.0, MINUTE).unwrap();
        assert!((later.as_secs_f64() - 30.0).abs() < 1e-6, "{later:?}");
        assert_eq!(shape.due(600, 10.0, MINUTE), None);
    }

    #[test]
    fn as_many_are_due_as_the_mean_says() {
        let shape = Shape::before_the_match();
        let due = (0..6000).filter(|number| shape.due(*number, 100.0, MINUTE).is_some()).count();
        let expected = shape.mean() * 100.0 * 60.0;
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let off = (due as f64 - expected).abs();
        assert!(off <= 1.0, "{due} for {expected}");
    }

    #[test]
    fn no_operation_is_due_before_the_one_before_it() {
        let shape = Shape::before_the_match();
        let due: Vec<_> = (0..).map_while(|number| shape.due(number, 50.0, MINUTE)).collect();
        assert!(due.is_sorted());
    }

    #[test]
    fn the_gap_between_two_is_the_rate_of_that_moment() {
        let shape = Shape::before_the_match();
        for number in [10, 400, 2000, 2500] {
            let (one, next) =
                (shape.due(number, 100.0, MINUTE).unwrap(), shape.due(number + 1, 100.0, MINUTE).unwrap());
            let gap = next.abs_diff(one).as_secs_f64();
            let rate = 100.0 * shape.rate_at(one.as_secs_f64() / 60.0);
            assert!((gap * rate - 1.0).abs() < 0.1, "{number}: {gap} at {rate}/s");
        }
    }

    #[test]
    fn a_slope_from_nothing_begins() {
        let shape = Shape::through(&[(0.0, 0.0), (1.0, 1.0)]);
        assert_eq!(shape.due(0, 10.0, MINUTE), Some(Duration::ZERO));
        assert!(shape.due(1, 10.0, MINUTE).unwrap() > Duration::from_secs(1));
    }
}
