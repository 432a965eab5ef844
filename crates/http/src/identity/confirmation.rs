//! Who it is, once more: what a request shows beside its access token.

use sluice_identity::Network;
use sluice_identity::account::Confirmation;
use sluice_identity::factor::FactorProof;
use sluice_identity::session::Caller;
use sluice_primitives::Secret;

use super::text::SecretText;
use crate::respond::Problem;

/// The password, and a second factor if the login showed none.
pub(super) struct Shown {
    password: Option<Secret<String>>,
    totp: Option<Secret<String>>,
    recovery_code: Option<Secret<String>>,
}

impl Shown {
    /// What these members of a body hold.
    pub(super) fn new(password: SecretText, totp: SecretText, recovery_code: SecretText) -> Self {
        Self { password: password.given(), totp: totp.given(), recovery_code: recovery_code.given() }
    }

    /// The same, of a caller.
    pub(super) fn by<'a>(
        &'a self,
        caller: &'a Caller,
        network: Network,
    ) -> Result<Confirmation<'a>, Problem> {
        let factor = match (&self.totp, &self.recovery_code) {
            (None, None) => None,
            (Some(code), None) => Some(FactorProof::Totp(code.expose())),
            (None, Some(code)) => Some(FactorProof::RecoveryCode(code.expose())),
            (Some(_), Some(_)) => {
                let one = "One of totp and recovery_code is expected.";
                return Err(Problem::field("totp", "factor_missing", one));
            }
        };
        Ok(Confirmation { caller, password: self.password.as_ref(), factor, network })
    }
}
