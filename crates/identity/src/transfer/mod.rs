//! People from files and into files: one JSON object a line (NDJSON).
//!
//! [`mod@line`]: what a line says, and what may be wrong with it; `fields`: its JSON. [`importer`]: lines become records, many
//! at a time. [`mod@file`]: the file and how far it has come; `lines`: its lines; `origin`: how a line is known again; `turns`: which of
//! those with one address or id is first; `frontier`: of which lines all is known.
//! [`exporter`]: records become lines.
//!
//! | field | holds |
//! |---|---|
//! | `id` | UUID; made up without it |
//! | `email` | required |
//! | `username` | what the person wants to be called |
//! | `password_hash` | a hash of another program ([`sluice_crypto::foreign_hash`]), or one that was exported |
//! | `email_verified` | `true` or `false`, the default |
//! | `status` | `active`, the default, or `disabled` |
//! | `created_at` | RFC 3339; the time of the import without it |

pub mod exporter;
mod fields;
pub mod file;
mod frontier;
pub mod importer;
pub mod line;
mod lines;
mod origin;
mod turns;

pub use exporter::{ExportError, Exported, Exporter};
pub use file::{ImportFile, ImportFileError};
pub use frontier::{ImportedCounts, RejectedLine, Rejection};
pub use importer::{ImportConfig, ImportError, ImportProgress, ImportWatcher, Importer};
pub use line::{ImportedIdentity, ImportedPassword, LineError, LineFault, parse_line};
