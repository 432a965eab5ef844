//! What somebody shows to prove a second factor.

use std::fmt;

use sluice_primitives::Lifetime;

use super::passkey::PasskeyProof;

/// What somebody shows.
#[derive(Clone, Copy)]
pub enum FactorProof<'a> {
    /// The code of an authenticator app.
    Totp(&'a str),
    /// A recovery code.
    RecoveryCode(&'a str),
    /// The answer of a passkey.
    Passkey {
        /// The state of the ceremony, as it was given out.
        state: &'a str,
        /// What the browser made of the options: `PublicKeyCredential` as JSON.
        response: &'a str,
    },
}

impl FactorProof<'_> {
    /// What a log says.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Totp(_) => "totp",
            Self::RecoveryCode(_) => "recovery code",
            Self::Passkey { .. } => "passkey",
        }
    }
}

impl fmt::Debug for FactorProof<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FactorProof({})", self.as_str())
    }
}

/// What somebody has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A code of an authenticator app.
    Totp,
    /// A recovery code, which is spent now.
    RecoveryCode,
    /// A passkey.
    Passkey(PasskeyProof),
}

/// What became of a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorCheck {
    /// It is right, and cannot be shown again.
    Right(Shown),
    /// It is wrong; or a recovery code or a passkey that was shown before.
    Wrong,
    /// The code of an authenticator app that was shown before, or one before that: the next one may be right. No guess.
    Used,
    /// A passkey, shown too long after it was asked for. It may be asked for again.
    Late,
    /// Too many were wrong; the next may come after this time. This one was not looked at.
    TooMany(Lifetime),
}
