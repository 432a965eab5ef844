//! Flow: one authorization request on its way from `/oauth2/auth` to a code.
//!
//! [`state`]: what a flow can be. [`binding`]: to which browser it belongs. [`sealed`]: flow ⇄ URL parameter.
//! `further`: what of its request only pages look at. [`parked`]: flows too long for a URL. [`service`]: what a login or consent page may
//! do with it; `accepting`: what it says.
//!
//! Nothing here touches a store but [`parked`]: until consent is given, a flow lives in the URL only.

pub(crate) mod accepting;
pub mod binding;
#[cfg(test)]
pub(crate) mod fake;
mod further;
pub mod parked;
pub(crate) mod request_url;
pub mod sealed;
pub mod service;
pub mod state;
mod wire;

pub use binding::{Binding, BindingKey, BindingKeys};
pub use further::Further;
pub use parked::{ParkedCount, ParkedFlow, ParkedFlowRepository, ParkedHandle};
pub use sealed::{FlowError, FlowSealer, Quota};
pub use service::{AcceptConsent, AcceptLogin, FlowAnswer, FlowProblem, FlowService, RejectFlow, SpentFlows};
pub use state::{
    AwaitingConsent, AwaitingLogin, Consent, ConsentAnswered, Decision, KnownSession, Login, LoginAnswered,
    Rejection, Request, RequestDetails,
};
