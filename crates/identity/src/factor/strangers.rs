//! What a recovery takes away of the factors of an account whose address is not verified.

use super::model::{Factor, FactorKind};
use super::service::FactorService;
use crate::error::IdentityError;
use crate::identity::{Identity, LoginNameHash};

/// The address with which somebody enrols a factor, if it is verified: what is noted with the factor.
pub(super) fn verified_address(owner: &Identity) -> Option<LoginNameHash> {
    owner.email_verified_at.map(|_| owner.login_name)
}

impl FactorService {
    /// The factors that go when somebody recovers this account; none if whatever there is stays. It stays if the address is
    /// verified, or was when one of them was enrolled: then it was no stranger who had the account, whatever an administrator has
    /// said of the address since. That another address was verified says nothing: a stranger who had the account before an
    /// administrator gave it this one may have verified their own. Nor does a factor that does not open.
    pub(crate) async fn left_by_strangers(
        &self,
        identity: &Identity,
    ) -> Result<Option<Vec<Factor>>, IdentityError> {
        if identity.email_verified_at.is_some() {
            return Ok(None);
        }
        let factors = self.parts.factors.of_identity(identity.id).await?;
        let present = Some(identity.login_name);
        let was_verified = factors.iter().any(|factor| self.verified_address_of(factor) == present);
        Ok((!was_verified).then_some(factors))
    }

    /// The verified address with which the factor was enrolled, as far as that was noted.
    fn verified_address_of(&self, factor: &Factor) -> Option<LoginNameHash> {
        match factor.kind {
            FactorKind::Totp => self.verified_address_of_app(factor),
            FactorKind::Passkey => self.verified_address_of_passkey(factor),
        }
    }
}
