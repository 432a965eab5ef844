//! To add a factor: what the two kinds have in common. Nothing is stored before a factor was shown to work.

use std::fmt;

use serde::{Deserialize, Serialize};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Rng, Timestamp};
use tracing::info;
use uuid::Uuid;

use super::model::{Factor, FactorKind};
use super::recovery_code::RecoveryCode;
use super::repository::{AddedFactor, WeakerSessions, WithFirst};
use super::service::FactorService;
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::identity::Identity;
use crate::identity::username::is_disruptive;

/// What a person may call a factor, in characters.
const LONGEST_NAME: usize = 64;

/// Who adds a factor.
#[derive(Debug, Clone, Copy)]
pub struct Enroller<'a> {
    /// The record that was looked at.
    pub identity: &'a Identity,
    /// The sessions that end if the factor is the first; none if it is enrolled in no session.
    pub ends: Option<WeakerSessions>,
    /// Whether the factor is to be the first: a login waits for it. Whoever has one by then is asked for that instead, and be it this
    /// one: what ended once is not answered again.
    pub only_first: bool,
}

/// What became of an enrolment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnrolmentOutcome {
    /// The factor is asked for from now on.
    Enrolled(Enrolled),
    /// What was shown is not what the factor would show.
    Wrong,
    /// The passkey is one that the person has enrolled already.
    Known,
    /// It took too long, or was begun elsewhere or by somebody else, or how the person gets in was changed, or a factor was taken
    /// away, meanwhile, or it was to be the first and is not, or is there already: begin anew.
    Expired,
    /// The person has as many factors as may be.
    TooMany,
    /// The address is not verified: nobody adds a factor to an account that may turn out to be somebody else's.
    Unverified,
}

/// A factor that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolled {
    /// Its id.
    pub factor: Uuid,
    /// With the first factor: codes to write down, shown once.
    pub recovery_codes: Option<Vec<RecoveryCode>>,
    /// Whether it was there: the enrolment ended before, and is only answered once more.
    pub is_repeated: bool,
}

impl Enrolled {
    /// Whether it is the first: with it the sessions end that began without one ([`Enroller::ends`]). When that is answered once more,
    /// they have ended; and the session that asks may be another than the one that goes on.
    pub const fn is_first(&self) -> bool {
        self.recovery_codes.is_some() && !self.is_repeated
    }
}

/// What is settled when an enrolment begins, so that to finish it twice is to finish it once.
#[derive(Serialize, Deserialize)]
pub(super) struct Beginning {
    owner: [u8; 16],
    /// The id that the factor will have.
    pub(super) factor: Uuid,
    /// The codes that come with it if it is the first one that is confirmed.
    codes: Vec<String>,
    /// Of the record that was looked at: whoever began before another password, or before a factor was taken away or recovery
    /// codes were replaced, does not end after it. Else a factor that was removed could be confirmed once more.
    revision: i64,
}

impl Beginning {
    pub(super) fn new(owner: &Identity, now: Timestamp, rng: &dyn Rng) -> Self {
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        let factor = uuid::Builder::from_unix_timestamp_millis(millis, &random_bytes(rng)).into_uuid();
        let codes = RecoveryCode::draw_set(rng).iter().map(|code| code.as_str().to_owned()).collect();
        Self { owner: *owner.id.as_bytes(), factor, codes, revision: owner.revision }
    }

    pub(super) fn is_of(&self, identity: &Identity) -> bool {
        self.owner == *identity.id.as_bytes() && self.revision == identity.revision
    }
}

impl fmt::Debug for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Beginning({})", self.factor)
    }
}

/// A factor that was shown to work.
pub(super) struct NewFactor<'a> {
    pub(super) beginning: &'a Beginning,
    pub(super) kind: FactorKind,
    pub(super) name: &'a str,
    pub(super) sealed: String,
    pub(super) counter: i64,
}

