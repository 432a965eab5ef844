//! The page for the browser: one file, without scripts of its own and without anything from elsewhere.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::chart::Chart;
use super::scale::Tick;
use crate::endurance::Verdict;

/// Where a flame graph does not say how high it is.
const HEIGHT: u32 = 900;

/// What is on it; what is empty is left out.
#[derive(Template, Default)]
#[template(path = "page.html")]
pub(super) struct Page {
    /// What was done, in a word or two.
    pub(super) kind: &'static str,
    pub(super) title: String,
    pub(super) lead: String,
    pub(super) tiles: Vec<Tile>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) limited_by: String,
    /// Why what is told has to be read with care.
    pub(super) cautions: Vec<String>,
    pub(super) splits: Vec<Split>,
    pub(super) charts: Vec<Chart>,
    pub(super) bars: Vec<Bar>,
    pub(super) tables: Vec<Table>,
    /// The flame graph, in base64.
    pub(super) flame_graph: Option<String>,
    pub(super) flame_height: u32,
    pub(super) facts: Vec<Facts>,
    pub(super) foot: String,
}

/// A headline number.
#[derive(Default)]
pub(super) struct Tile {
    /// `holds`, `fails` or nothing.
    pub(super) class: &'static str,
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    pub(super) note: String,
}

/// Bars of parts, on one axis.
pub(super) struct Split {
    pub(super) title: String,
    pub(super) note: String,
    /// Class and word.
    pub(super) legend: Vec<(&'static str, String)>,
    pub(super) rows: Vec<SplitRow>,
    pub(super) marks: Vec<Mark>,
    pub(super) ticks: Vec<Tick>,
}

/// A bar of parts.
pub(super) struct SplitRow {
    pub(super) label: String,
    pub(super) parts: Vec<Part>,
    pub(super) sum: String,
}

/// A part of a bar.
pub(super) struct Part {
    pub(super) class: &'static str,
    /// Whether a phone has no room for words.
    pub(super) is_narrow: bool,
    pub(super) width: String,
    /// Within, if there is room.
    pub(super) label: String,
    pub(super) told: String,
}

/// A line across all bars.
pub(super) struct Mark {
    pub(super) class: &'static str,
    pub(super) at: String,
    pub(super) label: String,
}

/// A number as a bar.
pub(super) struct Bar {
    pub(super) label: &'static str,
    pub(super) width: String,
    pub(super) value: String,
}

/// Numbers, and what they are of.
pub(super) struct Table {
    pub(super) title: String,
    /// So many columns at the left are names: where there is little room, they are broken.
    pub(super) names: usize,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Names and values.
pub(super) struct Facts {
    pub(super) title: &'static str,
    pub(super) rows: Vec<(String, String)>,
}

impl Page {
    /// With settings and machine below everything.
    pub(super) fn with_facts(mut self, settings: &[(String, String)], machine: &[(String, String)]) -> Self {
        let facts = |title, rows: &[(String, String)]| Facts { title, rows: rows.to_vec() };
        self.facts = vec![facts("Settings", settings), facts("Machine", machine)];
        self.facts.retain(|facts| !facts.rows.is_empty());
        self
    }

    /// With a flame graph.
    pub(super) fn with_flame_graph(mut self, svg: Option<&str>) -> Self {
        self.flame_height = svg.and_then(height).unwrap_or(HEIGHT);
        self.flame_graph = svg.map(|svg| STANDARD.encode(svg));
        self
    }
}

/// As the root element says it.
fn height(svg: &str) -> Option<u32> {
    let root = svg.get(svg.find("<svg")?..)?;
    let root = root.get(..root.find('>')?)?;
    let (_, rest) = root.split_once(" height=\"")?;
    let said = rest.split_once('"')?.0;
    said.trim_end_matches("px").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flame_graph_says_how_high_it_is() {
        let svg = r#"<?xml version="1.0"?><!DOCTYPE svg><svg version="1.1" width="1200" height="1078" onload="i()"><rect height="3"/></svg>"#;
        assert_eq!(height(svg), Some(1078));
        assert_eq!(height("<svg viewBox=\"0 0 1 1\"><rect height=\"3\"/></svg>"), None);
    }
}
