//! Answers in columns, for people.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Table};

use super::answer::{Answer, Layout};
use super::printable;

/// Blanks between two columns.
const GAP: u16 = 2;

/// The answer in columns, with a line feed at the end.
pub(super) fn render(answer: &Answer) -> String {
    let mut text = match answer.layout {
        Layout::List => {
            lines(std::iter::once(header(answer)).chain(answer.rows.iter().map(|row| cells(row))))
        }
        Layout::Record => lines(answer.rows.iter().flat_map(|row| record(answer, row))),
    };
    if !answer.footer.is_empty() {
        text.push('\n');
        text.push_str(&lines(answer.footer.iter().map(|(name, value)| pair(name, value))));
    }
    text
}

fn header(answer: &Answer) -> Vec<Cell> {
    answer.header.iter().map(Cell::new).collect()
}

fn cells(row: &[String]) -> Vec<Cell> {
    row.iter().map(|cell| Cell::new(printable(cell))).collect()
}

fn record(answer: &Answer, row: &[String]) -> Vec<Vec<Cell>> {
    answer.header.iter().zip(row).map(|(name, value)| pair(name, value)).collect()
}

fn pair(name: &str, value: &str) -> Vec<Cell> {
    vec![Cell::new(name), Cell::new(printable(value))]
}

/// Never wrapped and never coloured: what is printed can be copied, and parsed, as it is.
fn lines(rows: impl Iterator<Item = Vec<Cell>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).force_no_tty().add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    if table.column_iter().next().is_none() { String::new() } else { table.trim_fmt() + "\n" }
}
