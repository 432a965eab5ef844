//! How long a listing is in all, in Hydra's header.

use http::HeaderName;

/// How many there are, whatever of them is listed on this page.
pub(super) const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");
