//! Codes: how they get into mails, and how they come back. Link and code of one mail are the same thing, good once.

use std::fmt;

use sluice_commit::chain;
use sluice_primitives::{AttemptId, IdentityId, Secret};
use tracing::{info, warn};

use super::outcome::{Denied, Stop};
use super::service::AccountService;
use crate::error::IdentityError;
use crate::identity::{Email, Identity, IdentityStatus, LoginNameHash};
use crate::login::Network;
use crate::mail::{
    Code, CodeByMail, CodeMail, CodePurpose, MailCode, MailLink, MailQueue, Message, MessageKind, ShownCode,
    TakenCode,
};

/// What a mail carried, as it comes back.
#[derive(Debug, Clone)]
pub enum MailProof {
    /// The code, typed.
    Code {
        /// Whose it is said to be.
        who: Claimant,
        /// As it was typed.
        code: Secret<String>,
    },
    /// The `token` of the link.
    Link(Secret<String>),
}

/// Whose code it is said to be.
///
/// Prints no address.
#[derive(Clone)]
pub enum Claimant {
    /// Of somebody who is signed in.
    Identity(IdentityId),
    /// Of whoever has this address; it need not be one.
    Email(String),
}

impl fmt::Debug for Claimant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity(id) => f.debug_tuple("Identity").field(id).finish(),
            Self::Email(_) => f.write_str("Email([redacted])"),
        }
    }
}

/// A code that is on its way.
pub(super) struct NewCode<'a> {
    /// Of the identity with this id and revision. Nobody needs to have it.
    pub(super) whose: (IdentityId, i64),
    pub(super) purpose: CodePurpose,
    pub(super) to: &'a str,
}

/// A code that was right.
pub(super) struct RightCode {
    /// Who has it.
    pub(super) identity: Identity,
    /// To which address it was sent.
    pub(super) email: String,
    purpose: CodePurpose,
    hashes: Vec<[u8; 32]>,
}

/// A proof that was read.
struct Claim {
    /// Whom it names; none if there is nobody.
    identity: Option<Identity>,
    /// Under which name that was looked for.
    account: LoginNameHash,
    code: Option<Code>,
    is_link: bool,
}

/// An identity that nobody has: work done for it is as much as for one that somebody has.
pub(super) fn nobody(account: &LoginNameHash) -> IdentityId {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(account) {
        *to = *from;
    }
    IdentityId::from_bytes(bytes)
}

