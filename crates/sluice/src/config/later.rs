//! Why settings of Hydra's have no effect yet: what they are about comes with a later version.

/// RFC 8628.
pub(super) const NO_DEVICES: &str = "device authorization comes with a later version";

/// RFC 7523 as a grant type; as client authentication it is there.
pub(super) const NO_JWT_BEARER: &str = "the JWT bearer grant comes with a later version";

/// RFC 7591.
pub(super) const NO_DYNAMIC_CLIENTS: &str = "dynamic client registration comes with a later version; clients are registered through the admin endpoints";

/// OpenID Connect Core §8.1.
pub(super) const NO_PAIRWISE: &str =
    "pairwise subjects come with a later version; every client is shown the public subject";

/// Hydra's token hooks.
pub(super) const NO_HOOKS: &str =
    "hooks come with a later version; this one is not called, and tokens are issued without asking it";
