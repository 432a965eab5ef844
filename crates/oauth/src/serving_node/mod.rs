//! Nodes that serve from one database, and what must be alike on all of them.
//!
//! [`SharedSettings`]: what a node says of its settings, and where those of two differ. [`ServingNodeRepository`]: where each says it.
//!
//! A node cannot know which of two that differ is the wrong one: nothing here keeps any from serving.

mod repository;
mod settings;

pub use repository::{ServingNode, ServingNodeRepository};
pub use settings::{Difference, Disagreement, SharedSettings};
