//! Who looks on while users work.

use super::Second;

/// Is told of every second of a run, and may end it.
pub trait Observer {
    /// A second is over.
    fn second(&self, _second: &Second) {}

    /// Whether the run is to end now, with what was measured.
    fn has_enough(&self) -> bool {
        false
    }
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Observer for Nobody {}
