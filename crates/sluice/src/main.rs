//! Sluice.

fn main() {}
