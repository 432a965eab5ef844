//! Who must have a second factor, because whoever runs the site says so.

use sluice_primitives::IdentityId;

use super::service::FactorService;
use crate::audit::Deed;
use crate::error::IdentityError;

/// Who must have a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FactorsRequired {
    /// Nobody, whatever an administrator said of them.
    #[default]
    Never,
    /// Those of whom an administrator said so.
    Chosen,
    /// Everybody.
    Always,
}

impl FactorsRequired {
    /// As the configuration names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Chosen => "chosen",
            Self::Always => "always",
        }
    }
}

impl FactorService {
    /// Whether this person must have a second factor and has none.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn is_lacking(&self, identity: IdentityId) -> Result<bool, IdentityError> {
        Ok(self.is_required_of(Some(identity)).await? && self.list(identity).await?.is_empty())
    }

    /// Notes whether a person must have a second factor, which counts where [`FactorsRequired::Chosen`] must; whether there is such a person.
    /// `deed` is what the audit trail says of it if nobody knows whether it was done.
    pub(crate) async fn require(
        &self,
        identity: IdentityId,
        required: bool,
        deed: Deed,
    ) -> Result<bool, IdentityError> {
        Ok(deed.noted(self.parts.factors.require(identity, required).await)?)
    }

    /// Whether that was noted of a person, wherever it counts.
    pub(crate) async fn is_chosen(&self, identity: IdentityId) -> Result<bool, IdentityError> {
        Ok(self.parts.factors.is_required(identity).await?)
    }

    /// Whether this person must have a second factor; none is somebody who is none of ours, of whom nobody can have said so.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn is_required_of(&self, identity: Option<IdentityId>) -> Result<bool, IdentityError> {
        match (self.parts.required, identity) {
            (FactorsRequired::Never, _) | (FactorsRequired::Chosen, None) => Ok(false),
            (FactorsRequired::Chosen, Some(identity)) => Ok(self.parts.factors.is_required(identity).await?),
            (FactorsRequired::Always, _) => Ok(true),
        }
    }
}
