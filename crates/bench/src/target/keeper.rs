//! Whose CPU the work of the database is.

/// In whose processes the work of the database is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// In the server's own: SQLite, or everything is in memory.
    Server,
    /// In others: PostgreSQL, or nothing is known of it.
    Others,
}
