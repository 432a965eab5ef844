//! The way back in without the password: a code by mail, then a ticket that sets another password. Nothing tells whether
//! there is such an account before the code is right. Second factors stay, and are asked for at the next
//! login, unless the address is not verified, nor was this address when they were enrolled: then whoever registered may have been
//! somebody else, and nothing of theirs stays. What an administrator or an import said of somebody who has no password stays.

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{IdentityId, Rng, Secret, Timestamp};
use tracing::info;

use super::codes::{MailProof, NewCode, nobody};
use super::outcome::{Denied, Outcome, Stop};
use super::service::AccountService;
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::factor::Factor;
use crate::identity::{Email, Identity, IdentityChange, IdentityStatus, NewCredential};
use crate::login::Network;
use crate::mail::{CodePurpose, MessageKind};
use crate::registration::InvalidField;

/// The right to set another password. Of one revision of the record, which that raises: so it is good once.
#[derive(Serialize, Deserialize)]
struct Ticket {
    identity: [u8; 16],
    revision: i64,
    expires_at: i64,
}

impl AccountService {
    /// Sends a code to the address, if it is that of an account. If not, the same is done but for the mail.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn begin_recovery(&self, email: &str, network: Network) -> Result<Outcome<()>, IdentityError> {
        Outcome::of(self.recovery_begun(email, network).await)
    }

    /// Exchanges a code for a ticket, which is as good as the code: [`AccountService::finish_recovery`].
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn check_recovery(
        &self,
        proof: &MailProof,
        network: Network,
    ) -> Result<Outcome<Secret<String>>, IdentityError> {
        Outcome::of(self.recovery_checked(proof, network).await)
    }

    /// Sets another password; whose it is. Everything of the person ends, and the address counts as verified, unless its
    /// mail may go elsewhere ([`Email::may_lead_elsewhere`]). A password that may not be chosen leaves the ticket as it is.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now.
    pub async fn finish_recovery(
        &self,
        ticket: &str,
        new_password: &Secret<String>,
        network: Network,
    ) -> Result<Outcome<IdentityId>, IdentityError> {
        Outcome::of(self.recovery_finished(ticket, new_password, network).await)
    }

    async fn recovery_begun(&self, email: &str, network: Network) -> Result<(), Stop> {
        let mails = self.mails.as_ref().ok_or(Denied::NoMail)?;
        let email: Email = email.parse().map_err(InvalidField::from)?;
        let account = email.login_name();
        self.limits.check_recovery_mail(&account, network).map_err(Denied::TooMany)?;
        let found = self.identities.find_by_login_name(&account).await?;
        let found = found.filter(|identity| identity.status == IdentityStatus::Active);
        let id = found.as_ref().map(|identity| identity.id);
        let new = NewCode {
            whose: found.map_or((nobody(&account), 0), |identity| (identity.id, identity.revision)),
            purpose: CodePurpose::Recover,
            to: email.as_str(),
        };
        let kind = |code| if id.is_some() { MessageKind::Recover(code) } else { MessageKind::Decoy };
        Deed::new("recovery asked for", id).at(network).noted(self.send_code(mails, new, kind).await)?;
        let id = id.map(tracing::field::display);
        info!(target: "sluice_audit", { identity.id = id, client.network = %network }, "recovery asked for");
        Ok(())
    }

    async fn recovery_checked(&self, proof: &MailProof, network: Network) -> Result<Secret<String>, Stop> {
        let (identity, email) = self.take_code(proof, (CodePurpose::Recover, None), network).await?;
        if identity.email != email {
            return Err(Denied::WrongCode.into());
        }
        let ticket = Ticket {
            identity: *identity.id.as_bytes(),
            revision: identity.revision,
            expires_at: (self.clock.now() + self.config.codes.recover).as_millis(),
        };
        Ok(Secret::new(ticket.seal(&self.sealer, &*self.rng)))
    }

    async fn recovery_finished(
        &self,
        ticket: &str,
        new: &Secret<String>,
        network: Network,
    ) -> Result<IdentityId, Stop> {
        let ticket = Ticket::open(ticket, &self.sealer).ok_or(Denied::WrongCode)?;
        let expires_at = Timestamp::from_millis(ticket.expires_at);
        let found = self.identities.find(IdentityId::from_bytes(ticket.identity)).await?;
        let holds = found.filter(|identity| {
            identity.revision == ticket.revision
                && identity.status == IdentityStatus::Active
                && self.clock.now() < expires_at
        });
        let identity = holds.ok_or(Denied::WrongCode)?;
        // Until the ticket is spent, each use of it costs a hash.
        self.limits.check_recovery(identity.id, network).map_err(Denied::TooMany)?;
        let _place = self.limits.place(network, self.hasher.places()).map_err(Denied::TooMany)?;
        let credential = self.new_credential(&identity, new).await?;
        let strangers = self.factors.left_by_strangers(&identity).await?;
        let change = self.recovery_of(&identity, credential, strangers.as_deref());
        let deed = Deed::new("password set by recovery", identity.id).at(network);
        deed.noted(self.make(&change).await)?;
        self.sessions.revoke(identity.id, change.now);
        self.login.is_familiar(&identity.login_name, network);
        info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network }, "password set by recovery");
        for factor in strangers.iter().flatten() {
            info!(target: "sluice_audit", { identity.id = %identity.id, factor.id = %factor.id, factor.kind = factor.kind.as_str() }, "factor removed");
        }
        Ok(identity.id)
    }

    /// What a recovery makes of a record; `strangers`: the factors that go, none if they stay.
    fn recovery_of(
        &self,
        identity: &Identity,
        credential: NewCredential,
        strangers: Option<&[Factor]>,
    ) -> IdentityChange {
        let now = self.clock.now();
        let proved_at = identity.is_proved_by_mail().then_some(now);
        let email_verified_at = identity.email_verified_at.or(proved_at);
        let recovered = Identity { email_verified_at, ..identity.clone() };
        let mut mails = self.password_notice(&recovered);
        if strangers.is_some_and(|factors| !factors.is_empty()) {
            // Not what they are called: that may be a stranger's text.
            mails.extend(self.notice(&recovered, MessageKind::FactorRemoved { name: String::new() }));
        }
        IdentityChange {
            email_verified_at: Some(email_verified_at),
            forgets_factors: strangers.is_some(),
            username: identity.may_be_a_strangers().then(String::new),
            mails,
            ..self.new_start(&recovered, credential, now)
        }
    }
}

impl Ticket {
    fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        sealer.seal(Purpose::RecoveryTicket, &postcard::to_stdvec(self).unwrap_or_default(), rng)
    }

    fn open(sealed: &str, sealer: &Sealer) -> Option<Self> {
        postcard::from_bytes(&sealer.open(Purpose::RecoveryTicket, sealed).ok()?).ok()
    }
}
