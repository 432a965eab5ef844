//! Second factors: one-time passwords, passkeys, recovery codes.
//!
//! [`service`]: what a person has. [`totp`], [`passkey`], [`recovery_code`]: to enrol and to check each of them; `enrolment`:
//! what that has in common. `strangers`: what a recovery takes away. [`requirement`]: who must have one. [`login_step`]: when a login is complete, [`login_enrolment`]: what it waits for where there is none, `ticket`: a login that is not. [`aal`]: what it is worth
//! then. [`proof`]: what is shown. [`model`]: what a factor is. [`repository`]: the atomic steps. [`sealed`]: which secrets they need.

pub mod aal;
pub mod enrolment;
pub mod login_enrolment;
pub mod login_step;
pub mod model;
pub mod passkey;
pub mod proof;
pub mod recovery_code;
pub mod repository;
pub mod requirement;
pub mod sealed;
pub mod service;
mod strangers;
mod ticket;
pub mod totp;

pub use aal::{Aal, satisfies, shows_passkey, with_second};
pub use enrolment::{Enrolled, Enroller, EnrolmentOutcome};
pub use login_enrolment::Enrolling;
pub use login_step::{FactorChoices, FactorOutcome, FirstFactor, NextStep, PasskeyStep};
pub use model::{Factor, FactorKind};
pub use passkey::{InvalidRelyingParty, NewPasskey, PasskeyChallenge, PasskeyProof, RelyingParty};
pub use proof::{FactorCheck, FactorProof, Shown};
pub use recovery_code::{RECOVERY_CODES, RecoveryCode, RecoveryCodeKeys};
pub use repository::{
    AddedFactor, FactorRepository, FactorUse, HashedRecoveryCodes, MAX_FACTORS, RecoveryCodeCounts,
    WeakerSessions, WithFirst,
};
pub use requirement::FactorsRequired;
pub use sealed::SealedFactors;
pub use service::{EnrolledFactor, FactorParts, FactorService, RemovalOutcome, RenameOutcome};
pub use ticket::{TICKET_DATA, TicketData};
pub use totp::TotpEnrolment;