impl AccountService {
    /// Whose the `token` of a link is, if it would be taken now, for this purpose and from this person, or from anybody. Nothing is
    /// spent by looking, and nobody is told anything by it: a token cannot be guessed.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn owner_of_link(
        &self,
        token: &Secret<String>,
        whose: (CodePurpose, Option<IdentityId>),
    ) -> Result<Option<Identity>, IdentityError> {
        Ok(self.looked_at(token, whose).await?.map(|(identity, _)| identity))
    }

    /// The address that the `token` of a link makes this person's, if it would be taken now. Nothing is spent by looking.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn new_email_of_link(
        &self,
        token: &Secret<String>,
        identity: IdentityId,
    ) -> Result<Option<String>, IdentityError> {
        let whose = (CodePurpose::ChangeEmail, Some(identity));
        Ok(self.looked_at(token, whose).await?.map(|(_, email)| email))
    }

    /// Whose a link is, and to which address it was sent.
    async fn looked_at(
        &self,
        token: &Secret<String>,
        (purpose, owner): (CodePurpose, Option<IdentityId>),
    ) -> Result<Option<(Identity, String)>, IdentityError> {
        let link = self.open_link(token, purpose);
        let Some(link) = link.filter(|link| owner.is_none_or(|owner| owner == link.identity)) else {
            return Ok(None);
        };
        let found = self.identities.find(link.identity).await?;
        let Some(identity) = found.filter(|identity| identity.status == IdentityStatus::Active) else {
            return Ok(None);
        };
        let hashes = self.code_key.hashes((identity.id, identity.revision), purpose, &link.code);
        let sent_to = self.codes.sent_to(identity.id, purpose, &hashes, self.clock.now()).await?;
        Ok(sent_to.map(|email| (identity, email)))
    }

    /// What a link says, if it is one for this purpose that has not expired.
    pub(super) fn open_link(&self, token: &Secret<String>, purpose: CodePurpose) -> Option<MailLink> {
        let link = MailLink::open(token.expose(), &self.sealer)?;
        (link.purpose == purpose && self.clock.now() < link.expires_at).then_some(link)
    }

    /// Makes a code and queues the mail that `kind` makes of it.
    pub(super) async fn send_code(
        &self,
        mails: &MailQueue,
        new: NewCode<'_>,
        kind: impl FnOnce(CodeMail) -> MessageKind + Send,
    ) -> Result<(), Stop> {
        let CodeByMail { code, mail } = self.code_by_mail(mails, &new, kind);
        Ok(self.codes.put(&code, &mail).await?)
    }

    /// Makes a code and the mail that `kind` makes of it, for those that have a transaction of their own for them.
    pub(super) fn code_by_mail(
        &self,
        mails: &MailQueue,
        new: &NewCode<'_>,
        kind: impl FnOnce(CodeMail) -> MessageKind,
    ) -> CodeByMail {
        let now = self.clock.now();
        let (codes, links) = (&self.config.codes, &self.config.links);
        let (good, page) = match new.purpose {
            CodePurpose::VerifyEmail => (codes.verify, &links.verify),
            CodePurpose::Recover => (codes.recover, &links.recover),
            CodePurpose::ChangeEmail => (codes.change_email, &links.change_email),
        };
        let (identity, code) = (new.whose.0, Code::draw(&*self.rng));
        let hash = self.code_key.hash(new.whose, new.purpose, &code);
        let grouped = code.grouped();
        let link = MailLink { identity, purpose: new.purpose, code, expires_at: now + good };
        let link = link.to_url(page, &self.sealer, &*self.rng);
        let carried = CodeMail { code: grouped, link, minutes: good.as_secs() / 60 };
        let mail = mails.sealed(&Message { to: new.to.to_owned(), kind: kind(carried) });
        let code = MailCode {
            identity,
            purpose: new.purpose,
            email: new.to.to_owned(),
            hash,
            expires_at: now + good,
            attempt: AttemptId::generate(now, &*self.rng),
        };
        CodeByMail { code, mail }
    }

    /// Spends a code: who has it, and to which address it was sent. Whatever is wrong with it costs the same and is told
    /// the same, whether or not there is such a person. If it says whose it must be, that of anybody else is not spent.
    pub(super) async fn take_code(
        &self,
        proof: &MailProof,
        whose: (CodePurpose, Option<IdentityId>),
        network: Network,
    ) -> Result<(Identity, String), Stop> {
        let right = self.shown_code(proof, whose, false, network).await?;
        Ok((right.identity, right.email))
    }

    /// The same of a code that stays good until what it is for is done: if that fails, it can be shown again. Only for what does
    /// no harm when it is done twice.
    pub(super) async fn right_code(
        &self,
        proof: &MailProof,
        whose: (CodePurpose, Option<IdentityId>),
        network: Network,
    ) -> Result<RightCode, Stop> {
        self.shown_code(proof, whose, true, network).await
    }

    /// Spends a code whose purpose is done. It was right, so it needs no try; and if it cannot be spent, what was done can be
    /// done again with it and no more.
    pub(super) async fn spend(&self, right: &RightCode) {
        let (id, now) = (right.identity.id, self.clock.now());
        let shown = ShownCode { hashes: &right.hashes, by_link: true, keeps: false };
        let attempt = AttemptId::generate(now, &*self.rng);
        if let Err(error) = self.codes.take(id, right.purpose, shown, (now, attempt)).await {
            warn!(identity.id = %id, error = %chain(&error), "code of a mail not spent");
        }
    }

    async fn shown_code(
        &self,
        proof: &MailProof,
        (purpose, owner): (CodePurpose, Option<IdentityId>),
        keeps: bool,
        network: Network,
    ) -> Result<RightCode, Stop> {
        let claim = self.read_claim(proof, purpose).await?;
        if !claim.is_link {
            self.limits.check_code(&claim.account, network).map_err(Denied::TooMany)?;
        }
        let is_of = |owner| claim.identity.as_ref().is_some_and(|identity| identity.id == owner);
        let code = claim.code.filter(|_| owner.is_none_or(is_of)).ok_or(Denied::WrongCode)?;
        let present = claim.identity.as_ref().map(|identity| (identity.id, identity.revision));
        let whose = present.unwrap_or_else(|| (nobody(&claim.account), 0));
        let hashes = self.code_key.hashes(whose, purpose, &code);
        let now = self.clock.now();
        let attempt = AttemptId::generate(now, &*self.rng);
        let shown = ShownCode { hashes: &hashes, by_link: claim.is_link, keeps };
        let taken = self.codes.take(whose.0, purpose, shown, (now, attempt)).await?;
        match (taken, claim.identity) {
            (TakenCode::Right { email }, Some(identity)) if identity.status == IdentityStatus::Active => {
                Ok(RightCode { identity, email, purpose, hashes })
            }
            (taken, identity) => {
                let id = identity.map(|identity| tracing::field::display(identity.id));
                let gone = taken == TakenCode::Gone;
                info!(target: "sluice_audit", { identity.id = id, client.network = %network, purpose = ?purpose, gone }, "code of a mail refused");
                Err(Denied::WrongCode.into())
            }
        }
    }

    async fn read_claim(&self, proof: &MailProof, purpose: CodePurpose) -> Result<Claim, Stop> {
        match proof {
            MailProof::Link(token) => {
                let link = self.open_link(token, purpose).ok_or(Denied::WrongCode)?;
                let identity = self.identities.find(link.identity).await?;
                let account = identity.as_ref().map(|identity| identity.login_name).unwrap_or_default();
                Ok(Claim { identity, account, code: Some(link.code), is_link: true })
            }
            MailProof::Code { who, code } => {
                let (identity, account) = match who {
                    Claimant::Identity(id) => {
                        let identity = self.identities.find(*id).await?.ok_or(Denied::WrongCode)?;
                        let account = identity.login_name;
                        (Some(identity), account)
                    }
                    Claimant::Email(email) => {
                        let account = email.parse::<Email>().map_err(|_| Denied::WrongCode)?.login_name();
                        (self.identities.find_by_login_name(&account).await?, account)
                    }
                };
                Ok(Claim { identity, account, code: Code::typed(code.expose()), is_link: false })
            }
        }
    }
}
