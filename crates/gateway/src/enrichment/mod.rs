//! What the upstream is told about the caller.
