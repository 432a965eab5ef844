//! Lines over an axis: shapes as SVG in percent of the plot, words as HTML beside it, so that they keep their size on any screen.

use std::fmt::Write as _;

use super::scale::{Scale, Tick, percent};

/// More points than this have no words of their own.
const MOST_HITS: usize = 400;
/// A point without another is drawn as a line: so far to either side, in percent of the plot.
const REACH: f64 = 1.0;

/// What is drawn.
pub(super) struct Chart {
    pub(super) title: String,
    /// What the axes are.
    pub(super) note: String,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    pub(super) lines: Vec<Line>,
    /// What is told of a place that is pointed at.
    pub(super) hits: Vec<Hit>,
}

/// A line of a chart.
pub(super) struct Line {
    /// The colour.
    pub(super) class: &'static str,
    pub(super) label: String,
    pub(super) path: String,
    /// What lies below it.
    pub(super) area: Option<String>,
}

/// A place that tells something.
pub(super) struct Hit {
    pub(super) at: String,
    pub(super) width: String,
    pub(super) told: String,
}

/// Values that belong together.
pub(super) struct Series {
    pub(super) class: &'static str,
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) is_area: bool,
}

/// Both axes.
pub(super) struct Axes {
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Series {
    /// A line.
    pub(super) fn line(class: &'static str, label: &str, points: Vec<(f64, f64)>) -> Self {
        Self { class, label: label.to_owned(), points, is_area: false }
    }

    /// A line with what lies below it.
    pub(super) fn area(class: &'static str, label: &str, points: Vec<(f64, f64)>) -> Self {
        Self { is_area: true, ..Self::line(class, label, points) }
    }
}

impl Chart {
    /// Draws it.
    pub(super) fn new(title: &str, note: &str, axes: &Axes, series: &[Series]) -> Self {
        Self {
            title: title.to_owned(),
            note: note.to_owned(),
            x_ticks: axes.x.ticks(),
            y_ticks: axes.y.ticks(),
            lines: series
                .iter()
                .filter(|series| !series.points.is_empty())
                .map(|one| axes.draw(one))
                .collect(),
            hits: Vec::new(),
        }
    }

    /// With words at each of these values of x.
    pub(super) fn telling(mut self, axes: &Axes, told: Vec<(f64, String)>) -> Self {
        if told.len() > MOST_HITS {
            return self;
        }
        let places: Vec<f64> = told.iter().map(|(x, _)| axes.x.place(*x)).collect();
        let ends = |at: usize| {
            let here = places.get(at).copied().unwrap_or_default();
            let half = |other: Option<usize>, end: f64| {
                other.and_then(|other| places.get(other)).map_or(end, |other| f64::midpoint(*other, here))
            };
            (half(at.checked_sub(1), 0.0), half(at.checked_add(1), 100.0))
        };
        self.hits = told
            .into_iter()
            .enumerate()
            .map(|(at, (_, told))| {
                let (from, to) = ends(at);
                Hit { at: percent(from), width: percent((to - from).max(0.0)), told }
            })
            .collect();
        self
    }

    /// Whether anything is drawn.
    pub(super) const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl Axes {
    fn draw(&self, series: &Series) -> Line {
        let (mut path, places) = (String::new(), self.places(&series.points));
        for (at, (x, y)) in places.iter().enumerate() {
            let verb = if at == 0 { 'M' } else { 'L' };
            // Writing to a string does not fail.
            let _ = write!(path, "{verb}{x:.2} {y:.2}");
        }
        let ends = places.first().zip(places.last());
        let area = ends
            .filter(|_| series.is_area)
            .map(|((first, _), (last, _))| format!("{path}L{last:.2} 100L{first:.2} 100Z"));
        Line { class: series.class, label: series.label.clone(), path, area }
    }

    /// From the left and from above, in percent. Of a single point nothing would be seen: it is two, side by side.
    fn places(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let place = |(x, y): &(f64, f64)| (self.x.place(*x), 100.0 - self.y.place(*y));
        match points {
            [only] => {
                let (x, y) = place(only);
                vec![((x - REACH).max(0.0), y), ((x + REACH).min(100.0), y)]
            }
            several => several.iter().map(place).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_points_and_each_tells_about_itself() {
        let axes = Axes { x: Scale::linear(0.0, 10.0), y: Scale::linear(0.0, 4.0) };
        let points = vec![(0.0, 1.0), (5.0, 4.0), (10.0, 0.0)];
        let chart = Chart::new("rate", "", &axes, &[Series::area("server", "rate", points)]);
        assert_eq!(chart.lines[0].path, "M0.00 75.00L50.00 0.00L100.00 100.00");
        assert_eq!(
            chart.lines[0].area.as_deref(),
            Some("M0.00 75.00L50.00 0.00L100.00 100.00L100.00 100L0.00 100Z")
        );
        let chart = chart.telling(&axes, [0.0, 5.0, 10.0].map(|x| (x, x.to_string())).to_vec());
        let told: Vec<_> = chart.hits.iter().map(|hit| (hit.at.as_str(), hit.width.as_str())).collect();
        assert_eq!(told, [("0.00", "25.00"), ("25.00", "50.00"), ("75.00", "25.00")]);
    }

    #[test]
    fn a_single_point_is_seen() {
        let axes = Axes { x: Scale::linear(0.0, 10.0), y: Scale::linear(0.0, 4.0) };
        let drawn = |x| axes.draw(&Series::area("server", "rate", vec![(x, 1.0)]));
        assert_eq!(drawn(5.0).path, "M49.00 75.00L51.00 75.00");
        assert_eq!(drawn(5.0).area.as_deref(), Some("M49.00 75.00L51.00 75.00L51.00 100L49.00 100Z"));
        let at_the_ends = [drawn(0.0), drawn(10.0)].map(|line| line.path);
        assert_eq!(at_the_ends, ["M0.00 75.00L1.00 75.00", "M99.00 75.00L100.00 75.00"]);
    }

    #[test]
    fn a_series_without_points_is_not_drawn() {
        let axes = Axes { x: Scale::linear(0.0, 1.0), y: Scale::linear(0.0, 1.0) };
        assert!(Chart::new("", "", &axes, &[Series::line("server", "", Vec::new())]).is_empty());
    }
}
