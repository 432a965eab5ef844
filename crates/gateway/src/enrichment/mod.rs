//! What the upstream is told about the caller.
//!
//! [`headers`]: what clients may not say, and what is said instead. `claims`: a claim by its name. `value`: text as a header's
//! value. [`country`]: where an address is. [`phantom`]: a token of the gateway's own in place of the client's.

mod claims;
pub mod country;
pub mod headers;
pub mod phantom;
pub(crate) mod value;

pub use country::{CountryDatabase, CountryError, CountryLookup};
pub use phantom::PhantomSigner;
