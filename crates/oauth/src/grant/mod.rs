//! Grant: the authorization that a code, its tokens and their successors belong to. The one row an ordinary login writes.
//!
//! [`model`]: what a grant is. [`replaced`]: what hooks made of its claims. [`repository`]: the atomic steps in its life.

pub mod model;
pub mod replaced;
pub mod repository;

pub use model::{
    Generation, Grant, GrantClaims, MadeIn, RedeemCode, RefreshRequest, Requested, RotateRefresh, SecondTime,
    Standing,
};
pub use replaced::Replaced;
pub use repository::{GrantPage, GrantRepository, Insertion, Listed, Redemption, Rotation};
