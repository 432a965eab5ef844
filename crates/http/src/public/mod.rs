//! What browsers and clients use.

pub(crate) mod authorize;
pub(crate) mod device;
pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod introspect;
pub(crate) mod jwks;
pub(crate) mod logout;
pub(crate) mod par;
pub(crate) mod registration;
pub(crate) mod revoke;
pub(crate) mod token;
pub(crate) mod userinfo;