impl FactorService {
    /// Whether the person may add a factor. Where there is mail the address is verified first, by whomever and however long ago.
    pub const fn may_enrol(&self, identity: &Identity) -> bool {
        self.parts.mails.is_none() || identity.email_verified_at.is_some()
    }

    /// Stores a factor that was shown to work. If it is the first, with recovery codes, and sessions end.
    pub(super) async fn enrol(
        &self,
        enroller: Enroller<'_>,
        new: NewFactor<'_>,
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let identity = enroller.identity;
        if !self.may_enrol(identity) {
            return Ok(EnrolmentOutcome::Unverified);
        }
        let factor = Factor {
            identity: identity.id,
            id: new.beginning.factor,
            kind: new.kind,
            name: name_of(new.name, new.kind),
            sealed: new.sealed,
            created_at: self.parts.clock.now(),
            last_used_at: None,
            counter: new.counter,
        };
        let drawn: Vec<_> = new.beginning.codes.iter().filter_map(|code| RecoveryCode::typed(code)).collect();
        let hashes = self.parts.recovery_keys.hash_all(identity.id, &drawn);
        let first = WithFirst {
            codes: self.parts.recovery_keys.named(&hashes),
            ends: enroller.ends,
            only: enroller.only_first,
        };
        let notice = self.notice_of_new(identity, factor.name.clone());
        let revision = new.beginning.revision;
        let added = self.parts.factors.add(&factor, revision, Some(first), notice.as_ref()).await;
        let deed = Deed::new("factor enrolled", identity.id).of_factor(factor.id);
        // Which one is the first, the store knows: of two that are confirmed at once, codes are shown of one.
        let (codes, is_repeated) = match deed.noted(added)? {
            AddedFactor::AddedWithCodes => (Some(drawn), false),
            AddedFactor::Added => (None, false),
            // It has let its person in already, and lets nobody in once more: whoever has it shows it.
            AddedFactor::PresentWithCodes | AddedFactor::Present if enroller.only_first => {
                return Ok(EnrolmentOutcome::Expired);
            }
            AddedFactor::PresentWithCodes => (Some(drawn), true),
            AddedFactor::Present => (None, true),
            AddedFactor::TooMany if enroller.only_first => return Ok(EnrolmentOutcome::Expired),
            AddedFactor::TooMany => return Ok(EnrolmentOutcome::TooMany),
            AddedFactor::Unknown => return Ok(EnrolmentOutcome::Expired),
        };
        let enrolled = Enrolled { factor: factor.id, recovery_codes: codes, is_repeated };
        if is_repeated {
            return Ok(EnrolmentOutcome::Enrolled(enrolled));
        }
        info!(target: "sluice_audit", { identity.id = %identity.id, factor.id = %factor.id, factor.kind = factor.kind.as_str() }, "factor enrolled");
        Ok(EnrolmentOutcome::Enrolled(enrolled))
    }
}

/// What a factor is called whose person called it `text`: without what would break or turn the line that it is shown in.
pub(super) fn name_of(text: &str, kind: FactorKind) -> String {
    let printable: String = text.chars().filter(|character| !is_disruptive(*character)).collect();
    let name: String = printable.trim().chars().take(LONGEST_NAME).collect();
    match (name.trim_end(), kind) {
        ("", FactorKind::Totp) => "Authenticator app".to_owned(),
        ("", FactorKind::Passkey) => "Passkey".to_owned(),
        (name, _) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_printable_and_never_empty() {
        assert_eq!(name_of(" My phone\r\n", FactorKind::Totp), "My phone");
        assert_eq!(name_of("\u{0} \t", FactorKind::Totp), "Authenticator app");
        assert_eq!(name_of("", FactorKind::Passkey), "Passkey");
        assert_eq!(name_of("\u{202E}evil\u{2028}\u{2029} \u{2066}key", FactorKind::Totp), "evil key");
        assert_eq!(name_of("\u{202E}\u{2069}", FactorKind::Totp), "Authenticator app");
        assert_eq!(name_of(&"é".repeat(100), FactorKind::Passkey), "é".repeat(64));
    }
}
